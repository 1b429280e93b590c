# soak.py - random calls while ranks are killed, stopped and late; `make soak TIME=1h`. `make torture`: on more ranks,
# places, networks, engines and contracts, with few deaths.
#
#   soak.py [--build DIR] [--time 1h | --rounds N] [--seed N] [--job K] [--torture]
#
# Idea       job after job, each derived from the seed and its number: the number of ranks, the wire,
#            the settings and the faults. All results are checked. A failure is printed with the
#            options that repeat it; then the exit status is 1.
# Kinds      calm: no faults. stops: ranks are stopped, and resume. deaths: ranks are killed,
#            one or two at a time, at any instant; the live ranks shrink and continue. alone: the same on
#            one communicator. makers: the same while ranks only make communicators. ends: live ranks
#            name the dead, and end. newcomers: ranks die, are restarted, and join (tests/ranks/mp_grow.c).
#            launcher: `tutti run` itself is killed. killed: a rank under an MPI is killed, which ends the job.
#            threads: calm, on ranks that are threads of one process. aggregator: the aggregator that makes the
#            sums is killed, stopped and started again, and the ranks continue without it. torture: calm, on 2 to 32 ranks; the wires and the two
#            engines take turns.
# Rounds     with --rounds the seed determines the jobs, and each job's calls, kills and stops. A job ends after a number of cycles of
#            calls, and its ranks are killed or stopped in cycles that the seed selects. Time is only a limit.
# SPDX-License-Identifier: BSD-3-Clause
import argparse
import os
import random
import signal
import subprocess
import sys
import time

import faults

KINDS = ("calm", "deaths", "stops", "alone", "mpi calm", "ends", "makers", "mpi stops", "ucx calm", "newcomers",
         "killed", "deaths", "ucx stops", "launcher", "threads", "aggregator")
TORTURE = ("torture shm", "torture ucx", "deaths", "torture tcp", "torture tls", "newcomers", "torture shm", "torture threads",
           "torture shm")
CONTRACTS = ("any", "same", "run", "element", "exact")
MANNERS = {"deaths": "deaths", "makers": "makers", "alone": "alone", "killed": "doomed", "ends": "ends", "aggregator": "losses"}
MPIS = ("ompi", "mpich")
ANYWHERE = ("deaths", "alone", "makers", "launcher")  # kinds on shared memory and on UCX
LONG = (0, 16, 29)  # of 40: a minute, to detect growth
SETTINGS = ({"TUTTI_COPIES": "private"}, {"TUTTI_COPIES": "none"}, {"TUTTI_COPIES": "all"}, {"TUTTI_ENGINE": "generic"},
            {"TUTTI_PROGRESS_THREAD": "1"}, {"TUTTI_CONTRACT": "any"}, {"TUTTI_CONTRACT": "run"},
            {"TUTTI_CONTRACT": "exact"}, {"TUTTI_VERIFY": "1"}, {"TUTTI_SLICES": "3"},
            {"TUTTI_MEASURE": "1", "TUTTI_WISDOM": "wisdom"}, {"TUTTI_TRACE": "trace.json", "TUTTI_TRACE_EVENTS": "64"})
CYCLES = 40  # of one rank, that take about a second
# The nodes of the ranks: all on one, each on its own, some together.
NODES = ({}, {"TUTTI_NODES": "0,1,2,3,4,5,6,7"}, {"TUTTI_NODES": "0,0,1"}, {"TUTTI_NODES": "0,1,1,0,2"},
         {"TUTTI_NODES": "0,0,1,1", "TUTTI_TOPO": "node:2 core:2"})


def seconds_of(text):
    unit = {"s": 1, "m": 60, "h": 3600}.get(text[-1:], 0)
    return float(text[:-1]) * unit if unit else float(text)


