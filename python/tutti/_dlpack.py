"""Arrays of other libraries, through DLPack (https://dmlc.github.io/dlpack). `__dlpack__` returns a capsule
that describes the array. tutti reads the capsule and keeps it alive during the call; when it is freed, the
destructor of the array's owner runs. For an array on a GPU, `__dlpack__` gets the stream of the call (_card.py).

SPDX-License-Identifier: BSD-3-Clause
"""
from __future__ import annotations

import ctypes
from typing import Any

from . import _card
from ._errors import ArgumentError
from ._types import code_of_dlpack

_DEVICES = {1: "the CPU", 2: "CUDA device", 3: "CUDA host memory", 4: "OpenCL device", 7: "Vulkan device",
            8: "Metal device", 9: "VPI device", 10: "ROCm device", 11: "ROCm host memory",
            13: "CUDA managed memory", 14: "oneAPI device", 15: "WebGPU device", 16: "Hexagon device"}
_READABLE = (1, 3, 11, 13)
_KINDS = {0: "int", 1: "uint", 2: "float", 3: "object", 4: "bfloat", 5: "complex", 6: "bool"}


class _Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32), ("number", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("kind", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("offset", ctypes.c_uint64)]


class _Versioned(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("ctx", ctypes.c_void_p),
                ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", _Tensor)]


_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.argtypes, _pointer.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p
_valid = ctypes.pythonapi.PyCapsule_IsValid
_valid.argtypes, _valid.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_int


def _device(what: Any, name: str) -> bool:
    """Is the array on a GPU that tutti can use? False: it is in memory that the CPU can read. Other arrays are refused."""
    try:
        kind, number = what.__dlpack_device__()
    except (BufferError, RuntimeError, ValueError, TypeError) as why:
        raise ArgumentError(f"{name} does not say where its memory is: {why}") from None
    if int(kind) in _READABLE:
        return False
    if int(kind) == _card.CUDA and _card.present():
        return True
    where = _DEVICES.get(int(kind), f"a device of DLPack's kind {int(kind)},")
    if int(kind) == _card.CUDA:
        raise _card.missing(name, f"{where} {number}")
    raise ArgumentError(f"{name} is on {where} {number}; tutti works in the memory of the CPU, and of CUDA devices: "
                        "copy it there before, and back after")


def _capsule(what: Any, name: str, on_card: bool) -> Any:
    order = {"stream": _card.ORDER.stream} if on_card else {}
    try:
        try:
            return what.__dlpack__(max_version=(1, 1), **order)
        except TypeError:  # an older library, without max_version
            return what.__dlpack__(**order)
    except (BufferError, RuntimeError, ValueError, TypeError) as why:
        raise ArgumentError(f"{name} does not hand out its memory: {why}") from None


def _contiguous(tensor: _Tensor, name: str) -> int:
    """The number of elements; raises if they are not contiguous."""
    shape = [tensor.shape[i] for i in range(tensor.ndim)]
    elements = 1
    for n in shape:
        elements *= n
    if not tensor.strides or not elements:
        return elements
    strides = [tensor.strides[i] for i in range(tensor.ndim)]
    step = 1
    for n, stride in zip(reversed(shape), reversed(strides)):
        if n != 1 and stride != step:
            raise ArgumentError(f"{name} is not contiguous in C's order (shape {tuple(shape)}, strides "
                                f"{tuple(strides)} elements); hand in a copy, such as x.contiguous()")
        step *= n
    return elements


def look(what: Any, name: str) -> tuple[Any, int, int, Any, bool, Any, str]:
    """The fields of a View of the array."""
    on_card = hasattr(what, "__dlpack_device__") and _device(what, name)
    capsule = _capsule(what, name, on_card)
    readonly = False
    if _valid(capsule, b"dltensor_versioned"):
        managed = _Versioned.from_address(_pointer(capsule, b"dltensor_versioned"))
        if managed.major != 1:
            raise ArgumentError(f"{name}: DLPack {managed.major}.{managed.minor} is unknown here")
        readonly, tensor = bool(managed.flags & 1), managed.tensor
    else:
        tensor = _Tensor.from_address(_pointer(capsule, b"dltensor"))
    elements = _contiguous(tensor, name)
    itemsize = tensor.bits * tensor.lanes // 8
    kind = f"{_KINDS.get(tensor.kind, '?')}{tensor.bits}" + (f" x{tensor.lanes}" if tensor.lanes > 1 else "")
    code = code_of_dlpack(tensor.kind, tensor.bits, tensor.lanes)
    if itemsize * 8 != tensor.bits * tensor.lanes:
        raise ArgumentError(f"{name} is of type {kind}, whose elements are not whole bytes")
    at = (tensor.data or 0) + tensor.offset
    return at, elements * itemsize, itemsize or 1, code, readonly, (capsule, what), kind
