"""A world that shrinks and grows without a restart: after a failure the surviving ranks make the default process group anew.

Idea       what the ranks share is a communicator, so that one shrinks or grows (tutti_fault.h). PyTorch keeps everything
           else by the default group, so that one is destroyed and made again, as a copy of the new communicator.
Invariant  when one surviving rank calls `shrink` or `grow`, all groups of its old world are aborted. So no other rank goes on
           waiting in one of them, and its error brings it here, too.
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
_limits: list[datetime.timedelta] = []  # of the default group


def note_limit(timeout: datetime.timedelta) -> None:
    """Called with each new group's: the first one of a world is the default group."""
    if not _dist.is_initialized():
        _limits[:] = [timeout]


def shrink(*, timeout: Optional[datetime.timedelta] = None) -> None:
    """Make the world anew from the ranks that are left, in the same order. Collective over them.

    Call it after an operation has failed: catch RuntimeError, or tutti.TuttiError with the backend in Python. It destroys
    all process groups; an operation in which a slower rank still is fails there, and that rank calls it as well. Afterwards
    `torch.distributed.get_rank()` and `get_world_size()` give the new numbers. Make what holds a process group again:
    DistributedDataParallel, groups of `new_group`. See docs/torch.md.

    timeout  of the new default group; None: that of the old one
    """
    _anew("shrink", timeout, lib.tutti_comm_shrink)


def grow(least: int = 0, *, timeout: Optional[datetime.timedelta] = None) -> None:
    """As `shrink`, and processes that `tutti run --respawn` started in place of dead ranks join, as the last ranks.

    In a joiner (`tutti.torch.newcomer()` is true) `import tutti.torch` waits for this call of the others, and
    `init_process_group("tutti")` makes it a rank of their world. It has none of their data: broadcast what it needs from rank
    0, which is never a joiner; DistributedDataParallel does so with parameters.

    least    wait for at least this many joiners, up to TUTTI_CONNECT_TIMEOUT (120 s); 0: do not wait
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
    tutti.init(comm)  # as in a joiner
    if before is not None:
        before.free()
    os.environ["TORCHELASTIC_USE_AGENT_STORE"] = "False"
    _launch.introduce(comm)
    _flight.new_world()
    _dist.destroy_process_group()
    _launch.await_store(comm.rank)
    _dist.init_process_group("tutti", timeout=timeout or _limits[0])
