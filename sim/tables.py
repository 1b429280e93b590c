# tables.py - tables and plots of the simulated times: docs/sim/tables.md, docs/figures/sim-*.svg.
#
# A ratio is the best built-in's time over tutti's: above 1 tutti is faster.
# SPDX-License-Identifier: BSD-3-Clause
import collections
import math
import os
import sys

import shuffled
import smpi
import stragglers
import stragglers_tables
import topologies
import training
import training_tables
from results import RIGHT, record

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import picture  # noqa: E402

RANKS, SIZES = (127, 96, 37, 16, 255), (428, 9216, 102400, 1 << 20, 10 << 20)
POOLED = (127, 96, 37, 255)  # at powers of two the others are at their best
KINDS = {"float": "float, the same bits on all ranks", "int32": "int32, any grouping"}
TREE, TREE_RANKS = "rack:3 node:16 core:4", 192
MIB = tuple(n << 20 for n in (1, 10, 100))
LARGE = 1000
MISTOLD = "Only Table 2, which knows no hosts"
TABLES, PICTURES = "docs/sim/tables.md", "docs/figures"


def geomean(numbers):
    return math.exp(sum(map(math.log, numbers)) / len(numbers)) if numbers else float("nan")


def row_of(results, mode, ranks, kind, size, network="flat"):
    """(ratio, tutti's run, best, its name), or None."""
    ours = results.get(network, mode, ranks, "tutti", kind, size)
    best, name = results.best(network, mode, ranks, size)
    if not ours or not ours.seconds or ours.verdict not in RIGHT or not best:
        return None
    return best / ours.seconds, ours, best, name


def pooled(results, kind, mode="sync"):
    """{(ranks, size): ratio} of the four numbers of ranks."""
    rows = {(p, s): row_of(results, mode, p, kind, s) for p in POOLED for s in SIZES}
    return {key: row[0] for key, row in rows.items() if row}


def off_price(run):
    return run.seconds / run.predicted - 1


def from_simulation(run):
    """How far the price is from the simulated time, as a part of that time."""
    return abs(run.predicted / run.seconds - 1)


def node_bound(size):
    """Seconds: every node sends and receives all but its own part of the sums, both ways."""
    nodes = 48
    return 2 * size * (nodes - 1) / nodes / smpi.TREE["node"].bandwidth


def ms(seconds):
    return "%.4g" % (seconds * 1e3)


def flat_table(results, mode, kind):
    out = ["| ranks | bytes | tutti's plan | ms | price off | best built-in | ms | ratio | best of all | ms |", "| ---: | ---: | --- | ---: | ---: | --- | ---: | ---: | --- | ---: |"]
    for p in RANKS:
        for size in SIZES:
            row = row_of(results, mode, p, kind, size)
            if not row:
                continue
            ratio, ours, best, name = row
            other, which = results.best("flat", mode, p, size, many_ported=True)
            cells = [p, size, "`%s`" % ours.plan, ms(ours.seconds), "%+.1f %%" % (100 * off_price(ours))]
            cells += [name, ms(best), "%.2f" % ratio] + [which, ms(other)]
            out.append("| " + " | ".join(map(str, cells)) + " |")
    ratios = pooled(results, kind, mode)
    if ratios:
        out += ["", "Pooled over 127, 96, 37 and 255 ranks: %.3f; least %.3f." % (geomean(ratios.values()), min(ratios.values()))]
    return out


def names(results, network, mode, ranks):
    return sorted({k[3] for k in results.of if k[:3] == (network, mode, ranks)})


def full_table(results, network, mode, ranks, sizes, bound=None):
    head = ["| algorithm | " + " | ".join(str(s) for s in sizes) + " |", "| --- |" + " ---: |" * len(sizes)]
    for what in names(results, network, mode, ranks):
        cells = []
        for size in sizes:
            run = results.get(network, mode, ranks, what, "float", size)
            word = "" if not run else run.verdict if not run.seconds else ms(run.seconds)
            if run and run.seconds and run.verdict not in RIGHT:
                word += " wrong"
            cells.append(word + (" (%s)" % run.plan.split(" in ")[-1] if run and " in " in run.plan else ""))
        head.append("| %s | %s |" % (what if not what.startswith("tutti") else "**%s**" % what, " | ".join(cells)))
    if bound:
        head.append("| *bound* | " + " | ".join(ms(bound(s)) for s in sizes) + " |")
    return head


