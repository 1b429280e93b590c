#!/usr/bin/env python3
"""scale.py - the tables of docs/bench/tables.md and the plots of docs/scale.md, from predictions and measurements of one rank.

  scale.py --build build [--only prices,practice,forms,setup,uneven] [--out docs/bench]

Tables go to scale-NAME.json in the folder, and from there to the page (make tables); plots go to docs/figures.
SPDX-License-Identifier: BSD-3-Clause"""
import argparse
import math
import os
import re
import statistics
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import picture  # noqa: E402
import record  # noqa: E402

RANKS = [1000, 10000, 100000]
SIZES = [8 << i for i in range(28)]
COLUMNS = [8, 512, 8 << 10, 64 << 10, 1 << 20, 16 << 20, 256 << 20, 1 << 30]
NETWORKS = {
    "fat tree": {
        1000: "leaf:25 node:40", 10000: "pod:10 leaf:25 node:40", 100000: "pod:100 leaf:25 node:40",
        "figures": ["gamma=0.05ns", "node.alpha=1.2us", "node.beta=200Gbit/s", "leaf.alpha=1.5us",
                    "leaf.beta=4Tbit/s", "pod.alpha=1.8us", "pod.beta=100Tbit/s"]},
    "dragonfly": {
        1000: "group:5 router:25 node:8", 10000: "group:25 router:25 node:16",
        100000: "group:250 router:25 node:16",
        "figures": ["gamma=0.05ns", "node.alpha=1.2us", "node.beta=200Gbit/s", "router.alpha=1.5us",
                    "router.beta=2.4Tbit/s", "group.alpha=2us", "group.beta=25Tbit/s"]},
    "torus": {
        1000: "z:10 y:10 x:10 node:1", 10000: "z:20 y:20 x:25 node:1",
        100000: "z:40 y:50 x:50 node:1",
        "figures": ["gamma=0.05ns", "torus=1", "hop=100ns", "alpha=1us", "beta=50Gbit/s"]},
}
FEW = ("rack:3 node:16 core:4", "gamma=0,apart=1,core.alpha=2us,core.beta=0.25e-9,node.alpha=6us,node.beta=1e-9,"
       "rack.alpha=12us,rack.beta=1e-10")
UNEVEN = {37141: "node:10000 core:(4*7911,3*1319,2*770)", 399930: "rack:400 node:25 core:(40*9950,39*30,38*20)"}
PRACTICE = ["fold(ring)", "doubling", "rabenseifner", "tree(double,segments=4)", "two-level"]
args = None


def figures(net, P):
    """The model parameters of the levels that exist at this size. A dragonfly of 1,000 has half the global links."""
    levels = [l.split(":")[0] for l in NETWORKS[net][P].split()]
    said = ",".join(f for f in NETWORKS[net]["figures"]
                    if "." not in f.split("=")[0] or f.split(".")[0] in levels)
    return said.replace("group.beta=25T", "group.beta=12.5T") if P == 1000 else said


