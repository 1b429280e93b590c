# hosts.py - tutti, over MPI and over UCX, compared with the MPI's own allreduce and with gloo on several hosts;
# `make bench-hosts`, as root.
#
#   hosts.py [--build DIR] [--out DIR] [--mpi openmpi,mpich] [--hosts 5x1,6x1,7x1,8x1,3x2,4x3,1+4+2+5]
#            [--rounds N] [--last BYTES] [--rate MBIT] [--loop] [--budget S] [--patience S]
#            [--sides mpi,ucx,tcp,rails,gloo,shim] [--pml ob1,ucx]
#
# Hosts are network namespaces with shaped links (netns.sh), made for each run and removed
# after it. For each layout (hosts x ranks on each) and each network that tutti uses, `tutti
# tune` first measures the model parameters three times; tutti chooses its plans by their medians.
# Open MPI uses its own TCP (--pml ob1), or UCX. Prints a table per layout, and stores
# hosts.json, hosts.txt and the profiles. rails: tutti over UCX on two links of each host.
# shim: MPI_Allreduce through the drop-in. Exits with 77 and the reason if hosts cannot be made.
# SPDX-License-Identifier: BSD-3-Clause
import argparse
import json
import os
import re
import signal
import sys
import tempfile

import measure
import record
import turns
from measure import KI, MI, Failed, bytes_name, geomean, median

HERE = os.path.dirname(os.path.abspath(__file__))
NAMES = {"openmpi": "Open MPI", "mpich": "MPICH"}
TITLES = {"mpi": "tutti", "ucx": "tutti, UCX", "tcp": "tutti, TCP", "rails": "tutti, 2 rails", "gloo": "gloo", "shim": "the drop-in"}
SIDE = {"mpi": "tutti"}  # the names of turns.c, where they differ
TUNED = ("mpi", "ucx", "tcp", "rails")
NETS = {"mpi": {}, "ucx": {"TUTTI_NET": "ucx"}, "tcp": {"TUTTI_NET": "tcp"}, "rails": {"TUTTI_NET": "ucx", "TUTTI_RAILS": "eth0,eth1"}}
LAYOUTS = "5x1,6x1,7x1,8x1,3x2,4x3,1+4+2+5"
LAYOUT = re.compile(r"[1-9]\d*(x[1-9]\d*|(\+[1-9]\d*)+)")
LAST = 4 * MI
TUNES = 3


class Skipped(Exception):
    """This machine cannot run the benchmark; the text has the reason."""


def terminated(*_):
    raise KeyboardInterrupt


def lines(argv, patience, env=None):
    """Like `lines` of turns.py, but raises Skipped if this machine cannot make hosts."""
    try:
        yield from turns.lines(argv, patience, env, ("turns:", "netns.sh:"))
    except Failed as e:
        raise Skipped(str(e).partition(": ")[2]) if e.status == 77 else e


def hosts_of(layout):
    """The number of hosts and the ranks of each, in the form of netns.sh, from a layout such as 4x3 or 1+4+2+5."""
    if "+" in layout:
        return layout.count("+") + 1, layout.replace("+", ",")
    hosts, per = layout.split("x")
    return int(hosts), per