class Plan:
    """One job, as the seed, its number, and the total duration (seconds) determine it."""

    def __init__(self, seed, number, limit, wires, kinds, counted=False):
        self.lot = lot = random.Random("%d/%d" % (seed, number))
        self.number = number
        self.kind = kinds[number % len(kinds)]
        self.wire, self.env, self.parts = "shm", {}, None
        mpis = [w for w in MPIS if w in wires]
        if self.kind in ("mpi calm", "mpi stops", "killed"):
            self.wire = lot.choice(mpis) if mpis else None
        elif self.kind in ("ends", "ucx calm", "ucx stops", "aggregator"):
            self.wire = "ucx" if "ucx" in wires else None
        elif self.kind in ANYWHERE and "ucx" in wires and lot.random() < 0.5:
            self.wire = "ucx"
        self.ranks = lot.randint(2, 8)
        self.seconds = lot.choice((1, 2, 4, 8) if self.kind.endswith("calm") or self.kind == "threads" else (1, 2))
        if self.kind == "threads":
            self.wire = "threads"
        if self.kind == "newcomers":
            self.ranks = lot.randint(2, 5)
        if number % 40 in LONG and kinds is KINDS:
            self.seconds = 60 if number or limit < 1800 else 300
        if limit < 60:
            self.seconds = min(self.seconds, 0.3)
        if self.wire in ("ompi", "ucx"):
            self.ranks = lot.randint(2, 5)
        elif self.wire == "mpich":
            self.ranks = lot.randint(2, 3)  # they spin
        if self.kind == "makers":
            self.ranks, self.seconds = lot.randint(4, 8 if self.wire == "shm" else 5), lot.choice((0.02, 0.1))
        if self.kind.endswith("calm") and lot.random() < 0.1:
            self.ranks = 1
        if self.wire not in ("shm", "threads"):
            nodes = dict(lot.choice(NODES))
            if "TUTTI_TOPO" in nodes:
                self.ranks = 4 if self.wire != "mpich" else 2
                nodes["TUTTI_TOPO"] = "node:2 core:%d" % (self.ranks // 2)
                nodes["TUTTI_NODES"] = "0,0,1,1" if self.ranks == 4 else "0,1"
            self.env.update(nodes)
        if self.kind == "aggregator":
            self.ranks = lot.choice((3, 4, 6))
            self.env = {"TUTTI_NODES": lot.choice({3: ("0,1,2",), 4: ("0,1,2,3", "0,0,1,1", "0,1,0,1", "0,0,1,2"),
                                                   6: ("0,1,2,0,1,2", "0,0,1,1,2,2", "0,1,1,1,2,2")}[self.ranks])}
        for setting in SETTINGS:
            if lot.random() < 0.12:
                self.env.update(setting)
        if self.kind.startswith("torture"):
            self.torture(wires, min(limit / 30, lot.choice((1, 2, 4))), number // len(kinds) + number % len(kinds))
        if self.wire in faults.NETS:
            left, self.parts = self.ranks, []
            while left:
                self.parts.append(lot.randint(1, left) if lot.random() < 0.3 else 1)
                left -= self.parts[-1]
        if self.seconds > 8:  # the file grows with each communicator
            self.env.pop("TUTTI_TRACE", None)
        some = sorted((lot.randint(1, max(1, self.ranks - 1)), lot.randint(1, max(1, self.ranks - 1))))
        self.deaths = {"deaths": some[1], "makers": some[1], "alone": some[1], "newcomers": some[1],
                       "ends": some[0]}.get(self.kind, 0)
        self.seed = lot.getrandbits(60)
        self.cycles = max(2, round(CYCLES * self.seconds / self.ranks)) if counted else 0

    def torture(self, wires, seconds, turn):
        lot = self.lot
        self.seconds, self.wire = seconds, self.kind.split()[1]
        if self.wire in ("shm", "threads"):
            self.ranks = lot.choice((2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17, 24, 32))
        else:
            self.wire = self.wire if self.wire in wires else None
            self.ranks = lot.randint(2, 6)
            nodes = [0, 1] + [lot.randrange(3) for _ in range(self.ranks - 2)]
            self.env["TUTTI_NODES"] = ",".join(map(str, nodes))
        self.env.pop("TUTTI_ENGINE", None)
        self.env.update({"TUTTI_CONTRACT": lot.choice(CONTRACTS)}, **{"TUTTI_ENGINE": "generic"} if turn % 2 else {})
        numas = lot.choice([n for n in (1, 2, 3, 4, 6, 8) if self.ranks % n == 0])
        if self.wire == "shm" and numas > 1:
            self.env["TUTTI_TOPO"] = "numa:%d core:%d" % (numas, self.ranks // numas)
        if self.wire in ("tcp", "tls"):
            self.env["TUTTI_NET"] = self.wire

    def words(self):
        long = "%d cycles" % self.cycles if self.cycles else "%g s" % self.seconds
        return "job %d: %s, %s, %d ranks, %s%s" % (self.number, self.kind, self.wire, self.ranks, long, "".join(
            " %s=%s" % item for item in sorted(self.env.items())))

    def carry_out(self, build):
        if self.kind == "newcomers":
            return self.let_grow(build)
        manner = "ends" if self.kind == "launcher" and self.wire == "ucx" else MANNERS.get(self.kind, "calm")
        long = "%dx" % self.cycles if self.cycles else self.seconds
        if self.kind in ("launcher", "killed"):  # until then
            long = "1000000x" if self.cycles else 100
        daemon = faults.Aggregator(build) if self.kind == "aggregator" else None
        if daemon:
            self.env = dict(self.env, **daemon.env())
        job = faults.Job(build, self.wire, self.ranks, self.seed, long, self.deaths, manner, self.env, self.parts)
        try:
            if job.started():
                {"deaths": self.kill_some, "makers": self.kill_some, "alone": self.kill_some, "stops": self.stop_some,
                 "mpi stops": self.stop_some, "ucx stops": self.stop_some, "ends": self.kill_together,
                 "launcher": self.kill_launcher, "killed": self.kill_one,
                 "aggregator": lambda job: self.harm(job, daemon)}.get(self.kind, lambda job: None)(job)
            job.end(faults.SILENCE + self.seconds)
        except BaseException:
            job.end_by_force()
            raise
        finally:
            if daemon:
                daemon.end()
        return job

    def pause(self, job, longest):
        """A part of `longest` seconds; or of the job's cycles."""
        part = self.lot.random() * self.lot.choice((longest / 10, longest / 2, longest))
        if self.cycles:
            job.pass_cycles(round(self.cycles * part / self.seconds))
        else:
            time.sleep(part)

    def until_its_end(self, job):
        """Yields until the job's time has passed; or, if it counts cycles, one to three times before the last cycle."""
        job.stops = 0
        end = time.monotonic() + self.seconds
        times = self.lot.randint(1, 3)
        while job.process.poll() is None and (times if self.cycles else time.monotonic() < end):
            times -= 1
            yield end

    def harm(self, job, daemon):
        """Ends the aggregator and starts it again, or stops it for a while, again and again."""
        for _ in self.until_its_end(job):
            self.pause(job, self.seconds / 4)
            if self.lot.random() < 0.3:
                daemon.pause(self.lot.random() * 0.3)
                job.stops += 1
                continue
            daemon.end(self.lot.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGTERM)))
            time.sleep(self.lot.random() * 0.1)
            daemon.start()

    def kill_some(self, job):
        left = self.deaths
        while left and not job.complaints:
            n = 2 if left > 1 and self.lot.random() < 0.3 else 1
            victims = self.lot.sample(job.alive(), n)
            self.pause(job, self.seconds / self.deaths)
            job.bury(*victims, apart=self.lot.random() * self.lot.choice((0.001, 0.01, 0.15)))
            left -= n

    def kill_together(self, job):
        """Kills some ranks together, once: the live ranks end when they notice."""
        self.pause(job, self.seconds)
        job.bury(*self.lot.sample(range(self.ranks), self.deaths), apart=self.lot.random() * self.lot.choice((0, 0.001)))

    def let_grow(self, build):
        """The ranks themselves die and check."""
        job = faults.Growth(build, self.ranks, self.seed % 10 ** 9, self.deaths, self.env)
        try:
            job.end(faults.SILENCE)
        except BaseException:
            job.end_by_force()
            raise
        return job

    def stop_some(self, job):
        for end in self.until_its_end(job):
            self.pause(job, min(0.2, self.seconds / 6))
            if job.process.poll() is not None or not self.cycles and time.monotonic() > end - 0.1:
                break
            job.stop(self.lot.randrange(self.ranks), self.lot.random() * min(1, self.seconds / 2))
            job.stops += 1

    def kill_launcher(self, job):
        """Kills the process in front, or one behind it."""
        self.pause(job, self.seconds)
        victim = job.process.pid
        for _ in range(self.lot.randrange(3)):
            children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(victim)], stdout=subprocess.PIPE, text=True).stdout
            victim = int((children.split() or [victim])[0])
        job.spoilt = True
        os.kill(victim, signal.SIGKILL)

    def kill_one(self, job):
        self.pause(job, self.seconds)
        job.spoilt = True
        job.kill(self.lot.randrange(self.ranks))


