# aggregator.py - collectives on several hosts, with an aggregator and without; `make bench-aggregator`, as root.
#
#   aggregator.py [--build DIR] [--out DIR] [--hosts 5x1,6x1,7x1,4x3] [--widths P] [--rounds N] [--last BYTES]
#                 [--rate MBIT] [--patience S] [--coll allreduce]
#
# Hosts are network namespaces with shaped links (netns.sh), made for each run and removed after it. The link of the
# aggregator's host is K times as fast (--widths; P is the number of hosts). For each layout and width `tutti tune` measures the
# parameters three times, and tutti chooses by their medians. Sides: without (^aggregate), with, and naive, each with one launch
# of `tutti bench --cycle` per round; only launches of the same round are compared. Floor (lower bound): the time of the links
# for one vector in both directions simultaneously. --coll: collectives as in `tutti bench`, with one table each. Stores
# aggregator.json. Exits with 77 and the reason if hosts cannot be made.
# SPDX-License-Identifier: BSD-3-Clause
import argparse
import json
import os
import sys
import tempfile

import measure
import record
from hosts import hosts_of
from measure import KI, MI, Failed, bytes_name, median

HERE = os.path.dirname(os.path.abspath(__file__))
LAYOUTS = "5x1,6x1,7x1,4x3"
SIDES = {"without": "^aggregate", "with": "", "naive": "naive"}
LAST, SMALL, TUNES = 4 * MI, KI, 3


class Skipped(Exception):
    """This machine cannot make hosts; the text says why."""


class Sums:
    """Hosts whose links carry `rate` Mbit/s in each direction, and an aggregator."""

    def __init__(self, build, rate=200, rounds=5, last=LAST, budget=0.05, patience=600, tunes=TUNES, coll="allreduce"):
        self.tutti = os.path.abspath(os.path.join(build, "tutti"))
        self.rate, self.rounds, self.last, self.budget, self.patience = rate, rounds, last, budget, patience
        self.tunes, self.coll = tunes, coll

    def on(self, layout, width, command, env=None):
        hosts, per = hosts_of(layout)
        argv = ["setpriv", "--pdeathsig", "KILL", "bash", os.path.join(HERE, "netns.sh"), "tutti", str(hosts), str(per),
                "%gmbit" % self.rate] + command
        try:
            return measure.run(argv, self.patience, dict(env or {}, TUTTI=self.tutti, AGGREGATOR=str(width)))[0]
        except Failed as e:
            if " ended with 77: " in str(e):
                raise Skipped(str(e).partition(" ended with 77: ")[2])
            raise

    def profile(self, layout, width, path):
        """Write a profile with the medians of several tunings."""
        found = {}
        for _ in range(self.tunes):
            with tempfile.NamedTemporaryFile("r", suffix=".profile") as f:
                self.on(layout, width, [self.tutti, "tune", "-o", f.name])
                with open(f.name) as written:
                    for line in written:
                        key, _, value = map(str.strip, line.partition("#")[0].partition("="))
                        if value and key not in ("machine", "network"):
                            found.setdefault(key, []).append(float(value))
        with open(path, "w") as f:
            often = {key: values for key, values in found.items() if 2 * len(values) > self.tunes}
            f.writelines("%s = %.9g\n" % (key, median(values)) for key, values in often.items())
        return {key: median(values) for key, values in found.items()}

    def side(self, layout, width, profile, side):
        """{bytes: (us, plan)}"""
        last = min(self.last, SMALL) if side == "naive" else self.last
        with tempfile.NamedTemporaryFile("r", suffix=".json") as f:
            env = {"TUTTI_PROFILE": profile, "TUTTI_ALGO": SIDES[side]}
            self.on(layout, width, [self.tutti, "bench", "-b", "4", "-e", str(last), "-f", "4", "-w", "3", "--side", "in",
                                    "--coll", self.coll, "--cycle", "--repeats", "5", "--budget", str(self.budget), "--format", "json", "-o", f.name], env)
            rows = json.load(f)["rows"]
        wrong = sum(r["in_place"]["wrong"] for r in rows)
        if wrong:
            raise Failed("%s, %s: %d wrong results" % (layout, side, wrong))
        return {r["bytes"]: (r["in_place"]["us_median"], r["plan"]) for r in rows}

    def floor(self, size):
        return size * 8 / self.rate

    def rows(self, layout, width, profile):
        """A row per size: medians over the rounds; ratios of launches of the same round."""
        all_rounds = [{s: self.side(layout, width, profile, s) for s in SIDES} for _ in range(self.rounds)]
        for size in sorted(all_rounds[0]["with"]):
            us = {s: [r[s][size][0] for r in all_rounds] for s in SIDES if size in all_rounds[0][s]}
            ratio = {s: median([a / b for a, b in zip(us[s], us["with"])]) for s in us if s != "with"}
            row = {"collective": self.coll, "layout": layout, "width": width, "bytes": size, "floor": round(self.floor(size), 1)}
            row.update({s: round(median(each), 1) for s, each in us.items()})
            row.update({"to_" + s: round(r, 3) for s, r in ratio.items()})
            row.update(plan=all_rounds[-1]["with"][size][1], plan_without=all_rounds[-1]["without"][size][1])
            yield row


