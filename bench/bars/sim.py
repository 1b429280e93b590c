# sim.py - the targets of simulation: hundreds of ranks under SimGrid, tutti's choice compared with the
# best allreduce of SimGrid. Simulated time does not depend on the machine. SimGrid's times
# come from docs/sim/results.tsv (make sim); this program repeats the simulation of the fastest one.
# SPDX-License-Identifier: BSD-3-Clause
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "sim"))
import prices  # noqa: E402
import results as stored  # noqa: E402
import run as plans  # noqa: E402
import smpi  # noqa: E402
import tables  # noqa: E402
import topologies  # noqa: E402
from verdict import at_least, at_most, skipped  # noqa: E402

TITLE = "simulated: 37 to 255 ranks on a flat network, 192 ranks on three levels (the best built-in's time over tutti's); a late host"
TREE, RANKS = plans.TREE, plans.TREE_RANKS
SHORT = (8, 512, 4096, 16384, 65536)  # bytes: sizes for which latency takes more time than transfer
STORED = {}  # additional tables, see bars.py


def fresh_flat(results, build, ranks, sizes):
    for kind in tables.KINDS:
        results.put("flat", "sync", ranks, "tutti", kind, smpi.simulate("flat", ranks, "tutti", sizes, type=kind, build=build))
    for size in sizes:
        _, name = results.best("flat", "sync", ranks, size)
        again = smpi.simulate("flat", ranks, name, [size], shared=size > 1 << 20, build=build)
        results.put("flat", "sync", ranks, name, "float", again)


def fresh_tree(results, build, sizes):
    for what in ("tutti",) + plans.EQUATIONS + plans.RIVALS:
        what = what if what == "tutti" else "tutti:" + what
        for size in sizes[:2] if what[6:] in plans.RIVALS else sizes:
            found = smpi.simulate(TREE, RANKS, what, [size], shared=size > 10 << 20, build=build, limit=900)
            results.put(TREE, "sync", RANKS, what, "float", found)


def seconds(results, what, size):
    run = results.get(TREE, "sync", RANKS, what, "float", size)
    return run.seconds if run and run.verdict in stored.RIGHT else None


def equations(size):
    """Equations 6, 7 and 9 of paper 002 for this tree, with the latency of each hop."""
    link, (racks, nodes, cores) = smpi.TREE, (3, 16, 4)
    core = 2 * link["core"].latency
    node = core + 2 * link["node"].latency
    rack = node + 2 * link["rack"].latency
    slow = min(x.bandwidth for x in link.values())
    ring = 2 * (RANKS - 1) * (rack + size / RANKS / slow)
    leaders = racks * nodes
    in_node = 4 * (cores - 1) * (core + size / cores / link["core"].bandwidth)
    two = in_node + 2 * (leaders - 1) * (rack + size / leaders / slow)
    share = size / cores / nodes
    levels = (cores - 1) * (core + size / cores / link["core"].bandwidth)
    levels += (nodes - 1) * (node + size / nodes / link["node"].bandwidth)
    levels += (racks - 1) * (rack + share / racks * nodes * cores / link["rack"].bandwidth)
    return ring, two, 2 * levels


def factor_bars(results, size):
    ring, two, levels = equations(size)
    ran = [seconds(results, "tutti:" + plan, size) for plan in plans.EQUATIONS]
    for name, number, form, time in (("ring", 6, ring, ran[0]), ("two-level", 7, two, ran[1])):
        title = "192 ranks, %d MiB, unsliced: %s over BlueConnect, compared with equations %d and 9 (within 1.1)" % (size >> 20, name, number)
        if not time or not ran[2]:
            yield at_most(title, 1.1, None)
            continue
        off = (time / ran[2]) / (form / levels)
        yield at_most(title, 1.1, max(off, 1 / off))


def tree_bars(results, sizes):
    for size in sizes:
        ours, (built_in, name) = seconds(results, "tutti", size), results.best(TREE, "sync", RANKS, size)
        others = [seconds(results, "tutti:" + p, size) for p in plans.EQUATIONS[:2] + plans.RIVALS] + [built_in]
        least = min((x for x in others if x), default=None)
        title = "192 ranks, %d MiB: the best of ring, two-level and built-in (%s) over tutti's" % (size >> 20, name)
        yield at_least(title, 1, least / ours if least and ours else None)
    for size in sizes:
        ours = seconds(results, "tutti", size)
        if size >= 10 << 20:
            title = "192 ranks, %d MiB: over the bound of a node's link" % (size >> 20)
            yield at_most(title, 1.03, ours / tables.node_bound(size) if ours else None)
    for size in sizes:
        yield from factor_bars(results, size)


