# faults.py - the targets of failure detection: ranks that are killed, make a different call, or stop. shm.py measures
# small messages with failure detection enabled (make bars ONLY=shm). This file measures the share of each call's time
# that its call signature and hash take.
# SPDX-License-Identifier: BSD-3-Clause
import os
import random
import re
import subprocess
import time

from faults import LOST, Aggregator, Job, heed_signals, wires
from measure import Failed, finish, median
from verdict import Bar, at_most, limit, skipped

TITLE = "all ranks soon get an error that names the failed rank (2 to 8 ranks; small messages: ONLY=shm)"
KILLS, FAR_KILLS, AGGREGATORS, MISMATCHES, STOPS = 500, 100, 200, 200, 100
NODES = ("0,1,2,3,4", "0,0,1", "0,1,1,0,2")  # placements of the ranks, over UCX
SOON = 0.8  # s, over UCX
WITHIN = 2  # s
RECORDED = 5  # % of a call of 4 B, in the fastest round: limit for its call signature and hash
FAILED_STARTS = 5  # after this number in a row, give up: jobs cannot start on this machine
TIMEOUT = 0.5  # s, of tests/ranks/mp_stall.c


class Kills:
    """Jobs of 2 to 8 ranks, over UCX 2 to 5. Ranks are killed one after another, at random times during calls of 4 B to 8 MiB,
    until one is left; after each kill the others continue on a smaller communicator."""

    def __init__(self, build, wire, wanted, seed):
        self.kills = self.clean = self.hangs = self.wrong = self.left = 0
        self.seconds, lot = [], random.Random(seed)
        failed = 0
        while self.kills < wanted and failed < FAILED_STARTS:
            ranks = lot.randint(2, 5 if wire == "ucx" else 8)
            deaths = min(ranks - 1, wanted - self.kills)
            nodes = {"TUTTI_NODES": lot.choice(NODES)} if wire == "ucx" else {}
            job = Job(build, wire, ranks, lot.getrandbits(60), 0, deaths, "alone", nodes)
            failed = 0 if job.started() else failed + 1
            if not failed:
                self.kill(job, deaths, lot)
            job.end()
            self.add(job, seed)

    def kill(self, job, deaths, lot):
        for _ in range(deaths):
            time.sleep(lot.random() * lot.choice((0.003, 0.03, 0.2)))
            victim, before = lot.choice(job.alive()), len(job.complaints)
            seconds = job.bury(victim)
            self.kills += 1
            if seconds is None:
                return
            self.seconds.append(seconds)
            clean = all(job.rank[r].errors[-1][1] == LOST for r in job.alive()) and len(job.complaints) == before
            self.clean += clean and seconds <= WITHIN

    def add(self, job, seed):
        self.hangs += job.hung
        self.wrong += any("a result" in c or "a sum" in c or "a message" in c for c in job.complaints)
        self.left += sum("is left" in c for c in job.complaints)
        for complaint in job.complaints:
            print("# seed %d, %d ranks: %s" % (seed, job.ranks, complaint), flush=True)
        job.forget()


def output(argv, seconds):
    """Returns the output of a program; prints its errors if it fails."""
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, stdin=subprocess.DEVNULL,
                               env=dict(os.environ, TUTTI_PROFILE="none"), start_new_session=True)
    try:
        out, _ = finish(process, seconds)
    except Failed as e:
        print("# %s: %s" % (" ".join(argv), e), flush=True)
        return ""
    if process.returncode:
        print("# %s:" % " ".join(argv), *[l for l in out.splitlines() if " after " not in l][:20], sep="\n", flush=True)
    return out


def rounds(build, program, wanted, seed):
    """Run a program that makes several rounds on 2 to 8 ranks: (number of failures that were named, number of failures, times
    in ms)."""
    named, all_of_them, times = 0, 0, []
    for ranks in range(2, 9):
        n = wanted // 7 + (ranks - 2 < wanted % 7)
        argv = [os.path.join(build, "tutti"), "run", "-n", str(ranks), os.path.join(build, "tests", program)]
        out = output(argv + [str(n), str(seed + 1000 * ranks)], 60 + 15 * n)
        found = [float(t) for t in re.findall(r"^# named after ([0-9.]+) ms$", out, re.M)]
        named, all_of_them, times = named + len(found), all_of_them + n, times + found
    return named, all_of_them, times


def recording(build, quick):
    """ns in the fastest round: a call of 4 B on 2 ranks, the same without its call signature, and only a call signature and its
    hash."""
    words = output([os.path.join(build, "tutti"), "run", "-n", "2", os.path.join(build, "bench", "recording"),
                    "5" if quick else "31"], 300).split()
    return [float(w) for w in words] if len(words) == 3 else (None, None, None)