def tutti_runs(results, network, size, kind="float"):
    """{name: run} of tutti's choice and of the other plans that were simulated."""
    return {k[3]: r for k, r in results.of.items()
            if k[0] == network and k[4:6] == (kind, size) and k[3].startswith("tutti") and r.seconds and results.is_right(k)}  # fmt: skip


def beside(results, network, ranks, sizes, builtins):
    """(network, size, tutti's run, (seconds, name) of the best of its plans, (seconds, name) of the best built-in on `builtins`)"""
    for size in sizes:
        ran = tutti_runs(results, network, size)
        best = results.best(builtins, "sync", ranks, size, many_ported=True)
        if "tutti" in ran and best[0]:
            yield network, size, ran["tutti"], min((r.seconds, name) for name, r in ran.items()), best


def topology_rows(results):
    return [row for network in topologies.NETWORKS
            for row in beside(results, network, topologies.ranks_of(network), topologies.SIZES, network)]  # fmt: skip


def shuffled_rows(results):
    return [row for network in shuffled.NETWORKS
            for row in beside(results, network, shuffled.RANKS, shuffled.SIZES, shuffled.builtins_of(network))]  # fmt: skip


def beside_table(rows):
    """Price off: simulated over predicted. Best plan and best built-in: over tutti's choice."""
    out = ["| network | bytes | tutti's plan | us | price off | best plan | best built-in | |", "| --- | ---: | --- | ---: | ---: | ---: | ---: | --- |"]
    for network, size, ours, best, built in rows:
        cells = [network, size, "`%s`" % ours.plan.replace(", proven by its form", ""), "%.1f" % (1e6 * ours.seconds), "%+.0f %%" % (100 * off_price(ours))]
        out.append("| " + " | ".join(map(str, cells + ["%.2f" % (best[0] / ours.seconds), "%.2f" % (built[0] / ours.seconds), built[1]])) + " |")
    return out


def topology_table(results):
    out = ["sim/topologies.py describes networks such as `torus:4x4x4`. Price off: simulated over predicted. Best plan: the fastest of", "the %d plans with the best estimates that were simulated (%d on 256 ranks, and of shuffled ones), over tutti's choice. Best built-in: of all, over tutti's choice." % (1 + topologies.CANDIDATES, 1 + topologies.FEWER), ""]
    rows = topology_rows(results)
    for title, some in (("Ranks in order", [r for r in rows if r[0] in topologies.IN_ORDER]), ("Ranks shuffled", [r for r in rows if r[0] not in topologies.IN_ORDER])):
        if some:
            out += ["*%s*" % title, ""] + beside_table(some) + [""] + beside_words(results, some) + [""]
    return out


def shuffled_table(results):
    rows = shuffled_rows(results)
    out = ["8 hosts of 20 cores, 160 ranks; sim/shuffled.py says what tutti is told.", ""] + beside_table(rows) + [""]
    for title, some in split_by_told(rows):
        out += ["*%s*" % title, ""] + beside_words(results, some) + [""]
    for network in shuffled.NETWORKS:
        each = ["%d B %s us (`%s`)" % (s, "%.1f" % (1e6 * r.seconds), r.plan.replace(", proven by its form", ""))
                for s in shuffled.SIZES for r in [tutti_runs(results, network, s, "int32").get("tutti")] if r]  # fmt: skip
        out += ["", "The choice for integers on %s: %s." % (network, ", ".join(each))] if each else []
    return out


def split_by_told(rows):
    """Rows with the parameters of the network, and rows with wrong parameters."""
    wrong = "untold-" + shuffled.IN_ORDER
    return (("Figures of the cluster", [r for r in rows if r[0] != wrong]), (MISTOLD, [r for r in rows if r[0] == wrong]))


def store_topologies(results):
    """docs/bench/topologies.json, as store_shuffled: the best built-in over the choice, at each size."""
    ratio = {(network, size): built[0] / ours.seconds for network, size, ours, _, built in topology_rows(results)}

    def cell(network):
        ratios = [ratio.get((network, size)) for size in topologies.SIZES]
        return ", ".join("%.2f" % x if x else "-" for x in ratios) if any(ratios) else None

    rows = []
    for prefix, words in (("", ""), ("shuffled-", ", shuffled")):
        named = {(kind, topologies.ranks_of(n)): n for n in topologies.NETWORKS for kind in topologies.KINDS if n.startswith(prefix + kind)}
        counts = {kind: sorted(ranks for k, ranks in named if k == kind) for kind in topologies.KINDS}
        for row in zip(*(counts[kind] for kind in topologies.KINDS)):
            ranks = " and ".join(str(n) for n in sorted(set(row)))
            rows.append([ranks + words] + [cell(named[kind, n]) for kind, n in zip(topologies.KINDS, row)])
    record.store(os.path.join(training_tables.STORED, "topologies.json"),
                 dict(record.about("the best built-in's time over the choice's, 1 KiB, 16 KiB, 256 KiB and 4 MiB, floats", "make sim ONLY=topologies"), columns=["ranks", "torus", "fat tree", "dragonfly"]), rows)


