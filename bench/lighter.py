# lighter.py - allreduces of real gradients on several hosts, with and without compression; `make bench-lighter`, as root.
#
#   lighter.py [--build DIR] [--out DIR] [--hosts 5x1,6x1,7x1] [--rates 200,1000] [--rounds N] [--budget S]
#              [--last BYTES] [--steps N] [--patience S] [--only sums,coders,training] [--measured]
#
# Hosts are network namespaces with links of these Mbit/s (netns.sh), made for each run and removed after it. For each layout
# and rate `tutti tune` measures the model parameters three times; by their medians tutti decides whether to compress a call.
# sums       the gradients of gradients.py as floats and as bf16, without compression, lossless, and with error=1e-2,
#            alternately in the same processes (lighter.c), each with `code.left` of its gradients. ratio: time without over
#            time with compression, per round; left: compressed over uncompressed size.
#            --measured: with TUTTI_MEASURE=1 tutti times each call with and without compression, and uses the faster variant
# coders     rates of the codes on one core, and of zstd -1 and LZ4 on the same data (coders.c)
# training   the accuracy of two small nets after the same steps on the first layout, without compression and with each kind
# Stores lighter.json. Exits with 77 and the reason if hosts cannot be made.
# SPDX-License-Identifier: BSD-3-Clause
import argparse
import json
import os
import sys

import measure
import record
from aggregator import Skipped, Sums
from hosts import hosts_of
from measure import KI, MI, Failed, bytes_name

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = os.environ.get("PYTHON3", "/usr/bin/python3")
LAYOUTS, RATES, NETS = "5x1,6x1,7x1", "200,1000", ("demo", "conv")
FIRST, LAST, STEPS, TUNES = 16 * KI, 4 * MI, 400, 3
WAYS = ("lossless", "error")
CODES = {"plain": None, "lossless": "lossless", "error": "error=1e-2"}
ALONE = ""  # no aggregator


class Lighter:
    def __init__(self, build, out, rounds=7, budget=0.1, last=LAST, patience=900, tunes=TUNES):
        self.build, self.out = os.path.abspath(build), os.path.abspath(out)
        self.rounds, self.budget, self.last, self.patience, self.tunes = rounds, budget, last, patience, tunes
        self.files = [os.path.join(self.build, "gradients", net + ".f32") for net in NETS]

    def path(self, *words):
        return os.path.join(self.build, *words)

    def gradients(self):
        """Make the files, if they do not exist."""
        if all(map(os.path.exists, self.files)):
            return
        try:
            print(measure.run([PYTHON, os.path.join(HERE, "gradients.py"), "--dump", self.path("gradients")], 600)[0], end="")
        except Failed as e:
            raise Skipped("cannot make gradients; install PyTorch and dataset-fashion-mnist: %s" % e)

    def hosts(self, rate):
        return Sums(self.build, rate, patience=self.patience, tunes=self.tunes)

    def profile(self, layout, rate):
        path = os.path.join(self.out, "lighter-%s-%g.profile" % (layout, rate))
        return path, self.hosts(rate).profile(layout, ALONE, path)

    def sums(self, layout, rate, profile, measured=False):
        """Yields a row for each gradient, type and size. The compression ratio of the lossless code is a parameter of the cost
        model (code.left); or, if measured, each call is timed with and without compression before it first runs."""
        for r in self.coders()[0]:
            if r["coder"] == "lossless":
                path = "%s.%s.%s" % (profile, r["numbers"], r["type"])
                with open(profile) as f, open(path, "w") as own:
                    own.write("%scode.left = %.0f\n" % (f.read(), 1000 * r["left"]))
                yield from self.sums_of(layout, rate, path, r["numbers"], r["type"], measured)

    def sums_of(self, layout, rate, profile, numbers, kind, measured):
        out = self.hosts(rate).on(layout, ALONE, [self.path("bench", "lighter"), kind, str(self.rounds), str(self.budget),
                                                  str(FIRST), str(self.last), self.path("gradients", numbers)],
                                  {"TUTTI_PROFILE": profile, "TUTTI_MEASURE": str(int(measured))})
        for line in out.splitlines():
            if line.startswith("{"):
                r = json.loads(line)
                row = {"kind": "sum", "layout": layout, "rate": rate, "gradient": r["gradient"].split(".")[0],
                       "type": r["type"], "bytes": r["bytes"], "plain_us": r["plain_us"], "plain_plan": r["plain"]["plan"]}
                for way in WAYS:
                    if way in r:
                        row.update({way + "_us": r[way + "_us"], way + "_ratio": r[way]["ratio"], way + "_left": r[way]["left"],
                                    way + "_plan": r[way]["plan"]})
                yield row

    def coders(self):
        """Rows of coders.c, for floats and for bf16; and the compressors that are not installed."""
        rows, lacks = [], set()
        for more in ([], ["--bf16"]):
            out = measure.run([self.path("bench", "coders"), "--json"] + more + self.files, self.patience)[0]
            lacks |= {line[2:] for line in out.splitlines() if line.startswith("# ")}
            rows += [dict(json.loads(line), kind="coder") for line in out.splitlines() if line.startswith("{")]
        return rows, sorted(lacks)

    def training(self, layout, rate, profile, steps):
        """A row for each net and kind of compression."""
        for net in NETS:
            for way, code in CODES.items():
                argv = ["env", "PYTHONPATH=" + os.path.join(os.path.dirname(HERE), "python"), "OMP_NUM_THREADS=1",
                        "TUTTI_LIBRARY=" + self.path("libtutti.so"), PYTHON, os.path.join(HERE, "gradients.py"), "--train", net,
                        "--steps", str(steps)] + (["--code", code] if code else [])
                out = self.hosts(rate).on(layout, ALONE, argv, {"TUTTI_PROFILE": profile})
                yield dict(json.loads([line for line in out.splitlines() if line.startswith("{")][-1]), kind="training",
                           way=way, layout=layout, rate=rate)


