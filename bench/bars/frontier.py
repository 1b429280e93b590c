# frontier.py - the targets of float sums compared with the fastest plans that do not guarantee the same bits on all ranks
# (sim/frontier.py), and a check with SimGrid, which is independent of the cost model. Predictions do not depend on the machine.
# SPDX-License-Identifier: BSD-3-Clause
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "sim"))
import frontier as f  # noqa: E402
import smpi  # noqa: E402
from figure_model import log2_up  # noqa: E402
from verdict import at_least, at_most, limit, skipped  # noqa: E402

TITLE = "prices and simulation: floats between the fewest steps and the fewest bytes, on the machine of paper 001"
WANTED = {(127, 2048): 347, (127, 4096): 408, (127, 8192): 513, (1000, 4096): 516}  # us
NEAR = {23: 1.25, 37: 1.25}  # ranks: allowed time relative to the frontier; 1.16 for other numbers of ranks
ODD_ONES = (97, 113, 127, 255)  # ranks for which ceil(log2 P) rounds are wanted at 8 B
SIMULATED = {(p, s) for p in (37, 96, 127, 255) for s in (2048, 4096, 8192)}


def price_bars(points):
    for (ranks, size), want in WANTED.items():
        if (ranks, size) in points:
            yield at_most("P=%d, %d B, price, us" % (ranks, size), want, 1e6 * points[ranks, size].now)
    gains = {k: p.before / p.now for k, p in points.items()}
    yield at_least("the choice without these schedules over the choice, geometric mean", 1.07, f.geomean(gains.values()))
    worst = min(gains, key=gains.get)
    yield at_least("... least (at P=%d, %d B)" % worst, 1, gains[worst])
    for ranks in sorted({r for r, _ in points}):
        far = {s: p.now / p.frontier for (r, s), p in points.items() if r == ranks}
        worst = max(far, key=far.get)
        yield at_most("P=%d, the choice over the frontier, greatest (at %d B)" % (ranks, worst), NEAR.get(ranks, 1.16), far[worst])


def round_bars(build):
    for ranks in ODD_ONES:
        choice = f.Point(build, ranks, 8).choice
        yield at_most("P=%d, 8 B, rounds of %s" % (ranks, choice["plan"]), log2_up(ranks), choice["steps"])


def simulated_bars(build):
    if not shutil.which("smpirun") or not os.path.exists(os.path.join(build, "sim", "allreduce")):
        yield skipped("simulation", "SimGrid is not here: make sim installs it")
        return
    off, least, many_ported = {}, {}, {}
    for ranks in sorted({r for r, _ in SIMULATED}):
        sizes = sorted(s for r, s in SIMULATED if r == ranks)
        print("%d ranks are simulated ..." % ranks, file=sys.stderr, flush=True)
        ours = smpi.simulate("flat", ranks, "tutti", sizes, type="float", build=build)
        others = {name: smpi.simulate("flat", ranks, name, sizes, build=build, limit=60) for name in smpi.BUILTIN}
        for size in sizes:
            run = ours.get(size)
            times = {n: o[size].seconds for n, o in others.items() if o.get(size) and o[size].seconds}
            rivals = [t for n, t in times.items() if n not in smpi.MANY_PORTED]
            if not run or not run.seconds or not rivals:
                yield at_least("P=%d, %d B, simulated" % (ranks, size), 1, None)
                continue
            off[ranks, size] = max(run.seconds / run.predicted, run.predicted / run.seconds)
            least[ranks, size] = min(rivals) / run.seconds
            many_ported[ranks, size] = min(times.values()) / run.seconds
    worst = max(off, key=off.get)
    yield at_most("simulated over the price, furthest off (at P=%d, %d B)" % worst, 1.02, off[worst])
    worst = min(least, key=least.get)
    yield at_least("simulated: SimGrid's best allreduce over tutti's, least (at P=%d, %d B)" % worst, 1, least[worst])
    worst = min(many_ported, key=many_ported.get)
    yield limit("... with those that pay one latency for 2(P-1) messages (at P=%d, %d B)" % worst, many_ported[worst])


def bars(build, quick):
    points = {(x.ranks, x.size): x for x in f.points(build, f.RANKS[:3] if quick else f.RANKS)}
    yield from price_bars(points)
    yield from round_bars(build)
    if not quick:
        yield from simulated_bars(build)
