"""The collectives of Comm as functions of the module, on the communicator of `init`.

SPDX-License-Identifier: BSD-3-Clause
"""
from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, Callable, TypeVar, overload

from . import _create
from ._comm import Comm
from ._kinds import Kind

if TYPE_CHECKING:
    from typing import Concatenate, ParamSpec

    P = ParamSpec("P")
__all__ = [
    "allreduce", "iallreduce", "allreduce_init", "allreduce_many", "iallreduce_many", "allreduce_many_init", "reduce",
    "ireduce", "reduce_init", "scan", "iscan", "scan_init", "exscan", "iexscan", "exscan_init", "reduce_scatter",
    "ireduce_scatter", "reduce_scatter_init", "all_gather", "iall_gather", "all_gather_init", "broadcast",
    "ibroadcast", "broadcast_init", "gather", "igather", "gather_init", "scatter", "iscatter", "scatter_init",
    "all_to_all", "iall_to_all", "all_to_all_init", "barrier", "ibarrier", "barrier_init", "send", "isend",
    "send_init", "recv", "irecv", "recv_init", "rank", "size", "empty", "stream_wait",
]
R = TypeVar("R")
K = TypeVar("K", bound=Kind)


@overload
def _of_all(method: K) -> K: ...
@overload
def _of_all(method: "Callable[Concatenate[Comm, P], R]") -> "Callable[P, R]": ...
def _of_all(method: Any) -> Any:
    @functools.wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        comm = _create._world
        if comm is None or comm._handle is None:
            comm = _create.init()
        return method(comm, *args, **kwargs)

    signature = inspect.signature(method)
    call.__signature__ = signature.replace(parameters=list(signature.parameters.values())[1:])  # type: ignore
    call.__doc__ = f"`Comm.{method.__name__}` on the communicator of `init`."
    call.__qualname__, call.__module__ = method.__name__, "tutti"
    return call


def rank() -> int:
    """The rank of this process in the communicator of `init`; ranks are numbered from 0."""
    return _create.init().rank


def size() -> int:
    """The number of ranks in the communicator of `init`."""
    return _create.init().size


allreduce = _of_all(Comm.allreduce)
iallreduce = _of_all(Comm.iallreduce)
allreduce_init = _of_all(Comm.allreduce_init)
allreduce_many = _of_all(Comm.allreduce_many)
iallreduce_many = _of_all(Comm.iallreduce_many)
allreduce_many_init = _of_all(Comm.allreduce_many_init)
reduce = _of_all(Comm.reduce)
ireduce = _of_all(Comm.ireduce)
reduce_init = _of_all(Comm.reduce_init)
scan = _of_all(Comm.scan)
iscan = _of_all(Comm.iscan)
scan_init = _of_all(Comm.scan_init)
exscan = _of_all(Comm.exscan)
iexscan = _of_all(Comm.iexscan)
exscan_init = _of_all(Comm.exscan_init)
reduce_scatter = _of_all(Comm.reduce_scatter)
ireduce_scatter = _of_all(Comm.ireduce_scatter)
reduce_scatter_init = _of_all(Comm.reduce_scatter_init)
all_gather = _of_all(Comm.all_gather)
iall_gather = _of_all(Comm.iall_gather)
all_gather_init = _of_all(Comm.all_gather_init)
broadcast = _of_all(Comm.broadcast)
ibroadcast = _of_all(Comm.ibroadcast)
broadcast_init = _of_all(Comm.broadcast_init)
gather = _of_all(Comm.gather)
igather = _of_all(Comm.igather)
gather_init = _of_all(Comm.gather_init)
scatter = _of_all(Comm.scatter)
iscatter = _of_all(Comm.iscatter)
scatter_init = _of_all(Comm.scatter_init)
all_to_all = _of_all(Comm.all_to_all)
iall_to_all = _of_all(Comm.iall_to_all)
all_to_all_init = _of_all(Comm.all_to_all_init)
barrier = _of_all(Comm.barrier)
ibarrier = _of_all(Comm.ibarrier)
barrier_init = _of_all(Comm.barrier_init)
send = _of_all(Comm.send)
isend = _of_all(Comm.isend)
empty = _of_all(Comm.empty)
send_init = _of_all(Comm.send_init)
recv = _of_all(Comm.recv)
irecv = _of_all(Comm.irecv)
recv_init = _of_all(Comm.recv_init)
stream_wait = _of_all(Comm.stream_wait)
