"""The exceptions: one per status of the library, each with the library's sentence.

SPDX-License-Identifier: BSD-3-Clause
"""
from __future__ import annotations

import builtins


class TuttiError(Exception):
    """An error of tutti, as a sentence: what failed, where, and what to do.

    `status` is the number of C's `tutti_status`.
    """

    status: int = 0


class ArgumentError(TuttiError, ValueError):
    """An argument is out of range, not contiguous, read-only, of another length, on another device."""

    status = -1


class NotAnArray(ArgumentError):
    """`what` is an object: collectives of objects take it, or ArgumentError is raised."""

    def __init__(self, sentence: str, what: object) -> None:
        super().__init__(sentence)
        self.what = what


class DtypeError(TuttiError, TypeError):
    """An element type that tutti does not have, or different types."""

    status = -2


class OpError(TuttiError, ValueError):
    """An unknown op, or the type does not have it."""

    status = -3


class OverlapError(TuttiError, ValueError):
    """Two buffers overlap without being in place."""

    status = -4


class OutOfMemory(TuttiError, MemoryError):
    """Out of memory or descriptors; nothing was touched."""

    status = -5


class Mismatch(TuttiError):
    """Another rank made another call. The communicator is of no more use."""

    status = -6


class PeerLost(TuttiError):
    """Another rank died, or the aggregator is lost. `Comm.shrink` and `Comm.grow` make a communicator of the ranks that live."""

    status = -7


class TimeoutError(TuttiError, builtins.TimeoutError):
    """TUTTI_TIMEOUT passed. The communicator is of no more use."""

    status = -8


class Aborted(TuttiError):
    """Some rank called `Comm.abort`, or its program ended with an exception."""

    status = -9


class StateError(TuttiError):
    """Not possible now: after the end, after a fork, or the object is busy."""

    status = -10


class SystemRefused(TuttiError):
    """The operating system refused."""

    status = -11


class ScheduleError(TuttiError, ValueError):
    """A schedule is malformed, or the prover refuses it."""

    status = -12


class Unsupported(TuttiError, NotImplementedError):
    """Legal, but no plan can do it."""

    status = -13


for _kind in (TuttiError, *TuttiError.__subclasses__()):
    _kind.__module__ = "tutti"  # the name in tracebacks
_BY_STATUS: dict[int, type[TuttiError]] = {kind.status: kind for kind in TuttiError.__subclasses__()}


def error_of(status: int, sentence: str) -> TuttiError:
    """The exception of a status."""
    error = _BY_STATUS.get(status, TuttiError)(sentence)
    error.status = status
    return error
