#!/usr/bin/python3
"""overview.py - the chart of docs/bench/README.md: tutti and its peers on one machine, on seven hosts, and in a step of DDP.

Usage      tools/overview.py [--check] [--out docs/bench/overview.svg]      (make overview)
           --check: draws nothing; exit status 1 and a line for each value of the data that the chart lacks.
Data       docs/bench/peers.json, hosts-mpi.json and torch-steps.json. `make bench-peers bench-hosts bench-torch` measure them.
Idea       Bars start at 0, so their lengths compare. Ratios are the time of the peer divided by tutti's; tutti is 1.
           Each bar shows its value, and --check looks for these values.
SPDX-License-Identifier: BSD-3-Clause"""
import argparse
import json
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(ROOT, "bench"), os.path.join(ROOT, "tools")]
import peers  # noqa: E402
import picture  # noqa: E402
from measure import bytes_name  # noqa: E402

SMALL, HOSTS_SIZES = 4096, (4, 1 << 10, 4 << 10, 64 << 10, 1 << 20, 4 << 20)
COLORS = {"tutti": 1, "Open MPI": 2, "MPICH": 4, "gloo": 10, "no communication": 3}


def stored(name):
    with open(os.path.join(ROOT, "docs", "bench", name + ".json")) as f:
        return json.load(f)


def one_machine():
    """[(group, {peer: ratio})] of 2 ranks: geometric means over short and over long vectors."""
    rows, groups = stored("peers")["rows"], []
    for state in peers.STATES:
        for title, fits in (("to 4 KiB", lambda b: b <= SMALL), ("16 KiB up", lambda b: b > SMALL)):
            sizes = sorted({r["bytes"] for r in rows if r["ranks"] == 2 and r["state"] == state and fits(r["bytes"])})
            means = {p: peers.mean([v for v in (peers.ratio_of(rows, 2, p, b, state) for b in sizes) if v]) for p in ("Open MPI", "MPICH")}
            groups.append(("%s\\n%s" % (state, title), {"tutti": 1, **means}))
    return groups


def hosts():
    """[(size, {peer: ratio})] of seven hosts with one rank each."""
    ratio = {r["bytes"]: r["mpi"]["ratio"] for r in stored("hosts-mpi")["rows"] if r["layout"] == "7x1" and r["beside"] == "Open MPI"}
    return [("%d B" % b if b < 1 << 10 else bytes_name(b) + "B", {"tutti": 1, "Open MPI": ratio[b]}) for b in HOSTS_SIZES]


def training():
    """[(model, {backend: ms})] of a step of DDP on 2 ranks."""
    return [(re.sub(r" of (.*), OpenBLAS", r"\\n\1", r[0]), {"tutti": float(r[2]), "gloo": float(r[1]), "no communication": float(r[3])})
            for r in stored("torch-steps")["rows"] if r[0].endswith("OpenBLAS")]


def panels():
    """(title, label of the axis, its end, groups) of each panel."""
    yield "One machine, 2 ranks, near and far cores", "time divided by tutti's", 10, one_machine()
    yield "Seven hosts over TCP, 200 Mbit/s", "time divided by tutti's", 10, hosts()
    yield "Step of DDP on 2 ranks, PyTorch 1.13", "milliseconds", 125, training()


def label(value, end):
    return "1" if value == 1 else "%.1f" % value if end == 10 else "%.0f" % value


def drawn(number, title, axis, end, groups):
    """The commands of a panel: a bar with its value for each peer of each group."""
    names, data = list(groups[0][1]), []
    wide = 0.8 / len(names)
    for i, name in enumerate(names):
        data += ["$p%d_%d << EOD" % (number, i)]
        data += ["%g %g %s" % (at + (i - (len(names) - 1) / 2) * wide, of[name], label(of[name], end)) for at, (_, of) in enumerate(groups)]
        data += ["EOD"]
    bars = ["$p%d_%d using 1:2:(%g) with boxes lt %d title %s" % (number, i, 0.9 * wide, COLORS[n], picture.quoted(n)) for i, n in enumerate(names)]
    values = ["$p%d_%d using 1:2:3 with labels offset 0,0.5 font 'sans,10' tc rgb INK title %s" % (number, i, picture.quoted("values of " + n)) for i, n in enumerate(names)]
    ticks = ", ".join("%s %d" % (picture.quoted(name), at) for at, (name, _) in enumerate(groups))
    return data + ["set title %s" % picture.quoted(title), "set ylabel %s" % picture.quoted(axis), "set yrange [0:%g]" % end, "unset grid", "set grid ytics lc rgb FAINT",
                   "set xrange [-0.6:%g]" % (len(groups) - 0.4), "set xtics (%s) scale 0 font 'sans,10'" % ticks, "plot " + ", ".join(bars + values)]


def values():
    return [label(v, end) for _, _, end, groups in panels() for _, of in groups for v in of.values()]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--out", default=os.path.join(ROOT, "docs", "bench", "overview.svg"))
    args = parser.parse_args()
    if args.check:
        with open(args.out) as f:
            left = re.findall(r">(?:<!\[CDATA\[)?\s*([\d.]+)\s*(?:\]\]>)?<", f.read())
        missing = [v for v in values() if v not in left or left.remove(v)]
        for v in missing:
            print("%s lacks the value %s; run `make overview`" % (os.path.relpath(args.out, ROOT), v))
        return 1 if missing else 0
    entries = [("boxes lt %d" % COLORS[n], n) for n in COLORS]
    note = "Shorter is better. Medians; sums of floats in place. Machines, dates and commands: docs/bench/README.md"
    picture.page(args.out, "Time of an allreduce, and of a training step", [drawn(i, *p) for i, p in enumerate(panels())], 3, width=400, height=360,
                 entries=entries, note=note)
    return 0


if __name__ == "__main__":
    sys.exit(main())
