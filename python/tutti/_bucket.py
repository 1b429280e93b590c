"""Buckets: gradients that are summed while the next ones are computed (docs/buckets.md).

SPDX-License-Identifier: BSD-3-Clause
"""
from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Optional, Sequence

from ._buffers import vector
from ._errors import StateError
from ._lib import check, lib

if TYPE_CHECKING:
    from ._comm import Comm


class _Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("count", ctypes.c_size_t), ("type", ctypes.c_int)]


class _Config(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("bytes", ctypes.c_size_t), ("sum", ctypes.c_int), ("learn", ctypes.c_int),
                ("bf16", ctypes.c_int), ("thread", ctypes.c_int)]


class Buckets:
    """Arrays, in the order in which a step computes them; in each step each becomes its mean over all ranks.

    arrays  anything with a buffer or `__dlpack__`, contiguous and writable; summed in place. They are kept
            alive, and must stay where they are, until `free`.
    op      'avg', or 'sum'.
    bytes   a bucket is closed at this size; 0: the prices choose it.
    learn   the order in which rank 0's arrays became ready in the first step replaces the order here.
    bf16    arrays of float32 travel as bf16, with error feedback.
    thread  a progress thread of tutti drives the sums.
    Collective; `free` is not. Raises ArgumentError, DtypeError, OpError, Mismatch, Unsupported.

    >>> import tutti, numpy
    >>> layers = [numpy.ones(3, "f4"), numpy.ones((2, 2), "f4")]
    >>> with tutti.Buckets(tutti.init(), layers) as buckets:
    ...     for i in range(2):
    ...         buckets.ready(i)   # the library's from here on
    ...     buckets.wait(0)        # this one is the mean already
    ...     buckets.wait()         # all are: the step is over
    """

    _kept: "set[Buckets]" = set()  # not yet freed: the library holds pointers to their arrays

    def __init__(self, comm: "Comm", arrays: Sequence[Any], op: str = "avg", *, bytes: int = 0, learn: bool = False,
                 bf16: bool = False, thread: bool = False) -> None:
        if op not in ("avg", "sum"):
            raise ValueError(f"Buckets: op is 'avg' or 'sum', not {op!r}")
        views = [vector(array, "Buckets", f"array {i}", None, True) for i, array in enumerate(arrays)]
        tensors = (_Tensor * len(views))(*[
            _Tensor(ctypes.cast(pointer, ctypes.c_void_p).value if count else None, count, code)
            for pointer, count, code, _ in views])
        config = _Config(ctypes.sizeof(_Config), bytes, op == "sum", learn, bf16, thread)
        self._handle: Optional[ctypes.c_void_p] = None
        handle = ctypes.c_void_p()
        check(lib.tutti_buckets_create(comm._handle, len(views), tensors, ctypes.byref(config), ctypes.byref(handle)))
        self._handle, self._views, self._arrays = handle, views, arrays
        Buckets._kept.add(self)

    def _held(self) -> ctypes.c_void_p:
        if self._handle is None:
            raise StateError("these buckets were freed")
        return self._handle

    def ready(self, i: int) -> None:
        """Array `i` holds this rank's summand. Starts every bucket that can start, and never blocks."""
        check(lib.tutti_bucket_ready(self._held(), i))

    def wait(self, i: Optional[int] = None) -> None:
        """Wait until array `i` is summed; None: until all are, which ends the step."""
        handle = self._held()
        check(lib.tutti_buckets_wait(handle) if i is None else lib.tutti_bucket_wait(handle, i))

    def test(self, i: int) -> bool:
        """Is array `i` summed? Makes progress, and does not block."""
        done = ctypes.c_int()
        check(lib.tutti_bucket_test(self._held(), i, ctypes.byref(done)))
        return bool(done.value)

    def __len__(self) -> int:
        """The number of buckets."""
        return int(lib.tutti_buckets_count(self._held()))

    def free(self) -> None:
        """Free the object, between steps or after a failure; a second call does no harm."""
        if self._handle is not None:
            check(lib.tutti_buckets_free(self._handle))
            self._handle = None
            self._views, self._arrays = [], ()
            Buckets._kept.discard(self)

    def __enter__(self) -> "Buckets":
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is None:
            self.free()  # sums may be in flight otherwise
