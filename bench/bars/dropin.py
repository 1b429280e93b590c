# dropin.py - the bars of the drop-in: a call passed on to the MPI, and a served call compared with tutti's own.
# SPDX-License-Identifier: BSD-3-Clause
from dropin import MPIS, TITLES, Dropin, settings
from measure import TRIES, Failed, Lab, bytes_name
from verdict import Bar, at_most

TITLE = "the library between a program and its MPI (differences of alternating runs, medians)"
HAND_ON = 100  # ns
PERCENT, NS = 5, 100  # bound of the extra time of a served call over tutti's own


def handed_on(bench, rounds, repeats):
    found = bench.handed_on(rounds, repeats)
    worst = max(found, key=lambda c: found[c][1])
    yield at_most("%s: handing on, ns, the dearest (%s)" % (TITLES[bench.mpi], worst), HAND_ON, found[worst][1])


def served(bench, rounds, plan):
    found = bench.served(rounds, *plan)
    # the extra time, as a share of the allowed extra time
    share = {b: more / (own * PERCENT / 100 + NS / 1000) for b, (own, more) in found.items()}
    worst = max(share, key=share.get)
    own, more = found[worst]
    name = "%s: P=2, added of (%d %% + %d ns), greatest: %+.2f us at %s" % (
        TITLES[bench.mpi], PERCENT, NS, more, bytes_name(worst))
    yield at_most(name, 1, share[worst])


def bars(build, quick):
    lab = Lab(build, tries=1 if quick else TRIES)
    rounds, repeats, plan = settings(quick)
    for mpi in MPIS:
        try:
            bench = Dropin(lab, mpi)
            yield from handed_on(bench, rounds, repeats)
            yield from served(bench, rounds, plan)
        except Failed as e:
            yield Bar("%s: the drop-in" % TITLES[mpi], "", "-", str(e))
