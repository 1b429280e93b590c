"""Arrays in the memory of a GPU: streams, `__cuda_array_interface__`, and new arrays beside existing ones.

Idea       tutti takes their addresses where the library has found a device (tutti_device_here). A blocking call comes after
           what the legacy default stream has got, a call with `stream=` after what that stream has got. So the owner of an
           array orders one of these after its own work: `__dlpack__(stream=...)` does so by itself, and where
           `__cuda_array_interface__` names another stream, this process waits for it.
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
    """What the calls of a thread are ordered by."""

    stream = LEGACY


ORDER = _Order()


@contextlib.contextmanager
def in_order_of(handle: Optional[int]) -> Iterator[None]:
    """Arrays that are looked at in the block are for this stream; None: the legacy default one."""
    before, ORDER.stream = ORDER.stream, handle or LEGACY
    try:
        yield
    finally:
        ORDER.stream = before


def present() -> bool:
    """Has the library found a device whose memory calls take?"""
    return lib.tutti_device_here() is not None


def handle_of(stream: object, name: str) -> Optional[int]:
    """The driver's handle of a stream; None: the legacy default one."""
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
    """The refusal of an array on a device that tutti cannot use."""
    return ArgumentError(f"{name} is on {where}, and tutti works in the memory of the CPU, because it has found no device here "
                         "(TUTTI_DEVICE=cuda says why): copy it to the CPU before, and back after")


def _wait_for(stream: int, name: str) -> None:
    """Until a stream has done all that it has got so far."""
    try:
        driver = ctypes.CDLL(os.environ.get("TUTTI_CUDA_LIBRARY") or "libcuda.so.1")
        failed = driver.cuStreamSynchronize(ctypes.c_void_p(stream))
    except (OSError, AttributeError) as why:
        raise StateError(f"{name}: its stream cannot be waited for: {why}") from None
    if failed:
        raise ArgumentError(f"{name}: the driver cannot wait for its stream, {stream:#x} (error {failed})")


def interface_of(what: Any, name: str) -> tuple[int, int, int, Optional[int], bool, Any, str]:
    """The place of an array that has `__cuda_array_interface__`: the fields of a View."""
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
    """Does this array lie on such a device?"""
    if hasattr(array, "__dlpack_device__"):
        return int(array.__dlpack_device__()[0]) == CUDA
    return hasattr(array, "__cuda_array_interface__")


def new_beside(array: Any, shape: Optional[tuple[int, ...]]) -> Any:
    """A new array of the class of this one, on its device, by the functions of its package; None: as this one."""
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
    """Write zeros, by the array's own function."""
    for name, arguments in (("zero_", ()), ("fill", (0,))):
        if hasattr(array, name):
            getattr(array, name)(*arguments)
            return
    raise ArgumentError(f"tutti cannot write zeros to an array of class {type(array).__name__} on the device; hand in an out "
                        "that has them")
