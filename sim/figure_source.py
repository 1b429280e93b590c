# figure_source.py - the data of paper 001's figures: its sizes and numbers of ranks, and the
# simulated and measured curves.
# SPDX-License-Identifier: BSD-3-Clause
from figure_model import log2_up, proposed_plan, steps_removed

KI, MI = 1024, 1 << 20
P = 127  # the paper's
SMALL = 428  # its 425 B, in whole floats
MIDDLE = 9 * KI  # its 9 KB
OPEN_MPI_RING = 10000  # from here on its Open MPI ran a ring
FEW = 7  # measured
LADDER = [KI, 2 * KI, 4 * KI, MIDDLE] + [1 << n for n in range(14, 23)]  # 16 KiB to 4 MiB
SIZES_127 = [64, SMALL] + LADDER
RANKS = [2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 24, 31, 32, 33, 48, 63, 64, 65, 96, 127, 128, 133]
MEASURED_SIZES = [64, 256, SMALL] + LADDER + [8 * MI, 16 * MI]
HERE = "measured: %d ranks share the memory of one machine with 2 cores"


def versions(ranks):
    """tutti's names of the paper's algorithm, by number of steps; only the first is for floats."""
    return [(proposed_plan(ranks, r), "float" if r == 0 else "int32") for r in range(log2_up(ranks) + 1)]


def least(lists):
    """The least of several curves at each x that all have."""
    all_x = set.intersection(*[{x for x, _ in points} for points in lists]) if lists else set()
    return [(x, min(t for points in lists for at, t in points if at == x)) for x in sorted(all_x)]


class Source:
    """Curves from the table: simulated on the flat network, or measured."""

    def __init__(self, table, network, mode, names):
        self.table, self.network, self.mode, self.names = table, network, mode, names

    def size(self, ranks, what, kind="float"):
        return self.table.by_size(self.network, self.mode, ranks, self.names.get(what, what), kind)

    def ranks(self, what, size, kind="float"):
        return self.table.by_ranks(self.network, self.mode, self.names.get(what, what), size, kind)

    def proposed(self, ranks, pick=None):
        """The paper's algorithm: the best number of steps, or that of equation 37 (pick)."""
        have = {(n, k): dict(self.size(ranks, "tutti:" + n, k)) for n, k in versions(ranks)}
        points = []
        for x in sorted({x for d in have.values() for x in d}):
            if pick:
                name = proposed_plan(ranks, pick(ranks, x))
                t = have[(name, "float" if name == "fold(halving)" else "int32")].get(x)
            else:
                t = min((d[x] for d in have.values() if x in d), default=None)
            if t:
                points.append((x, t))
        return points

    def estimated(self, ranks, size):
        """Seconds of the paper's algorithm with the steps of equation 37, or None."""
        plan = proposed_plan(ranks, steps_removed(ranks, size))
        kind = "float" if plan == "fold(halving)" else "int32"
        return self.table.at(self.network, self.mode, ranks, "tutti:" + plan, size, kind)

    def open_mpi(self, ranks):
        return [p for p in self.size(ranks, "doubling") if p[0] < OPEN_MPI_RING] + [
            p for p in self.size(ranks, "ring") if p[0] >= OPEN_MPI_RING
        ]

    def best(self, ranks):
        return least([self.size(ranks, n) for n in ("doubling", "halving", "ring")])


def simulated(table):
    """SimGrid's own algorithms of those names."""
    return Source(table, "flat", "sync", {"doubling": "rdb", "ring": "lr", "halving": "rab_rdb"})


def measured(table):
    return Source(
        table,
        "shm",
        "measured",
        {"doubling": "tutti:doubling", "ring": "tutti:fold(ring)", "halving": "tutti:rabenseifner"},
    )
