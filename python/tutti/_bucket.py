"""Buckets: sums gradients while the program computes the next ones (docs/buckets.md).

SPDX-License-Identifier: BSD-3-Clause
"""
from __future__ import annotations

import ctypes
import weakref
from typing import TYPE_CHECKING, Any, Optional, Sequence

from ._buffers import vector
from ._errors import ArgumentError, DtypeError, StateError, TuttiError
from ._lib import check, lib
from ._types import form_of

if TYPE_CHECKING:
    from ._comm import Comm


class _Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("count", ctypes.c_size_t), ("type", ctypes.c_int)]


class _Config(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("bytes", ctypes.c_size_t), ("sum", ctypes.c_int), ("learn", ctypes.c_int),
                ("bf16", ctypes.c_int), ("thread", ctypes.c_int),
                ("compression", ctypes.c_char_p)]


def _forms(shapes: Sequence[Any], dtype: Any) -> list[tuple[Any, tuple[int, ...], int, int]]:
    """The arrays to allocate: numpy's type, shape, elements, tutti's type."""
    types = dtype if isinstance(dtype, (list, tuple)) else [dtype] * len(shapes)
    if len(types) != len(shapes):
        raise ArgumentError(f"Buckets: {len(types)} types for {len(shapes)} shapes; give one for each, or one for all")
    forms = []
    for i, (shape, one) in enumerate(zip(shapes, types)):
        kind, axes, count, code = form_of(shape, one)
        if code is None:
            raise DtypeError(f"Buckets: array {i} is of type {kind}, which tutti cannot sum; give another dtype")
        if min(axes, default=0) < 0:
            raise ArgumentError(f"Buckets: array {i} has the shape {axes}; its axes must be 0 or more")
        forms.append((kind, axes, count, code))
    return forms