def scale(*words):
    done = subprocess.run([os.path.join(args.build, "bench/scale"), *map(str, words)],
                          capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def progress(text):
    print(f"\r{text:<70}", end="", file=sys.stderr, flush=True)


def read_prices(lines):
    """By size: (seconds, name, slices, messages). Also the seconds of the first choice and of all choices, and the peak
    memory."""
    found, took, first, peak = {}, 0, 0, 0
    for line in lines:
        word = line.split(" ", 7)
        if word[0] == "priced":
            took, peak = float(word[1]), int(word[3])
        elif word[0] == "first":
            first = float(word[1])
        elif word[2] == "1":
            found[int(word[1])] = (float(word[3]), word[7], int(word[4]), int(word[5]))
    return found, first, took, peak


def prices(P, topo, net, plan, sizes, kind="float"):
    """The predictions for a plan, in the form of read_prices."""
    progress(f"{P} ranks, {topo or 'flat'}: {plan}")
    return read_prices(scale("prices", P, topo, net, kind, plan, *sizes))


def two_level(net, P):
    """The two-level plan with one leader per switch; the leaders use a ring if that can be simulated."""
    per = {"fat tree": 40, "dragonfly": 8 if P == 1000 else 16, "torus": int(
        NETWORKS[net][P].split()[-2].split(":")[1])}[net]
    return f"two-level(node={per},{'halving' if P == 100000 else 'ring'})"


def short(name, slices=1):
    """A short name: blueconnect(leaf:25 node:40,seq=halving/ring) in 2 slices becomes blueconnect H/R x2."""
    seq = re.search(r"seq=([a-z/]+)", name)
    if name.startswith("blueconnect") and seq:
        name = "BC " + "/".join(p[0].upper() for p in seq[1].split("/"))
    elif "stages=" in name:
        stages = name.split("stages=")[1][:-1].replace("fold(halving)", "H").replace("fold(ring)", "R")
        name = "BC " + stages.replace("lanes(n=", "lanes(")
    elif "seq=" in name and len(name) > 30:
        name = "fold(seq=...)"
    return name + (f" x{slices}" if slices > 1 else "")


def time(s):
    for unit, of in (("s", 1), ("ms", 1e3), ("us", 1e6)):
        if s * of >= 1 or unit == "us":
            v = s * of
            return f"{v:.0f} {unit}" if v >= 99.5 else f"{v:.3g} {unit}"


def size(b):
    for unit in ("B", "KiB", "MiB", "GiB"):
        if b < 1024 or unit == "GiB":
            return f"{b:.3g} {unit}"
        b /= 1024


def put(name, head, rows):
    """Store a table as docs/bench/scale-NAME.json; tools/doc_tables.py inserts it into the page."""
    record.store(os.path.join(args.out, f"scale-{name}.json"),
                 dict(record.about("docs/scale.md says what this table shows", "make bench-scale"), columns=head),
                 [[str(c) for c in r] for r in rows])


# ---- the chosen plans ----

def winners():
    won = {}
    rows, cost = [], []
    for net in NETWORKS:
        for P in RANKS:
            found, first, took, peak = prices(P, NETWORKS[net][P], figures(net, P), "all", SIZES)
            won[net, P] = found
            whole, *_ = prices(P, NETWORKS[net][P], figures(net, P), "all", COLUMNS, "int32")
            rows.append([net, f"{P:,}"] + [f"{time(found[b][0])}<br>{short(*found[b][1:3])}"
                                           for b in COLUMNS])
            other = [b for b in COLUMNS if whole[b][0] < 0.999 * found[b][0]]
            cost.append([net, f"{P:,}", time(first), time(took), size(peak),
                         ", ".join(f"{size(b)}: {time(whole[b][0])} {short(*whole[b][1:3])}"
                                   for b in other) or "the same"])
    _, first, took, peak = prices(192, FEW[0], FEW[1], "all", SIZES)
    cost.insert(0, [FEW[0], "192", time(first), time(took), size(peak), ""])
    put("winners", ["network", "P"] + [size(b) for b in COLUMNS], rows)
    put("choosing", ["network", "P", "first choice, 8 B", f"{len(SIZES)} sizes", "memory at most", "for int32 instead"], cost)
    return won


# ---- today's practice ----

def ring_form(net, P, m):
    """The time of a ring: 2(P-1) times its slowest hop, because the longest chain of messages stays on that hop. If additions
    of long vectors take more than the additional time of the hop, the longest chain goes around the ring with them."""
    slow, fast, beta = {"fat tree": (1.5e-6 if P == 1000 else 1.8e-6, 1.2e-6, 8 / 200e9),
                        "dragonfly": (2e-6, 1.2e-6, 8 / 200e9),
                        "torus": (1.2e-6, 1e-6, 8 / 50e9)}[net]
    u, g = m / P, 5e-11
    return ((P - 1) * (slow + u * beta) + u * g +
            (P - 1) * max(slow + u * beta, fast + u * (beta + g)))


def practice(won):
    at = [8, 64 << 10, 1 << 20, 16 << 20, 256 << 20, 1 << 30]
    times, rows = {}, []
    for net in NETWORKS:
        for P in RANKS:
            rows.append([net, f"{P:,}", "**tutti's choice**"] +
                        [f"**{time(won[net, P][b][0])}**" for b in at] + ["", ""])
            for plan in PRACTICE:
                name = two_level(net, P) if plan == "two-level" else plan
                if plan == "fold(ring)" and P > 1000:
                    found, took = {b: (ring_form(net, P, b),) for b in SIZES}, None
                else:
                    found, took, _, peak = prices(P, NETWORKS[net][P], figures(net, P), name, SIZES)
                times[net, P, plan] = {b: v[0] for b, v in found.items()}
                rows.append(["", "", f"`{name}`"] + [time(found[b][0]) for b in at] +
                            (["closed form", ""] if took is None else [time(took), size(peak)]))
    put("practice", ["network", "P", "plan"] + [size(b) for b in at] + ["time to predict it", "memory at most"], rows)
    return times


# ---- closed forms ----

def forms():
    a, b, g, rows = 1.5e-6, 8 / 200e9, 5e-11, []
    flat = "alpha=1.5us,beta=200Gbit/s,gamma=0.05ns"

    def row(P, what, plan, topo, net, m, form):
        price = prices(P, topo, net, plan, [m])[0][m][0]
        rows.append([f"{P:,}", what, f"`{plan}`", size(m), f"{price:.9g}", f"{form:.9g}",
                     f"{abs(price - form) / form:.0e}"])

    for P in RANKS:
        L, m = math.ceil(math.log2(P)), 1 << 20
        u = m / P
        row(P, "001, 15", "fold(ring)", "", flat, m, 2 * (P - 1) * (a + u * b) + (P - 1) * u * g)
        row(P, "001, 25", "fold(halving)", "", flat, m,
            2 * L * a + 2 * (P - 1) * u * b + (P - 1) * u * g)
        for net in ("fat tree", "dragonfly"):
            for how in ("ring", "halving"):
                fig = figures(net, P)
                topo = NETWORKS[net][P]
                form, n, below, least, s = 0, m, 1, 1e99, (P - 1) * u * g
                for level in reversed(topo.split()):
                    name, each = level.split(":")
                    each = int(each)
                    alpha = float(re.search(name + r"\.alpha=([0-9.]+)us", fig)[1]) * 1e-6
                    unit = re.search(name + r"\.beta=([0-9.]+)([GT])", fig)
                    width = float(unit[1]) * {"G": 1e9, "T": 1e12}[unit[2]] / 8
                    least = min(least, width / below)
                    steps = each - 1 if how == "ring" else math.ceil(math.log2(each))
                    form += 2 * (steps * alpha + (each - 1) / each * n / least)
                    n, below = n / each, below * each
                row(P, f"002, 9, {net}", f"blueconnect({topo},{how})", topo, fig, m, form + s)
        topo, fig = NETWORKS["torus"][P], figures("torus", P)
        form, n = (P - 1) * u * g, m
        for level in reversed(topo.split()[:-1]):
            each = int(level.split(":")[1])
            form += 2 * (each - 1) * (1e-6 + n / each * 8 / 50e9)
            n /= each
        row(P, "002, 10, torus", f"blueconnect({topo},ring)", topo, fig, m, form)
    for net in NETWORKS:
        row(1000, f"slowest hop, {net}", "fold(ring)", NETWORKS[net][1000], figures(net, 1000),
            1 << 20, ring_form(net, 1000, 1 << 20))
    put("forms", ["P", "equation", "plan", "size", "price, s", "closed form, s", "apart by"], rows)


# ---- one rank ----

def median(P, *words):
    """Medians by the first word of a line: seconds, bytes kept, peak bytes, resident KiB."""
    runs = [[l.split() for l in scale(words[0], P, *words[1:])] for _ in range(5)]
    out = {}
    for k, line in enumerate(runs[0]):
        if line[0] in ("runs", "steps"):
            out.setdefault(line[0], []).append(" ".join(line[1:]))
        else:
            out[line[0]] = [statistics.median(float(r[k][i]) for r in runs) for i in range(1, 5)]
    return out


def setup():
    rows, scheds = [], []
    for net in ("fat tree", "torus"):
        for P in RANKS:
            progress(f"one rank of {P}: set-up, {net}")
            s = median(P, "setup", NETWORKS[net][P], figures(net, P), 1)
            rows.append([net, f"{P:,}", time(s["tables"][0]), size(s["tables"][1]),
                         time(s["exchange"][0]), time(s["places"][0]), time(s["first"][0]),
                         time(s["second"][0]), time(s["all"][0]), size(s["all"][1]),
                         size(s["all"][2]), size(s["all"][3] * 1024)])
    put("setup", ["network", "P", "tables", "bytes of them", "plan of the exchange", "places", "8 B: chosen and lowered", "1 MiB", "all", "kept", "at most", "resident"], rows)
    for P in RANKS:
        plans = ["fold(halving)", f"blueconnect({NETWORKS['fat tree'][P]},halving)", "doubling",
                 "rabenseifner", "tree(double,segments=4)", "generalized(latency)", "fold(ring)"]
        for plan in plans:
            progress(f"one rank of {P}: {plan}")
            s = median(P, "schedule", plan)
            steps, messages = s["steps"][0].split()
            scheds.append([f"{P:,}", f"`{plan}`", f"{int(steps):,}", f"{int(messages):,}",
                           time(s["built"][0]), size(s["built"][1]), time(s["lowered"][0]),
                           size(s["lowered"][1])])
    put("schedules", ["P", "plan", "steps", "messages", "built in", "bytes", "lowered in", "bytes"], scheds)


def uneven():
    """One rank's schedules of each collective on ten thousand nodes, of which some have fewer ranks."""
    rows = []
    for P, levels in UNEVEN.items():
        for coll in ("allreduce", "reduce_scatter", "allgather", "broadcast", "reduce"):
            plan = f"tree(leaders,{levels})" if coll in ("broadcast", "reduce") else f"blueconnect({levels})"
            progress(f"one rank of {P}: {coll} on uneven levels")
            s = median(P, "schedule", plan, coll)
            steps, messages = s["steps"][0].split()
            rows.append([f"`{levels}`", coll, steps, messages, time(s["built"][0]), size(s["built"][1]),
                         size(s["built"][2]), time(s["lowered"][0]), size(s["lowered"][1])])
    put("uneven", ["levels", "collective", "steps", "messages", "built in", "bytes", "at most", "lowered in", "bytes"], rows)


# ---- plots ----

CLASSES = [("log2 P steps, whole vectors", "doubling"), ("BlueConnect: halving on all levels", "halving"),
           ("BlueConnect: halving and rings", "blueconnect"), ("BlueConnect: rings on all levels", "ring"),
           ("others", "two-level")]


def class_of(name):
    seq = re.search(r"seq=([a-z/]+)", name)
    if name.startswith("blueconnect") and seq:
        kinds = set(seq[1].split("/"))
        return 1 if kinds == {"halving"} else 3 if kinds == {"ring"} else 2
    return 0 if re.match(r"doubling|elimination\(short\)|generalized|consistent|multiplying", name) else 4


def place(name):
    return os.path.join(args.out, "..", "figures", name + ".svg")


def plot_winners(won):
    first, last = SIZES[0] / 2 ** .5, SIZES[-1] * 2 ** .5
    out = ["set logscale x 2", "@BYTES", f"set xrange [{first}:{last}]", "set yrange [-0.6:10.9]",
           "set key tmargin center horizontal maxrows 2 nobox", "set xlabel 'vector'",
           "set title 'What would run, by the size of the vector (x2: in 2 slices)'", "set grid noy",
           "set lmargin 20", "set style fill solid 1 noborder", "set border 1", "set ytics scale 0"]
    y, tics = 10, []
    for net in NETWORKS:
        for P in RANKS:
            tics.append(f"'{net}, {P:,}' {y}")
            before = None
            for b in SIZES:
                _, name, slices, _ = won[net, P][b]
                out.append(f"set object rect from {b / 2 ** .5},{y - .38} to {b * 2 ** .5},{y + .38} "
                           f"fc {picture.line(CLASSES[class_of(name)][1])} fs solid noborder")
                again = won[net, P].get(2 * b, [0, name, slices])[1:3]
                if (name, slices) != before:
                    text = short(name, slices).replace("BC ", "").split("(")[0]
                    if before:
                        out.append(f"set arrow from {b / 2 ** .5},{y - .38} to {b / 2 ** .5},{y + .38} "
                                   "nohead lc rgb PAPER lw 2 front")
                    if tuple(again) == (name, slices): # otherwise it does not fit
                        out.append(f"set label '{text}' at {b / 2 ** .5 * 1.1},{y} font ',10' "
                                   "tc rgb 'white' front")
                before = (name, slices)
            y -= 1
        y -= .6
    out.append("set ytics (" + ", ".join(tics) + ")")
    used = {class_of(w[b][1]) for w in won.values() for b in SIZES}
    out.append("plot " + ", ".join(f"NaN with boxes {picture.line(of)} title '{t}'"
                                   for i, (t, of) in enumerate(CLASSES) if i in used))
    picture.draw(place("scale-winners"), "\n".join(out), 1000, 640)


def plot_times(won, times):
    lines = [f"linespoints {picture.line(p.split('(')[0] if p != 'fold(ring)' else 'ring')} lw 1.5 ps 0.5"
             for p in PRACTICE] + [f"linespoints {picture.line('tutti')} lw 4 ps 0.8"]
    names = PRACTICE + ["chosen"]
    for net in NETWORKS:
        panels = []
        for b in (8, 1 << 20, 1 << 30):
            out = [f"set title '{size(b)}'", "set logscale xy", "set xtics ('1,000' 1e3, '10,000' 1e4, '100,000' 1e5)",
                   "set xrange [800:125000]", "set xlabel 'ranks'", "set ylabel 'time'", "@TIMES_NEAR"]
            curves = [[times[net, P, plan][b] for P in RANKS] for plan in PRACTICE]
            curves.append([won[net, P][b][0] for P in RANKS])
            low, top = min(map(min, curves)), max(map(max, curves))
            out += [f"set yrange [{1e6 * low / 1.5}:{1e6 * top * 1.5}]"] + (["@TIMES"] if top / low > 300 else [])
            for i, curve in enumerate(curves):
                out += [f"$d{i} << E"] + [f"{P} {1e6 * t}" for P, t in zip(RANKS, curve)] + ["E"]
            panels.append(out + ["plot " + ", ".join(f"$d{i} with {how} title '{names[i]}'" for i, how in enumerate(lines))])
        picture.page(place("scale-time-" + net.replace(" ", "-")), f"Time of an allreduce against the number of ranks: {net}",
                     panels, 3, 360, 380, list(zip(lines, names)))


def main():
    global args
    p = argparse.ArgumentParser()
    p.add_argument("--build", default="build")
    p.add_argument("--out", default="docs/bench")
    p.add_argument("--only", default="prices,practice,forms,setup,uneven")
    args = p.parse_args()
    only = args.only.split(",")
    if {"prices", "practice"} & set(only):
        won = winners()
        plot_winners(won)
    if "practice" in only:
        plot_times(won, practice(won))
    if "forms" in only:
        forms()
    if "setup" in only:
        setup()
    if "uneven" in only:
        uneven()
    progress("")
    print(file=sys.stderr)


if __name__ == "__main__":
    main()
