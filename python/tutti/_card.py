"""Arrays in GPU memory: streams, `__cuda_array_interface__`, and allocation of results on an array's device.

Idea       Calls accept device addresses if the library has found a device (tutti_device_here). A blocking call is ordered
           after the work enqueued on the legacy default stream, a call with `stream=` after the work enqueued on that
           stream. The library that owns an array must order that stream after its own work on the array.
           `__dlpack__(stream=...)` does this. If `__cuda_array_interface__` names another stream, this process waits for it.
Source     the array API standard, DLPack, and version 3 of the CUDA array interface.
SPDX-License-Identifier: BSD-3-Clause
"""
from __future__ import annotations

import contextlib
import ctypes
import math
import os
import sys
import threading
from typing import Any, Iterator, Optional

from ._errors import ArgumentError, StateError
from ._lib import lib
from ._types import code_of_typestr

CUDA = 2  # DLPack's number
LEGACY = 1  # the legacy default stream, for DLPack and the array interface; tutti's C functions take NULL


class _Order(threading.local):
    """The stream after which a thread's calls are ordered."""

    stream = LEGACY


ORDER = _Order()


@contextlib.contextmanager
def in_order_of(handle: Optional[int]) -> Iterator[None]:
    """Within the block, arrays are requested for use on this stream; None: the legacy default stream."""
    before, ORDER.stream = ORDER.stream, handle or LEGACY
    try:
        yield
    finally:
        ORDER.stream = before


def present() -> bool:
    """Has the library found a device whose memory calls can use?"""
    return lib.tutti_device_here() is not None


def handle_of(stream: object, name: str) -> Optional[int]:
    """The driver's handle of a stream; None: the legacy default stream."""
    value: Any = stream
    for attribute in ("__cuda_stream__", "cuda_stream", "ptr"):
        if hasattr(stream, attribute):
            value = getattr(stream, attribute)
            value = value() if callable(value) else value
            value = value[1] if attribute == "__cuda_stream__" else value
            break
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ArgumentError(f"{name}: stream is of class {type(stream).__name__}; hand in the driver's handle, or an object "
                            "that has it, as those of PyTorch and CuPy")
    return None if value in (0, LEGACY) else value


def missing(name: str, where: str) -> ArgumentError:
    """The error for an array on a device that tutti cannot use."""
    return ArgumentError(f"{name} is on {where}, and tutti works in the memory of the CPU, because it has found no device here "
                         "(TUTTI_DEVICE=cuda says why): copy it to the CPU before, and back after")


def _wait_for(stream: int, name: str) -> None:
    """Wait until the stream has completed all work enqueued so far."""
    try:
        driver = ctypes.CDLL(os.environ.get("TUTTI_CUDA_LIBRARY") or "libcuda.so.1")
        failed = driver.cuStreamSynchronize(ctypes.c_void_p(stream))
    except (OSError, AttributeError) as why:
        raise StateError(f"{name}: its stream cannot be waited for: {why}") from None
    if failed:
        raise ArgumentError(f"{name}: the driver cannot wait for its stream, {stream:#x} (error {failed})")


def interface_of(what: Any, name: str) -> tuple[int, int, int, Optional[int], bool, Any, str]:
    """The fields of a View of an array that has `__cuda_array_interface__`."""
    said = what.__cuda_array_interface__
    if not present():
        raise missing(name, "a CUDA device")
    shape, form = tuple(said["shape"]), str(said["typestr"])
    code, itemsize = code_of_typestr(form)
    if said.get("mask") is not None:
        raise ArgumentError(f"{name} has a mask, which tutti does not look at; hand in an array without one")
    strides, step = said.get("strides"), itemsize
    for n, stride in zip(reversed(shape), reversed(strides or ())):
        if n != 1 and stride != step and 0 not in shape:
            raise ArgumentError(f"{name} is not contiguous in C's order (shape {shape}, strides {tuple(strides)} bytes); "
                                "hand in a copy")
        step *= n
    stream = said.get("stream")
    if stream == 0:
        raise ArgumentError(f"{name}: its stream is 0, which may be either default stream; 1 or 2 says which")
    if stream is not None and stream != ORDER.stream:
        _wait_for(stream, name)
    at, readonly = said["data"]
    return at or 0, math.prod(shape) * itemsize, itemsize, code, bool(readonly), what, form


def holds(array: Any) -> bool:
    """Is this array on a CUDA device?"""
    if hasattr(array, "__dlpack_device__"):
        return int(array.__dlpack_device__()[0]) == CUDA
    return hasattr(array, "__cuda_array_interface__")


def new_beside(array: Any, shape: Optional[tuple[int, ...]]) -> Any:
    """Allocate an array of the same class on the same device, with functions of the array's package. shape None: the same."""
    package = sys.modules.get(type(array).__module__.partition(".")[0])
    device: Any = getattr(array, "device", None)
    with device if hasattr(device, "__enter__") else contextlib.nullcontext():
        if shape is None and hasattr(package, "empty_like"):
            return getattr(package, "empty_like")(array)
        if shape is not None and hasattr(package, "empty"):
            return getattr(package, "empty")(shape, dtype=array.dtype)
    raise ArgumentError(f"tutti cannot make an array of class {type(array).__name__} on the device for the result; hand one in "
                        "as out=")


def zero_there(array: Any) -> None:
    """Fill an array with zeros, with the array's own method."""
    for name, arguments in (("zero_", ()), ("fill", (0,))):
        if hasattr(array, name):
            getattr(array, name)(*arguments)
            return
    raise ArgumentError(f"tutti cannot write zeros to an array of class {type(array).__name__} on the device; hand in an out "
                        "that has them")
