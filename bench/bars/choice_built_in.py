# choice_built_in.py - the bars of choice.py, with the built-in figures.
# SPDX-License-Identifier: BSD-3-Clause
from choice_bars import mode_bars

TITLE = "the chosen plan versus the best plan, with the built-in figures"


def bars(build, quick):
    yield from mode_bars(build, quick, "built in")