class Tally:
    def __init__(self):
        self.n = dict.fromkeys(("jobs", "calls", "bytes", "kills", "stops", "mismatches", "errors", "failed"), 0)
        self.slowest = 0
        self.start = self.said = time.monotonic()

    def add(self, job, stopped):
        n = self.n
        n["jobs"] += 1
        n["failed"] += bool(job.complaints)
        n["kills"] += len(job.killed) + (job.spoilt and not job.killed)
        n["stops"] += getattr(job, "stops", 0)
        n["mismatches"] += max(r.mismatches for r in job.rank)
        for r in job.rank:
            n["calls"] += r.calls
            n["bytes"] += r.bytes
            n["errors"] += len(r.errors)
        if not stopped:
            self.slowest = max([self.slowest] + job.noticed)

    def say(self):
        n = self.n
        print("%6.0f s: %d jobs, %d calls of ranks on %.1f GB, all right; %d kills, %d stops, %d mismatches; %d clean "
              "errors, the slowest %.2f s after a kill; %d jobs failed" %
              (time.monotonic() - self.start, n["jobs"], n["calls"], n["bytes"] / 1e9, n["kills"], n["stops"],
               n["mismatches"], n["errors"], self.slowest, n["failed"]), flush=True)

    def say_sometimes(self, every):
        if time.monotonic() - self.said >= every:
            self.say()
            self.said = time.monotonic()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", default="build")
    p.add_argument("--time", default="10m", help="90s, 10m, 1h")
    p.add_argument("--rounds", type=int, help="this many jobs of each kind, counted in calls instead of in time")
    p.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10 ** 9))
    p.add_argument("--job", type=int, help="this job alone, as often as the time allows")
    p.add_argument("--torture", action="store_true", help="the kinds of TORTURE instead of KINDS")
    args = p.parse_args()
    limit = 15 if args.rounds else seconds_of(args.time)
    faults.heed_signals()
    wires, tally, kinds = faults.wires(args.build), Tally(), TORTURE if args.torture else KINDS
    print("seed %d, wires: %s" % (args.seed, ", ".join(wires)), flush=True)
    number = args.job or 0
    last = args.rounds and (args.rounds * len(kinds) if args.job is None else number + 1)
    while number < last if last else time.monotonic() - tally.start < limit or (args.job is None and number < len(kinds)):
        plan = Plan(args.seed, number, limit, wires, kinds, bool(args.rounds))
        number += args.job is None or bool(last)
        if not plan.wire:
            continue
        stops = len(faults.STOPS)
        job = plan.carry_out(args.build)
        stopped = len(faults.STOPS) > stops
        if job.complaints and stopped:  # by another process; one rank may have resumed before another
            print("all processes were stopped during this job; it is repeated: %s: %s" % (plan.words(), job.complaints[0]), flush=True)
            job.forget()
            number = plan.number
            continue
        tally.add(job, stopped)
        if job.complaints:
            print("FAILED %s\n  %s\n  repeat it: bench/soak.py --build %s --%s --seed %d --job %d%s" % (
                plan.words(), "\n  ".join(job.complaints[:8]), args.build,
                "rounds %d" % args.rounds if args.rounds else "time " + args.time, args.seed, plan.number,
                " --torture" if args.torture else ""))
            print("  it printed: " + job.output().replace("\n", "\n  "), flush=True)
        job.forget()
        tally.say_sometimes(10 if limit <= 600 else 60)
    tally.say()
    return tally.n["failed"] > 0


if __name__ == "__main__":
    sys.exit(main())
