# choice_measured.py - the bars of choice.py, with TUTTI_MEASURE=1.
# SPDX-License-Identifier: BSD-3-Clause
from choice_bars import mode_bars

TITLE = "the chosen plan versus the best plan, with TUTTI_MEASURE=1"


def bars(build, quick):
    yield from mode_bars(build, quick, "measured")
