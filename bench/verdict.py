# verdict.py - a bar: the required value, the measured value, and whether it is met.
#
# Verdict    True, False, or None: no bar, but a condition that affects one; or a Cannot: this machine cannot judge it,
#            and the bar is skipped. A value that is missing for any other reason, such as a peer that failed to
#            run, does not meet the bar; `why` says so.
# SPDX-License-Identifier: BSD-3-Clause
from collections import namedtuple

Bar = namedtuple("Bar", "name wanted measured verdict why", defaults=("",))


class Cannot(str):
    """Why this machine cannot judge a bar."""


def judged(name, sign, want, value, meets, why):
    wanted = "%s %g" % (sign, want)
    if value is not None:
        return Bar(name, wanted, "%.2f" % value, meets(value))
    return Bar(name, wanted, "-", why) if isinstance(why, Cannot) else Bar(name, wanted, "-", False, why)


def at_least(name, want, value, why="no figures"):
    return judged(name, ">=", want, value, lambda v: v >= want, why)


def at_most(name, want, value, why="no figures"):
    return judged(name, "<=", want, value, lambda v: v <= want, why)


def limit(name, value):
    return Bar(name, "", "-" if value is None else "%.2f" % value, None)


def skipped(name, why):
    return Bar(name, "", "-", Cannot(why))