def so_many(name, wanted, got):
    return Bar(name, "%d" % wanted, "%d" % got, got == wanted)


def far_bars(build, kills, seed):
    name = "kills over UCX: every survivor has an error that names the dead, within %d s" % WITHIN
    if "ucx" not in wires(build):
        yield skipped(name, "no UCX here (make ucx)")
        return
    k = Kills(build, "ucx", kills, seed)
    yield so_many(name, kills, k.clean)
    yield limit("kills over UCX: until the slowest survivor knows, s, median", median(k.seconds) if k.seconds else None)
    yield at_most("kills over UCX: until the slowest survivor knows, s, worst", SOON, max(k.seconds, default=None))


def aggregator_bars(build, wanted, seed):
    """Jobs on simulated nodes, with an aggregator that is killed and restarted: all sums are correct, failing calls name the
    aggregator, and the ranks continue."""
    name = "an aggregator is killed or stopped: "
    if "ucx" not in wires(build):
        yield skipped(name + "jobs whose calls have the right sum or an error that names it", "no UCX here (make ucx)")
        return
    lot, harms, jobs, right, hangs = random.Random(seed), 0, 0, 0, 0
    while harms < wanted and jobs - right < FAILED_STARTS:
        nodes = lot.choice(("0,1,2", "0,1,2,3", "0,0,1,1"))
        daemon = Aggregator(build)
        job = Job(build, "ucx", len(nodes.split(",")), lot.getrandbits(60), 1, 0, "losses", dict(daemon.env(), TUTTI_NODES=nodes))
        end = time.monotonic() + 1
        try:
            while job.started() and time.monotonic() < end and job.process.poll() is None:
                time.sleep(lot.random() * lot.choice((0.02, 0.1, 0.3)))
                if lot.random() < 0.3:
                    daemon.pause(lot.random() * 0.3)
                else:
                    daemon.end()
                    daemon.start()
                harms += 1
            job.end()
        finally:
            daemon.end()
        jobs, right, hangs = jobs + 1, right + (not job.complaints), hangs + job.hung
        for complaint in job.complaints:
            print("# seed %d, nodes %s: %s" % (seed, nodes, complaint), flush=True)
        job.forget()
    yield so_many(name + "jobs whose calls have the right sum or an error that names it", jobs, right)
    yield so_many(name + "hangs", 0, hangs)


def bars(build, quick):
    seed = random.SystemRandom().randrange(10 ** 6)
    heed_signals()
    print("# seed %d" % seed, flush=True)
    kills = 25 if quick else KILLS
    k = Kills(build, "shm", kills, seed)
    yield so_many("kills: every survivor has an error that names the dead, within %d s" % WITHIN, kills, k.clean)
    yield limit("kills: until the slowest survivor knows, s, median", median(k.seconds) if k.seconds else None)
    yield at_most("kills: until the slowest survivor knows, s, worst", WITHIN, max(k.seconds, default=None))
    yield so_many("kills: hangs", 0, k.hangs)
    yield so_many("kills: jobs with a wrong sum", 0, k.wrong)
    yield so_many("kills: processes and files left behind", 0, k.left)
    yield from far_bars(build, 10 if quick else FAR_KILLS, seed)
    yield from aggregator_bars(build, 10 if quick else AGGREGATORS, seed)
    named, n, times = rounds(build, "mp_wrong", 14 if quick else MISMATCHES, seed)
    yield so_many("another collective, count, type, op, root, order: two ranks and both calls are named", n, named)
    yield limit("another call: until all know, ms, median", median(times) if times else None)
    yield limit("another call: until all know, ms, worst", max(times, default=None))
    named, n, times = rounds(build, "mp_stall", 7 if quick else STOPS, seed)
    yield so_many("stopped, TUTTI_TIMEOUT=%g: the late rank and its call are named" % TIMEOUT, n, named)
    yield limit("stopped: until all know, s, median", median(times) / 1000 if times else None)
    yield at_most("stopped: until all know, s, worst", WITHIN, max(times) / 1000 if times else None)
    call, silent, alone = recording(build, quick)
    yield limit("P=2, 4 B: a call, ns", call)
    yield limit("P=2, 4 B: a call of which nothing is published, ns", silent)
    yield limit("a call's record and hash, ns", alone)
    yield at_most("a call's record and hash, % of a call of 4 B on 2 ranks", RECORDED, call and 100 * alone / call)
