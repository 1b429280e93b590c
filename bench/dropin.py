# dropin.py - the cost of the drop-in: a call that is passed on, and one that is served.
#
#   dropin.py [--build DIR] [--rounds N] [--quick]      (make bench-dropin)
#
# Passed on   ns with the library preloaded, less ns without, in runs that alternate.
# Served      us of MPI_Allreduce through the library, compared with tutti's own call, on two ranks, in
#             runs that alternate. The figures are medians over the rounds.
# SPDX-License-Identifier: BSD-3-Clause
import argparse
import os
import sys

from measure import MI, Failed, Lab, bytes_name, median, run

MPIS = {"ompi": "openmpi", "mpich": "mpich"}
TITLES = {"ompi": "Open MPI", "mpich": "MPICH"}
ENV = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
       "UCX_LOG_LEVEL": "error"}


class Dropin:
    """The measuring program for one MPI."""

    def __init__(self, lab, mpi):
        self.lab, self.mpi = lab, mpi
        self.program = lab.path("bench/dropin_" + MPIS[mpi])
        self.library = lab.path("libtutti_pmpi_%s.so" % mpi)
        for path in (self.program, self.library):
            if not os.path.exists(path):
                raise Failed("%s could not be built" % os.path.basename(path))

    def lines(self, ranks, preload, arguments):
        argv = [self.lab.path("tutti"), "mpi", "--family", self.mpi] if preload else []
        argv += ["mpirun." + MPIS[self.mpi], "-n", str(ranks), self.program] + arguments
        out, share = run(argv, timeout=120, env=ENV)
        lines = out.splitlines()
        if lines[-1:] != ["done"]:
            raise Failed("it did not end well: %s" % out[-200:])
        return {l.split()[0]: float(l.split()[1]) for l in lines[:-1]}, share

    def turns(self, rounds, jobs):
        """Runs each job (name, ranks, preload, arguments), in turn."""
        found = {name: [] for name, *_ in jobs}
        for k in range(rounds):
            for name, ranks, preload, arguments in jobs[k % len(jobs):] + jobs[:k % len(jobs)]:
                label = "%s round %d: %s" % (TITLES[self.mpi], k + 1, name)
                value, _, _ = self.lab.calm(label, lambda: self.lines(ranks, preload, arguments))
                found[name].append(value)
        return found

    def handed_on(self, rounds, repeats):
        """{call: (ns without, ns that passing it on adds)}"""
        found = self.turns(rounds, [("without", 1, False, ["hand", str(repeats)]),
                                    ("with", 1, True, ["hand", str(repeats)])])
        calls = found["without"][0]
        return {c: (median([r[c] for r in found["without"]]),
                    median([w[c] - o[c] for w, o in zip(found["with"], found["without"])])) for c in calls}

    def served(self, rounds, first, last, budget, repeats):
        """{bytes: (us of tutti's own call, us more through the library)}"""
        plan = [str(first), str(last), str(budget), str(repeats)]
        found = self.turns(rounds, [("tutti's own", 2, False, ["own"] + plan), ("shim", 2, True, ["shim"] + plan)])
        return {int(b): (median([r[b] for r in found["tutti's own"]]),
                         median([s[b] - o[b] for s, o in zip(found["shim"], found["tutti's own"])]))
                for b in found["shim"][0]}


def settings(quick):
    """rounds; repeats of calls passed on; first, last, budget and repeats of served calls"""
    return (2, 5, (8, 32 * 1024, 0.005, 5)) if quick else (9, 15, (8, 2 * MI, 0.02, 7))


def show(bench, quick, rounds):
    standard, repeats, plan = settings(quick)
    print("\n%s: a call that is handed on, ns" % TITLES[bench.mpi])
    print("%-16s %10s %10s" % ("", "MPI's own", "added"))
    for call, (own, more) in bench.handed_on(rounds or standard, repeats).items():
        print("%-16s %10.0f %10.0f" % (call, own, more))
    print("\n%s: allreduce on two ranks, us" % TITLES[bench.mpi])
    print("%-16s %10s %10s %8s" % ("bytes", "tutti's", "added", "%"))
    for size, (own, more) in bench.served(rounds or standard, *plan).items():
        print("%-16s %10.2f %10.2f %8.1f" % (bytes_name(size), own, more, 100 * more / own))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", default="build")
    p.add_argument("--rounds", type=int, default=0)
    p.add_argument("--quick", action="store_true", help="to see that it works; the figures mean little")
    args = p.parse_args()
    lab, shown = Lab(args.build), 0
    for mpi in MPIS:
        try:
            show(Dropin(lab, mpi), args.quick, args.rounds)
            shown += 1
        except Failed as e:
            print("%s: %s" % (TITLES[mpi], e))
    return 0 if shown else 1


if __name__ == "__main__":
    sys.exit(main())
