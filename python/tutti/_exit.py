"""The exit handler of the process, and warnings.

A program that ends normally waits for operations in flight and frees its communicators. A program that
ends with an exception aborts its communicators with the exception's text, so that the other ranks do not
wait for it. A forked process does this for its own communicators only. Warnings go to the logger "tutti".
SPDX-License-Identifier: BSD-3-Clause
"""
from __future__ import annotations

import atexit
import ctypes
import logging
import os
import sys
from typing import Any, Optional

from ._comm import LIVE, raised
from ._errors import StateError, TuttiError
from ._lib import check, lib
from ._signals import callback, unwatch

_log = logging.getLogger("tutti")
_over = False


def _line(_ctx: Any, level: int, line: bytes) -> None:
    _log.log(logging.INFO if level else logging.WARNING, "%s", line.decode(errors="replace"))


_said = callback(ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p), _line)


def _listen() -> None:
    lib.tutti_log_set(_said, None)
    if lib.tutti_setting(b"TUTTI_EXPLAIN") not in (None, b"0") and not _log.handlers:
        _log.addHandler(logging.StreamHandler())
        _log.setLevel(logging.INFO)
        _log.propagate = False


def fatal() -> Optional[BaseException]:
    """The exception that ended the program. None if it ended without one, or if the session is interactive."""
    if hasattr(sys, "ps1") or sys.flags.interactive:
        return None
    return getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)


def finalize() -> None:
    """End this process's use of tutti: wait for operations in flight and free all communicators. Every later call
    of tutti raises StateError. Called automatically when the program exits. Memory of Comm.alloc and Comm.empty
    stays valid."""
    global _over
    if _over:
        return
    if not _close():
        raise StateError("finalize: another thread is inside a call")
    _over = True
    check(lib.tutti_finalize())


def _close() -> bool:
    closed = True
    for comm in list(LIVE):
        closed &= comm._drain()
    return closed


def _at_exit() -> None:
    why = fatal()
    for comm in list(LIVE) if why is not None else ():
        comm._give_up(raised(why))  # type: ignore[arg-type]
    try:
        finalize()
    except TuttiError:
        pass
    lib.tutti_log_set(None, None)
    unwatch()


_listen()
os.register_at_fork(after_in_child=LIVE.clear)  # a child process does not own its parent's communicators
atexit.register(_at_exit)
