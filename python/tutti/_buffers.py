"""The buffers of array arguments: address, number of elements, type. Nothing is copied.

An argument may have a buffer (numpy arrays, array.array, bytearray, memoryview, shared memory, mmap), `__dlpack__`
(PyTorch, JAX, CuPy) or `__cuda_array_interface__`. It must be in this machine's memory or on a GPU that the library uses
(_card.py), and contiguous in C order. Results must be writable.
SPDX-License-Identifier: BSD-3-Clause
"""
from __future__ import annotations

import ctypes
import math
import sys
from typing import Any, NamedTuple, Optional

from . import _card, _dlpack
from ._errors import ArgumentError, DtypeError, NotAnArrayError
from ._types import (BOOL, SIZES, UINT8, code_of_format, code_of_name, code_of_numpy, name_of)

# An object that locks a buffer and keeps it alive; ctypes passes it to C as a pointer.
_Anchor = ctypes.c_char * 0
_anchor = _Anchor.from_buffer
_known: dict[Any, int] = {}  # numpy dtypes seen so far, and tutti's numbers of them


class _Export(ctypes.Structure):
    """Python's Py_buffer, of which only the first field is used."""

    _fields_ = [("buf", ctypes.c_void_p), ("rest", ctypes.c_char * 128)]


_get = ctypes.pythonapi.PyObject_GetBuffer
_get.argtypes, _get.restype = [ctypes.py_object, ctypes.c_void_p, ctypes.c_int], ctypes.c_int
_release = ctypes.pythonapi.PyBuffer_Release
_release.argtypes, _release.restype = [ctypes.c_void_p], None


class View(NamedTuple):
    """A view of memory that belongs to another object; `keep` keeps that object alive."""

    pointer: Any  # for C
    nbytes: int
    itemsize: int
    code: Optional[int]  # tutti's number of the type; None: tutti does not have it
    readonly: bool
    keep: Any
    kind: Any  # the owner's name of the type, for error messages


def vector(what: Any, call: str, role: str, dtype: Optional[str] = None, writable: bool = False,
           moves: bool = False) -> tuple[Any, int, int, Any]:
    """A buffer for C: (pointer, elements, type, object that keeps it alive).

    call, role  the call and its argument, for error messages.
    dtype       name of the type of the bytes; None: the owner's type.
    writable    the call writes to the buffer.
    moves       the call only moves data, so any type is allowed, as bytes.
    """
    if dtype is None:
        try:
            code = _known[what.dtype]
            anchor = _anchor(what)
            return anchor, what.size, code, anchor
        except (AttributeError, KeyError, TypeError, ValueError):
            pass
    name = f"{call}: {role}"
    view = _look(what, name)
    if writable and view.readonly:
        raise ArgumentError(f"{name} is read-only; hand in something that can be written")
    code, size = _type_of(view, name, dtype, moves)
    if view.nbytes % size:
        raise ArgumentError(f"{name} has {view.nbytes} bytes, which is not a multiple of the element size, {size} bytes")
    return view.pointer, view.nbytes // size, code, view.keep


def _type_of(view: View, name: str, dtype: Optional[str], moves: bool) -> tuple[int, int]:
    if dtype is not None:
        code = code_of_name(dtype)
        return code, SIZES[code]
    if view.code is not None:
        return view.code, view.itemsize
    if moves:
        return UINT8, 1
    raise DtypeError(f"{name} is of type {view.kind}, which tutti cannot compute with; convert it, "
                     "or say what its bytes are with dtype='...'")


def _look(what: Any, name: str) -> View:
    """The slow path, for arguments that `vector` cannot handle directly."""
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(what, (numpy.ndarray, numpy.generic)):
        return _of_numpy(numpy, what, name)
    try:
        view = memoryview(what)
    except (TypeError, ValueError, BufferError) as why:
        if hasattr(what, "__dlpack__"):
            return View(*_dlpack.look(what, name))
        if hasattr(what, "__cuda_array_interface__"):
            return View(*_card.interface_of(what, name))
        kind = type(what).__name__
        raise NotAnArrayError(f"{name} is of class {kind}, which has neither a buffer nor __dlpack__; "
                         f"pass a numpy array, an array.array or another buffer ({why})", what) from None
    return _of_memory(view, name, code_of_format(view.format, view.itemsize), view.format)


