# dropin.py - the target of the drop-in: the time that it adds to a call that it passes on to the MPI. shm.py and hosts.py
# measure the targets of shared memory and of hosts through the drop-in, too.
# SPDX-License-Identifier: BSD-3-Clause
from dropin import Dropin, settings
from measure import TRIES, Failed, Lab
from turns import TITLES
from verdict import at_most

TITLE = "the library between a program and its MPI (differences of alternating runs, medians)"
HAND_ON = 100  # ns


def bars(build, quick):
    lab = Lab(build, tries=1 if quick else TRIES)
    for mpi, title in TITLES.items():
        found, why = {}, ""
        try:
            found = Dropin(lab, mpi).handed_on(*settings(quick))
        except Failed as e:
            why = str(e)
        worst = max(found, key=lambda c: found[c][1], default=None)
        yield at_most("%s: handing on, ns, the dearest (%s)" % (title, worst), HAND_ON, worst and found[worst][1], why)
