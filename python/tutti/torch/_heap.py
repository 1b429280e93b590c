"""Allocates the buckets of DistributedDataParallel in memory that the ranks of a machine share.

DDP's Reducer allocates its buckets when it is made, and again before the second step, when the order of the gradients is
known. The subclass here makes these allocations come from the shared heap of the process group (c10d/heap.hpp), if that is a
group of the compiled backend "tutti".
SPDX-License-Identifier: BSD-3-Clause
"""
from __future__ import annotations

import contextlib
from typing import Any, Callable, Iterator

import torch.distributed as _dist

from ._stubs import ReducerBase


def use(place: Callable[[Any], None]) -> None:
    """Make DDP use this Reducer. place(group): allocate this thread's new tensors in the group's heap; None: no longer."""

    @contextlib.contextmanager
    def in_heap_of(group: Any) -> Iterator[None]:
        place(group)
        try:
            yield
        finally:
            place(None)

    class Reducer(ReducerBase):
        """PyTorch's Reducer, with its buckets in the shared heap."""

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            self._group = kwargs["process_group"] if "process_group" in kwargs else args[3]
            with in_heap_of(self._group):
                super().__init__(*args, **kwargs)

        def _rebuild_buckets(self) -> bool:
            with in_heap_of(self._group):
                return super()._rebuild_buckets()

    setattr(_dist, "Reducer", Reducer)