def _of_numpy(numpy: Any, what: Any, name: str) -> View:
    dtype, flags = what.dtype, what.flags
    code = _known.get(dtype)
    if code is None:
        code = code_of_numpy(dtype)
        if code is not None:
            _known[dtype] = code
        elif dtype.hasobject:
            raise DtypeError(f"{name} holds Python objects (dtype {dtype}); tutti takes numbers")
    if not flags.c_contiguous:
        _not_contiguous(name, what.shape, what.strides)
    array = numpy.asarray(what)  # a numpy scalar has no address of data
    return View(array.ctypes.data, array.nbytes, dtype.itemsize, code, not flags.writeable, array, dtype)


def _of_memory(view: memoryview, name: str, code: Optional[int], kind: str) -> View:
    if not view.c_contiguous:
        _not_contiguous(name, view.shape, view.strides)
    if not view.readonly:
        pointer = _anchor(view)
        return View(pointer, view.nbytes, view.itemsize, code, False, pointer, kind)
    export = _Export()
    if _get(view, ctypes.addressof(export), 0):  # on failure ctypes raises the exception
        raise ArgumentError(f"{name} cannot be read")
    pointer = export.buf
    _release(ctypes.addressof(export))  # the view still holds the buffer
    return View(pointer, view.nbytes, view.itemsize, code, True, view, kind)


def _not_contiguous(name: str, shape: Any, strides: Any) -> None:
    raise ArgumentError(f"{name} is not contiguous in C's order (shape {tuple(shape)}, strides "
                        f"{tuple(strides or ())} bytes); hand in a copy, such as "
                        "numpy.ascontiguousarray gives")


def new_like(array: Any, elements: int, of: int) -> Any:
    """Allocate a result with `elements` elements, of the same class as `array`, which has `of` elements.

    If the numbers differ, the first axis is scaled if that is possible; otherwise the result has one axis.
    """
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(array, (numpy.ndarray, numpy.generic)):
        if elements == of:
            return numpy.empty_like(array)
        return numpy.empty(_shape(array.shape, array.size, array.size * elements // of if of else elements),
                           array.dtype)
    if hasattr(array, "new_empty") and hasattr(array, "numel"):  # a PyTorch tensor
        n = array.numel()
        return array.new_empty(_shape(tuple(array.shape), n, n * elements // of if of else elements))
    if _card.holds(array):
        count = math.prod(array.shape)
        return _card.new_beside(array, None if elements == of else _shape(tuple(array.shape), count, count * elements // of
                                                                          if of else elements))
    view = memoryview(array)
    nbytes = view.nbytes * elements // of if of else elements * view.itemsize
    if hasattr(array, "typecode"):  # array.array
        return type(array)(array.typecode, bytes(nbytes))
    if isinstance(array, (bytes, bytearray)):
        return bytearray(nbytes)
    return memoryview(bytearray(nbytes)).cast(view.format)


def _shape(shape: tuple[int, ...], size: int, elements: int) -> tuple[int, ...]:
    if elements == size:
        return shape
    if shape and size and shape[0] * elements % size == 0:
        return (shape[0] * elements // size, *shape[1:])
    return (elements,)


def zero(array: Any, pointer: Any, elements: int, code: int) -> None:
    """Fill an array with zeros. `pointer`, `elements` and `code` describe its memory."""
    if _card.holds(array):
        _card.zero_there(array)
        return
    ctypes.memset(pointer, 0, elements * SIZES[code - 256 if code >= BOOL else code])


def same(name: str, out: int, wanted: int, kind: int, code: int, whose: str = "out") -> None:
    """Refuse a buffer whose length or type is wrong."""
    if kind != code:
        raise DtypeError(f"{name}: {whose} is of type {name_of(kind)}, not {name_of(code)}; "
                         "both have to be of one type")
    if out != wanted:
        raise ArgumentError(f"{name}: {whose} has {out} elements; it needs {wanted}")
