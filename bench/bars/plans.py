# plans.py - the targets of a communicator of 10,000 ranks: one rank makes it over a network that moves no data, and chooses,
# builds and prepares its first plans (bench/scale.c).
# SPDX-License-Identifier: BSD-3-Clause
import statistics
from argparse import Namespace

import scale
from verdict import at_most

TITLE = "a rank of 10,000 makes its communicator and its first plans"
RANKS, RUNS = 10000, 5
QUICK = {"ranks": 1000, "runs": 1}
PARTS = ["tables", "alone", "exchange", "places", "first", "second"]  # the steps up to the calls of 8 bytes and of 1 MiB
STORED = {}


def run(net, ranks):
    """{PART: (seconds, bytes that stay allocated)}."""
    lines = [line.split() for line in scale.scale("setup", ranks, scale.NETWORKS[net][ranks], scale.figures(net, ranks), 1)]
    return {line[0]: (float(line[1]), int(line[2])) for line in lines if line[0] in PARTS + ["all"]}


def bars(build, quick):
    scale.args = Namespace(build=build)
    ranks, runs = (QUICK["ranks"], QUICK["runs"]) if quick else (RANKS, RUNS)
    rows = []
    for net in scale.NETWORKS:
        got = [run(net, ranks) for _ in range(runs)]
        times = {part: 1e3 * statistics.median(g[part][0] for g in got) for part in PARTS}
        kept = statistics.median(g["all"][1] for g in got) / 1e6
        rows.append([net] + ["%.2f ms" % times[part] for part in PARTS] + ["%.2f MB" % kept])
        yield at_most("%s, %d ranks: a communicator and two plans, ms of a core" % (net, ranks), 50, sum(times.values()))
        yield at_most("%s, %d ranks: memory of a rank beyond buffers, MB" % (net, ranks), 1, kept)
    STORED["plans"] = (TITLE, ["network", "tables", "alone", "plan of the exchange", "places", "8 B: chosen and lowered", "1 MiB", "kept"], rows)
