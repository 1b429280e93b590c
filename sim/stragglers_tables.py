# stragglers_tables.py - the tables of docs/sim/tables.md on late ranks, a slow link and a lost host (stragglers.py), and what
# docs/simulation.md shows of them (docs/bench/stragglers-*.json).
# SPDX-License-Identifier: BSD-3-Clause
import os

import stragglers
from results import record
from training_tables import STORED, cell, grid


def ms(kept, *key):
    seconds = kept.number("seconds", *key)
    return None if seconds is None else 1e3 * seconds


def late_tables(kept):
    for size in stragglers.SIZES:
        yield "%d B, 32 hosts of paper 001: ms from the arrival of the last rank. An exchange takes at least %.2f." % (
            size, 1e3 * stragglers.least_exchange(size))
        yield ""
        rows = [[case] + [cell(ms(kept, "late", stragglers.RANKS, case, plan, size), "%.2f") for plan in stragglers.PLANS] for case in stragglers.DELAYS]
        yield from grid(["late ranks, by"] + list(stragglers.PLANS), rows)


def link_table(kept):
    rows = {}
    for (what, _, _, plan, size), row in sorted(kept.of.items()):
        if what == "link":
            rows.setdefault(plan, {})[int(size)] = ms(kept, "link", stragglers.RANKS, "a tenth", plan, size)
    yield "The link of rank %d at a tenth of its rate: ms. Told: the profile has the rate of this link." % stragglers.LATE
    yield ""
    yield from grid(["plan"] + ["%d B" % s for s in stragglers.SIZES], [[p] + [cell(each.get(s), "%.2f") for s in stragglers.SIZES] for p, each in rows.items()])


def lost_table(kept):
    yield "A host is lost in the middle of an allreduce of %d B: ms from the report of one rank's network until all others have the error." % stragglers.LOST_SIZE
    yield ""
    rows = [[str(ranks)] + [cell(ms(kept, "lost", ranks, "-", plan, stragglers.LOST_SIZE), "%.3f") for plan in stragglers.LOST_PLANS] for ranks in stragglers.LOST_RANKS]
    yield from grid(["ranks"] + list(stragglers.LOST_PLANS), rows)


def lines(kept):
    out = ["Times of `make sim ONLY=stragglers`; sim/stragglers.py says what is simulated.", ""]
    return out + [*late_tables(kept), *link_table(kept), *lost_table(kept)]


def write(kept):
    """A cell is in ms."""
    def store(name, what, rows):
        if rows:
            record.store(os.path.join(STORED, "stragglers-%s.json" % name), record.about(what, "make sim ONLY=stragglers"), rows)

    size = stragglers.SIZES[-1]
    late = [dict({"late": case}, **{plan: ms(kept, "late", stragglers.RANKS, case, plan, size) for plan in stragglers.PLANS}) for case in stragglers.DELAYS]
    store("late", "32 hosts, %d B: ms from the last arrival" % size, [r for r in late if None not in r.values()])
    rows = [[ms(kept, what, stragglers.RANKS, case, plan, s) for what, case, plan in (
        ("late", "none", "choice"), ("link", "a tenth", "choice"), ("link", "a tenth", "choice, told"), ("link", "a tenth", "ring"), ("link", "a tenth", "rab_rdb"))] for s in stragglers.SIZES]
    heads = ["all links alike", "one at a tenth", "and the price knows it", "ring", "the best of SMPI, rab_rdb"]
    store("link", "32 hosts, the link of one at a tenth of its rate: ms", [dict({"bytes": "{:,}".format(s)}, **dict(zip(heads, r))) for s, r in zip(stragglers.SIZES, rows) if None not in r])
    lost = [dict({"ranks": str(p)}, **{plan: ms(kept, "lost", p, "-", plan, stragglers.LOST_SIZE) for plan in stragglers.LOST_PLANS}) for p in stragglers.LOST_RANKS]
    store("lost", "a host lost in an allreduce of %d B: ms from the first report until all others have the error" % stragglers.LOST_SIZE, [r for r in lost if r["halving"] is not None])
