"""The end of the process, and its warnings.

A program that ends by itself waits for operations in flight, frees its communicators, and ends
silently. One that ends by an exception tells the other ranks which one, so that they do not wait.
A forked process does so for its own communicators only. Warnings go to the logger "tutti".
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
    if os.environ.get("TUTTI_EXPLAIN", "0") not in ("", "0") and not _log.handlers:
        _log.addHandler(logging.StreamHandler())
        _log.setLevel(logging.INFO)
        _log.propagate = False


def fatal() -> Optional[BaseException]:
    """The exception that has ended the program; None: none has, or the session is interactive."""
    if hasattr(sys, "ps1") or sys.flags.interactive:
        return None
    return getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)


def finalize() -> None:
    """End this process's use of tutti: wait for operations in flight, free all communicators. The end of the
    program calls it; after an earlier call all later calls raise StateError. Memory of Comm.alloc and
    Comm.empty stays."""
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
os.register_at_fork(after_in_child=LIVE.clear)  # the parent's communicators are not the child's
atexit.register(_at_exit)
