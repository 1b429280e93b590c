"""Recovery without a restart: after a failure the surviving ranks make a new default process group, with fewer or more ranks.

Idea       The communicator of the default group shrinks or grows (tutti_fault.h). PyTorch ties all other state to the default
           group, which is therefore destroyed and made again, from a copy of the new communicator.
Invariant  When one surviving rank calls `shrink` or `grow`, all process groups of the old world are aborted. A rank that is
           still waiting in one of them therefore gets an error, and calls `shrink` or `grow` as well.
SPDX-License-Identifier: BSD-3-Clause
"""
from __future__ import annotations

import datetime
import os
from typing import Any, Optional

import torch.distributed as _dist

import tutti
from tutti import _create, newcomer
from tutti._comm import another
from tutti._lib import check, lib

from . import _flight, _launch
from ._stubs import default_group

__all__ = ["grow", "newcomer", "shrink"]
_limits: list[datetime.timedelta] = []  # the timeout of the default group


def note_limit(timeout: datetime.timedelta) -> None:
    """Called with the timeout of each new group. Keeps that of the default group, which is the first group of a world."""
    if not _dist.is_initialized():
        _limits[:] = [timeout]


def shrink(*, timeout: Optional[datetime.timedelta] = None) -> None:
    """Replace the default process group by one of the surviving ranks, in the same order. Collective over the survivors.

    Call this after an operation has failed: catch RuntimeError, or tutti.TuttiError with the backend in Python. All process
    groups are destroyed. If another rank is still inside an operation, that operation fails there; its program must then call
    this function, too. `torch.distributed.get_rank()` and `get_world_size()` return the new values afterwards. Objects that
    hold a process group, such as DistributedDataParallel and groups of `new_group`, must be made again. See docs/torch.md.

    timeout  timeout of the new default group; None: that of the old one
    """
    _anew("shrink", timeout, lib.tutti_comm_shrink)


def grow(least: int = 0, *, timeout: Optional[datetime.timedelta] = None) -> None:
    """Like `shrink`, but processes that `tutti run --respawn` started to replace failed ranks join, as the last ranks.

    In a joining rank `tutti.torch.newcomer()` is true. There `import tutti.torch` waits until the other ranks call `grow`, and
    `init_process_group("tutti")` makes the process a rank of the new world. A joining rank has no data: broadcast what it needs
    from rank 0, which is never a joining rank. DistributedDataParallel broadcasts the parameters.

    least    wait for at least this many joining ranks, at most TUTTI_CONNECT_TIMEOUT (120 s); 0: do not wait
    timeout  timeout of the new default group; None: that of the old one
    """
    _anew("grow", timeout, lib.tutti_comm_grow, least)


def _anew(call: str, timeout: Optional[datetime.timedelta], function: Any, *arguments: Any) -> None:
    from . import _c10d
    if not _dist.is_initialized():
        raise RuntimeError(f"tutti: {call}: there is no default process group; call init_process_group(\"tutti\") first")
    old = default_group()
    handle = _c10d.handle(old)
    if not handle:
        raise ValueError(f"tutti: {call}: the default process group is {_dist.get_backend()}'s, which cannot {call}; make "
                         "it by init_process_group(\"tutti\")")
    _c10d.abort(f"the ranks that are left call tutti.torch.{call}")
    _c10d.drain(10)
    status, comm = another(handle, function, *arguments)
    check(status)
    assert comm is not None
    before = _create._world
    tutti.init(comm)  # the default communicator of tutti, as in a joining rank
    if before is not None:
        before.free()
    os.environ["TORCHELASTIC_USE_AGENT_STORE"] = "False"
    _launch.introduce(comm)
    _flight.new_world()
    _dist.destroy_process_group()
    _launch.await_store(comm.rank)
    _dist.init_process_group("tutti", timeout=timeout or _limits[0])