class Network:
    """One MPI on hosts with links of `rate` Mbit/s in each direction. pml: that of Open MPI, ob1 or ucx. sides: compared with
    the MPI: tutti over it (mpi), tutti over UCX (ucx), gloo."""

    def __init__(self, build, out, mpi, rate=200, rounds=7, budget=0.1, cycle=True, last=LAST, patience=600,
                 sides=("mpi",), pml="ob1"):
        self.program = os.path.abspath(os.path.join(build, "bench", "turns_" + mpi))
        self.library = os.path.abspath(os.path.join(build, "libtutti_pmpi_%s.so" % turns.FAMILY[mpi]))
        self.tutti = os.path.abspath(os.path.join(build, "tutti"))
        self.out, self.mpi, self.rate, self.patience = os.path.abspath(out), mpi, rate, patience
        self.plan = ["cycle" if cycle else "loop", "4", str(last), str(budget), str(rounds)]
        self.sides, self.pml = sides, pml
        self.name = NAMES[mpi] + (" over UCX" if pml == "ucx" else "")

    def start(self, layout, arguments, env=None):
        preload = ["env", "LD_PRELOAD=" + self.library] if "shim" in self.sides else []
        return lines(self.netns(*hosts_of(layout)) + preload + [self.program] + arguments, self.patience, env)

    def netns(self, hosts, per):  # ends with this process, even if that is killed
        return ["setpriv", "--pdeathsig", "KILL", "bash", os.path.join(HERE, "netns.sh"), self.mpi,
                str(hosts), str(per), "%gmbit" % self.rate]

    def possible(self):
        if not os.path.exists(self.program):
            raise Skipped("%s was not built: it needs tutti's library for %s" % (self.program, NAMES[self.mpi]))
        for _ in lines(self.netns(1, 1) + ["echo", "done"], 60):
            pass

    def settings(self):
        env = {"OMPI_MCA_pml": self.pml, "LINKS": "2" if "rails" in self.sides else "1"}
        if self.pml == "ucx":
            env.update(OMPI_MCA_opal_common_ucx_tls="any", OMPI_MCA_opal_common_ucx_devices="any")
        return env

    def tuned(self, layout, side):
        """The lines of a tuned profile."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "profile")
            measure.run(self.netns(*hosts_of(layout)) + [self.tutti, "tune", "-o", path], self.patience,
                        dict(self.settings(), TUTTI_PROFILE="none", **NETS[side]))
            with open(path) as f:
                return f.readlines()

    def figures(self, layout, side):
        """A file for TUTTI_PROFILE, and its parameters. They are medians, because a single tuning may be far off."""
        found, comments = {}, {}
        for _ in range(TUNES):
            for line in self.tuned(layout, side):
                figure, _, comment = line.partition("#")
                key, _, value = map(str.strip, figure.partition("="))
                if value and key not in ("machine", "network"):
                    found.setdefault(key, []).append(float(value))
                    comments[key] = comment.strip()
        figures = {key: median(values) for key, values in found.items()}
        path = os.path.join(self.out, "hosts-%s-%s-%s.profile" % (self.mpi, side, layout))
        with open(path, "w") as f:
            f.writelines("%s = %.9g  # %s\n" % (key, value, comments[key]) for key, value in figures.items())
        return path, figures

    def floor(self, layout, size):
        """The lower bound in us: the time of the links for 2 (P-1)/P of the vector, with P hosts."""
        hosts = hosts_of(layout)[0]
        return 2 * (hosts - 1) / hosts * size * 8 / self.rate

    def rows(self, layout, profiles):
        """Yields bytes, {native, tutti, ratio, plan, floor} for each size."""
        env = dict(self.settings(), TUTTI_DROPIN="always", TURNS_INTERFACE="eth0", TUTTI_PROFILE=profiles.get("mpi", "none"))
        for side in ("ucx", "tcp", "rails"):
            if side in profiles:
                env["TURNS_%s_PROFILE" % side.upper()] = profiles[side]
        env["TURNS_RAILS"] = NETS["rails"]["TUTTI_RAILS"]
        names = ["own"] + [SIDE.get(s, s) for s in self.sides]
        for line in self.start(layout, self.plan + [",".join(names)], env):
            if not line.startswith("{"):
                continue
            p = turns.Point(json.loads(line))
            r = {"native": round(p.time("own"), 2), "floor": round(self.floor(layout, p.bytes), 2)}
            for side in self.sides:
                name = SIDE.get(side, side)
                r[side] = {"us": round(p.time(name), 2), "ratio": round(p.ratio("own", name), 4),
                           "to_gloo": round(p.ratio("gloo", name) or 0, 4), "plan": p.plan.get(name, "-")}
            yield p.bytes, r


def head(net, layout, figures):
    first = "\n%d hosts, %s ranks per host: %s, %g Mbit/s, %s; us; ratio: %s over it" % (
        *hosts_of(layout), net.name, net.rate, net.plan[0], net.name)
    for side, f in figures.items():
        first += "\n%s: delay %.1f us, a message %.1f us of a core, %.1f ns/B, burst %d B" % (
            TITLES[side], 1e6 * f["delay"], 1e6 * f["processor"], 1e9 * f["beta"], f["burst"])
    columns = ["%8s %12s %12s" % ("bytes", net.name[:12], "floor")]
    for side in net.sides:
        columns.append("%12s %6s" % (TITLES[side], "ratio") + (" %7s  %-24s" % ("/floor", "plan") if side in TUNED else ""))
    return first + "\n" + " ".join(columns)


def row(size, r):
    # below 1 KiB the time is latency only
    text = "%8s %12.1f %12s" % (bytes_name(size), r["native"], "%.0f" % r["floor"] if size >= KI else "")
    for side, s in sides_of(r):
        text += " %12.1f %6.2f" % (s["us"], s["ratio"])
        if side in TUNED:
            text += " %7s  %-24s" % ("%.2f" % (s["us"] / r["floor"]) if size >= KI else "", s["plan"][:24])
    return text


def sides_of(r):
    return [(side, r[side]) for side in TITLES if side in r]


def layout_of(net, layout, say):
    """The results for a layout. `failed` has the reason if they are incomplete."""
    found = {"rows": {}}
    try:
        sides = {side: net.figures(layout, side) for side in net.sides if side in TUNED}
        found["figures"] = {side: figures for side, (_, figures) in sides.items()}
        say(head(net, layout, found["figures"]))
        for size, r in net.rows(layout, {side: path for side, (path, _) in sides.items()}):
            found["rows"][size] = r
            say(row(size, r))
        for side in net.sides:
            each = [r[side]["ratio"] for r in found["rows"].values() if side in r]
            if each:
                say("  %s / %s: %.2f in the geometric mean, %.2f to %.2f" %
                    (net.name, TITLES[side], geomean(each), min(each), max(each)))
    except Failed as e:
        found["failed"] = str(e)
        say("  %s, %s: %s" % (net.name, layout, e))
    return found


def rows_of(found):
    """A row per size of each layout and network, as stored."""
    return [dict(beside=name, layout=layout, bytes=size, **r) for name, layouts in found.items()
            for layout, l in layouts.items() for size, r in l["rows"].items()]


def store(out, about, found, text):
    about["figures"] = {name: {layout: l.get("figures") for layout, l in layouts.items()} for name, layouts in found.items()}
    about["failed"] = {"%s, %s" % (name, layout): l["failed"] for name, layouts in found.items()
                       for layout, l in layouts.items() if "failed" in l}
    record.store(os.path.join(out, "hosts.json"), about, rows_of(found))
    with open(os.path.join(out, "hosts.txt"), "w") as f:
        f.write("\n".join(text) + "\n")


def options():
    p = argparse.ArgumentParser()
    p.add_argument("--build", default="build")
    p.add_argument("--out", default=None)
    p.add_argument("--mpi", default="openmpi")
    p.add_argument("--hosts", default=LAYOUTS)
    p.add_argument("--rounds", type=int, default=7)
    p.add_argument("--last", type=int, default=LAST)
    p.add_argument("--rate", type=float, default=200, help="of a link in each direction, Mbit/s")
    p.add_argument("--loop", action="store_true")
    p.add_argument("--budget", type=float, default=0.1, help="seconds of a round, of each of the two")
    p.add_argument("--sides", default="mpi,ucx,gloo")
    p.add_argument("--pml", default="ob1,ucx", help="of Open MPI: over its own TCP, and over UCX")
    p.add_argument("--patience", type=float, default=600, help="seconds that a layout may take")
    args = p.parse_args()
    for mpi in args.mpi.split(","):
        if mpi not in NAMES:
            p.error("no MPI '%s'; there are: %s" % (mpi, ", ".join(NAMES)))
    for l in args.hosts.split(","):
        if not LAYOUT.fullmatch(l) or hosts_of(l)[0] < 2:
            p.error("layout '%s': expected HOSTSxRANKS with at least 2 hosts, such as 7x1; or the ranks of each host, such as 1+4+2+5" % l)
    return args


def main():
    args = options()
    out = args.out or os.path.join(args.build, "bench")
    os.makedirs(out, exist_ok=True)
    signal.signal(signal.SIGTERM, terminated)
    text, found, skipped = [], {}, 0

    def say(line):
        print(line, flush=True)
        text.append(line)

    m = about = record.about("allreduce, float sum, in place, %s, links of %g Mbit/s; us: medians over the rounds; ratio: the "
                             "MPI's time over each, to_gloo: gloo's, round by round; floor: us that the links need" %
                             ("loop" if args.loop else "cycle", args.rate))
    say("allreduce of floats, sum, in place; %s, %d cores, %s" % (m["processor"], m["cores"], m["date"]))
    games = [(mpi, pml) for mpi in args.mpi.split(",") for pml in (args.pml.split(",") if mpi == "openmpi" else ["ob1"])]
    for mpi, pml in games:
        net = Network(args.build, out, mpi, args.rate, args.rounds, args.budget, not args.loop, args.last,
                      args.patience, args.sides.split(","), pml)
        try:
            net.possible()
            found[net.name] = {}
            for layout in args.hosts.split(","):
                found[net.name][layout] = layout_of(net, layout, say)
                store(out, about, found, text)
        except Skipped as e:
            print("hosts.py: %s is skipped: %s" % (net.name, e), file=sys.stderr)
            skipped += 1
    if skipped == len(games):
        return 77
    print("\nstored in %s: hosts.json, hosts.txt, hosts-*.profile" % out)
    return 1 if any("failed" in l for layouts in found.values() for l in layouts.values()) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("hosts.py: interrupted")
