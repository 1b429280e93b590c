"""tutti: allreduce and the other collectives, for the processes of a job, or threads.

Every process passes an array, and every process gets the sum:

>>> import tutti, numpy
>>> comm = tutti.init()                       # all ranks that `tutti run -n 4 python3 train.py` started
>>> gradient = numpy.ones(5, dtype="float32")
>>> tutti.allreduce(gradient, op="avg", out=gradient)
array([1., 1., 1., 1., 1.], dtype=float32)

Arrays are anything that has a buffer or `__dlpack__`, in C's order; nothing is copied, and other
threads run during a call. `Comm` has all collectives: blocking, nonblocking (`iallreduce`, ...) and
persistent (`allreduce_init`, ...). The functions of the same names here use `tutti.init()`. An error
is an exception that says what failed, where, and what to do. See docs/python.md.
SPDX-License-Identifier: BSD-3-Clause
"""
from __future__ import annotations

from ._bucket import Buckets
from ._comm import Comm
from ._create import create, from_env, from_gather, from_mpi, from_store, from_threads, init, newcomer, unique_id
from ._errors import (Aborted, ArgumentError, DtypeError, Mismatch, OpError, OutOfMemory, OverlapError, PeerLost,
                      ScheduleError, StateError, SystemRefused, TimeoutError, TuttiError, Unsupported)
from ._exit import finalize
from ._explain import (doctor, draw, explain, info, plans, prices, profile, prove, schedule, wisdom_export,
                       wisdom_forget, wisdom_import)
from ._lib import VERSION as __version__
from ._ops import BUILT_IN as _BUILT_IN
from ._ops import Op, op, scaled
from ._request import Persistent, Request, wait_all
from ._world import (allreduce, iallreduce, allreduce_init, allreduce_many, iallreduce_many, allreduce_many_init,
                     reduce, ireduce, reduce_init, scan, iscan, scan_init, exscan, iexscan, exscan_init,
                     reduce_scatter, ireduce_scatter, reduce_scatter_init, all_gather, iall_gather, all_gather_init,
                     broadcast, ibroadcast, broadcast_init, gather, igather, gather_init, scatter, iscatter,
                     scatter_init, all_to_all, iall_to_all, all_to_all_init, barrier, ibarrier, barrier_init, send,
                     isend, send_init, recv, irecv, recv_init, rank, size)

SUM, PROD, MIN, MAX, AVG = (_BUILT_IN[word] for word in ("sum", "prod", "min", "max", "avg"))
BAND, BOR, BXOR, LAND, LOR, LXOR = (_BUILT_IN[word] for word in ("band", "bor", "bxor", "land", "lor", "lxor"))
MINLOC, MAXLOC = _BUILT_IN["minloc"], _BUILT_IN["maxloc"]

__all__ = [
    "AVG", "Aborted", "ArgumentError", "BAND", "BOR", "BXOR", "Buckets", "Comm", "DtypeError", "LAND", "LOR",
    "LXOR", "MAX", "MAXLOC", "MIN", "MINLOC", "Mismatch", "Op", "OpError", "OutOfMemory", "OverlapError", "PROD",
    "PeerLost", "Persistent", "Request", "SUM", "ScheduleError", "StateError", "SystemRefused", "TimeoutError",
    "TuttiError", "Unsupported", "__version__", "all_gather", "all_gather_init", "all_to_all", "all_to_all_init",
    "allreduce", "allreduce_init", "allreduce_many", "allreduce_many_init", "barrier", "barrier_init", "broadcast",
    "broadcast_init", "create", "doctor", "draw", "explain", "exscan", "exscan_init", "finalize", "from_env",
    "from_gather", "from_mpi", "from_store", "from_threads", "gather", "gather_init", "iall_gather", "iall_to_all",
    "iallreduce", "iallreduce_many", "ibarrier", "ibroadcast", "iexscan", "igather", "info", "init", "irecv",
    "ireduce", "ireduce_scatter", "iscan", "iscatter", "isend", "newcomer", "op", "plans", "prices", "profile",
    "prove", "rank", "recv", "recv_init", "reduce", "reduce_init", "reduce_scatter", "reduce_scatter_init",
    "scaled", "scan", "scan_init", "scatter", "scatter_init", "schedule", "send", "send_init", "size", "unique_id",
    "wait_all", "wisdom_export", "wisdom_forget", "wisdom_import",
]
