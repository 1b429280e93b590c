# choice.py - the bars of price and choice: is the chosen plan about the best of all possible plans,
# are the predictions true, and is the cost of the choice negligible?
# SPDX-License-Identifier: BSD-3-Clause
import importlib.util
import os

from hosts import Skipped
from measure import Lab, run
from verdict import Cannot, at_least, at_most, limit

HERE = os.path.dirname(os.path.abspath(__file__))
spec = importlib.util.spec_from_file_location("bench_choice", os.path.join(HERE, "..", "choice.py"))
bench_choice = importlib.util.module_from_spec(spec)
spec.loader.exec_module(bench_choice)

TITLE = "the chosen plan versus the best plan (float sum in place, cycle measure)"
WANTED = {"built in": (1.25, None), "tuned": (1.10, 1.35), "measured": (1.03, 1.15)}  # in the mean, at worst
NAMES = {"built in": "built-in figures", "tuned": "after tutti tune", "measured": "with TUTTI_MEASURE=1"}


def model(lab):
    out, _ = run([lab.path("bench/price"), "-l"], timeout=300)
    figures = {k: float(v) for k, v in (line.split() for line in out.splitlines())}
    yield at_most("127 ranks: the coefficients of all plans, ms", 20, figures["build127"])
    yield at_most("127 ranks: a new size, all plans, us", 50, figures["evaluate"])
    yield at_most("the next call of the same kind, ns", 50, figures["again"])
    yield at_most("8 ranks: a plan's proof at its first use, at worst, ms", 5, figures["prove8"])
    yield at_most("100,000 ranks, fold(halving): priced in, s", 1, figures["huge_halving"] / 1e3)
    yield at_most("100,000 ranks, fold(ring): priced in, s", 1, figures["huge_ring"] / 1e3)
    yield at_most("127 ranks, the paper's network: the choice over the cheapest of all", 1.000001, figures["brute"])


def choices(build, quick, mode):
    """The bars of one mode of choosing (bench/choice.py): under 20 minutes."""
    bench = bench_choice.Bench(build, os.path.join(build, "bench"), quick=quick,
                               say=lambda line: print("# " + line.lstrip("# "), flush=True))
    places = ["2", "4"] if quick else ["2", "3", "4", "7", "8", "5x1", "6x1", "7x1"]
    found, left = bench_choice.carry_out(bench, places, [mode])
    mean, worst = WANTED[mode]
    failed = "; ".join("%s: %s" % (w, e) for w, e in left.items() if not isinstance(e, Skipped))
    for where, why in left.items():
        yield at_most("%s: chosen over best" % where, mean, None, Cannot(why) if isinstance(why, Skipped) else str(why))
    s = None if failed else bench_choice.sum_up(found[mode])
    at = " (%s)" % s["worst_at"] if s else ""
    yield at_most("%s: chosen over best, the mean" % NAMES[mode], mean, s and s["mean"], failed)
    if worst:
        yield at_most("%s: chosen over best, at worst, without the noise%s" % (NAMES[mode], at), worst, s and s["worst"], failed)
    yield limit("%s: the noise, in the mean" % NAMES[mode], s and s["noise"])
    if mode == "tuned":
        yield at_least("%s: share of predictions within 1.3 of measured" % NAMES[mode], 0.75, s and s["near"], failed)


def bars(build, quick):
    yield from model(Lab(build))
    yield from choices(build, quick, "tuned")
