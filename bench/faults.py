# faults.py - runs jobs, kills and stops their ranks, and checks the results.
#
# Idea       the ranks (tests/ranks/mp_soak.c) write their actions and errors into a file. This program knows
#            when it killed a rank, so it knows which rank every survivor must name, and how long that took.
#            When a job is over it may leave nothing: no process, no file in /dev/shm.
# SPDX-License-Identifier: BSD-3-Clause
import atexit
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

FILES = ("TUTTI_TRACE", "TUTTI_WISDOM")  # settings that name a file, which lies in the job's folder
NETS = ("ucx", "tcp", "tls")  # between hosts that are all this one
STARTERS = {"ompi": "mpirun.openmpi", "mpich": "mpirun.mpich"}
# More ranks than cores, as root, on this machine only.
MPI_ENV = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_plm": "isolated",
           "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none",
           "OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_btl_base_warn_component_unused": "0",
           "OMPI_MCA_btl_vader_single_copy_mechanism": "none", "UCX_LOG_LEVEL": "error"}
SILENCE = 60  # s without an expected event: it hangs
LONG = 20  # s that it takes to tell a leak from caches
LOST = -7  # TUTTI_ERR_PEER_LOST
AGGREGATOR_LOST = re.compile("the aggregator at .* is lost: |somebody died elsewhere")  # of mp_soak's errors
AT_START = re.compile("waited for it in allgather, operation [0-3],")  # tutti's own, while a communicator is made
STOPS = []  # when this process resumed after it had been stopped, s
RUNNING = set()  # jobs; they end with this process, unless it is killed


@atexit.register
def end_all():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for job in RUNNING:
        job.end_by_force()
        job.forget()


def heed_signals():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    signal.signal(signal.SIGCONT, lambda *_: STOPS.append(time.monotonic()))


def wires(build):
    """The wires whose programs and libraries are installed."""
    nets = [n for n in NETS if os.path.exists(os.path.join(build, "libtutti_%s.so" % n))]
    return ["shm"] + nets + [m for m in STARTERS
                            if shutil.which(STARTERS[m]) and os.path.exists(os.path.join(build, "tests", m, "mp_soak"))]


def starter(build, wire, ranks, parts):
    """The words that start this many ranks; parts: how many of them each host gets, over one of NETS."""
    if wire in STARTERS:
        return [STARTERS[wire], "-n", str(ranks)]
    where = ["-n", str(ranks)] if wire == "shm" else ["--hosts", ",".join("localhost:%d" % n for n in parts or [1] * ranks)]
    return [os.path.join(build, "tutti"), "run", "-k"] + where


