"""Python functions that C calls, and signal handlers while C waits.

Python runs signal handlers between two bytecode instructions, and executes none while C waits. A waiting main thread
therefore checks for signals about 50 times per second. If a handler raises an exception, such as KeyboardInterrupt on
Ctrl-C, the wait ends and the call raises it. In a callback a handler may raise before the first line of the function;
ctypes would print and ignore this exception, so `callback` keeps it.
SPDX-License-Identifier: BSD-3-Clause
"""
from __future__ import annotations

import ctypes
import os
from typing import Any, Callable, Optional

from ._lib import INTERRUPTS, lib, on_main_thread


class _Method(ctypes.Structure):
    """Python's PyMethodDef."""

    _fields_ = [("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int),
                ("doc", ctypes.c_char_p)]


_VARARGS = 1
_GUARD = _Method(b"guarded", ctypes.cast(lib.tutti_python_guard, ctypes.c_void_p).value, _VARARGS, None)
_new = ctypes.pythonapi.PyCFunction_NewEx
_new.argtypes = [ctypes.POINTER(_Method), ctypes.py_object, ctypes.c_void_p]
_new.restype = ctypes.py_object
_run_handlers = ctypes.pythonapi.PyErr_CheckSignals


def callback(kind: Any, function: Callable[..., Any], keep: Optional[list[BaseException]] = None) -> Any:
    """A C function of the ctypes type `kind` that calls `function`. An exception is appended to `keep`, and C gets 1.
    keep None: `function` catches its own exceptions, so an exception comes from a signal handler. `function` is then called
    again, and the main thread raises the exception after the C call."""
    return kind(_new(ctypes.byref(_GUARD), (function, keep), None))


def _ask(_ctx: Any) -> int:
    _run_handlers()
    return 0


_asked = callback(ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p), _ask, INTERRUPTS)


def watch() -> None:
    """Make the main thread check for signals while it waits in C. Does nothing on other threads."""
    if on_main_thread():
        lib.tutti_interrupt_set(_asked, None)


def unwatch() -> None:
    """Stop checking for signals, when the program ends."""
    lib.tutti_interrupt_set(None, None)


watch()
os.register_at_fork(after_in_child=watch)
