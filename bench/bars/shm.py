# shm.py - the bars of one machine's shared memory: small and large vectors at two
# ranks, more ranks than cores, types, kernels, waiting, memory.
# SPDX-License-Identifier: BSD-3-Clause
import os
import re
import subprocess
import tempfile
import time

from measure import CORES, KI, MI, SIZES, TRIES, Failed, Lab, Rounds, bytes_name, geomean, median, run
from verdict import Bar, at_least, at_most, limit

TITLE = "float sum in place, cycle measure, medians of one run"
MPI = ["Open MPI", "MPICH"]
PATIENCE = 600  # seconds; later, disturbed runs are not repeated


def reason(rounds, names):
    return "; ".join("%s: %s" % (n, rounds.why[n]) for n in names if n in rounds.why) or "no figures"


def ratios(rounds, others, mine, lo, hi):
    """{size: ratio} of the sizes from lo to hi that have a comparison."""
    found = {b: rounds.ratio(others, mine, b) for b in SIZES if lo <= b <= hi}
    return {b: r for b, r in found.items() if r is not None}


def mean(r):
    return geomean(r.values()) if r else None


def extreme(pick, r):
    """The least or greatest ratio, and ' at size'."""
    if not r:
        return None, ""
    b = pick(r, key=r.get)
    return r[b], " (at %s)" % bytes_name(b)


# ---- two ranks ----


def small(lab, rounds):
    """4 B compared with the bare exchange, in close alternation."""
    r = Rounds(lab, 2, {"tutti": (4, 4), "exchange floor": (4, 4)}, rounds)
    over = r.ratio(["tutti"], "exchange floor", 4)
    yield at_most("P=2, 4 B, over a bare exchange of lines", 1.6, over, reason(r, r.times))


def private(r):
    mpi = ratios(r, MPI, "tutti", 4, 64 * MI)
    why = reason(r, MPI)
    yield at_least("P=2 malloc, faster MPI / tutti, 4 B-64 MiB, mean", 1.7, mean(mpi), why)
    least, where = extreme(min, mpi)
    yield at_least("P=2 malloc, faster MPI / tutti, least%s" % where, 0.95, least, why)
    gloo = ratios(r, ["gloo"], "tutti", 4, MI)
    yield at_least("P=2 malloc, gloo / tutti, 4 B-1 MiB, mean", 40, mean(gloo), reason(r, ["gloo"]))
    least, where = extreme(min, gloo)
    yield at_least("P=2 malloc, gloo / tutti, least%s" % where, 4, least, reason(r, ["gloo"]))


def shared(r):
    name = "tutti --alloc"
    floor = ratios(r, [name], "two-shot floor", 16 * KI, 64 * MI)
    why = reason(r, [name, "two-shot floor"])
    yield at_most("P=2 alloc, over the two-shot floor, 16 KiB-64 MiB, mean", 1.2, mean(floor), why)
    most, where = extreme(max, floor)
    yield at_most("P=2 alloc, over the two-shot floor, greatest%s" % where, 1.3, most, why)
    mpi = ratios(r, MPI, name, 16 * KI, 64 * MI)
    yield at_least("P=2 alloc, faster MPI / tutti, 16 KiB-64 MiB, mean", 3, mean(mpi), reason(r, MPI))
    least, where = extreme(min, mpi)
    yield at_least("P=2 alloc, faster MPI / tutti, least%s" % where, 1.4, least, reason(r, MPI))


def halves(lab, rounds):
    """1 Mi elements of bf16 compared with as many floats."""
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
    """64 KiB with a trace and without, in turn."""
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


def crowded(lab, rounds, ranks, last):
    groups = [("4 B-1 KiB, mean", 3.0, 4, KI), ("16 KiB-4 MiB, mean", 2.5, 16 * KI, 4 * MI)]
    pooled, worst, why, floor = {g[0]: [] for g in groups}, [], "", []
    for p in ranks:
        r = Rounds(lab, p, {"tutti": (4, last), "Open MPI": (4, last), "exchange floor": (4, 4)}, rounds)
        floor += ratios(r, ["Open MPI"], "exchange floor", 4, 4).values()
        for title, _, lo, hi in groups:
            pooled[title] += ratios(r, ["Open MPI"], "tutti", lo, hi).values()
        worst += [(x, p, b) for b, x in ratios(r, ["Open MPI"], "tutti", 4, last).items()]
        why = why or (reason(r, r.times) if r.why else "")
    who = "P=%s" % ",".join(map(str, ranks))
    for title, want, _, _ in groups:
        yield at_least("%s, Open MPI / tutti, %s" % (who, title), want,
                       geomean(pooled[title]) if pooled[title] else None, why or "no figures")
    yield limit("%s, Open MPI / yield floor, 4 B, mean" % who, geomean(floor) if floor else None)
    least = min(worst) if worst else None
    where = " (P=%d, %s)" % (least[1], bytes_name(least[2])) if least else ""
    yield at_least("%s, Open MPI / tutti, least%s" % (who, where), 1.5, least and least[0], why)


def yielding(lab, rounds, p):
    r = Rounds(lab, p, {"tutti": (4, 4), "exchange floor": (4, 4)}, rounds)
    yield at_most("P=%d, 4 B, over the yield floor" % p, 1.5, r.ratio(["tutti"], "exchange floor", 4),
                  reason(r, r.times))


# ---- kernels, waiting, memory ----


def kernels(lab, rounds):
    """With the best instruction set, into one of the inputs and into a third vector."""
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
    lab = Lab(build, budget=0.005 if quick else 0.02, repeats=3 if quick else 5, patience=PATIENCE,
              tries=1 if quick else TRIES)
    last, rounds = (64 * KI, 1) if quick else (64 * MI, 5)
    if quick:
        print("quick: one round, sizes to 64 KiB only: figures mean little", flush=True)
    if CORES < 2:
        yield Bar("P=2", "", "-", "one core only")
        return
    yield from small(lab, 2 if quick else 11)
    names = {n: (4, last) for n in ["tutti", "tutti --alloc", "Open MPI", "MPICH", "two-shot floor"]}
    names["gloo"] = (4, min(last, MI))
    two = Rounds(lab, 2, names, rounds)
    yield from private(two)
    yield from shared(two)
    yield from halves(lab, rounds)
    yield from traced(lab, 2 if quick else 9)
    ranks = [p for p in (3, 4, 7, 8, 16) if p > CORES]
    if ranks:
        yield from crowded(lab, 1 if quick else 3, ranks[-1:] if quick else ranks, min(last, 4 * MI))
        yield from yielding(lab, rounds, 16)
    yield from kernels(lab, 1 if quick else 3)
    yield from waiting(lab, 2)
    yield from waiting(lab, 8)
    yield from memory(lab, 256)