def processes(token):
    """Living processes that carry the token."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/environ" % pid, "rb") as f:
                if token in f.read().split(b"\0"):
                    found.append(int(pid))
        except OSError:
            continue
    return found


def held(path):
    """Does a process have the file open or mapped?"""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/maps" % pid) as f:
                if path in f.read():
                    return True
            if any(os.readlink("/proc/%s/fd/%s" % (pid, fd)) == path for fd in os.listdir("/proc/%s/fd" % pid)):
                return True
        except OSError:
            continue
    return False


def shared_files():
    return set(os.listdir("/dev/shm")) if os.path.isdir("/dev/shm") else set()


def grows(values, bound):
    """Are all values of the last quarter above all of the second?"""
    n = len(values)
    return n >= 6 and min(values[-(n // 4):]) > max(values[n // 4:n // 2]) + bound


def leaks(values, bound):
    """Does it grow steadily: in each quarter of the second half? A cache that fills late grows once."""
    n = len(values)
    parts = [values[n * i // 8:n * (i + 1) // 8] for i in range(4, 8)]
    return n >= 8 and grows(values, bound) and all(min(b) > max(a) for a, b in zip(parts, parts[1:]))


class Patience:
    """A time limit in seconds; time during which this process was stopped does not count."""

    def __init__(self, seconds):
        self.left, self.looked = seconds, time.monotonic()

    def over(self):
        now = time.monotonic()
        self.left -= min(now - self.looked, 1)
        self.looked = now
        return self.left <= 0


class Rank:
    """The records of one rank."""

    def __init__(self):
        self.pid = self.size = None
        self.done = False
        self.errors = []  # (ns, status, sentence), of each life
        self.lost = []
        self.counts = []  # of the last life
        self.calls = self.bytes = self.mismatches = self.members = self.cycles = 0

    def first_error(self):
        return self.errors[0][2] if self.errors else ""

    def take(self, ns, word, rest):
        if word == "at":
            self.pid, self.size = (int(x) for x in rest.split())
        elif word == "error":
            status, sentence = rest.split(" ", 1)
            self.errors.append((ns, int(status), sentence))
        elif word == "lost":
            self.lost.append(rest)
        elif word == "shrunk":
            self.size, self.counts = int(rest), []
        elif word == "count":
            f = rest.split()
            self.calls, self.bytes, self.mismatches = (int(x) for x in f[1:4])
            self.counts.append((ns,) + tuple(int(x) for x in f[4:9]))
            self.members = int(f[9], 16)
        elif word == "cycle":
            self.cycles = int(rest)
        elif word == "done":
            self.done = True


class Job:
    """One job of mp_soak."""

    def __init__(self, build, wire, ranks, seed, seconds, deaths=0, manner="calm", env=None, parts=None):
        self.build, self.wire, self.ranks = build, wire, ranks
        self.folder = tempfile.mkdtemp(prefix="tts-")
        self.record = os.path.join(self.folder, "told")
        open(self.record, "w").close()
        self.told, self.rest = open(self.record, "rb"), b""
        self.rank = [Rank() for _ in range(ranks)]
        self.loses = manner == "losses"  # its aggregator
        self.judges_memory = manner in ("calm", "deaths", "losses") and "ASAN_OPTIONS" not in os.environ
        self.killed = {}  # rank: ns
        self.complaints, self.noticed = [], []
        self.hung = self.spoilt = False  # spoilt: its launcher was killed, or its MPI ended it
        self.token = "SOAK_TOKEN=%d-%x" % (os.getpid(), random.getrandbits(64))
        self.before = shared_files()
        self.shrinks = manner != "ends"
        environment = {k: v for k, v in os.environ.items() if not k.startswith("TUTTI_")}
        environment.update(MPI_ENV, TUTTI_PROFILE="none", LC_ALL="C", TMPDIR=self.folder,
                           OMPI_MCA_orte_tmpdir_base=self.folder)
        if wire == "ucx":
            environment["UCX_TLS"] = "tcp,self"
            del environment["UCX_LOG_LEVEL"]
        self.segments = None
        if wire == "ompi":  # Open MPI's shared memory, separate from other programs'
            self.segments = tempfile.mkdtemp(prefix="tts-", dir="/dev/shm")
            environment["OMPI_MCA_btl_vader_backing_directory"] = self.segments
        environment.update(env or {})
        self.files = {k: os.path.join(self.folder, environment[k]) for k in FILES if k in environment}
        environment.update(self.files)
        environment.update([self.token.split("=")])
        self.out = open(os.path.join(self.folder, "out"), "w+")
        self.process = subprocess.Popen(self.words(seed, seconds, deaths, manner, parts), stdin=subprocess.DEVNULL,
                                        stdout=self.out, stderr=subprocess.STDOUT, env=environment,
                                        start_new_session=True)
        RUNNING.add(self)

    def words(self, seed, seconds, deaths, manner, parts):
        program = os.path.join(self.build, "tests", self.wire if self.wire in STARTERS else "", "mp_soak")
        words = [program, self.record, str(seed), str(seconds), str(deaths), manner]
        if self.wire == "threads":
            return words + [str(self.ranks)]
        return starter(self.build, self.wire, self.ranks, parts) + words

    # ---- actions ----

    def read(self):
        lines = (self.rest + self.told.read()).split(b"\n")
        self.rest = lines.pop()
        for line in lines:
            ns, rank, word, rest = (line.decode(errors="replace") + " ").split(" ", 3)
            if word == "wrong":
                self.complain("rank %s: %s" % (rank, rest.strip()))
            self.rank[int(rank)].take(int(ns), word, rest.strip())

    def complain(self, text):
        self.complaints.append(text)

    def alive(self):
        return [r for r in range(self.ranks) if r not in self.killed]

    def until(self, condition, seconds=SILENCE):
        """Waits for the condition; False, and a complaint, if it does not hold in time."""
        patience = Patience(seconds)
        while True:
            over = self.process.poll() is not None
            self.read()
            if condition():
                return True
            if over or self.complaints:
                if not self.complaints:
                    self.complain("it ended early, with %s" % self.process.returncode)
                return False
            if patience.over():
                return self.hangs()
            time.sleep(0.002)

    def hangs(self):
        """The doctor's report on it."""
        self.hung = True
        try:
            doctor = subprocess.run([os.path.join(self.build, "tutti"), "doctor", str(self.process.pid)], timeout=20,
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
        except subprocess.TimeoutExpired:
            doctor = "tutti doctor hangs, too"
        self.complain("it hangs:\n" + doctor)
        return False

    def started(self):
        return self.until(lambda: all(r.pid for r in self.rank))

    def pass_cycles(self, n):
        """Waits until a live rank has done n more cycles, or is done, or the job has ended."""
        alive = [self.rank[r] for r in self.alive()]
        self.read()
        wanted = n + max(r.cycles for r in alive)
        self.until(lambda: self.process.poll() is not None or any(r.done or r.cycles >= wanted for r in alive))

    def in_order(self):
        """Waits until all live ranks share a communicator; in jobs that do not shrink, until they know which rank died."""
        alive = self.alive()
        if not self.shrinks:
            return self.until(lambda: all(self.rank[r].lost for r in alive))
        return self.until(lambda: all(self.rank[r].size == len(alive) for r in alive))

    def kill(self, rank):
        self.killed[rank] = time.monotonic_ns()
        try:
            os.kill(self.rank[rank].pid, signal.SIGKILL)
        except ProcessLookupError:
            del self.killed[rank]
            if self.shrinks or not self.killed:
                self.complain("rank %d had ended before" % rank)

    def stop(self, rank, seconds):
        try:
            os.kill(self.rank[rank].pid, signal.SIGSTOP)
            time.sleep(seconds)
            os.kill(self.rank[rank].pid, signal.SIGCONT)
        except ProcessLookupError:
            pass  # it has ended

    def bury(self, *ranks, apart=0):
        """Kills the ranks, `apart` seconds apart, and waits until the live ones continue; returns how long the slowest
        took to notice, s."""
        heard = {r: len(self.rank[r].errors) for r in self.alive()}
        for r in ranks:
            time.sleep(apart if r != ranks[0] else 0)
            self.kill(r)
        if not self.in_order() or self.complaints:
            return None
        last = 0
        for r in self.alive():
            for ns, status, sentence in self.rank[r].errors[heard[r]:]:
                last = max(last, (ns - self.killed[ranks[0]]) / 1e9)
            for sentence in self.rank[r].lost[heard[r]:]:
                self.judge_sentence(r, sentence, ranks)
            if len(self.rank[r].errors) == heard[r]:
                self.complain("rank %d has heard nothing" % r)
        self.noticed.append(last)
        return last

    def judge_sentence(self, rank, sentence, dead):
        found = re.search(r"rank (\d+) \(pid (\d+)\) died(?:, killed by SIGKILL)?;|process (\d+) died, while it told", sentence)
        pids = [str(self.rank[r].pid) for r in dead]
        if not found or (found.group(2) or found.group(3)) not in pids:
            self.complain("rank %d does not name who died: %s" % (rank, sentence))

    # ---- the end of a job ----

    def end(self, seconds=SILENCE):
        """Waits for the job's end; then checks that it left nothing behind, and its records."""
        if not self.complaints:
            patience = Patience(seconds)
            while self.process.poll() is None and not self.complaints and not patience.over():
                time.sleep(0.005)
                self.read()
            if self.process.poll() is None and not self.complaints:
                self.hangs()
        if self.complaints:
            self.end_by_force()
        self.process.wait()
        RUNNING.discard(self)
        self.read()
        self.judge_left()
        if not self.complaints:
            self.judge_ranks()
        self.told.close()

    def end_by_force(self):
        try:
            os.killpg(self.process.pid, signal.SIGTERM)
            self.process.wait(10)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            pass
        for pid in processes(self.token.encode()):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def judge_left(self):
        end = time.monotonic() + 5
        while (left := processes(self.token.encode())) and time.monotonic() < end:
            time.sleep(0.05)
        for pid in left:
            self.complain("process %d is left" % pid)
            os.kill(pid, signal.SIGKILL)
        for path in self.left_files():
            if self.spoilt and ("vader" in path or "mpich" in path):
                os.unlink(path)  # of the MPI, which ended in the middle
            else:
                self.complain("%s is left" % path)

    def left_files(self):
        """This job's files in shared memory, as far as their names tell."""
        names = sorted(shared_files() - self.before)
        if self.segments:
            names += [os.path.join(self.segments, name) for name in os.listdir(self.segments)]
        for path in (os.path.join("/dev/shm", name) for name in names):
            others = os.path.isdir(path) or os.path.dirname(path) == "/dev/shm" and (
                "vader" in path or "mpich" in path and self.wire != "mpich")
            if not others and os.path.exists(path) and not held(path):
                yield path

    def judge_ranks(self):
        alive = self.alive()
        if self.spoilt:
            return
        for r in alive:
            rank = self.rank[r]
            if not rank.done:
                self.complain("rank %d has not come to its end; the job's status is %s" % (r, self.process.returncode))
            elif rank.members != sum(1 << a for a in alive) and self.shrinks:
                self.complain("rank %d was with others than those who live" % r)
            errors = [sentence for _, _, sentence in rank.errors if not (self.loses and AGGREGATOR_LOST.search(sentence))]
            if not self.killed and errors:
                self.complain("rank %d: %s" % (r, errors[0]))
            self.judge_memory(r, rank.counts)
        self.judge_files()
        if not self.killed and self.process.returncode:
            self.complain("its status is %d" % self.process.returncode)

    def judge_files(self):
        """The trace is complete, and has events of all ranks that made calls and ended normally, unless a rank died while
        the job's first communicator was made, which begins the trace; there is wisdom, if it was expected."""
        if "TUTTI_TRACE" in self.files:
            try:
                with open(self.files["TUTTI_TRACE"]) as f:
                    groups = {event["pid"] for event in json.load(f)}
                if any(r not in groups and self.rank[r].calls and not AT_START.search(self.rank[r].first_error())
                       for r in self.alive()):
                    self.complain("the trace has only events of %s" % sorted(groups))
            except (OSError, ValueError, KeyError) as e:
                self.complain("the trace is none: %s" % e)
        if os.path.exists(wisdom := self.files.get("TUTTI_WISDOM", "")):
            done = subprocess.run([os.path.join(self.build, "tutti"), "tune", "--wisdom", wisdom], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True)
            if done.returncode:
                self.complain("the wisdom is none: %s" % done.stdout)

    def judge_memory(self, r, counts):
        """Memory held between cycles of its last life: caches grow at first, leaks keep growing."""
        slack = 1 if self.wire in ("shm", "threads") else 16  # MPIs and UCX have internal caches
        long = counts and counts[-1][0] - counts[0][0] > LONG * 1e9
        figures = (("malloc", leaks, slack << 16), ("its own memory", leaks, slack << 19),
                   ("its heap of shared memory", leaks, 1 << 18), ("all shared memory", grows, slack * self.ranks << 23),
                   ("descriptors", grows, 2))
        for (what, more, bound), values in zip(figures, list(zip(*counts))[1:]):
            if self.judges_memory and (long or what == "descriptors") and more(values, bound):
                self.complain("rank %d: %s grows: %s" % (r, what, " ".join(map(str, values[::max(1, len(values) // 20)]))))

    def output(self):
        self.out.seek(0)
        return self.out.read()[-4000:]

    def forget(self):
        self.out.close()
        for folder in filter(None, (self.folder, self.segments)):
            shutil.rmtree(folder, ignore_errors=True)


class Aggregator:
    """A daemon that is killed, stopped and started again, always at the same port."""

    def __init__(self, build):
        self.tutti, self.port, self.process = os.path.join(build, "tutti"), 0, None
        self.profile = tempfile.NamedTemporaryFile("w", prefix="tts-", suffix=".profile")
        self.profile.write("alpha = 1ms\nbeta = 100ns\naggregator.beta = 1ns\n")  # it is chosen
        self.profile.flush()
        self.start()

    def start(self):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("TUTTI_")}
        self.process = subprocess.Popen([self.tutti, "aggregator", "-p", str(self.port)], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment)
        said = self.process.stdout.readline()
        if "on port " not in said:
            raise RuntimeError("the aggregator did not start: %r" % said)
        self.port = int(said.split("on port ")[1].split()[0])

    def end(self, number=signal.SIGKILL):
        self.process.send_signal(number)
        self.process.wait()
        self.process.stdout.close()

    def pause(self, seconds):
        self.process.send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        self.process.send_signal(signal.SIGCONT)

    def env(self):
        return {"TUTTI_AGGREGATOR": "127.0.0.1:%d" % self.port, "TUTTI_PROFILE": self.profile.name}


class Growth(Job):
    """A job of mp_grow, whose ranks die at random, up to `deaths` times; others come in their place."""

    def __init__(self, build, ranks, seed, deaths, env):
        Job.__init__(self, build, "shm", ranks, seed, 0, deaths, "newcomers", env)

    def words(self, seed, seconds, deaths, manner, parts):
        return [os.path.join(self.build, "tutti"), "run", "-r", str(deaths), "-n", str(self.ranks),
                os.path.join(self.build, "tests", "mp_grow"), "lot", str(seed), str(deaths)]

    def judge_ranks(self):
        lines = self.output().split("\n")
        self.killed = dict(enumerate(line for line in lines if "was killed by SIGKILL" in line))
        for line in lines:
            if "wrong" in line:
                self.complain(line)
        if self.process.returncode or sum(line.startswith("done ") for line in lines) != self.ranks:
            self.complain("%d ranks should be there again at the end, with status 0; it is %d" %
                          (self.ranks, self.process.returncode))
