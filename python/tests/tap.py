"""tap.py - lines of TAP from rank 0, for all ranks: a check is good if it is good on every rank.

SPDX-License-Identifier: BSD-3-Clause
"""
import sys
import traceback

import tutti

_bad = 0
_n = 0


def tell(name, good=True, why=""):
    """Prints one line; collective. `why`: this rank's reason if it is not good here."""
    global _bad, _n
    _n += 1
    good = bool(good)
    if not good and why:
        print(f"# rank {tutti.rank()}: {name}: {why}", file=sys.stderr, flush=True)
    import array

    bad = tutti.allreduce(array.array("i", [not good]), op="max")[0]
    _bad += bad
    if tutti.rank() == 0:
        print(("not ok" if bad else "ok") + " - " + name, flush=True)


def run(name, test, *args):
    """Runs a test that returns an error text, or nothing, or raises."""
    try:
        why = test(*args)
    except Exception:  # it is reported
        why = traceback.format_exc()
    tell(name, not why, why)


def refused(kind, pattern, function, *args, **kwargs):
    """Returns nothing if the call raises this exception with a matching sentence; otherwise what happened."""
    import re

    try:
        function(*args, **kwargs)
    except kind as why:
        return "" if re.search(pattern, str(why)) else f"the sentence is: {why}"
    except BaseException as why:
        return f"it raised {type(why).__name__}: {why}"
    return f"it did not raise {kind.__name__}"


def end():
    """Prints the plan; returns the status of this process."""
    if tutti.rank() == 0:
        print(f"1..{_n}", flush=True)
    sys.exit(_bad != 0)
