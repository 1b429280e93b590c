# choice_bars.py - the targets of one mode of choosing (choice.py). Three parts of `make bars` use it.
# SPDX-License-Identifier: BSD-3-Clause
import os

import choice
from hosts import Skipped
from verdict import Cannot, at_least, at_most, limit

WANTED = {"built in": (1.25, None), "tuned": (1.10, 1.35), "measured": (1.03, 1.15)}  # in the mean, at worst
NAMES = {"built in": "built-in figures", "tuned": "after tutti tune", "measured": "with TUTTI_MEASURE=1"}


def mode_bars(build, quick, mode):
    """Measure the targets of one mode of choosing (bench/choice.py). Takes less than 20 minutes."""
    bench = choice.Bench(build, os.path.join(build, "bench"), quick=quick,
                               say=lambda line: print("# " + line.lstrip("# "), flush=True))
    places = ["2", "4"] if quick else ["2", "3", "4", "7", "8", "5x1", "6x1", "7x1"]
    found, left = choice.carry_out(bench, places, [mode])
    mean, worst = WANTED[mode]
    failed = "; ".join("%s: %s" % (w, e) for w, e in left.items() if not isinstance(e, Skipped))
    for where, why in left.items():
        yield at_most("%s: chosen over best" % where, mean, None, Cannot(why) if isinstance(why, Skipped) else str(why))
    s = None if failed else choice.sum_up(found[mode])
    at = " (%s)" % s["worst_at"] if s else ""
    yield at_most("%s: chosen over best, the mean" % NAMES[mode], mean, s and s["mean"], failed)
    if worst:
        yield at_most("%s: chosen over best, at worst, without the noise%s" % (NAMES[mode], at), worst, s and s["worst"], failed)
    yield limit("%s: the noise, in the mean" % NAMES[mode], s and s["noise"])
    if mode == "tuned":
        yield at_least("%s: share of predictions within 1.3 of measured" % NAMES[mode], 0.75, s and s["near"], failed)
