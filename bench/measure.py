# measure.py - runs measuring programs one after another, round by round, and reports
# how much they were disturbed. Standard library only.
#
# Round      every program once; another one is the first in each round. The
#            figure of a comparison is the median over the rounds of the ratio
#            within a round: machines drift, ratios much less.
# Disturbed  a run during which stolen time and other processes' time, together,
#            took more than 2 % of the cores (/proc/stat, less our children). It is
#            repeated at most three times; then the least disturbed is kept, marked.
# Cores      of a virtual machine move: near each other for a second, ten times as far the next, which
#            changes times as much if each rank has a core. A run in which they moved, or were placed
#            differently from the round's first one, is repeated, too; and only programs with the
#            same placement are compared, unless there is no such round.
# SPDX-License-Identifier: BSD-3-Clause
import json
import math
import os
import platform
import resource
import shutil
import signal
import subprocess
import tempfile
import time

LIMIT = 0.02
ALIKE = 1.25
TRIES = 4
HERTZ = os.sysconf("SC_CLK_TCK")
CORES = len(os.sched_getaffinity(0))
SIZES = [4 << (2 * i) for i in range(13)]  # 4 B to 64 MiB
KI, MI = 1 << 10, 1 << 20


def alike(one, other):
    """Are two core distances alike? 0: not measured, -1: the cores moved"""
    return one == other >= 0 or (min(one, other) > 0 and max(one, other) < ALIKE * min(one, other))


class Failed(Exception):
    """A program that could not run, or failed; the text says how."""


def median(values):
    values = sorted(values)
    n = len(values)
    return values[n // 2] if n % 2 else (values[n // 2 - 1] + values[n // 2]) / 2


def geomean(values):
    return math.exp(sum(math.log(v) for v in values) / len(values))


def bytes_name(n):
    for unit, shift in (("Mi", 20), ("Ki", 10)):
        if n >= 1 << shift:
            return "%d %s" % (n >> shift, unit)
    return "%d" % n


# ---- one run ----


def machine_time():
    """Seconds of all cores: busy (user, nice, system), stolen."""
    with open("/proc/stat") as f:
        t = [int(x) / HERTZ for x in f.readline().split()[1:]]
    return t[0] + t[1] + t[2], t[7]


def children_time():
    u = resource.getrusage(resource.RUSAGE_CHILDREN)
    return u.ru_utime + u.ru_stime


def finish(process, timeout):
    try:
        return process.communicate(timeout=timeout)
    except BaseException as e:
        for s in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(process.pid, s)
                process.communicate(timeout=5)
                break
            except (subprocess.TimeoutExpired, ProcessLookupError):
                continue
        if isinstance(e, subprocess.TimeoutExpired):
            raise Failed("took longer than %d s" % timeout)
        raise


def run(argv, timeout=300, env=None):
    """Standard output, and the share of the cores that other processes took."""
    environment = dict(os.environ, LC_ALL="C", TUTTI_PROFILE="none")  # unless given
    environment.update(env or {})
    busy, stolen = machine_time()
    own, start = children_time(), time.monotonic()
    try:
        process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   stdin=subprocess.DEVNULL, env=environment, start_new_session=True)
    except OSError as e:
        raise Failed("%s: %s" % (argv[0], e.strerror))
    out, err = finish(process, timeout)
    passed = time.monotonic() - start
    busy2, stolen2 = machine_time()
    if process.returncode:
        last = (err.strip() or out.strip()).splitlines()[-1:] or [""]
        raise Failed("%s ended with %d: %s" % (os.path.basename(argv[0]), process.returncode, last[0]))
    foreign = max(0.0, busy2 - busy - (children_time() - own)) + stolen2 - stolen
    return out, foreign / (passed * os.cpu_count())


# ---- the programs ----


