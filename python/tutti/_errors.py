"""The exceptions. There is one class for each error status of the library; the text is the library's message.

SPDX-License-Identifier: BSD-3-Clause
"""
from __future__ import annotations

import builtins


class TuttiError(Exception):
    """An error of tutti. The message says what failed, where, and what to do.

    `status` is the value of `tutti_status` in C.
    """

    status: int = 0


class ArgumentError(TuttiError, ValueError):
    """An argument is out of range, not contiguous, read-only, of the wrong length, or on the wrong device."""

    status = -1


class NotAnArrayError(ArgumentError):
    """Internal: the argument `what` is not an array. Collectives of objects accept it; other calls raise ArgumentError."""

    def __init__(self, sentence: str, what: object) -> None:
        super().__init__(sentence)
        self.what = what


class DtypeError(TuttiError, TypeError):
    """tutti does not support this element type, or the arrays have different types."""

    status = -2


class OpError(TuttiError, ValueError):
    """The op is unknown, or not defined for the element type."""

    status = -3


class OverlapError(TuttiError, ValueError):
    """Two buffers overlap, and the call is not in place."""

    status = -4


class OutOfMemoryError(TuttiError, MemoryError):
    """Memory or file descriptors are exhausted; nothing was changed."""

    status = -5


class MismatchError(TuttiError):
    """Another rank made a different call. The communicator cannot be used any more."""

    status = -6


class PeerLostError(TuttiError):
    """Another rank failed, or the aggregator is lost. `Comm.shrink` and `Comm.grow` make a communicator of the survivors."""

    status = -7


class WaitTimeoutError(TuttiError, builtins.TimeoutError):
    """The time limit (`timeout` of `Comm.configure`, TUTTI_TIMEOUT) has passed. The communicator cannot be used any more."""

    status = -8


class AbortedError(TuttiError):
    """A rank called `Comm.abort`, or its program ended with an exception."""

    status = -9


class StateError(TuttiError):
    """The call is not possible now: after `finalize`, after a fork, after `free`, or while the object is busy."""

    status = -10


class SystemCallError(TuttiError):
    """A system call failed."""

    status = -11


class ScheduleError(TuttiError, ValueError):
    """A schedule is malformed, or the prover rejects it."""

    status = -12


class UnsupportedError(TuttiError, NotImplementedError):
    """The call is legal, but not supported here: for example, no plan can execute it."""

    status = -13


for _kind in (TuttiError, *TuttiError.__subclasses__()):
    _kind.__module__ = "tutti"  # the name in tracebacks
_BY_STATUS: dict[int, type[TuttiError]] = {kind.status: kind for kind in TuttiError.__subclasses__()}


def error_of(status: int, sentence: str) -> TuttiError:
    """The exception of a status."""
    error = _BY_STATUS.get(status, TuttiError)(sentence)
    error.status = status
    return error
