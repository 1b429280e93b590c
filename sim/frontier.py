# frontier.py - floats between the fewest steps and the fewest bytes, on paper 001's machine: tutti's choice, the choice
# without the schedules that go beyond the papers, and the frontier.
#
#   frontier.py [--build DIR] --out FILE          stores all points; make bench-frontier
#
# Frontier   the cheapest generalized allreduce, whose sums may differ from rank to rank in their last bits. A float
#            needs the same bits on all ranks, so this is a reference for floats, not a bound.
# Bound      ceil(log2 P) messages, and (P-1)/P of the vector sent twice and added once: no schedule of one port
#            does with less of any of them.
# SPDX-License-Identifier: BSD-3-Clause
import argparse
import json
import math
import os
import subprocess
import sys

from figure_model import CLUSTER, cost, log2_up

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bench"))
import record  # noqa: E402

RANKS = (23, 37, 96, 127, 191, 255, 1000)
SIZES = tuple(256 << i for i in range(9))
BEYOND = ("lanes", "windows")  # and generalized on circles of two behind an odd one


def is_beyond(plan):
    return plan.startswith(BEYOND) or (plan.startswith("generalized(") and "group=" in plan)


def bound(ranks, size):
    part = (ranks - 1) * size / ranks
    return cost(log2_up(ranks), 2 * part, part)


def prices(build, ranks, size):
    """All plans, as `tutti plan price --format json` has them."""
    command = [os.path.join(build, "tutti"), "plan", "price", "all", "-n", str(ranks), "--size", str(size), "--network", CLUSTER, "--format", "json"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True, timeout=600).stdout)["plans"]


class Point:
    """The prices of one size on that many ranks, in seconds."""

    def __init__(self, build, ranks, size):
        plans = prices(build, ranks, size)
        fine = [p for p in plans if p["admissible"]]
        self.ranks, self.size = ranks, size
        self.choice = min(fine, key=lambda p: p["seconds"])
        self.now = self.choice["seconds"]
        self.before = min(p["seconds"] for p in fine if not is_beyond(p["plan"]))
        self.frontier = min(p["seconds"] for p in plans if p["possible"] and p["plan"].startswith("generalized("))

    def row(self):
        us = {k: round(1e6 * getattr(self, k), 2) for k in ("before", "now", "frontier")}
        return dict(us, ranks=self.ranks, bytes=self.size, plan=self.choice["plan"], bound=round(1e6 * bound(self.ranks, self.size), 2))


def points(build, ranks=RANKS):
    for p in ranks:
        print("%d ranks ..." % p, file=sys.stderr, flush=True)
        for size in SIZES:
            yield Point(build, p, size)


def geomean(numbers):
    return math.exp(sum(map(math.log, numbers)) / len(numbers))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", default="build")
    p.add_argument("--out", required=True)
    args = p.parse_args()
    what = "prices on paper 001's machine (%s), in us: tutti's choice for a float sum, the choice without the schedules beyond the papers, the cheapest generalized allreduce, and the lower bound"
    record.store(args.out, record.about(what % CLUSTER, "make bench-frontier"), [x.row() for x in points(args.build)])


if __name__ == "__main__":
    main()
