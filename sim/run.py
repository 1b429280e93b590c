# run.py - hundreds of ranks: tutti's choice compared with every allreduce that is built into SMPI;
# `make sim`.
#
#   run.py [--build DIR] [--only flat,loggp,tree,large,topologies,shuffled,training,stragglers] [--missing] [--jobs N] [--time MINUTES] [--network WORD] [--algorithm WORD] [--prices]
#
# Writes docs/sim/results.tsv (results.py) as it goes, so it may be stopped, or end after some minutes (--time), and be
# continued (--missing); then the tables of docs/sim/tables.md and the plots. training.py and stragglers.py have separate jobs
# and results.
# SPDX-License-Identifier: BSD-3-Clause
import argparse
import concurrent.futures
import shutil
import sys
import time

import prices
import shuffled
import smpi
import stragglers
import tables
import topologies
import training
from results import Results
from tables import LARGE, MIB, RANKS, SIZES, TREE, TREE_RANKS

RINGS = "blueconnect(%s,seq=ring/ring/ring)" % TREE
# Paper 002's equations 6, 7 and 9, as plans; a node has 4 cores.
EQUATIONS = ("fold(ring)@1", "two-level(node=4,scatter,ring)@1", RINGS + "@1")
RIVALS = ("two-level(%s,ring)" % TREE,)


def flat(mode):
    """(heavy, network, mode, ranks, what, type, sizes, more)"""
    sizes = SIZES if mode == "sync" else SIZES[:4]  # thousands of simultaneous flows take long
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


# Of networks whose name contains a word.
PARTS = {"flat": lambda build, word: flat("sync"), "loggp": lambda build, word: flat("loggp"), "tree": lambda build, word: tree(),
         "large": lambda build, word: large(), "topologies": lambda build, word: topologies.jobs(smpi.BUILTIN, build, word),
         "shuffled": lambda build, word: shuffled.jobs(smpi.BUILTIN, build, word)}


OWN = {"training": training, "stragglers": stragglers}


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


class Allreduce:
    """A job of PARTS: one algorithm at some sizes."""

    def __init__(self, results, job, build):
        self.results, self.job, self.build, self.heavy = results, job, build, job[0]
        self.words = "%d ranks, %s" % (job[3], job[4])

    def lacks(self):
        """The same, with the sizes that the table does not have; None: it has all."""
        _, network, mode, ranks, what, kind, sizes, more = self.job
        left = [s for s in sizes if not self.results.get(network, mode, ranks, what, kind, s)]
        return Allreduce(self.results, self.job[:6] + (left, more), self.build) if left else None

    def run(self):
        _, network, mode, ranks, what, kind, sizes, more = self.job
        more = dict(more)
        if "choice" in more:
            what = "tutti:" + more.pop("choice")
        if more.get("replay"):
            return {s: smpi.replay(network, ranks, what, s) for s in sizes}
        return smpi.simulate(network, ranks, what, sizes, type=kind, mode=mode, build=self.build, **more)

    def keep(self, found):
        self.results.put(*self.job[1:6], found)
        self.results.write()
        memory = self.job[7].get("memory")
        if memory:
            print("\n%s: %d MiB, %.0f s" % (self.words, memory[0] >> 10, memory[1]))


class Row:
    """A job of a part in OWN: a row of its table."""

    def __init__(self, kept, job):
        self.kept, (self.heavy, self.words, self.key, self.run) = kept, job

    def lacks(self):
        return None if self.kept.get(*self.key) else self

    def keep(self, found):
        self.kept.put(self.key, **found)
        self.kept.write()


def jobs_of(part, results, build, word, algorithm):
    if part in OWN:
        kept = OWN[part].store()
        return [Row(kept, job) for job in OWN[part].jobs(build)]
    return [Allreduce(results, job, build) for job in PARTS[part](build, word) if job[6] and word in job[1] and algorithm in name(job)]


def name(job):
    """The name of the job's algorithm; of a choice, tutti:PLAN."""
    return job[4] + (":" + job[7]["choice"] if "choice" in job[7] else "")


def carry_out(jobs, workers, minutes):
    """Runs the jobs, those in memory one at a time; begins none after this many minutes (0: no end). Returns the number of those left."""
    bar, end = Bar(len(jobs)), time.time() + 60 * minutes if minutes else float("inf")

    def one(job):
        try:
            return job, job.run() if time.time() < end else None
        except Exception as why:  # the other jobs continue
            print("\n%s: %r" % (job.words, why), file=sys.stderr)
            return job, None

    def take(job, found):
        if found is None:
            return
        job.keep(found)
        bar.done += 1
        bar.tell(job.words)

    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        for done in concurrent.futures.as_completed([pool.submit(one, j) for j in jobs if not j.heavy]):
            take(*done.result())
    for job in jobs:
        if job.heavy:
            take(*one(job))
    print(file=sys.stderr)
    return bar.total - bar.done


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", default="build")
    p.add_argument("--only", default=",".join(list(PARTS) + list(OWN)))
    p.add_argument("--missing", action="store_true", help="keep what the table has")
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--time", type=float, default=0, help="begin no job after this many minutes; --missing continues later")
    p.add_argument("--network", default="", help="only networks whose name has this in it, such as torus:4x8x8")
    p.add_argument("--algorithm", default="", help="only algorithms whose name has this in it, such as tutti, rab2 or tutti:fold(ring)")
    p.add_argument("--prices", action="store_true", help="simulate nothing; put today's prices of stored plans into the table")
    p.add_argument("--table", default="docs/sim/results.tsv")
    args = p.parse_args()
    if not shutil.which("smpirun"):
        sys.exit("run.py: no smpirun here: SimGrid is Debian's libsimgrid-dev")
    wrong = [part for part in args.only.split(",") if part not in PARTS and part not in OWN]
    if wrong:
        sys.exit("run.py: no part '%s'; there are %s" % (wrong[0], ", ".join(list(PARTS) + list(OWN))))
    results = Results(args.table)
    if args.prices:
        print("%d new estimates" % prices.renew(results, args.build, args.network))
        results.write()
        tables.write(results)
        return tables.summary(results)
    jobs = [job for part in args.only.split(",") for job in jobs_of(part, results, args.build, args.network, args.algorithm)]
    if args.missing:
        jobs = [job for job in (j.lacks() for j in jobs) if job]
    left = carry_out(jobs, args.jobs, args.time)
    if left:
        print("%d of %d jobs are left: continue with --missing" % (left, len(jobs)))
    tables.write(results)
    tables.summary(results)


if __name__ == "__main__":
    main()
