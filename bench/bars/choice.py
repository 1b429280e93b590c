# choice.py - the bars of price and choice: is what runs about the best of all that could,
# and does the choice cost next to nothing?
# SPDX-License-Identifier: BSD-3-Clause
import json

from measure import CORES, KI, MI, Failed, Lab, bytes_name, geomean, median, run
from verdict import at_most, limit

TITLE = "what is chosen beside the best of all that could run (shared memory, float sum in place, cycle measure)"
ROUNDS = 3


def candidates(lab, ranks):
    """Names of the plans that may run, the cheapest first."""
    crowd = ranks / min(CORES, ranks)
    out, _ = run([lab.path("tutti"), "plan", "price", "all", "-P", str(ranks), "--size", "64k",
                  "--shm=%g" % crowd, "--json"])
    return [p["plan"] for p in json.loads(out)["plans"] if p["possible"] and p["admissible"] and p["slices"] == 1]


def timed(lab, ranks, plan, first, last):
    env = {"TUTTI_ALGO": plan} if plan else {}
    return lab.tutti(ranks, first, last, env=env)[0]


def one_size_row(lab, ranks, plan, sizes):
    """{bytes: us} of a plan (None: the choice) for some sizes, in as few runs as they need."""
    found = timed(lab, ranks, plan, min(sizes), max(sizes))
    return {b: t for b, t in found.items() if b in sizes}


def beside_the_best(lab, ranks, last):
    """{bytes: (chosen over best, the choice over itself, best plan)}"""
    plans = candidates(lab, ranks)
    rows = {}
    for plan in plans:
        try:
            rows[plan] = timed(lab, ranks, plan, 4, last)
        except Failed as e:
            lab.say("P=%d %s: %s" % (ranks, plan, e))
    sizes = sorted(next(iter(rows.values())))
    best = {b: min((r for r in rows if rows[r].get(b, 0) > 0), key=lambda r: rows[r][b]) for b in sizes}
    ratios, noise = {b: [] for b in sizes}, {b: [] for b in sizes}
    for k in range(ROUNDS):
        first = one_size_row(lab, ranks, None, sizes)
        again = {}
        for plan in sorted(set(best.values())):
            again.update(one_size_row(lab, ranks, plan, [b for b in sizes if best[b] == plan]))
        second = one_size_row(lab, ranks, None, sizes)
        for b in sizes:
            if min(first.get(b, 0), second.get(b, 0), again.get(b, 0)) > 0:
                ratios[b].append((first[b] + second[b]) / 2 / again[b])
                noise[b].append(max(first[b], second[b]) / min(first[b], second[b]))
    found = {}
    for b in sizes:
        if ratios[b]:
            found[b] = (median(ratios[b]), median(noise[b]), best[b])
            lab.say("P=%d %9s: chosen over %-28s %5.2f (the choice against itself %.2f)" %
                    (ranks, bytes_name(b), best[b], found[b][0], found[b][1]))
    return found


def model(lab):
    out, _ = run([lab.path("bench/price"), "-l"], timeout=300)
    figures = {k: float(v) for k, v in (line.split() for line in out.splitlines())}
    yield at_most("127 ranks: the coefficients of all plans, ms", 20, figures["build127"])
    yield at_most("127 ranks: a new size, all plans, us", 50, figures["evaluate"])
    yield at_most("the next call of the same kind, ns", 50, figures["again"])
    yield at_most("100,000 ranks, fold(halving): priced in, s", 1, figures["huge_halving"] / 1e3)
    yield at_most("100,000 ranks, fold(ring): priced in, s", 1, figures["huge_ring"] / 1e3)
    yield at_most("127 ranks, the paper's network: the choice over the cheapest of all", 1.000001, figures["brute"])


def bars(build, quick):
    lab = Lab(build, budget=0.004 if quick else 0.01, repeats=3 if quick else 5, tries=1)
    yield from model(lab)
    every, noise = [], []
    for ranks in [2, 4] if quick else [2, 3, 4, 7, 8]:
        found = beside_the_best(lab, ranks, 64 * KI if quick else 4 * MI)
        every += [min(r, 1e9) for r, _, _ in found.values()]
        noise += [n for _, n, _ in found.values()]
        if found:
            worst = max(found, key=lambda b: found[b][0])
            yield limit("P=%d: chosen over best, the mean; the worst %.2f at %s (%s)" %
                        (ranks, found[worst][0], bytes_name(worst), found[worst][2]),
                        geomean([r for r, _, _ in found.values()]))
    yield at_most("all P and sizes: chosen over best, the mean", 1.25, geomean(every) if every else None)
    yield limit("the choice against itself, the mean", geomean(noise) if noise else None)
