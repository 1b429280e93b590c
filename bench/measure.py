# measure.py - runs measuring programs one after another and reports how much they were disturbed. Uses the standard
# library only. turns.py compares libraries that fit into one process.
#
# Disturbed  a run during which stolen time and the time of other processes together
#            took more than 2 % of the cores (/proc/stat, minus our children). It is
#            repeated at most three times; then the least disturbed run is kept, and marked.
# Cores      The hypervisor migrates virtual CPUs: their distance may grow tenfold from one second to the next, and the
#            time of a call with it, if each rank has a core. A run during which the distance changed is repeated, too.
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
    """Are two core distances about equal? 0: not measured, -1: the distance changed"""
    return one == other >= 0 or (min(one, other) > 0 and max(one, other) < ALIKE * min(one, other))


class Failed(Exception):
    """A program could not run, or failed; the text has the reason. status: its exit status, if it ended."""

    def __init__(self, text, status=None):
        super().__init__(text)
        self.status = status


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
    """CPU seconds of all cores: busy (user, nice, system), and stolen."""
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
    """Run a program. Returns its standard output, and the share of the cores that other processes used."""
    environment = dict(os.environ, LC_ALL="C", TUTTI_PROFILE="none")  # defaults
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

    def tutti(self, ranks, first, last, options=(), env=None):
        tutti = self.path("tutti")
        with tempfile.NamedTemporaryFile(suffix=".json") as f:
            argv = [tutti, "run", "-n", str(ranks)] + (["--bind"] if ranks <= CORES else [])
            argv += [tutti, "bench", "-b", str(first), "-e", str(last), "-f", "4", "-w", "3", "--side", "in"]
            argv += ["--repeats", str(self.repeats), "--budget", str(self.budget), "--format", "json", "-o", f.name]
            argv += (["--cycle"] if self.cycle else []) + list(options)
            _, share = run(argv, env=env)
            rows = json.load(open(f.name))["rows"]
        return {r["bytes"]: r["in_place"]["us_median"] for r in rows}, share

    def far(self, ranks):
        """The present distance of the cores in seconds; 0 if ranks share cores."""
        if not 1 < ranks <= CORES:
            return 0
        out, _ = run([self.path("tutti"), "info", "--format", "json"], timeout=60)
        return json.loads(out).get("between_cores_s", 0)

    def calm(self, label, measure, ranks=0, wanted=None):
        """Call measure(), and repeat it while it is disturbed or the cores' distance is not `wanted`. Returns (value, share,
        far)."""
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