def store_shuffled(results):
    """docs/bench/shuffled.json."""
    def ours(network, size):
        run = tutti_runs(results, network, size).get("tutti")
        return "%.4g us" % (1e6 * run.seconds) if run else None

    rows = []
    for size in shuffled.SIZES:
        seconds, name = results.best("shuffled-" + shuffled.IN_ORDER, "sync", shuffled.RANKS, size, many_ported=True)
        rows.append(["{:,}".format(size)] + [ours(network, size) for network in shuffled.NETWORKS] + ["%.4g us (`%s`)" % (1e6 * seconds, name) if seconds else None])
    heads = ["bytes", "in order", "shuffled, tutti knows the hosts", "shuffled, tutti knows only Table 2", "shuffled, and tutti knows that it does not know where", "best of SMPI, shuffled"]
    record.store(os.path.join(training_tables.STORED, "shuffled.json"),
                 dict(record.about("paper 001's cluster: 8 hosts of 20 cores, floats", "make sim ONLY=shuffled"), columns=heads), rows)


# Summary of rows: relative errors of the estimates, the choice over the best simulated plan, and the best built-in over the choice.
Beside = collections.namedtuple("Beside", "off choice built")


def measured(results, rows):
    off = [from_simulation(r) for network, size, *_ in rows for r in tutti_runs(results, network, size).values() if r.predicted]
    return Beside(off, [ours.seconds / best[0] for _, _, ours, best, _ in rows], [b[0] / ours.seconds for _, _, ours, _, b in rows])


def within(off, most):
    """The fraction of estimates with at most this error."""
    return sum(x <= most for x in off) / len(off)


def beside_words(results, rows):
    if not rows:
        return []
    off, choice, built = measured(results, rows)
    return ["%d prices: %.0f %% are within 10 %% of the simulation, %.0f %% within 25 %%; the furthest is %.0f %% off." % (
        len(off), 100 * within(off, 0.1), 100 * within(off, 0.25), 100 * max(off)),
        "The choice takes %.3f times as long as the best simulated plan in the mean, %.2f at worst; the best built-in takes %.2f times as long as the choice in the geometric mean, %.3f at least." % (
        sum(choice) / len(choice), max(choice), geomean(built), min(built))]


def groups(results):
    """(title, rows) of networks with shared links, grouped by the parameters that tutti gets."""
    every = topology_rows(results)
    kinds = (("Ranks in order", [r for r in every if r[0] in topologies.IN_ORDER]), ("Ranks shuffled", [r for r in every if r[0] not in topologies.IN_ORDER]))
    return kinds + split_by_told(shuffled_rows(results))


def write(results):
    out = ["# Simulated: tutti compared with every allreduce that is built into SMPI", ""]
    out += ["Written by `make sim`; [simulation.md](../simulation.md) says how it is simulated. Times in ms. Ratio: the", "best built-in that sends one message at a time over tutti's choice. Best of all: with `rab1`", "and `rab2`, which hand over many messages for one latency.", ""]
    for mode, title in (("sync", "Flat network, a send holds its caller"), ("loggp", "Flat network, LogGP (o = 5 us)")):
        for kind in KINDS:
            out += ["## %s: %s" % (title, KINDS[kind]), ""] + flat_table(results, mode, kind) + [""]
    out += ["## Flat network, 127 ranks, all", ""] + full_table(results, "flat", "sync", 127, SIZES) + [""]
    out += ["## 192 ranks: %s" % TREE, ""] + full_table(results, TREE, "sync", TREE_RANKS, MIB, node_bound) + [""]
    out += ["## 1,000 ranks", ""] + full_table(results, "flat", "sync", LARGE, SIZES[:3]) + [""]
    out += ["## Tori, fat trees, dragonflies", ""] + topology_table(results) + [""]
    out += ["## Paper 001's cluster", ""] + shuffled_table(results) + [""]
    steps, late = training.store(), stragglers.store()
    out += ["## Training", ""] + training_tables.lines(steps) + ["## Late ranks, a slow link, a lost host", ""] + stragglers_tables.lines(late)
    training_tables.write(steps)
    store_topologies(results)
    store_shuffled(results)
    stragglers_tables.write(late)
    with open(TABLES, "w") as file:
        file.write("\n".join(out))
    draw(results)


