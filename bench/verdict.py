# verdict.py - a bar: the required value, the measured value, and whether it is met.
# SPDX-License-Identifier: BSD-3-Clause
from collections import namedtuple

Bar = namedtuple("Bar", "name wanted measured verdict")


def at_least(name, want, value, why="no figures"):
    if value is None:
        return Bar(name, ">= %g" % want, "-", why)
    return Bar(name, ">= %g" % want, "%.2f" % value, value >= want)


def at_most(name, want, value, why="no figures"):
    if value is None:
        return Bar(name, "<= %g" % want, "-", why)
    return Bar(name, "<= %g" % want, "%.2f" % value, value <= want)


def limit(name, value):
    return Bar(name, "", "-" if value is None else "%.2f" % value, None)
