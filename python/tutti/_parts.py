"""How the elements of an array are split among the ranks.
SPDX-License-Identifier: BSD-3-Clause
"""
from __future__ import annotations

import ctypes
from typing import Any, Optional, Sequence

from ._errors import ArgumentError


class Parts:
    """The arithmetic of parts, for the collectives of a communicator."""

    rank: int
    size: int

    @property
    def helpers(self) -> int:
        raise NotImplementedError

    def _owners(self) -> int:
        """The number of ranks that have a part of the data: all but the helpers."""
        return self.size - self.helpers

    def _cut(self, name: str, count: int, counts: Optional[Sequence[int]]) -> tuple[Any, int]:
        """How `count` elements are split among the ranks: the counts for C, and this rank's number of elements."""
        parts = self._owners()
        if counts is None:
            if count % parts:
                raise ArgumentError(f"{name}: {count} elements cannot be cut in {parts} equal parts, one for "
                                    "each rank")
            return count // parts, count // parts
        table, total = self._table(name, counts)
        if total != count:
            raise ArgumentError(f"{name}: array has {count} elements; counts add up to {total}")
        return table, counts[self.rank] if self.rank < parts else 0

    def _table(self, name: str, counts: Sequence[int]) -> tuple[Any, int]:
        if len(counts) != self._owners() or min(counts) < 0:
            raise ArgumentError(f"{name}: counts must have {self._owners()} numbers, one per rank, each 0 or more; "
                                f"it is {list(counts)}")
        return (ctypes.c_size_t * len(counts))(*counts), sum(counts)

    def _joined(self, name: str, count: int, counts: Optional[Sequence[int]]) -> tuple[Any, int]:
        """The counts for C of a call in which this rank brings `count` elements, and the elements of all ranks."""
        if counts is None:
            return count, count * self._owners()
        table, total = self._table(name, counts)
        if self.rank < len(counts) and counts[self.rank] != count:
            raise ArgumentError(f"{name}: array has {count} elements; counts[{self.rank}] is {counts[self.rank]}")
        return table, total