def draw(results):
    if picture.ready():
        draw_flat(results)
        draw_tree(results)


def plot(name, script, height):
    os.makedirs(PICTURES, exist_ok=True)
    picture.draw(os.path.join(PICTURES, name), script, 900, height)


def draw_flat(results):
    lines, data = [], ""
    for i, p in enumerate(RANKS):
        for kind, look in (("float", "lt %d pt 7" % (i + 1)), ("int32", "lt %d pt 6" % (i + 11))):
            rows = [(s, row_of(results, "sync", p, kind, s)) for s in SIZES]
            block = "".join("%d %.4f\n" % (s, r[0]) for s, r in rows if r)
            if block:
                data += "$d%d%s << E\n%sE\n" % (p, kind, block)
                lines.append("$d%d%s using 1:2 %s title '%d, %s'" % (p, kind, look, p, kind))
    if lines:
        plot("sim-flat.svg", data + "set title 'Best built-in over tutti, simulated (alpha 30 us, 100 MB/s)'\nset logscale x\n@BYTES\nset xrange [300:20e6]; set yrange [0.9:2]\nset ylabel 'times faster'; set xlabel 'vector'; set key title 'ranks, type' left textcolor rgb INK\nplot 1 with lines lc rgb GREY notitle, " + ", ".join(lines) + "\n", 430)


TOP = 3  # a longer bar is cut there, and shows its length


def draw_tree(results):
    """A row per algorithm; the longest names are next to their bars."""
    wanted = [w for w in names(results, TREE, "sync", TREE_RANKS) if all((results.get(TREE, "sync", TREE_RANKS, w, "float", s) or smpi.Run(None, "", "", None)).seconds for s in MIB)]
    order = sorted(wanted, key=lambda w: results.get(TREE, "sync", TREE_RANKS, w, "float", MIB[1]).seconds)
    order = [w for w in order if results.get(TREE, "sync", TREE_RANKS, w, "float", MIB[1]).seconds < 8 * node_bound(MIB[1])]
    script, tics, plots = "", [], []
    for k, size in enumerate(MIB):
        rows = []
        for i, w in enumerate(order):
            times, y = results.get(TREE, "sync", TREE_RANKS, w, "float", size).seconds / node_bound(size), i + 0.27 * (k - 1)
            rows.append("%g %.3f %.3f %.3f" % (y, min(times, TOP), y - 0.13, y + 0.13))
            if times > TOP:
                script += "set label '%.1f' at %g, %g left offset 0.5,0 font ',9' tc rgb INK\n" % (times, TOP, y)
        script += "$b%d << E\n%s\nE\n" % (k, "\n".join(rows))
        plots.append("$b%d using 2:1:(0):2:3:4 with boxxyerror lt %d title '%d MiB'" % (k, k + 1, size >> 20))
    for i, w in enumerate(order):
        label = w.replace("tutti:", "tutti, ").replace("(" + TREE, "(").replace("(,", "(").replace("@1", ", unsliced")
        tics.append("'%s' %d" % (label, i))
    if order:
        plot("sim-tree.svg", script + "set title '192 ranks, 3 racks of 16 nodes of 4: time over the bound of a node link'\nset lmargin at screen 0.36; set xrange [0:%g]; set yrange [%g:-0.6]; set xtics 0,0.5,%g; set ytics scale 0 noenhanced (%s); set grid noy\nset xlabel 'times the bound (longer bars are cut, and labeled)'\nset arrow from 1,graph 0 to 1,graph 1 nohead lw 1.5 lc rgb INK front\nplot " % (TOP, len(order) - 0.4, TOP, ", ".join(tics)) + ", ".join(plots) + "\n", 620)


def summary(results):
    for mode in ("sync", "loggp"):
        for kind in KINDS:
            ratios = pooled(results, kind, mode)
            if ratios:
                print("flat, %s, %s: pooled %.3f, least %.3f" % (mode, kind, geomean(ratios.values()), min(ratios.values())))
    for size in MIB:
        row = row_of(results, "sync", TREE_RANKS, "float", size, TREE)
        if row:
            print("192 ranks, %d MiB: %s ms, %.3f of the node link's bound; best built-in %s %s ms" % (size >> 20, ms(row[1].seconds), row[1].seconds / node_bound(size), row[3], ms(row[2])))
    for title, rows in groups(results):
        for line in beside_words(results, rows):
            print("%s: %s" % (title, line))
    print("%s, %s/sim-*.svg" % (TABLES, PICTURES))
