# choice.py - the targets of the cost model and the choice of plans: the chosen plan is about the fastest of all possible
# plans, predictions are accurate, and choosing takes negligible time.
# SPDX-License-Identifier: BSD-3-Clause
from choice_bars import mode_bars
from measure import Lab, run
from verdict import at_most

TITLE = "the chosen plan versus the best plan (float sum in place, cycle measure)"


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


def bars(build, quick):
    yield from model(Lab(build))
    yield from mode_bars(build, quick, "tuned")
