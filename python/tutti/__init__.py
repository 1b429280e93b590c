"""tutti: allreduce and the other collectives, between the processes of a job or between threads.

Every process passes an array, and every process gets the sum:

>>> import tutti, numpy
>>> comm = tutti.init()                       # all ranks that `tutti run -n 4 python3 train.py` started
>>> gradient = numpy.ones(5, dtype="float32")
>>> tutti.allreduce(gradient, op="avg", out=gradient)
array([1., 1., 1., 1., 1.], dtype=float32)

An array is any object with the buffer protocol or `__dlpack__`, contiguous in C order. Arrays are not
copied, and other Python threads run during a call. `Comm` has all collectives: blocking, nonblocking
(`iallreduce`, ...) and persistent (`allreduce_init`, ...). The functions of the same names in this
module use the communicator `tutti.init()`. Errors are exceptions; their text says what failed, where,
and what to do. See docs/python.md.
SPDX-License-Identifier: BSD-3-Clause
"""
from __future__ import annotations

from ._bucket import Buckets
from ._comm import Comm
from ._create import create, from_env, from_gather, from_mpi, from_store, from_threads, init, newcomer, unique_id
from ._errors import (AbortedError, ArgumentError, DtypeError, MismatchError, OpError, OutOfMemoryError, OverlapError, PeerLostError,
                      ScheduleError, StateError, SystemCallError, WaitTimeoutError, TuttiError, UnsupportedError)
from ._exit import finalize
from ._explain import (doctor, draw, explain, info, plans, prices, profile, prove, schedule, wisdom_export,
                       wisdom_forget, wisdom_import)
from ._lib import VERSION as __version__
from ._ops import BUILT_IN as _BUILT_IN
from ._ops import Op, op, scaled
from ._request import ANY_SOURCE, ANY_TAG, Persistent, Received, Request, wait_all
from . import _world
from ._world import *

SUM, PROD, MIN, MAX, AVG = (_BUILT_IN[word] for word in ("sum", "prod", "min", "max", "avg"))
BAND, BOR, BXOR, LAND, LOR, LXOR = (_BUILT_IN[word] for word in ("band", "bor", "bxor", "land", "lor", "lxor"))
MINLOC, MAXLOC = _BUILT_IN["minloc"], _BUILT_IN["maxloc"]

__all__ = [
    "ANY_SOURCE", "ANY_TAG", "AVG", "AbortedError", "ArgumentError", "BAND", "BOR", "BXOR", "Buckets", "Comm", "DtypeError", "LAND", "LOR", "LXOR",
    "MAX", "MAXLOC", "MIN", "MINLOC", "MismatchError", "Op", "OpError", "OutOfMemoryError", "OverlapError", "PROD", "PeerLostError",
    "Persistent", "Received", "Request", "SUM", "ScheduleError", "StateError", "SystemCallError", "WaitTimeoutError", "TuttiError",
    "UnsupportedError", "__version__", "create", "doctor", "draw", "explain", "finalize", "from_env", "from_gather",
    "from_mpi", "from_store", "from_threads", "info", "init", "newcomer", "op", "plans", "prices", "profile", "prove",
    "scaled", "schedule", "unique_id", "wait_all", "wisdom_export", "wisdom_forget", "wisdom_import",
]
__all__ += _world.__all__