def widths_of(text, layout):
    return [hosts_of(layout)[0] if w == "P" else int(w) for w in text.split(",")]


def show(r):
    return "%8s %12.1f %12.1f %7.2f %8s  %-26s %-20s" % (
        bytes_name(r["bytes"]), r["without"], r["with"], r["to_without"],
        "%.2f" % (r["with"] / r["floor"]) if r["bytes"] >= KI else "", r["plan"][:26], r["plan_without"][:20])


def measured(sums, out, layout, width, say):
    path = os.path.join(out, "aggregator-%s-%d.profile" % (layout, width))
    figures = sums.profile(layout, width, path)
    say("\n%s on %d hosts, %s ranks per host, links of %g Mbit/s, the aggregator's %d times as wide; us" % (
        sums.coll, *hosts_of(layout), sums.rate, width))
    say("aggregator.beta %.3g ns/B, a host's %.3g" % (1e9 * figures.get("aggregator.beta", 0), 1e9 * figures["beta"]))
    say("%8s %12s %12s %7s %8s  %-26s %-20s" % ("bytes", "without", "with", "ratio", "/floor", "plan", "plan without"))
    rows = []
    for r in sums.rows(layout, width, path):
        rows.append(r)
        say(show(r))
    return rows


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", default="build")
    p.add_argument("--out", default=None)
    p.add_argument("--hosts", default=LAYOUTS)
    p.add_argument("--widths", default="P")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--last", type=int, default=LAST)
    p.add_argument("--rate", type=float, default=200, help="of a host's link in each direction, Mbit/s")
    p.add_argument("--coll", default="allreduce")
    p.add_argument("--patience", type=float, default=600, help="seconds that a launch may take")
    args = p.parse_args()
    out = args.out or os.path.join(args.build, "bench")
    os.makedirs(out, exist_ok=True)
    sums = Sums(args.build, args.rate, args.rounds, args.last, patience=args.patience)
    about = record.about("floats, sum, in place, cycle; us: medians over the rounds; to_: that side's time over "
                         "that with an aggregator, in the same round; floor: us to send a vector while another one arrives",
                         "make bench-aggregator")
    rows = []
    for layout in args.hosts.split(","):
        for width in widths_of(args.widths, layout):
            for sums.coll in args.coll.split(","):
                rows += measured(sums, out, layout, width, lambda line: print(line, flush=True))
            record.store(os.path.join(out, "aggregator.json"), about, rows)
    print("\nstored in %s/aggregator.json" % out)


if __name__ == "__main__":
    try:
        main()
    except Skipped as e:
        print("aggregator.py: skipped: %s" % e, file=sys.stderr)
        sys.exit(77)
    except KeyboardInterrupt:
        sys.exit("aggregator.py: interrupted")
