#!/usr/bin/env python3
"""applications.py - whole programs, run alternately with their MPI alone and with the drop-in.

    bench/applications.py [--build BUILD] [--rounds N] [--ranks 2,4] [--json FILE] [NAME ...]     (make bench-applications)

Programs  Quantum ESPRESSO (plane waves: FFTs with all-to-all, sums), ScaLAPACK's LU (with broadcasts made of point-to-point
          messages), and mpi4py's broadcast, gather and allgather of Python objects (small broadcasts of lengths, then of data).
          Debian's packages, with Open MPI; programs that are not installed are skipped.
Method    Each round runs the program once without and once with `tutti mpi`, in alternating order. The measured time is the
          wall time of the whole job with its start. Prints medians, their ratio (above 1: faster with tutti), and the quartiles
          of the rounds' ratios. The lines of the result must be the same.
SPDX-License-Identifier: BSD-3-Clause
"""
import argparse
import glob
import gzip
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import record

SILICON = """&control
 calculation='scf', prefix='si', pseudo_dir='.', outdir='.'
/
&system
 ibrav=2, celldm(1)=10.2, nat=2, ntyp=1, ecutwfc=30.0
/
&electrons
 conv_thr=1e-10
/
ATOMIC_SPECIES
 Si 28.086 Si.UPF
ATOMIC_POSITIONS alat
 Si 0.00 0.00 0.00
 Si 0.25 0.25 0.25
K_POINTS automatic
 8 8 8 1 1 1
"""
SIZES = " ".join(20 * ["500"])
LU = f"""'ScaLAPACK LU factorization input file'
'MPI machine'
'LU.out'
6
20
{SIZES}
{SIZES}
4
8 16 32 64
1
1
1
1
1
{{rows}}
{{columns}}
10.0
F
"""
OBJECTS = """
from mpi4py import MPI
comm = MPI.COMM_WORLD
total = 0
for i in range(30000):
    step = comm.bcast({"step": i, "rates": [0.1 * i] * 4} if comm.rank == 0 else None)
    parts = comm.gather((comm.rank, step["step"]), root=0)
    total += sum(rank + step for rank, step in comm.allgather((comm.rank, i)))
if comm.rank == 0:
    print("total", total)
"""


def silicon(where, _ranks):
    found = glob.glob("/usr/share/doc/quantum-espresso/examples/**/Si[._]*.[uU][pP][fF]*", recursive=True)
    found = [f for f in found if "rel" not in os.path.basename(f)]
    if not found or not shutil.which("pw.x"):
        return None
    opener = gzip.open if found[0].endswith(".gz") else open
    with opener(found[0], "rb") as source, open(os.path.join(where, "Si.UPF"), "wb") as to:
        to.write(source.read())
    with open(os.path.join(where, "in"), "w") as f:
        f.write(SILICON)
    return ["pw.x", "-in", "in"]


def lu(where, ranks):
    found = glob.glob("/usr/lib/*/scalapack/openmpi-tests/xdlu")
    with open(os.path.join(where, "LU.dat"), "w") as f:
        rows = 2 if ranks % 2 == 0 and ranks > 2 else 1
        f.write(LU.format(rows=rows, columns=ranks // rows))
    return found[:1] or None


def objects(where, _ranks):
    with open(os.path.join(where, "objects.py"), "w") as f:
        f.write(OBJECTS)
    there = subprocess.run(["/usr/bin/python3", "-c", "import mpi4py"], capture_output=True)
    return None if there.returncode else ["/usr/bin/python3", "objects.py"]


# Name, command, pattern of the lines of its result.
PROGRAMS = [
    ("Quantum ESPRESSO, silicon", silicon, re.compile(r"^!.*total energy.*", re.M)),
    ("ScaLAPACK, 80 LU of 500", lu, re.compile(r"^\s*80 tests completed and passed.*", re.M)),
    ("Python objects by mpi4py", objects, re.compile(r"^total.*", re.M)),
]
ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
               "OMPI_MCA_btl_vader_single_copy_mechanism": "none", "OMPI_MCA_plm": "isolated", "OMP_NUM_THREADS": "1",
               "OPENBLAS_NUM_THREADS": "1"}


def run(command, where):
    begin = time.monotonic()
    done = subprocess.run(command, cwd=where, capture_output=True, text=True, timeout=600, env={**os.environ, **ENVIRONMENT},
                          stdin=subprocess.DEVNULL)
    if done.returncode:
        sys.exit(f"applications.py: {' '.join(command)} exited with {done.returncode}:\n{done.stderr[-2000:]}")
    return time.monotonic() - begin, done.stdout


def measure(name, make, pattern, ranks, rounds, tutti):
    with tempfile.TemporaryDirectory() as where:
        program = make(where, ranks)
        if program is None:
            print(f"{name:28} not installed", flush=True)
            return None
        native = ["mpirun.openmpi", "-n", str(ranks), *program]
        ways = {"alone": native, "tutti": [tutti, "mpi", *native]}
        times, results = {"alone": [], "tutti": []}, set()
        for i in range(rounds + 1):
            for way in sorted(ways, reverse=bool(i % 2)):
                took, out = run(ways[way], where)
                results.add(tuple(pattern.findall(out)))
                if i:  # the first round reads files into memory
                    times[way].append(took)
        if len(results) != 1 or () in results:
            sys.exit(f"applications.py: {name} on {ranks} ranks: results differ: {sorted(results)}")
    alone, with_tutti = (statistics.median(times[way]) for way in ("alone", "tutti"))
    ratios = sorted(a / b for a, b in zip(times["alone"], times["tutti"]))
    quartiles = statistics.quantiles(ratios, n=4) if rounds > 1 else [ratios[0]] * 3
    print(f"{name:28} {ranks:5} {alone:8.2f} {with_tutti:8.2f} {alone / with_tutti:6.2f}   {quartiles[0]:.2f} to {quartiles[2]:.2f}",
          flush=True)
    return {"program": name, "ranks": ranks, "Open MPI s": round(alone, 2), "with tutti s": round(with_tutti, 2),
            "ratio": round(alone / with_tutti, 2), "quartiles": "%.2f to %.2f" % (quartiles[0], quartiles[2])}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--ranks", default="2,4")
    parser.add_argument("--json")
    parser.add_argument("names", nargs="*", help="words of the programs' names")
    a = parser.parse_args()
    tutti = os.path.abspath(os.path.join(a.build, "tutti"))
    print(f"# s, of {a.rounds} rounds; Open MPI alone, with tutti, the first over the second\n"
          f"{'program':28} {'ranks':>5} {'alone':>8} {'tutti':>8} {'ratio':>6}   quartiles")
    rows = [measure(name, make, pattern, int(ranks), a.rounds, tutti) for name, make, pattern in PROGRAMS
            if not a.names or any(word in name for word in a.names) for ranks in a.ranks.split(",")]
    if a.json:
        about = record.about("wall time of the job; ratio: Open MPI's time alone over that with tutti, medians of %d rounds" % a.rounds,
                             "make bench-applications ROUNDS=%d" % a.rounds)
        record.store(a.json, about, [row for row in rows if row])


if __name__ == "__main__":
    main()
