# elastic.py - the targets of replacing failed ranks on several hosts: `tutti run --hosts --respawn`, 8 ranks on 4 simulated
# hosts, which are all this machine, so that the killer and the ranks have the same clock.
# SPDX-License-Identifier: BSD-3-Clause
import os
import queue
import random
import subprocess
import threading
import time

from measure import median
from verdict import at_most, limit, skipped

TITLE = "a rank of several hosts is killed: the others are back at work, and a joiner takes its place"
KILLS, RANKS, HOSTS, EACH = 200, 8, 4, 8  # EACH: kills per job, of different ranks; the last one kills a host
SOON = 250  # ms, at p99
HUNG = 30  # s
PAUSE = 100  # ms that tutti run waits before it restarts a rank


class Job:
    """A job of mp_elastic; `lines` are the words of the lines that its ranks print."""

    def __init__(self, build, kills):
        env = {k: v for k, v in os.environ.items() if not k.startswith("TUTTI_")}
        env.update(TUTTI_PROFILE="none", UCX_TLS="tcp,self", TUTTI_NODES=",".join(str(r * HOSTS // RANKS) for r in range(RANKS)))
        hosts = ",".join(["localhost:%d" % (RANKS // HOSTS)] * HOSTS)
        self.process = subprocess.Popen([os.path.join(build, "tutti"), "run", "--hosts", hosts, "-r", str(kills),
                                         os.path.join(build, "tests", "mp_elastic"), "kills", str(kills)],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
        self.lines = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()
        self.errors = []
        threading.Thread(target=lambda: self.errors.extend(self.process.stderr), daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line.split())
        self.lines.put(["end"])

    def until_whole(self, replaced, back):
        """{pid: ns} of all ranks after `replaced` ranks have been replaced. back: {pid: ns} of the ranks that were working
        again earlier. None: the job hangs, or has ended."""
        whole, end = {}, time.monotonic() + HUNG
        while len(whole) < RANKS:
            try:
                words = self.lines.get(timeout=max(0.01, end - time.monotonic()))
            except queue.Empty:
                return None
            if words[0] == "end" or words[0] == "#":
                print("# ", *words, *self.errors[-3:])
                return None
            if words[0] == "back":
                back.setdefault(int(words[2]), int(words[3]))
            if words[0] == "whole" and int(words[1]) == replaced:
                whole[int(words[2])] = int(words[3])
        return whole

    def end(self):
        try:
            return self.process.wait(HUNG)
        except subprocess.TimeoutExpired:
            self.process.terminate()
            self.process.wait()
            return None


def percentile(values, p):
    return sorted(values)[min(len(values) - 1, int(p / 100 * len(values)))] if values else None


def parent(pid):
    with open("/proc/%d/stat" % pid) as stat:
        return stat.read().rsplit(")", 1)[1].split()[1]


def kill_some(build, kills, lot, at_work, whole_again):
    """Kill different ranks of a job one after another, and finally all ranks of a host with the `tutti run` that started them.
    Appends the times in ms to the lists. Returns whether every recovery succeeded."""
    job = Job(build, kills - 1 + RANKS // HOSTS)
    at = job.until_whole(0, {})
    left, replaced = sorted(at) if at else [], 0
    lot.shuffle(left)
    for n in range(kills if at else 0):
        time.sleep(0.05 + lot.random() * 0.05)
        one = left[n] if n < kills - 1 else lot.choice(sorted(at))
        victims = [one] if n < kills - 1 else [pid for pid in at if parent(pid) == parent(one)]
        back, since = {}, time.monotonic_ns()
        for victim in victims:
            os.kill(victim, 9)
        replaced += len(victims)
        at = job.until_whole(replaced, back)
        if at is None:
            job.process.terminate()
            break
        old = [max(back.get(pid, at[pid]) for pid in at if pid in back)] if back else [max(at.values())]
        at_work.append((old[0] - since) / 1e6)
        whole_again.append((max(at.values()) - since) / 1e6)
    status = job.end()
    return at is not None and status == 0


def bars(build, quick):
    what = "%d kills on %d hosts with %d ranks, each eighth of a whole host" % (EACH if quick else KILLS, HOSTS, RANKS)
    if not os.path.exists(os.path.join(build, "libtutti_ucx.so")):
        yield skipped(what, "without UCX there is nothing between hosts")
        return
    seed = random.getrandbits(32)
    print("# seed %d" % seed, flush=True)
    lot, at_work, whole_again, hangs = random.Random(seed), [], [], 0
    wanted = EACH if quick else KILLS
    while len(whole_again) < wanted and hangs < 3:
        hangs += not kill_some(build, min(EACH, wanted - len(whole_again)), lot, at_work, whole_again)
    yield limit(what + ": measured", len(whole_again))
    yield at_most("hangs, and jobs that fail", 0, hangs)
    yield limit("until the others are back at work, ms, median", median(at_work) if at_work else None)
    yield at_most("until the others are back at work, ms, p99", SOON, percentile(at_work, 99))
    yield limit("until as many as before are at work, ms, median", median(whole_again) if whole_again else None)
    yield at_most("until as many as before are at work, ms, p99 (a pause of %d ms before the start is in it)" % PAUSE, SOON,
                  percentile(whole_again, 99))
    yield limit("until as many as before are at work, ms, worst", max(whole_again, default=None))
