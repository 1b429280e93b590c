"""Types of PyTorch's process groups that are missing or wrong in its type stubs.

SPDX-License-Identifier: BSD-3-Clause
"""
from __future__ import annotations

import datetime
import inspect
from typing import TYPE_CHECKING, Any, Callable

import torch
import torch.distributed as dist
from torch._C import _distributed_c10d as c10d

NO_LIMIT = datetime.timedelta(0)

if TYPE_CHECKING:
    Tensors = list[torch.Tensor]

    class GroupBase:
        """A process group in Python."""

        def __init__(self, rank: int, size: int) -> None: ...

    class WorkBase:
        """An operation in Python."""

    class ReducerBase:
        """The object that sums the gradients of DistributedDataParallel."""

        def __init__(self, *args: Any, **kwargs: Any) -> None: ...
        def _rebuild_buckets(self) -> bool: ...

    class Store:
        def set(self, key: str, value: bytes) -> None: ...
        def get(self, key: str) -> bytes: ...
        def check(self, keys: list[str]) -> bool: ...
        def compare_set(self, key: str, expected: str, desired: str) -> bytes: ...

else:
    Tensors, WorkBase, Store = list, c10d.Work, c10d.Store
    # In PyTorch 2 a ProcessGroup has a Backend for each device type; in PyTorch 1 the ProcessGroup does the work itself.
    GroupBase = c10d.Backend if hasattr(dist.ProcessGroup, "_get_backend") else c10d.ProcessGroup
    ReducerBase = c10d.Reducer

AVG: Any = getattr(c10d.ReduceOp, "AVG")
_register: Callable[..., None] = dist.Backend.register_backend
default_group: Callable[[], Any] = getattr(dist.distributed_c10d, "_get_default_group")
all_reduce: Callable[..., Any] = dist.all_reduce


def register_backend(name: str, create: Callable[..., Any], devices: list[str]) -> None:
    """Register a backend for tensors on these devices."""
    if "devices" in inspect.signature(dist.Backend.register_backend).parameters:
        _register(name, create, devices=devices)
    else:  # before PyTorch 2.0
        _register(name, create)


def backends_of(group: Any) -> list[Any]:
    """The objects that do the work of a process group: its backends, or in PyTorch 1 the group itself."""
    if not hasattr(group, "_get_backend"):
        return [group]
    return [group._get_backend(device) for device in group._device_types]


def options(limit: float) -> Any:
    return getattr(c10d, "Backend").Options("tutti", datetime.timedelta(seconds=limit))


prefixed: Callable[[str, Any], Any] = getattr(dist, "PrefixStore")
set_exception: Callable[[Any, Exception], None] = torch.futures.Future.set_exception
_work_of: Callable[[Any], Any] = getattr(c10d, "_create_work_from_future")


def work_done(result: Tensors) -> Any:
    """An operation that is complete."""
    future = torch._C.Future([])  # torch.futures.Future does the same in Python, and takes 3 us
    future.set_result(result)
    return _work_of(future)
