# run.py - hundreds of ranks: tutti's choice beside every allreduce that is built into SMPI;
# `make sim`.
#
#   run.py [--build DIR] [--only flat,loggp,tree,large,topologies] [--missing] [--jobs N] [--time MINUTES]
#
# Writes docs/sim/results.tsv (results.py) as it goes, so it may be stopped, or end after some minutes (--time), and be
# continued (--missing); then the tables of docs/sim/tables.md and the plots.
# SPDX-License-Identifier: BSD-3-Clause
import argparse
import concurrent.futures
import shutil
import sys
import time

import smpi
import tables
import topologies
from results import Results
from tables import LARGE, MIB, RANKS, SIZES, TREE, TREE_RANKS

RINGS = "blueconnect(%s,seq=ring/ring/ring)" % TREE
# Paper 002's equations 6, 7 and 9, as plans; a node has 4 cores.
EQUATIONS = ("fold(ring)@1", "two-level(node=4,scatter,ring)@1", RINGS + "@1")
RIVALS = ("two-level(%s,ring)" % TREE,)


def flat(mode):
    """(heavy, network, mode, ranks, what, type, sizes, more)"""
    sizes = SIZES if mode == "sync" else SIZES[:4]  # thousands of flows at once take long
    for ranks in RANKS:
        real = [s for s in sizes if s < 10 << 20 or ranks < 96]
        rest = [s for s in sizes if s not in real]
        for kind in ("float", "int32"):
            yield False, "flat", mode, ranks, "tutti", kind, real, {}
            yield ranks > 200, "flat", mode, ranks, "tutti", kind, rest, {}
        for what in smpi.BUILTIN:
            yield False, "flat", mode, ranks, what, "float", real, {"limit": 60}
            # checked at all smaller sizes
            yield True, "flat", mode, ranks, what, "float", rest, {"shared": True, "limit": 60}


def tree():
    for what in smpi.BUILTIN:
        yield True, TREE, "sync", TREE_RANKS, what, "float", MIB[:2], {"limit": 120}
        yield False, TREE, "sync", TREE_RANKS, what, "float", MIB[2:], {"replay": True}
    for plan in EQUATIONS + RIVALS:
        yield True, TREE, "sync", TREE_RANKS, "tutti:" + plan, "float", MIB[:2], {}
    for plan in EQUATIONS:
        yield True, TREE, "sync", TREE_RANKS, "tutti:" + plan, "float", MIB[2:], {"shared": True, "limit": 900}
    yield True, TREE, "sync", TREE_RANKS, "tutti", "float", MIB[:2], {"limit": 900}
    yield True, TREE, "sync", TREE_RANKS, "tutti", "float", MIB[2:], {"shared": True, "limit": 900}


def large():
    # by name, because each rank would make the choice, which takes most of a second
    for plan in ("generalized(latency)", "fold(halving)"):
        yield True, "flat", "sync", LARGE, "tutti:" + plan, "int32", SIZES[:3], {"limit": 1800, "memory": []}
    for what in ("rdb", "rab_rdb", "lr"):
        yield True, "flat", "sync", LARGE, what, "float", SIZES[:3], {"limit": 300}


PARTS = {"flat": lambda build: flat("sync"), "loggp": lambda build: flat("loggp"), "tree": lambda build: tree(),
         "large": lambda build: large(), "topologies": lambda build: topologies.jobs(smpi.BUILTIN, build)}


class Bar:
    def __init__(self, total):
        self.total, self.done, self.start = total, 0, time.time()

    def tell(self, what):
        text = "%d of %d, %d s: %s" % (self.done, self.total, time.time() - self.start, what)
        if sys.stderr.isatty():
            cells = 20 * self.done // max(1, self.total)
            print("\r\033[K[%-20s] %s" % ("#" * cells, text[:100]), end="", file=sys.stderr, flush=True)
        elif self.done % 20 == 0 or self.done == self.total:
            print(text, file=sys.stderr, flush=True)


def carry_out(job, build):
    _, network, mode, ranks, what, kind, sizes, more = job
    more = dict(more)
    if "choice" in more:
        what = "tutti:" + more.pop("choice")
    if more.get("replay"):
        return {s: smpi.replay(network, ranks, what, s) for s in sizes}
    return smpi.simulate(network, ranks, what, sizes, type=kind, mode=mode, build=build, **more)


def lacks(results, job):
    _, network, mode, ranks, what, kind, sizes, more = job
    left = [s for s in sizes if not results.get(network, mode, ranks, what, kind, s)]
    return job[:6] + (left, more) if left else None


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", default="build")
    p.add_argument("--only", default=",".join(PARTS))
    p.add_argument("--missing", action="store_true", help="keep what the table has")
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--time", type=float, default=0, help="begin nothing after so many minutes; --missing goes on")
    p.add_argument("--table", default="docs/sim/results.tsv")
    args = p.parse_args()
    if not shutil.which("smpirun"):
        sys.exit("run.py: no smpirun here: SimGrid is Debian's libsimgrid-dev")
    results = Results(args.table)
    jobs = [job for part in args.only.split(",") for job in PARTS[part](args.build) if job[6]]
    if args.missing:
        jobs = [job for job in (lacks(results, j) for j in jobs) if job]
    bar = Bar(len(jobs))

    end = time.time() + 60 * args.time if args.time else float("inf")

    def one(job):
        return job, carry_out(job, args.build) if time.time() < end else None

    def take(job, found):
        if found is None:
            return
        results.put(*job[1:6], found)
        results.write()
        bar.done += 1
        bar.tell("%d ranks, %s" % (job[3], job[4]))
        memory = job[7].get("memory")
        if memory:
            print("\n%d ranks, %s: %d MiB, %.0f s" % (job[3], job[4], memory[0] >> 10, memory[1]))

    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for done in concurrent.futures.as_completed([pool.submit(one, j) for j in jobs if not j[0]]):
            take(*done.result())
    for job in jobs:  # in memory, one at a time
        if job[0]:
            take(*one(job))
    print(file=sys.stderr)
    if bar.done < bar.total:
        print("%d of %d are left: the same with --missing goes on" % (bar.total - bar.done, bar.total))
    tables.write(results)
    tables.summary(results)


if __name__ == "__main__":
    main()
