# choice_measured.py - the bars of choice.py, with TUTTI_MEASURE=1.
# SPDX-License-Identifier: BSD-3-Clause
import importlib.util
import os

spec = importlib.util.spec_from_file_location("bars_choice", os.path.join(os.path.dirname(os.path.abspath(__file__)), "choice.py"))
choice = importlib.util.module_from_spec(spec)
spec.loader.exec_module(choice)

TITLE = "the chosen plan versus the best plan, with TUTTI_MEASURE=1"


def bars(build, quick):
    yield from choice.choices(build, quick, "measured")
