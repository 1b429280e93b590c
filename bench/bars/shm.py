# shm.py - the targets of shared memory on one machine: small and large vectors on two ranks, more ranks
# than cores, types, kernels, waiting, memory; and the same through the drop-in.
#
# Libraries that fit into one process are measured alternately, in time slices of milliseconds (bench/turns.py). If each
# rank has a core, rounds on near and on far cores have separate targets. The hypervisor migrates virtual CPUs; a state
# (near or far) that did not occur in five launches is skipped, and the report says so.
# SPDX-License-Identifier: BSD-3-Clause
import os
import re
import subprocess
import tempfile
import time

from measure import CORES, KI, MI, SIZES, TRIES, Failed, Lab, bytes_name, geomean, median, run
from turns import STATES, Turns, mean
from verdict import Cannot, at_least, at_most, limit, skipped

TITLE = "float sum in place, cycle measure; ratios of the same round, medians over the rounds"
LAUNCHES = 5


def span(lo, hi):
    return [b for b in SIZES if lo <= b <= hi]


def least(ratios):
    """The least ratio of {where: ratio}, and the text ' at where'."""
    if not ratios:
        return None, ""
    where = min(ratios, key=ratios.get)
    return ratios[where], " (at %s)" % where


# ---- two ranks ----


class Two:
    """Two ranks, each on its own core: Points with both MPIs and gloo. Launches are repeated until each size was measured
    on near and on far cores."""

    def __init__(self, turns, last, quick):
        self.turns, self.last, self.launches, self.why = turns, last, 1 if quick else LAUNCHES, {}
        self.mpis = {"Open MPI": {}, "MPICH": {}}
        try:
            self.best, why = turns.best_component(2, 4, last)
        except Failed as e:
            self.best, why = {}, {"Open MPI": str(e)}
        self.why.update(why)
        sides = ["own", "tutti", "alloc", "exchange", "two-shot", "stream"]
        for _ in range(self.launches):
            self.add("Open MPI", lambda: {b: p for b, (_, p) in turns.open_mpi(2, sides, 4, last, self.best).items()})
            self.add("MPICH", lambda: turns.sizes("mpich", 2, ["own", "tutti", "alloc"], 4, last))
            if all(len(p.rounds(s)) >= turns.count // 2 for m in self.mpis.values() for p in m.values() for s in STATES):
                break
        self.gloo = {}
        try:
            self.gloo = turns.sizes("openmpi", 2, ["tutti", "gloo"], 4, min(last, MI), rounds=5)
        except Failed as e:
            self.why["gloo"] = str(e)

    def add(self, mpi, launch):
        try:
            for b, point in launch().items():
                if b in self.mpis[mpi]:
                    self.mpis[mpi][b].add(point)
                else:
                    self.mpis[mpi][b] = point
        except Failed as e:
            self.why[mpi] = str(e)

    def faster_mpi(self, mine, state, lo, hi):
        """{size: time of the faster MPI / time of `mine`}; sizes without results of both MPIs are left out."""
        found = {}
        for b in span(lo, hi):
            each = [m[b].ratio("own", mine, state) if b in m else None for m in self.mpis.values()]
            if all(each):
                found[b] = min(each)
        return found

    def floor(self, mine, floor, state, lo, hi):
        """{size: time of `mine` / time of the lower bound}"""
        of = self.mpis["Open MPI"]
        found = {b: of[b].ratio(mine, floor, state) for b in span(lo, hi) if b in of}
        return {b: r for b, r in found.items() if r}

    def missing(self, state, found, lo, hi):
        """The reason why a target cannot be judged: a peer failed, or a state or a size was not measured."""
        if self.why:
            return "; ".join("%s: %s" % w for w in self.why.items())
        lost = [bytes_name(b) for b in span(lo, min(hi, self.last)) if b not in found]
        return Cannot("%s cores were not seen at %s" % (state, ", ".join(lost)) if lost else "sizes to %s only" % bytes_name(self.last))


def complete(found, lo, hi):
    """`found`, or {} if a size is missing, so that no minimum or mean covers fewer sizes than wanted."""
    return found if all(b in found for b in span(lo, hi)) else {}


def bar_of(two, name, want, found, state, lo, hi, reduce):
    whole = complete(found, lo, hi)
    value, where = reduce(whole)
    return at_least(name % where if "%s" in name else name, want, value, two.missing(state, found, lo, hi))


def the_mean(found):
    return mean(found.values()), ""


def the_least(found):
    return least({bytes_name(b): r for b, r in found.items()})


# state, first and last size, the wanted mean and minimum of the ratio: time of the faster MPI / time of tutti
PRIVATE = [("near", 4, 64 * MI, 2.2, 1.3), ("far", 4, 64 * MI, 2.0, 1.2), ("far", 64 * KI, 16 * MI, 2.5, None)]


def private(two):
    for state, lo, hi, middle, lowest in PRIVATE:
        found = two.faster_mpi("tutti", state, lo, hi)
        title = "P=2 %s, malloc, faster MPI / tutti, %s-%s" % (state, bytes_name(lo), bytes_name(hi))
        yield bar_of(two, title + ", mean", middle, found, state, lo, hi, the_mean)
        if lowest:
            yield bar_of(two, title + ", least%s", lowest, found, state, lo, hi, the_least)
    gloo = {b: p.ratio("gloo", "tutti") for b, p in two.gloo.items()}
    gloo = {b: r for b, r in gloo.items() if r}
    yield bar_of(two, "P=2 malloc, gloo / tutti, 4 B-1 MiB, mean", 40, gloo, "any", 4, MI, the_mean)
    yield bar_of(two, "P=2 malloc, gloo / tutti, least%s", 4, gloo, "any", 4, MI, the_least)


def small(two):
    """Calls of 4 B compared with the bare exchange of cache lines."""
    for state in STATES:
        over = two.floor("tutti", "exchange", state, 4, 4).get(4)
        yield at_most("P=2 %s, 4 B, over a bare exchange of lines" % state, 1.6, over, two.missing(state, {}, 4, 4))


def shared(two):
    lo, hi = 16 * KI, 64 * MI
    for state in STATES:
        mpi = two.faster_mpi("alloc", state, lo, hi)
        title = "P=2 %s, alloc, faster MPI / tutti, 16 KiB-64 MiB" % state
        yield bar_of(two, title + ", mean", 3, mpi, state, lo, hi, the_mean)
        yield bar_of(two, title + ", least%s", 1.4, mpi, state, lo, hi, the_least)
        both = [two.floor("alloc", f, state, lo, hi) for f in ("two-shot", "stream")]
        over = {b: max(f[b] for f in both) for b in span(lo, hi) if all(b in f for f in both)}
        inverse = {b: 1 / r for b, r in complete(over, lo, hi).items()}
        value, where = the_least(inverse)
        yield at_most("P=2 %s, alloc, over the better of two-shot floor and streaming probe, greatest%s" % (state, where),
                      1.1, value and 1 / value, two.missing(state, over, lo, hi))
        private = two.floor("alloc", "tutti", state, 4, hi)
        value, where = the_least({b: 1 / r for b, r in complete(private, 4, hi).items()})
        yield at_least("P=2 %s, malloc / alloc, least%s" % (state, where), 1, value, two.missing(state, private, 4, hi))
    lo, hi = 64 * KI, 16 * MI
    probe = two.floor("stream", "tutti", "far", lo, hi)
    yield bar_of(two, "P=2 far, malloc, streaming probe / tutti, 64 KiB-16 MiB, least%s", 0.9, probe, "far", lo, hi, the_least)


def halves(lab, rounds):
    """1 Mi elements of bf16 compared with the same number of floats."""
    each = []
    for k in range(rounds):
        t = {}
        for kind, size in (("bf16", 2 * MI), ("float", 4 * MI)):
            value, _, _ = lab.calm("P=2 round %d: 1 Mi of %s" % (k + 1, kind),
                                   lambda: lab.tutti(2, size, size, ["-d", kind]))
            t[kind] = value[size]
        each.append(t["bf16"] / t["float"])
    yield at_most("P=2, 1 Mi elements of bf16, over floats", 0.6, median(each))


def traced(lab, rounds):
    """Calls of 64 KiB with and without a trace, alternately."""
    with tempfile.TemporaryDirectory() as folder:
        env = {"TUTTI_TRACE": os.path.join(folder, "x.json")}
        t = {False: [], True: []}
        for k in range(rounds):
            for on in (False, True):
                value, _, _ = lab.calm("P=2 round %d: 64 KiB%s" % (k + 1, ", traced" if on else ""),
                                       lambda: lab.tutti(2, 64 * KI, 64 * KI, env=env if on else None))
                t[on].append(value[64 * KI])
    yield at_most("P=2, 64 KiB, with a trace over without", 1.05, median(t[True]) / median(t[False]))


# ---- more ranks than cores ----


def crowded(turns, ranks, last):
    """In any state, because with more ranks than cores most of a call's time is context switches."""
    groups = [("4 B-1 KiB, mean", 3.0, 4, KI), ("16 KiB-16 MiB, mean", 2.2, 16 * KI, 16 * MI)]
    pooled, worst, why, floor, yielded = {g[0]: [] for g in groups}, {}, {}, [], None
    for p in ranks:
        try:
            best, lost = turns.best_component(p, 4, last)
            why.update(lost)
            found = turns.open_mpi(p, ["own", "tutti", "exchange"], 4, last, best)
        except Failed as e:
            why["P=%d" % p] = str(e)
            continue
        ratios = {b: point.ratio("own", "tutti") for b, (_, point) in found.items()}
        floor.append(found[4][1].ratio("own", "exchange"))
        yielded = found[4][1].ratio("tutti", "exchange") if p == ranks[-1] else yielded
        for title, _, lo, hi in groups:
            pooled[title] += [ratios.get(b) for b in span(lo, min(hi, last))]
        worst.update({"P=%d, %s" % (p, bytes_name(b)): r for b, r in ratios.items() if r})
    who, reason = "P=%s" % ",".join(map(str, ranks)), "; ".join("%s: %s" % w for w in why.items()) or "no figures"
    for title, want, _, _ in groups:
        each = pooled[title]
        yield at_least("%s, Open MPI / tutti, %s" % (who, title), want,
                       None if why or not each or None in each else geomean(each), reason)
    yield limit("%s, Open MPI / yield floor, 4 B, mean" % who, None if why or None in floor else geomean(floor))
    large = {w: r for w, r in worst.items() if "Ki" in w or "Mi" in w}
    value, where = least(worst)
    yield at_least("%s, Open MPI / tutti, least%s" % (who, where), 1.5, None if why else value, reason)
    value, where = least({w: r for w, r in large.items() if not w.endswith((" 1 Ki", " 4 Ki"))})
    yield at_least("%s, Open MPI / tutti, 16 KiB-16 MiB, least%s" % (who, where), 1.3, None if why else value, reason)
    yield at_most("P=%d, 4 B, over the yield floor" % ranks[-1], 1.5, yielded, reason)


# ---- through the drop-in ----


def dropped_in(turns, last):
    """MPI_Allreduce through the drop-in, compared with the MPI's own function and with tutti's call, in one process."""
    for mpi, title in (("openmpi", "Open MPI"), ("mpich", "MPICH")):
        found, why = {}, ""
        try:
            found = turns.sizes(mpi, 2, ["own", "tutti", "shim"], 4, last)
        except Failed as e:
            why = str(e)
        for state in STATES:
            gain = {b: p.ratio("own", "shim", state) for b, p in found.items()}
            cost = {b: (p.time("shim", state), p.time("tutti", state)) for b, p in found.items()}
            gain = {b: r for b, r in gain.items() if r}
            reason = why or Cannot("%s cores were not seen at each size" % state)
            value, where = the_least(complete(gain, 4, last))
            yield at_least("P=2 %s, %s / the drop-in, 4 B-%s, least%s" % (state, title, bytes_name(last), where), 1.2, value, reason)
            yield at_least("P=2 %s, %s / the drop-in, mean" % (state, title), 2.0, the_mean(complete(gain, 4, last))[0], reason)
            # the overhead of a call relative to the allowed overhead of 5 % plus 100 ns
            share = {b: 1 / max((shim - own) / (0.05 * own + 0.1), 0.01) for b, (shim, own) in cost.items() if shim and own}
            value, where = the_least(complete(share, 4, last))
            yield at_most("P=2 %s, %s: what the drop-in adds, of (5 %% + 100 ns), greatest%s" % (state, title, where), 1,
                          value and 1 / value, reason)


# ---- kernels, waiting, memory ----


def kernels(lab, rounds):
    """Kernels of the best instruction set, with the result in one of the inputs and in a third vector."""
    for kind in ("float", "double"):
        for op in ("sum", "min", "max"):
            each = {}
            for _ in range(rounds):
                out, _, _ = lab.calm("kernel %s %s" % (kind, op),
                                     lambda: run([lab.path("bench/kernels"), "-l", kind, op], timeout=120))
                for _, _, where, mine, copy in map(str.split, out.splitlines()):
                    each.setdefault(where, []).append(float(mine) / float(copy))
            for where, values in each.items():
                yield at_least("kernel %s %s %s beyond L2, GB/s over a copy's" % (kind, op, where), 0.9,
                               median(values))


def waiting(lab, p):
    each = []
    for k in range(3):
        out, _, _ = lab.calm("P=%d, rank 0 is a second late" % p,
                             lambda: run([lab.path("tutti"), "run", "-n", str(p), lab.path("bench/late")]))
        each.append(float(out.split()[1]) / 1000)
    yield at_most("P=%d, 1 s late: greatest waiter's processor time, ms" % p, 5, median(each))


def memory_of(pid_text):
    """Bytes of the job's shared memory, as seen by the descendants of `pid`."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/environ" % pid, "rb") as f:
                if pid_text not in f.read():
                    continue
            held = {}
            for fd in os.listdir("/proc/%s/fd" % pid):
                path = "/proc/%s/fd/%s" % (pid, fd)
                if re.match(r"/memfd:", os.readlink(path)):
                    s = os.stat(path)
                    held[s.st_ino] = s.st_blocks * 512
            if held:
                return sum(held.values())
        except OSError:
            continue
    return 0


def memory(lab, p):
    mark = "TUTTI_BARS_MARK=%d.%d" % (os.getpid(), time.monotonic_ns())
    argv = [lab.path("tutti"), "run", "-n", str(p), "--timeout", "120", "--env", mark, lab.path("tutti"),
            "bench", "-b", "4", "-e", "1M", "-f", "64", "-n", "3", "--repeats", "2"]
    job = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    most = 0
    while job.poll() is None:
        most = max(most, memory_of(mark.encode()))
        time.sleep(0.1)
    lab.say("P=%d: %d bytes of shared memory" % (p, most))
    if job.returncode or not most:
        raise Failed("P=%d: %s" % (p, job.stderr.read().strip() or "its memory was not found"))
    yield at_most("P=%d: shared memory in use, 4 B to 1 MiB, MB" % p, 256, most / 1e6)


# ---- all of it ----


def bars(build, quick):
    lab = Lab(build, budget=0.005 if quick else 0.02, repeats=3 if quick else 5, tries=1 if quick else TRIES)
    turns = Turns(build, rounds=5 if quick else 15, say=lab.say)
    last = 64 * KI if quick else 64 * MI
    if quick:
        print("quick: few rounds, sizes to 64 KiB only: figures mean little", flush=True)
    if CORES < 2:
        yield skipped("P=2", "one core only")
        return
    two = Two(turns, last, quick)
    yield from small(two)
    yield from private(two)
    yield from shared(two)
    yield from dropped_in(turns, min(last, MI))
    ranks = [p for p in (3, 4, 7, 8, 16) if p > CORES]
    if ranks:
        yield from crowded(turns, ranks[-1:] if quick else ranks, min(last, 16 * MI))
    rounds = 1 if quick else 5
    yield from halves(lab, rounds)
    yield from traced(lab, 2 if quick else 9)
    yield from kernels(lab, 1 if quick else 3)
    yield from waiting(lab, 2)
    yield from waiting(lab, 8)
    yield from memory(lab, 256)