def short_bars(build):
    """Short vectors on three levels: tutti's choice, with an algorithm per level, compared with SimGrid's algorithms and
    two-level."""
    def right(what, **more):
        found = smpi.simulate(TREE, RANKS, what, SHORT, build=build, **more)
        return {b: run for b, run in found.items() if run.seconds and run.verdict in stored.RIGHT}
    def times(what, **more):
        return {b: run.seconds for b, run in right(what, **more).items()}
    choice, rows = right("tutti", limit=900), []
    ours = {b: run.seconds for b, run in choice.items()}
    rivals = {name: times(name, limit=120) for name in smpi.BUILTIN}
    rivals["two-level"] = times("tutti:" + plans.RIVALS[0], limit=900)
    for size in SHORT:
        least = min(((t[size], name) for name, t in rivals.items() if size in t), default=(None, None))
        title = "192 ranks, %d B: the best of built-in and two-level (%s) over tutti's" % (size, least[1])
        yield at_least(title, 1.3, least[0] / ours[size] if least[0] and size in ours else None)
        if least[0] and size in choice:
            us = [1e6 * x for x in (least[0], choice[size].seconds, choice[size].predicted)]
            rows.append(["{:,}".format(size), us[0], least[1], us[1], choice[size].plan, us[2]])
    STORED["levels-short"] = ("192 ranks on 3 racks of 16 nodes of 4 cores, float, simulated in microseconds",
                              ["bytes", "best built-in", "which", "tutti", "its plan", "its price"], rows)


def topology_bars(results, build):
    """Tori, fat trees, dragonflies and paper 001's cluster: predictions, the choice, and SimGrid's best allreduce. The choices
    on 64 ranks in order are simulated again; the other results are stored ones."""
    for network in (n for n in topologies.IN_ORDER if topologies.ranks_of(n) == 64):
        for size in topologies.SIZES:
            plan = topologies.choice(network, size, build)
            results.put(network, "sync", 64, "tutti", "float", smpi.simulate(network, 64, "tutti:" + plan, [size], build=build))
    prices.renew(results, build)
    for title, rows in tables.groups(results):
        off, choice, built = tables.measured(results, rows)
        if title != tables.MISTOLD:  # predictions from a wrong description of the network are not judged
            yield at_least("%s: prices within 10 %% of the simulation" % title, 0.9, tables.within(off, 0.1))
            yield at_least("%s: prices within 25 %%" % title, 1, tables.within(off, 0.25))
        yield at_most("%s: the choice over the best simulated plan, in the mean" % title, 1.05, sum(choice) / len(choice))
        yield at_most("%s: the choice over the best simulated plan, at worst" % title, 1.15, max(choice))
        yield at_least("%s: the best built-in's time over tutti's, at least" % title, 1, min(built), why="%.4f" % min(built))


def loggp_bars(results, build, some):
    """Several messages in flight per rank (LogGP): predictions, compared with SimGrid's best allreduce that sends one message
    at a time. 37 and 16 ranks are simulated again."""
    for ranks in some:
        results.put("flat", "loggp", ranks, "tutti", "float", smpi.simulate("flat", ranks, "tutti", tables.SIZES[:4], mode="loggp", build=build))
    rows = [tables.row_of(results, "loggp", ranks, "float", size) for ranks in tables.RANKS for size in tables.SIZES[:4]]
    off = [tables.from_simulation(row[1]) for row in rows if row]
    yield at_least("LogGP: prices within 10 % of the simulation", 0.9, tables.within(off, 0.1))
    yield at_least("LogGP: prices within 25 %", 1, tables.within(off, 0.25))
    yield at_least("LogGP: the best built-in's time over tutti's, at least", 1, min(row[0] for row in rows if row))


def bars(build, quick):
    if not shutil.which("smpirun") or not os.path.exists(os.path.join(build, "sim", "allreduce")):
        yield skipped("simulation", "SimGrid is not here: make sim installs it")
        return
    results = stored.Results(stored.PATH)
    sizes = tables.SIZES[:2] if quick else tables.SIZES
    for ranks in tables.POOLED[2:3] if quick else tables.POOLED:
        print("%d ranks ..." % ranks, file=sys.stderr, flush=True)
        fresh_flat(results, build, ranks, sizes)
    ran = []
    for kind, want in (("float", 1.2), ("int32", 1.28)):
        keys = [(p, s) for p in (tables.POOLED[2:3] if quick else tables.POOLED) for s in sizes]
        rows = [tables.row_of(results, "sync", p, kind, s) for p, s in keys]
        ran += [row[1] for row in rows if row]
        ratios = [row[0] for row in rows if row] if all(rows) else []
        yield at_least("flat, %s: the least of all (1 %% allowed)" % kind, 0.99, min(ratios, default=None))
        yield at_least("flat, %s: geometric mean" % kind, want, tables.geomean(ratios) if ratios else None)
    off = max((abs(tables.off_price(r)) for r in ran), default=None)
    yield at_most("flat: simulated over predicted, furthest off", 1.05, 1 + off if off is not None else None)
    yield from loggp_bars(results, build, (16,) if quick else (16, 37))
    if quick:
        return
    yield from topology_bars(results, build)
    yield from short_bars(build)
    fresh_tree(results, build, plans.MIB)
    yield from tree_bars(results, plans.MIB)
