"""Functions that C calls in Python, and signal handlers while C waits.

Python runs a handler between two of its instructions, and executes none while C waits. So the main thread asks for
handlers some 50 times a second as long as it waits. A handler's exception (KeyboardInterrupt, on Ctrl-C) ends the wait,
and the call raises it. In a callback a handler may raise before the first line, where ctypes would print the exception
and go on: `callback` keeps it.
SPDX-License-Identifier: BSD-3-Clause
"""
from __future__ import annotations

import ctypes
import os
from typing import Any, Callable, Optional

from ._lib import INTERRUPTS, lib, on_main_thread


class _Method(ctypes.Structure):
    """PyMethodDef."""

    _fields_ = [("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int),
                ("doc", ctypes.c_char_p)]


_VARARGS = 1
_GUARD = _Method(b"guarded", ctypes.cast(lib.tutti_python_guard, ctypes.c_void_p).value, _VARARGS, None)
_new = ctypes.pythonapi.PyCFunction_NewEx
_new.argtypes = [ctypes.POINTER(_Method), ctypes.py_object, ctypes.c_void_p]
_new.restype = ctypes.py_object
_run_handlers = ctypes.pythonapi.PyErr_CheckSignals


def callback(kind: Any, function: Callable[..., Any], keep: Optional[list[BaseException]] = None) -> Any:
    """A function for C, of this ctypes type. Its exceptions go to `keep`, and C gets 1. None: it is called once more,
    because the exception is a signal handler's and not its own; the main thread raises that when C is done."""
    return kind(_new(ctypes.byref(_GUARD), (function, keep), None))


def _ask(_ctx: Any) -> int:
    _run_handlers()
    return 0


_asked = callback(ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p), _ask, INTERRUPTS)


def watch() -> None:
    """From now on the main thread, if this is it, checks for signals while it waits."""
    if on_main_thread():
        lib.tutti_interrupt_set(_asked, None)


def unwatch() -> None:
    """At the end."""
    lib.tutti_interrupt_set(None, None)


watch()
os.register_at_fork(after_in_child=watch)