class Lab:
    """The paths, and the duration of each measurement."""

    def __init__(self, build, budget=0.02, repeats=5, cycle=True, patience=1e9, echo=True, tries=TRIES):
        self.build, self.budget, self.repeats, self.cycle = build, budget, repeats, cycle
        self.deadline = time.monotonic() + patience  # later, disturbed runs are not repeated
        self.echo, self.tries = echo, tries

    def say(self, text):
        if self.echo:
            print("# " + text, flush=True)

    def path(self, name):
        return os.path.join(self.build, name)

    def plan(self, first, last):
        return ["cycle" if self.cycle else "loop", str(first), str(last), str(self.budget), str(self.repeats)]

    def tutti(self, ranks, first, last, options=(), env=None):
        tutti = self.path("tutti")
        with tempfile.NamedTemporaryFile(suffix=".json") as f:
            argv = [tutti, "run", "-n", str(ranks)] + (["--bind"] if ranks <= CORES else [])
            argv += [tutti, "bench", "-b", str(first), "-e", str(last), "-f", "4", "-w", "3", "--side", "in"]
            argv += ["--repeats", str(self.repeats), "--budget", str(self.budget), "--json", f.name]
            argv += (["--cycle"] if self.cycle else []) + list(options)
            _, share = run(argv, env=env)
            rows = json.load(open(f.name))["rows"]
        return {r["bytes"]: r["in_place"]["us_median"] for r in rows}, share

    def lines(self, argv, env=None):
        out, share = run(argv, env=env)
        return {int(l.split()[0]): float(l.split()[1]) for l in out.splitlines()}, share

    def measure(self, name, ranks, first, last):
        """{bytes: median us} and the share of disturbance, of one run."""
        plan = self.plan(first, last)
        if name == "tutti":
            return self.tutti(ranks, first, last)
        if name == "tutti --alloc":
            return self.tutti(ranks, first, last, ["--alloc"])
        if name == "generic":
            return self.tutti(ranks, first, last, env={"TUTTI_ENGINE": "generic"})
        if name == "generic --alloc":
            return self.tutti(ranks, first, last, ["--alloc"], env={"TUTTI_ENGINE": "generic"})
        if name == "Open MPI":
            argv = ["mpirun.openmpi", "-np", str(ranks)]
            if ranks > CORES:
                argv += ["--mca", "mpi_yield_when_idle", "1", "--oversubscribe", "--bind-to", "none"]
            env = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
            return self.lines(argv + [self.path("bench/peer_openmpi")] + plan, env)
        if name == "MPICH":
            return self.lines(["mpirun.mpich", "-n", str(ranks), self.path("bench/peer_mpich")] + plan)
        if name == "gloo":
            best = "all" if ranks <= CORES else "ring"
            return self.lines([self.path("bench/peer_gloo"), str(ranks), best] + plan)
        if name == "two-shot floor":
            return self.lines([self.path("bench/floor_two_shot")] + plan)
        if name == "exchange floor":
            spins = "1000000" if ranks <= CORES else "0"
            times, share = self.lines([self.path("bench/floor_exchange"), str(ranks), spins])
            return {4: times[ranks]}, share
        raise ValueError(name)

    def far(self, ranks):
        """Seconds between the cores, at this moment; 0 for ranks that share them"""
        if not 1 < ranks <= CORES:
            return 0
        out, _ = run([self.path("tutti"), "info", "--json"], timeout=60)
        return json.loads(out).get("between_cores_s", 0)

    def calm(self, label, measure, ranks=0, wanted=None):
        """measure(), repeated while it is disturbed or the cores' distance is not `wanted`. (value, share, far)."""
        best = None
        for _ in range(self.tries):
            before = self.far(ranks)
            value, share = measure()
            after = self.far(ranks)
            far = after if alike(before, after) else -1
            moved = far < 0 or not (wanted is None or alike(far, wanted))
            if best is None or (moved, share) < best[0]:
                best = (moved, share), value, far
            if best[0] <= (False, LIMIT) or time.monotonic() > self.deadline:
                break
        (moved, share), value, far = best
        self.say("%-32s %4.1f %% disturbed%s%s" % (label, 100 * share, " (kept)" if share > LIMIT else "",
                                                 ", the cores moved (kept)" if moved else ""))
        return value, share, far


