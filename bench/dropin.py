# dropin.py - the cost of the drop-in, for calls that it passes on to the MPI and for calls that it executes itself.
#
#   dropin.py [--build DIR] [--rounds N] [--quick]      (make bench-dropin)
#
# Passed on   ns with the library preloaded minus ns without it, in alternating runs; medians over the rounds.
# Executed    us of MPI_Allreduce through the library, of tutti's call and of the MPI's own function, on two ranks, alternately
#             in the same processes (turns.py).
# SPDX-License-Identifier: BSD-3-Clause
import argparse
import os
import sys

from measure import MI, Failed, Lab, bytes_name, median, run
from turns import FAMILY, ROOT, STATES, TITLES, Turns

ENV = dict(ROOT, OMPI_MCA_rmaps_base_oversubscribe="1", UCX_LOG_LEVEL="error")


class Dropin:
    """The time that the drop-in for one MPI adds to calls that it passes on."""

    def __init__(self, lab, mpi):
        self.lab, self.mpi = lab, mpi
        self.program = lab.path("bench/dropin_" + mpi)
        for path in (self.program, lab.path("libtutti_pmpi_%s.so" % FAMILY[mpi])):
            if not os.path.exists(path):
                raise Failed("%s could not be built" % os.path.basename(path))

    def lines(self, preload, repeats):
        argv = [self.lab.path("tutti"), "mpi", "--family", FAMILY[self.mpi]] if preload else []
        out, share = run(argv + ["mpirun." + self.mpi, "-n", "1", self.program, str(repeats)], timeout=120, env=ENV)
        lines = out.splitlines()
        if lines[-1:] != ["done"]:
            raise Failed("it did not end well: %s" % out[-200:])
        return {l.split()[0]: float(l.split()[1]) for l in lines[:-1]}, share

    def handed_on(self, rounds, repeats):
        """{call: (ns without, ns that passing it on adds)}"""
        found = {False: [], True: []}
        for k in range(rounds):
            for preload in (False, True) if k % 2 else (True, False):
                label = "%s round %d: %s" % (TITLES[self.mpi], k + 1, "with" if preload else "without")
                value, _, _ = self.lab.calm(label, lambda: self.lines(preload, repeats))
                found[preload].append(value)
        return {c: (median([r[c] for r in found[False]]), median([w[c] - o[c] for w, o in zip(found[True], found[False])]))
                for c in found[False][0]}


def settings(quick):
    """The numbers of rounds and repeats for calls passed on."""
    return (2, 5) if quick else (9, 15)


def show(lab, mpi, quick, rounds):
    standard, repeats = settings(quick)
    print("\n%s: a call that is handed on, ns" % TITLES[mpi])
    print("%-16s %10s %10s" % ("", "MPI's own", "added"))
    for call, (own, more) in Dropin(lab, mpi).handed_on(rounds or standard, repeats).items():
        print("%-16s %10.0f %10.0f" % (call, own, more))
    points = Turns(lab.build, 5 if quick else 15, cycle=False).sizes(
        mpi, 2, ["own", "tutti", "shim"], 4, 32 * 1024 if quick else 2 * MI)
    for state in STATES:
        seen = {b: p for b, p in points.items() if p.time("shim", state)}
        if seen:
            print("\n%s: allreduce on two ranks, %s cores, us" % (TITLES[mpi], state))
            print("%-16s %10s %10s %10s" % ("bytes", "MPI's own", "tutti's", "drop-in"))
        for b, p in seen.items():
            print("%-16s %10.2f %10.2f %10.2f" % (bytes_name(b), *(p.time(s, state) for s in ("own", "tutti", "shim"))))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", default="build")
    p.add_argument("--rounds", type=int, default=0)
    p.add_argument("--quick", action="store_true", help="to see that it works; the figures mean little")
    args = p.parse_args()
    lab, shown = Lab(args.build), 0
    for mpi in TITLES:
        try:
            show(lab, mpi, args.quick, args.rounds)
            shown += 1
        except Failed as e:
            print("%s: %s" % (TITLES[mpi], e))
    return 0 if shown else 1


if __name__ == "__main__":
    sys.exit(main())
