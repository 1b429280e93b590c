"""examples.py - runs every example in the docstrings and in docs/python.md, and compares its output.

SPDX-License-Identifier: BSD-3-Clause
"""
import doctest
import importlib
import pathlib
import pkgutil

import tap

import tutti

here = pathlib.Path(__file__).resolve().parents[2]


def of_module(name):
    module = importlib.import_module(name)
    failed, tried = doctest.testmod(module)
    return f"{failed} of {tried} failed" if failed else ""


def of_document():
    failed, tried = doctest.testfile(str(here / "docs/python.md"), module_relative=False)
    return "" if tried and not failed else f"{failed} of {tried} failed"


def documented():
    """Check that every public name has a docstring."""
    bare = [name for name in dir(tutti) if not name.startswith("_") and callable(getattr(tutti, name)) and
            not getattr(tutti, name).__doc__]
    bare += [f"Comm.{name}" for name in dir(tutti.Comm) if not name.startswith("_") and
             not getattr(tutti.Comm, name).__doc__]
    return ", ".join(bare)


for module in ["tutti"] + sorted(f"tutti.{m.name}" for m in pkgutil.iter_modules(tutti.__path__) if not m.ispkg):
    tap.run(f"examples of {module}", of_module, module)
tap.run("examples of docs/python.md", of_document)
tap.run("all that is public is documented", documented)
tap.end()
