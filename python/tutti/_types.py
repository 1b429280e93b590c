"""Element types: tutti's numbers for the types of numpy, the buffer protocol and DLPack. Names and sizes come from the
library.

SPDX-License-Identifier: BSD-3-Clause
"""
from __future__ import annotations

import ctypes
import math
import sys
from typing import Any, Optional

from ._errors import DtypeError
from ._lib import lib


def _names(name_of: Any) -> tuple[str, ...]:
    """The library's names for the numbers 0, 1, 2 and so on."""
    names: list[str] = []
    while (name := name_of(len(names)).decode()) != "?":
        names.append(name)
    return tuple(names)


NAMES = _names(lib.tutti_type_name)
OPS = _names(lib.tutti_op_name)
COLLECTIVES = _names(lib.tutti_coll_name)
SIZES = tuple(lib.tutti_type_size(code) for code in range(len(NAMES)))
BY_NAME = {name: code for code, name in enumerate(NAMES)}
BY_NAME.update((other, BY_NAME[name]) for other, name in (
    ("float16", "fp16"), ("half", "fp16"), ("float32", "float"), ("float64", "double"),
    ("complex64", "complex_float"), ("complex128", "complex_double")))
UINT8 = BY_NAME["uint8"]
# Types that numpy lacks: their name in ml_dtypes and PyTorch, the unsigned integer type of the same size, and the number
# of their kind in DLPack.
_LACKED = {BY_NAME["bf16"]: ("bfloat16", "u2", 4), BY_NAME["fp8_e4m3"]: ("float8_e4m3fn", "u1", 10),
           BY_NAME["fp8_e5m2"]: ("float8_e5m2", "u1", 12)}
BY_NAME.update((name, code) for code, (name, _, _) in _LACKED.items())
_BY_THEIR_NAME = {name: code for code, (name, _, _) in _LACKED.items()}
_BY_DLPACK = {(kind, SIZES[code]): code for code, (_, _, kind) in _LACKED.items()}
# A bool is a uint8 that must stay 0 or 1. It has a number above all types until the op is known to be allowed for bools.
BOOL = 256 + UINT8

# A type's name without its number of bits, and numpy's letter for this kind of type.
_LETTERS = {"int": "i", "uint": "u", "fp": "f", "float": "f", "double": "f", "complex_float": "c",
            "complex_double": "c"}
# Type numbers by kind and size in bytes.
_NUMBERS = {(_LETTERS[name.rstrip("0123456789")], SIZES[code]): code for code, name in enumerate(NAMES)
            if name.rstrip("0123456789") in _LETTERS}
_NUMBERS["b", 1] = BOOL


def _pair(name: str, size: int) -> tuple[str, int, int, int]:
    """A pair such as float_int: kind and size of the value, offset of the int, size of the pair."""
    value = name[:-len("_int")]
    length = ctypes.sizeof(getattr(ctypes, "c_" + value))
    return _LETTERS.get(value, "i"), length, max(length, 4), size


_PAIRS = {_pair(name, SIZES[code]): code for code, name in enumerate(NAMES) if name.endswith("_int")}
_KINDS = {**dict.fromkeys("bhilqn", "i"), **dict.fromkeys("BHILQN", "u"),
          **dict.fromkeys(("e", "f", "d"), "f"), **dict.fromkeys(("Zf", "Zd", "F", "D"), "c"), "?": "b"}
_FOREIGN = ">!" if sys.byteorder == "little" else "<"


def code_of_name(name: str) -> int:
    """tutti's number of a type, by name."""
    code = BY_NAME.get(name)
    if code is None:
        raise DtypeError(f"unknown type {name!r}; expected {', '.join(BY_NAME)}")
    return code


def code_of_numpy(dtype: Any) -> Optional[int]:
    """tutti's number of a numpy dtype; None if tutti does not have the type."""
    if dtype.names and len(dtype.names) == 2:
        (value, at), (index, where) = (dtype.fields[n][:2] for n in dtype.names)
        if at or not dtype.isnative or (index.kind, index.itemsize) != ("i", 4):
            return None
        return _PAIRS.get((value.kind, value.itemsize, where, dtype.itemsize))
    if dtype.name in _BY_THEIR_NAME:
        return _BY_THEIR_NAME[dtype.name]
    return _NUMBERS.get((dtype.kind, dtype.itemsize)) if dtype.isnative else None


def code_of_format(form: str, itemsize: int) -> Optional[int]:
    """tutti's number of a format of `struct`; None if tutti does not have the type."""
    if form[:1] in _FOREIGN and form[:1]:
        return None
    return _NUMBERS.get((_KINDS.get(form.lstrip("@=<>!"), ""), itemsize))


def code_of_typestr(form: str) -> tuple[Optional[int], int]:
    """tutti's number of a type of numpy's array interface ('<f4'), None if tutti does not have it; and its size in bytes."""
    kind, itemsize = form[1:2], int(form[2:])
    itemsize *= 4 if kind == "U" else 1
    return None if form[0] in _FOREIGN and itemsize > 1 else _NUMBERS.get((kind, itemsize)), itemsize


def code_of_dlpack(kind: int, bits: int, lanes: int) -> Optional[int]:
    """tutti's number of a DLPack type; None if tutti does not have the type."""
    if (kind, bits // 8) in _BY_DLPACK and lanes == 1:
        return _BY_DLPACK[kind, bits // 8]
    letter = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}.get(kind, "")
    return _NUMBERS.get((letter, bits // 8)) if lanes == 1 else None


def numpy_dtype(numpy: Any, code: int) -> Any:
    """The numpy dtype of a type. Types that numpy lacks become unsigned integers, unless ml_dtypes is loaded."""
    if code in _LACKED:
        name, bits, _ = _LACKED[code]
        return numpy.dtype(getattr(sys.modules.get("ml_dtypes"), name, bits))
    for (kind, size), number in _NUMBERS.items():
        if number == code:
            return numpy.dtype(f"{kind}{size}")
    for (kind, size, where, all_of_it), number in _PAIRS.items():
        if number == code:
            return numpy.dtype({"names": ["v", "i"], "formats": [f"{kind}{size}", "i4"],
                                "offsets": [0, where], "itemsize": all_of_it})
    raise DtypeError(f"numpy has no type for {NAMES[code]}")


def form_of(shape: Any, dtype: Any) -> tuple[Any, tuple[int, ...], int, Optional[int]]:
    """For a numpy array to be allocated: dtype, shape, number of elements, tutti's number of the type or None."""
    import numpy

    code = BY_NAME.get(dtype) if isinstance(dtype, str) else None
    code = code if code in _LACKED else None
    kind = numpy.dtype(dtype) if code is None else numpy_dtype(numpy, code)
    axes = (shape,) if isinstance(shape, int) else tuple(shape)
    return kind, axes, math.prod(axes), code_of_numpy(kind) if code is None else code


def name_of(code: int) -> str:
    """A type's name, for error messages."""
    return "bool" if code == BOOL else NAMES[code]
