# frontier.py - how near floats come to what is possible without the same bits on all ranks: the price of tutti's
# choice for floats beside the frontier, the cheapest generalized allreduce, on paper 001's machine. Prices do not
# depend on the machine; SimGrid, which knows nothing of them, repeats some of the points.
# SPDX-License-Identifier: BSD-3-Clause
import json
import math
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "sim"))
import smpi  # noqa: E402
from verdict import at_least, at_most, skipped  # noqa: E402

TITLE = "prices and simulation: floats between the fewest steps and the fewest bytes, on the machine of paper 001"
MACHINE = "alpha=30us,beta=1e-8,gamma=2e-10"
RANKS = (23, 37, 96, 127, 191, 255, 1000)
SIZES = tuple(256 << i for i in range(9))
# Schedules that tutti did not have, or did not propose, when issue 35 was written.
NEW = ("lanes", "windows", "searched", "generalized(r=%d,group=")
WANTED = {(127, 2048): 347, (127, 4096): 408, (127, 8192): 513, (1000, 4096): 516}  # us
NEAR = {23: 1.25, 37: 1.25}  # of the frontier; else 1.16
ODD_ONES = (97, 113, 127, 255)  # ranks for which ceil(log2 P) rounds are wanted at 8 B
SIMULATED = {(p, s) for p in (37, 96, 127, 255) for s in (2048, 4096, 8192)}


def prices(build, ranks, size):
    command = [os.path.join(build, "tutti"), "plan", "price", "all", "-P", str(ranks), "--size", str(size), "--net", MACHINE, "--json"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True, timeout=600).stdout)["plans"]


def is_new(plan):
    return plan.startswith(NEW[:3]) or (plan.startswith("generalized(") and "group=" in plan)


class Point:
    """What one size costs: in seconds."""

    def __init__(self, plans):
        fine = [p for p in plans if p["admissible"]]
        self.choice = min(fine, key=lambda p: p["seconds"])
        self.now = self.choice["seconds"]
        self.before = min(p["seconds"] for p in fine if not is_new(p["plan"]))
        self.frontier = min(p["seconds"] for p in plans if p["possible"] and p["plan"].startswith("generalized("))


def geomean(numbers):
    return math.exp(sum(map(math.log, numbers)) / len(numbers))


def price_bars(points):
    for (ranks, size), want in WANTED.items():
        if (ranks, size) in points:
            yield at_most("P=%d, %d B, price, us" % (ranks, size), want, 1e6 * points[ranks, size].now)
    gains = {k: p.before / p.now for k, p in points.items()}
    yield at_least("the choice without these schedules over the choice, geometric mean", 1.07, geomean(gains.values()))
    worst = min(gains, key=gains.get)
    yield at_least("... least (at P=%d, %d B)" % worst, 1, gains[worst])
    for ranks in sorted({r for r, _ in points}):
        far = {s: p.now / p.frontier for (r, s), p in points.items() if r == ranks}
        worst = max(far, key=far.get)
        yield at_most("P=%d, the choice over the frontier, greatest (at %d B)" % (ranks, worst), NEAR.get(ranks, 1.16), far[worst])


def round_bars(build):
    for ranks in ODD_ONES:
        choice = Point(prices(build, ranks, 8)).choice
        yield at_most("P=%d, 8 B, rounds of %s" % (ranks, choice["plan"]), math.ceil(math.log2(ranks)), choice["steps"])


def simulated_bars(build, points):
    if not shutil.which("smpirun") or not os.path.exists(os.path.join(build, "sim", "allreduce")):
        yield skipped("simulation", "SimGrid is not here: make sim installs it")
        return
    off, least = {}, {}
    for ranks in sorted({r for r, _ in SIMULATED}):
        sizes = sorted(s for r, s in SIMULATED if r == ranks)
        print("%d ranks are simulated ..." % ranks, file=sys.stderr, flush=True)
        ours = smpi.simulate("flat", ranks, "tutti", sizes, type="float", build=build)
        others = [smpi.simulate("flat", ranks, name, sizes, build=build, limit=60) for name in smpi.BUILTIN]
        for size in sizes:
            run = ours.get(size)
            rivals = [o[size].seconds for o in others if o.get(size) and o[size].seconds]
            if not run or not run.seconds or not rivals:
                yield at_least("P=%d, %d B, simulated" % (ranks, size), 1, None)
                continue
            off[ranks, size] = max(run.seconds / run.predicted, run.predicted / run.seconds)
            least[ranks, size] = min(rivals) / run.seconds
    worst = max(off, key=off.get)
    yield at_most("simulated over the price, furthest off (at P=%d, %d B)" % worst, 1.02, off[worst])
    worst = min(least, key=least.get)
    yield at_least("simulated: SimGrid's best allreduce over tutti's, least (at P=%d, %d B)" % worst, 1, least[worst])


def bars(build, quick):
    points = {}
    for ranks in RANKS[:3] if quick else RANKS:
        print("%d ranks ..." % ranks, file=sys.stderr, flush=True)
        for size in SIZES:
            points[ranks, size] = Point(prices(build, ranks, size))
    yield from price_bars(points)
    yield from round_bars(build)
    if not quick:
        yield from simulated_bars(build, points)
