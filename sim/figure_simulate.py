# figure_simulate.py - SimGrid's times (sim/smpi.py): the flat network of paper 001, SMPI's own
# algorithms and tutti's plans, at the sizes and numbers of ranks of the figures.
# SPDX-License-Identifier: BSD-3-Clause
import figure_source as source
from figure_measure import bar
from figure_model import proposed_plan, steps_removed

OWN = ["rdb", "lr", "rab_rdb"]  # SimGrid's doubling, ring, and halving with extra ranks folded in


def jobs():
    """(ranks, what, type, sizes) on the flat network."""
    for what in OWN + ["tutti"]:
        yield source.P, what, "float", source.SIZES_127
    for plan, kind in source.versions(source.P):
        yield source.P, "tutti:" + plan, kind, source.SIZES_127
    for ranks in source.RANKS:
        for what in ("rdb", "rab_rdb", "tutti:rabenseifner", "tutti"):
            yield ranks, what, "float", [source.SMALL, source.MIDDLE]
        wanted = {"generalized(latency)": [source.SMALL, source.MIDDLE]}
        wanted.setdefault(proposed_plan(ranks, steps_removed(ranks, source.MIDDLE)), [source.MIDDLE])
        for plan, sizes in wanted.items():
            yield ranks, "tutti:" + plan, "float" if plan == "fold(halving)" else "int32", sizes


def fill_two(table, again, build):
    """Paper 002's systems, with vectors that are not real, because they are large."""
    import figure_two
    import smpi

    every = list(figure_two.jobs())
    for i, (name, levels, widths, ranks, what, sizes) in enumerate(every):
        bar(i, len(every), "%d ranks, %s" % (ranks, what))
        left = [b for b in sizes if again or not table.has(name, "sync", ranks, what, "float", b)]
        links = {n: smpi.Level(0, w) for n, w in zip(figure_two.NAMES, widths)}
        links["core"] = smpi.Level(figure_two.LATENCY / 2, widths[0])
        for size in left:
            ran = smpi.simulate(
                levels, ranks, what, [size], shared=True, links=links, build=build, limit=900
            )[size]
            verdict = "ok" if ran.verdict == "unchecked" else ran.verdict
            table.put(name, "sync", ranks, what, "float", size, ran.seconds or 0, verdict)
        table.write()
    bar(len(every), len(every), "simulated")


def fill(table, again, build):
    """Simulate the runs missing from the table, or all; written after each run, so it may be stopped."""
    import smpi

    every = list(jobs())
    for i, (ranks, what, kind, sizes) in enumerate(every):
        bar(i, len(every), "%d ranks, %s" % (ranks, what))
        left = [b for b in sizes if again or not table.has("flat", "sync", ranks, what, kind, b)]
        if not left:
            continue
        found = smpi.simulate("flat", ranks, what, left, type=kind, mode="sync", build=build)
        for size, ran in found.items():
            table.put("flat", "sync", ranks, what, kind, size, ran.seconds, ran.verdict)
        table.note("simulated", "SimGrid SMPI, sim/smpi.py")
        table.write()
    bar(len(every), len(every), "simulated")
    fill_two(table, again, build)
