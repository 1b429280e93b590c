# choice_built_in.py - the bars of choice.py, with the built-in figures.
# SPDX-License-Identifier: BSD-3-Clause
import importlib.util
import os

spec = importlib.util.spec_from_file_location("bars_choice", os.path.join(os.path.dirname(os.path.abspath(__file__)), "choice.py"))
choice = importlib.util.module_from_spec(spec)
spec.loader.exec_module(choice)

TITLE = "the chosen plan versus the best plan, with the built-in figures"


def bars(build, quick):
    yield from choice.choices(build, quick, "built in")
