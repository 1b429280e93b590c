# perf_smoke.py - checks that an allreduce of two ranks is still as close to its lower bound ("floor") as before. `make
# perf-smoke`, half a minute at most.
#
#   perf_smoke.py [--build DIR] [--store]
#
# Idea       tutti, on vectors of malloc and of tutti_mem_alloc, and the floors (turns_floor.c) alternate in time slices of half
#            a millisecond in the same processes. The ratio of tutti's time to the floor's may be at most WORSE times the ratio
#            in perf_smoke.tsv.
# Time       the fastest round of a side. With a load of 12 on two cores, medians of ratios varied by a factor of 20, because
#            other programs run during most rounds. At least one round of half a millisecond is undisturbed, for tutti and for
#            the floor.
# State      near and far cores have separate ratios, because the hypervisor migrates virtual CPUs. A state with fewer than
#            ENOUGH rounds is not judged.
# Processor  ratios differ between processors, so perf_smoke.tsv has rows for each (vendor, family and model). For a processor
#            without a row, the greatest ratio of all processors counts, of near and far cores.
# Tries      a size that is too slow is measured again, because noise is temporary and a regression is not. The check fails if
#            the size was too slow in TRIES of at most LAUNCHES launches with this state.
# --store    writes the medians of STORES launches to the rows of this processor, after an improvement or on a new processor.
#            Set TUTTI_ENGINE=generic to see the check fail.
# SPDX-License-Identifier: BSD-3-Clause
import argparse
import os
import re
import shutil
import sys

from measure import CORES, Failed, bytes_name, median
from turns import STATES, Turns

SIZES = (4, 256, 4 << 10, 64 << 10, 1 << 20)
SIDES = ("tutti", "alloc")
FLOORS = ("exchange", "two-shot")  # the first one that has a result for the size is used
WORSE, TRIES, LAUNCHES, STORES, ROUNDS, ENOUGH, TURN = 1.5, 3, 6, 5, 100, 30, 0.0005
TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "perf_smoke.tsv")


def measured(build, mpi, sizes):
    """{(bytes, side, state): time divided by the floor}, from one launch for each size."""
    ratios = {}
    for size in sizes:
        try:
            point = Turns(build, ROUNDS, TURN, cycle=False, patience=60).sizes(mpi, 2, SIDES + FLOORS, size, size)[size]
        except Failed as e:
            print("%s B: it could not measure: %s" % (bytes_name(size), e))
            continue
        floor = next(f for f in FLOORS if f in point.us)
        for state in STATES:
            rounds = point.rounds(state)
            if len(rounds) >= ENOUGH:
                best = {side: min(each[k] for k in rounds) for side, each in point.us.items()}
                ratios.update({(size, side, state): best[side] / best[floor] for side in SIDES})
    return ratios


def processor():
    """This processor, for example AuthenticAMD-25-17."""
    with open("/proc/cpuinfo") as f:
        found = dict(re.findall(r"^(vendor_id|cpu family|model|CPU implementer|CPU part)\s*: *(\S+)$", f.read(), re.M))
    return "-".join(found.values()) or "unknown"


def stored():
    """{processor: {(bytes, side, state): ratio}}"""
    rows = {}
    with open(TABLE) as f:
        for cpu, size, side, state, ratio in (line.split() for line in f if not line.startswith("#")):
            rows.setdefault(cpu, {})[int(size), side, state] = float(ratio)
    return rows


def allowed():
    """WORSE times each ratio of this processor; if it has none, WORSE times the greatest ratio of all processors and states."""
    rows = stored()
    greatest = {key: max(each.get(key[:2] + (state,), 0) for each in rows.values() for state in STATES)
                for key in set().union(*rows.values())}
    return {key: WORSE * ratio for key, ratio in {**greatest, **rows.get(processor(), {})}.items()}


def store(build, mpi):
    launches = [measured(build, mpi, SIZES) for _ in range(STORES)]
    with open(TABLE) as f:
        lines = [line for line in f if line.startswith("#")]
    rows = stored()
    mine = rows.setdefault(processor(), {})
    for key in sorted(set().union(*launches)):
        each = [ratios[key] for ratios in launches if key in ratios]
        mine[key] = median(each)
        print("%8s, %s, %s cores: %.2f, of %d between %.2f and %.2f" % (
            bytes_name(key[0]), *key[1:], mine[key], len(each), min(each), max(each)))
    lines += ["%s\t%d\t%s\t%s\t%.2f\n" % (cpu, *key, ratio) for cpu in sorted(rows) for key, ratio in sorted(rows[cpu].items())]
    with open(TABLE, "w") as f:
        f.writelines(lines)


def judge(build, mpi):
    """True if there are ratios, and all are small enough."""
    limits = allowed()
    print("processor: %s%s" % (processor(), "" if processor() in stored() else ", of which no ratios are stored: the greatest of all count"))
    seen, sizes = {}, SIZES
    for _ in range(LAUNCHES):
        for key, ratio in measured(build, mpi, sizes).items():
            seen.setdefault(key, []).append(ratio)
        sizes = sorted({key[0] for key, each in seen.items() if len(each) < TRIES and min(each) > limits.get(key, min(each))})
        if not sizes:
            break
    slow = {key for key, each in seen.items() if len(each) >= TRIES and min(each) > limits.get(key, min(each))}
    for key, each in sorted(seen.items()):
        print("%-8s %6s B, %s, %s cores: %s of the floor's time%s" % (
            "too slow" if key in slow else "ok", bytes_name(key[0]), *key[1:], ", ".join("%.2f" % ratio for ratio in each),
            ", at most %.2f" % limits[key] if key in limits else "; none is stored"))
    return seen and not slow


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", default="build")
    p.add_argument("--store", action="store_true")
    args = p.parse_args()
    mpi = next((m for m in ("openmpi", "mpich") if shutil.which("mpirun." + m) and
                os.path.exists(os.path.join(args.build, "bench/turns_" + m))), None)
    if CORES < 2 or not mpi:
        print("perf-smoke: skipped, because it needs two cores, and an MPI that starts the ranks")
        return 0
    if args.store:
        store(args.build, mpi)
        return 0
    return 0 if judge(args.build, mpi) else 1


if __name__ == "__main__":
    sys.exit(main())