def show(r):
    text = "%-6s %-6s %8s %12.1f %-22s" % (r["gradient"], r["type"], bytes_name(r["bytes"]), r["plain_us"], r["plain_plan"][:22])
    for way in WAYS:
        if way + "_us" in r:
            text += " %12.1f %6.2f %6.3f  %-26s" % (r[way + "_us"], r[way + "_ratio"], r[way + "_left"], r[way + "_plan"][:26])
    return text


def head(layout, rate, figures):
    return "\n%d hosts, %s ranks per host, %g Mbit/s: %.3g ns/B; codes %s ns/B\n%-6s %-6s %8s %12s %-22s" % (
        *hosts_of(layout), rate, 1e9 * figures["beta"],
        ", ".join("%s %.3g" % (c, 1e9 * figures.get("code." + c, 0)) for c in ("int8", "lossless")), "", "", "bytes",
        "plain us", "plan") + "".join(" %12s %6s %6s  %-26s" % (w, "ratio", "left", "plan") for w in WAYS)


def options():
    p = argparse.ArgumentParser()
    p.add_argument("--build", default="build")
    p.add_argument("--out", default=None)
    p.add_argument("--hosts", default=LAYOUTS)
    p.add_argument("--rates", default=RATES, help="of a host's link in each direction, Mbit/s")
    p.add_argument("--rounds", type=int, default=7)
    p.add_argument("--budget", type=float, default=0.1, help="seconds of a turn")
    p.add_argument("--last", type=int, default=LAST)
    p.add_argument("--steps", type=int, default=STEPS, help="of a training")
    p.add_argument("--tunes", type=int, default=TUNES)
    p.add_argument("--patience", type=float, default=900, help="seconds that a launch may take")
    p.add_argument("--only", default="sums,coders,training")
    p.add_argument("--measured", action="store_true")
    return p.parse_args()


def coders_of(bench, about, rows):
    found, lacks = bench.coders()
    about["lacks"] = lacks
    print("\n".join(lacks + ["", "%-10s %-6s %-10s %6s %8s %8s  GB/s on one core" % ("", "", "", "left", "code", "decode")]))
    for r in found:
        print("%-10s %-6s %-10s %6.3f %8.2f %8.2f" % (r["numbers"], r["type"], r["coder"], r["left"], r["code_GBs"], r["decode_GBs"]))
    rows += found


def about_lighter(command="make bench-lighter"):
    return record.about("allreduce of gradients of rank r, sum; us: medians over the rounds; ratio: plain over coded, in the same "
                        "round; left: bytes of the code over those of the numbers; coders: GB/s of numbers on one core; training: "
                        "accuracy after the same steps", command)


def main():
    args = options()
    out, parts = args.out or os.path.join(args.build, "bench"), args.only.split(",")
    os.makedirs(out, exist_ok=True)
    bench = Lighter(args.build, out, args.rounds, args.budget, args.last, args.patience, args.tunes)
    bench.gradients()
    about, rows = about_lighter(), []

    def keep():
        record.store(os.path.join(out, "lighter.json"), about, rows)
    if "coders" in parts:
        coders_of(bench, about, rows)
        keep()
    for layout in args.hosts.split(",") if "sums" in parts or "training" in parts else []:
        for rate in map(float, args.rates.split(",")):
            if "sums" not in parts and (layout, rate) != first_of(args):
                continue
            profile, figures = bench.profile(layout, rate)
            if "sums" in parts:
                print(head(layout, rate, figures))
                for r in bench.sums(layout, rate, profile, args.measured):
                    rows.append(r)
                    print(show(r), flush=True)
                keep()
            if "training" in parts and (layout, rate) == first_of(args):
                print("\n%d steps on %s, %g Mbit/s" % (args.steps, layout, rate))
                for r in bench.training(layout, rate, profile, args.steps):
                    rows.append(r)
                    print("%-6s %-10s accuracy %.4f  %s" % (r["net"], r["way"], r["accuracy"], r["plan"]), flush=True)
                keep()
    print("\nstored in %s/lighter.json" % out)


def first_of(args):
    return args.hosts.split(",")[0], float(args.rates.split(",")[0])


if __name__ == "__main__":
    try:
        main()
    except Skipped as e:
        print("lighter.py: skipped: %s" % e, file=sys.stderr)
        sys.exit(77)
    except Failed as e:
        sys.exit("lighter.py: %s" % e)
    except KeyboardInterrupt:
        sys.exit("lighter.py: interrupted")