class Buckets:
    """Arrays, such as gradients, that are summed over all ranks in every training step. Summing overlaps with computation:
    call `ready(i)` when array i is computed, and `wait()` at the end of the step. Each array then holds its mean over the
    ranks, or its sum.

    arrays  Pass shapes (numbers or tuples of numbers), and numpy arrays of zeros are allocated in memory that all ranks
            of this machine share; `buckets.arrays[i]` is the i-th, and is summed without a copy. Or pass arrays: objects
            with a buffer or `__dlpack__`, contiguous and writable. They are summed in place; they are kept alive, and
            must not be moved, until `free`. Either all ranks pass shapes, or all pass arrays. List first the arrays that a
            step computes first.
    dtype   the type of all shapes, or a list with one type per shape.
    op      'avg' or 'sum'.
    bytes   close a bucket when it has this size; 0: the cost model chooses the size.
    learn   after the first step, replace the order of the list by the order of readiness on rank 0.
    bf16    send float32 arrays as bf16, with error feedback.
    compression  of messages between hosts, as for Comm.configure, with error feedback; None: as set there.
    thread  let a progress thread of tutti advance the sums.
    The constructor is collective; `free` is not. Raises ArgumentError, DtypeError, OpError, MismatchError, UnsupportedError.

    >>> import tutti
    >>> with tutti.Buckets(tutti.init(), [3, (2, 2)], dtype="float32") as buckets:
    ...     for i, gradient in enumerate(buckets.arrays):
    ...         gradient[:] = 1
    ...         buckets.ready(i)   # do not touch it until it is summed
    ...     buckets.wait(0)        # array 0 holds the mean
    ...     buckets.wait()         # all arrays do; the step has ended
    """

    _kept: "set[Buckets]" = set()  # objects not yet freed; the library holds pointers to their arrays

    def __init__(self, comm: "Comm", arrays: Sequence[Any], op: str = "avg", *, dtype: Any = None, bytes: int = 0,
                 learn: bool = False, bf16: bool = False, thread: bool = False,
                 compression: Optional[str] = None) -> None:
        if op not in ("avg", "sum"):
            raise ValueError(f"Buckets: op is 'avg' or 'sum', not {op!r}")
        shapes = all(isinstance(array, (int, tuple)) for array in arrays)
        if dtype is not None and not shapes:
            raise ArgumentError("Buckets: dtype is the type of shapes, and arrays were given; leave it out")
        forms = _forms(arrays, "float64" if dtype is None else dtype) if shapes else []
        views = [] if shapes else [vector(array, "Buckets", f"array {i}", None, True) for i, array in enumerate(arrays)]
        tensors = (_Tensor * len(arrays))(*[_Tensor(None, count, code) for _, _, count, code in forms], *[
            _Tensor(ctypes.cast(pointer, ctypes.c_void_p).value if count else None, count, code)
            for pointer, count, code, _ in views])
        config = _Config(ctypes.sizeof(_Config), bytes, op == "sum", learn, bf16, thread,
                         None if compression is None else compression.encode())
        self._handle: Optional[ctypes.c_void_p] = None
        handle = ctypes.c_void_p()
        check(lib.tutti_buckets_create(comm._handle, len(arrays), tensors, ctypes.byref(config), ctypes.byref(handle)))
        self._handle, self._views = handle, views
        self._stepping = False  # a step has begun, and has neither ended nor failed
        self._lent = 0  # live arrays in the object's memory
        self._closing: Optional[ctypes.c_void_p] = None  # the handle after `free`, until the last such array is gone
        self.arrays: Sequence[Any] = [self._array(i, *form) for i, form in enumerate(forms)] if shapes else arrays
        Buckets._kept.add(self)

    def _array(self, i: int, kind: Any, shape: tuple[int, ...], count: int, _code: int) -> Any:
        import numpy

        at = lib.tutti_bucket_data(self._handle, i)
        if not at or not count:  # a helper has no data
            return numpy.zeros(shape, kind)
        memory = (ctypes.c_char * (count * kind.itemsize)).from_address(at)
        self._lent += 1
        weakref.finalize(memory, self._give_back).atexit = False
        return numpy.frombuffer(memory, kind).reshape(shape)

    def _give_back(self) -> None:
        self._lent -= 1
        if self._closing is not None and not self._lent:
            lib.tutti_buckets_free(self._closing)
            self._closing = None

    def _held(self) -> ctypes.c_void_p:
        if self._handle is None:
            raise StateError("these buckets were freed")
        return self._handle

    def _check(self, status: int) -> None:
        try:
            check(status)
        except (ArgumentError, StateError):
            raise
        except TuttiError:
            self._stepping = False
            raise

    def ready(self, i: int) -> None:
        """Tell the library that array `i` holds this rank's value. Starts every bucket that can start; never blocks."""
        self._check(lib.tutti_bucket_ready(self._held(), i))
        self._stepping = True

    def wait(self, i: Optional[int] = None) -> None:
        """Wait until array `i` is summed; None: until all arrays are, which ends the step."""
        handle = self._held()
        self._check(lib.tutti_buckets_wait(handle) if i is None else lib.tutti_bucket_wait(handle, i))
        self._stepping = self._stepping and i is not None

    def test(self, i: int) -> bool:
        """Return whether array `i` is summed. Makes progress; does not block."""
        done = ctypes.c_int()
        self._check(lib.tutti_bucket_test(self._held(), i, ctypes.byref(done)))
        return bool(done.value)

    def __len__(self) -> int:
        """The number of buckets."""
        return int(lib.tutti_buckets_count(self._held()))

    def free(self) -> None:
        """Free the object, between steps or after a failure; further calls do nothing. Arrays that it allocated stay
        valid: their memory is freed with the last of them."""
        if self._handle is None:
            return
        if not self._lent:
            check(lib.tutti_buckets_free(self._handle))
        elif self._stepping:
            raise StateError("Buckets.free: a step is not over; wait() ends it")
        else:
            self._closing = self._handle
        self._handle = None
        self._views, self.arrays = [], ()
        Buckets._kept.discard(self)

    def __enter__(self) -> "Buckets":
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is None:
            self.free()  # not after an exception: sums may still be in flight
