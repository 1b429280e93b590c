"""tap.py - prints TAP on rank 0 for all ranks. A check passes if it passes on every rank.

SPDX-License-Identifier: BSD-3-Clause
"""
import sys
import traceback

import tutti

_bad = 0
_n = 0


def tell(name, good=True, why=""):
    """Print the result of a check; collective. `why`: the reason if the check failed on this rank."""
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
    """Run a test. A test fails if it returns an error text or raises an exception."""
    try:
        why = test(*args)
    except Exception:  # it is reported
        why = traceback.format_exc()
    tell(name, not why, why)


def refused(kind, pattern, function, *args, **kwargs):
    """Check that the call raises this exception with a matching message. Returns a description if it does not."""
    import re

    try:
        function(*args, **kwargs)
    except kind as why:
        return "" if re.search(pattern, str(why)) else f"the sentence is: {why}"
    except BaseException as why:
        return f"it raised {type(why).__name__}: {why}"
    return f"it did not raise {kind.__name__}"


def end():
    """Print the plan of TAP, and return the exit status of this process."""
    if tutti.rank() == 0:
        print(f"1..{_n}", flush=True)
    sys.exit(_bad != 0)
