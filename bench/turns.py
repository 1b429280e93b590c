# turns.py - runs turns.c, which measures the libraries of one process alternately, and reads its output.
#
# Point      one size: the microseconds of each side in each round, with the state of the cores in that round.
# State      near or far, by the round trip of a cache line; `moved` if it differs before and after the round. Rounds with
#            `moved` are ignored. The hypervisor migrates virtual CPUs within seconds, and times then change by a
#            factor of 4. Several hosts do not have a state.
# Ratio      of two sides in the same round; the median over the rounds of one state.
# Peers      Open MPI with each of its components that has an allreduce in shared memory; at each size the fastest
#            component is the peer. MPICH binds its ranks like tutti.
# SPDX-License-Identifier: BSD-3-Clause
import json
import os
import signal
import subprocess
import tempfile
import threading

from measure import CORES, KI, Failed, geomean, median

FAR = 200  # ns
STATES = ("near", "far")
TITLES = {"openmpi": "Open MPI", "mpich": "MPICH"}
FAMILY = {"openmpi": "ompi", "mpich": "mpich"}
ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
# Components of Open MPI's coll framework, with the settings that select each.
COMPONENTS = {"tuned": {}, "sm": {"OMPI_MCA_coll_sm_priority": "100"}, "han": {"OMPI_MCA_coll_han_priority": "100"},
              "adapt": {"OMPI_MCA_coll_adapt_priority": "100"}}
FEWEST = 3  # rounds of a state that count as measured


def state_of(before, after):
    if not before and not after:
        return ""
    far = before > FAR, after > FAR
    return "moved" if far[0] != far[1] else STATES[far[0]]


class Point:
    def __init__(self, line):
        self.bytes, self.us, self.plan = line["bytes"], dict(line["us"]), line["plan"]
        self.line_ns = list(zip(*line["line_ns"]))
        self.states = [state_of(*pair) for pair in self.line_ns]

    def add(self, other):
        """Add the rounds of another launch."""
        self.states += other.states
        self.line_ns += other.line_ns
        for side, each in other.us.items():
            self.us[side] = self.us.get(side, []) + each
        self.plan.update(other.plan)

    def rounds(self, state=None):
        return [k for k, s in enumerate(self.states) if (s != "moved" if state is None else s == state)]

    def time(self, side, state=None):
        """The time in us, or None if there are too few rounds."""
        rounds = self.rounds(state)
        return median([self.us[side][k] for k in rounds]) if side in self.us and len(rounds) >= FEWEST else None

    def ratio(self, other, mine, state=None):
        """How many times faster `mine` is than `other`; None if there are too few rounds."""
        if other not in self.us or mine not in self.us:
            return None
        # The time of the empty loop is subtracted, so a disturbed round can have a time below 0.
        each = [self.us[other][k] / self.us[mine][k] for k in self.rounds(state)
                if self.us[mine][k] > 0 and self.us[other][k] > 0]
        return median(each) if len(each) >= FEWEST else None


def lines(argv, patience, env=None, marks=("turns:",)):
    """Yields the lines before the line `done`. The program may hang after that line. Raises Failed."""
    with tempfile.TemporaryFile("w+") as err:
        p = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=err, stdin=subprocess.DEVNULL, text=True,
                             env=dict(os.environ, LC_ALL="C", **(env or {})), start_new_session=True)
        late = threading.Event()
        timer = threading.Timer(patience, lambda: (late.set(), os.killpg(p.pid, signal.SIGKILL)))
        timer.start()
        try:
            for line in map(str.strip, p.stdout):
                if line == "done":
                    return
                yield line
            p.wait()
        finally:
            timer.cancel()
            if p.poll() is None:
                try:
                    p.wait(0.5)
                except subprocess.TimeoutExpired:
                    os.killpg(p.pid, signal.SIGKILL)
                    p.wait()
            p.stdout.close()
        err.seek(0)
        text = err.read().splitlines()
        why = [x for x in text if any(m in x for m in marks)] or text[-1:] or [""]
        if late.is_set():
            raise Failed("took longer than %d s" % patience)
        raise Failed("ended with %d: %s" % (p.returncode, why[0]), p.returncode)


def launcher(mpi, ranks):
    if mpi == "mpich":
        return ["mpirun.mpich"] + (["-bind-to", "core"] if ranks <= CORES else []) + ["-n", str(ranks)]
    return ["mpirun.openmpi", "-n", str(ranks)] + (
        ["--bind-to", "core"] if ranks <= CORES else
        ["--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"])


class Turns:
    """One machine. build: the folder of the programs; budget: seconds of a turn."""

    def __init__(self, build, rounds=15, budget=0.004, cycle=True, patience=600, say=lambda text: None):
        self.build, self.count, self.budget, self.cycle = build, rounds, budget, cycle
        self.patience, self.say = patience, say

    def path(self, name):
        return os.path.join(self.build, name)

    def points(self, mpi, ranks, sides, first, last, component="tuned", rounds=0):
        """Yields the Points of one launch."""
        program = self.path("bench/turns_" + mpi)
        if not os.path.exists(program):
            raise Failed("%s could not be built" % os.path.basename(program))
        argv = launcher(mpi, ranks)
        if "shim" in sides:
            argv = [self.path("tutti"), "mpi", "--family", FAMILY[mpi]] + argv
        argv += [program, "cycle" if self.cycle else "loop", str(first), str(last), str(self.budget),
                 str(rounds or self.count), ",".join(sides)]
        env = dict(ROOT, TUTTI_PROFILE="none", TUTTI_DROPIN="always", **(COMPONENTS[component] if mpi == "openmpi" else {}))
        for line in lines(argv, self.patience, env):
            if line.startswith("{"):  # libraries print to the same stream
                yield Point(json.loads(line))

    def sizes(self, *args, **more):
        """{bytes: Point} of one launch."""
        return {p.bytes: p for p in self.points(*args, **more)}

    def best_component(self, ranks, first, last):
        """{bytes: Open MPI's fastest component}, from a short run of each; {component: the reason if it did not run}."""
        ratios, why = {}, {}
        for component in COMPONENTS:
            try:
                for p in self.points("openmpi", ranks, ["own", "tutti"], first, last, component, rounds=5):
                    r = p.ratio("own", "tutti")
                    if r:
                        ratios.setdefault(p.bytes, {})[component] = r
            except Failed as e:
                why[component] = str(e)
            self.say("P=%d: looked at Open MPI's %s" % (ranks, component))
        return {b: min(r, key=r.get) for b, r in ratios.items()}, why

    def open_mpi(self, ranks, sides, first, last, best=None):
        """{bytes: (component, Point)} with Open MPI's fastest component at each size."""
        best = best or self.best_component(ranks, first, last)[0]
        found = {}
        for component in sorted(set(best.values())):
            mine = [b for b in best if best[b] == component]
            for b, point in self.sizes("openmpi", ranks, sides, min(mine), max(mine), component).items():
                if best.get(b) == component:
                    found[b] = component, point
            self.say("P=%d: measured in the same processes as Open MPI's %s" % (ranks, component))
        return dict(sorted(found.items()))


def mpich_sizes(ranks, last):
    """Three sizes are enough for MPICH with more ranks than cores, because it spins and a call takes milliseconds."""
    return [(4, last)] if ranks <= CORES else [(b, b) for b in (4, KI, 64 * KI) if b <= last]


def mean(values):
    values = [v for v in values if v]
    return geomean(values) if values else None