class Rounds:
    """Programs measured in turn. times[name] is one {bytes: us} per round (empty if the program failed:
    why[name])."""

    def __init__(self, lab, ranks, jobs, rounds):
        """jobs: {name: (first, last)}, or {name: [(first, last), ...]}"""
        self.ranks, self.times, self.shares, self.why = ranks, {n: [] for n in jobs}, [], {}
        self.far = {n: [] for n in jobs}
        names = list(jobs)
        for k in range(rounds):
            self.wanted = None
            for name in names[k % len(names):] + names[: k % len(names)]:
                self.times[name].append(self.one(lab, name, jobs[name], k))

    def one(self, lab, name, spans, k):
        far, times = 0, {}
        self.far[name].append(-1)
        if name in self.why:
            return {}
        for first, last in spans if isinstance(spans, list) else [spans]:
            label = "P=%d round %d: %s" % (self.ranks, k + 1, name)
            try:
                value, share, far = lab.calm(label, lambda: lab.measure(name, self.ranks, first, last),
                                             self.ranks, self.wanted)
            except Failed as e:
                self.why[name] = str(e)
                lab.say("%s: %s" % (label, e))
                return {}
            self.shares.append(share)
            lost = [bytes_name(b) for b, t in value.items() if t <= 0]
            if lost:
                lab.say("%s: no time above that of the empty cycle at %s: left out" % (label, ", ".join(lost)))
            times.update({b: t for b, t in value.items() if t > 0})
            self.wanted = far if self.wanted is None and far >= 0 else self.wanted
        self.far[name][k] = far
        return times

    def time(self, name, size):
        """The median over the rounds, or None."""
        each = [t[size] for t in self.times[name] if size in t]
        return median(each) if each else None

    def ratio(self, others, name, size):
        """How many times faster `name` is than the fastest of `others`: the median over the rounds; None if there is
        nothing to compare."""
        each, same = [], []
        for k, mine in enumerate(self.times[name]):
            of = [o for o in others if size in self.times[o][k]]
            if of and size in mine:
                each.append(min(self.times[o][k][size] for o in of) / mine[size])
                if all(alike(self.far[o][k], self.far[name][k]) for o in of):
                    same.append(each[-1])
        return median(same or each) if each else None

    def disturbed(self):
        return sum(s > LIMIT for s in self.shares), len(self.shares)


# ---- about this machine ----


def first_line(argv):
    try:
        return run(argv, timeout=20)[0].splitlines()[0].strip()
    except (Failed, IndexError):
        return "none"


def machine():
    model = "unknown"
    with open("/proc/cpuinfo") as f:
        for line in f:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    caches = []
    base = "/sys/devices/system/cpu/cpu0/cache"
    for index in sorted(f for f in os.listdir(base) if f.startswith("index")) if os.path.isdir(base) else []:
        level, kind, size = (open("%s/%s/%s" % (base, index, f)).read().strip() for f in ("level", "type", "size"))
        if kind != "Instruction":
            caches.append("L%s %s" % (level, size))
    gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "processor": model,
        "cores": CORES,
        "caches": ", ".join(caches),
        "memory_GiB": round(gib),
        "system": "%s %s" % (platform.system(), platform.release()),
        "Open MPI": first_line(["mpirun.openmpi", "--version"]),
        "MPICH": next((l.split()[-1] for l in version_of_mpich() if "Version" in l), "none"),
    }


def version_of_mpich():
    if not shutil.which("mpichversion"):
        return []
    try:
        return run(["mpichversion"], timeout=20)[0].splitlines()
    except Failed:
        return []
