# verdict.py - a bar (performance target): the required value, the measured value, and whether it is met.
#
# Verdict    True or False; None: not a target, but a condition that affects one; a Cannot: this machine cannot judge
#            the target, which is skipped. If a value is missing for any other reason, such as a peer that failed to
#            run, the target is not met, and `why` has the reason.
# SPDX-License-Identifier: BSD-3-Clause
from collections import namedtuple

Bar = namedtuple("Bar", "name wanted measured verdict why", defaults=("",))


class Cannot(str):
    """The reason why this machine cannot judge a target."""


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
