"""Element types: tutti's numbers for the names of numpy, the buffer protocol and DLPack.

SPDX-License-Identifier: BSD-3-Clause
"""
from __future__ import annotations

import sys
from typing import Any, Optional

from ._errors import DtypeError

NAMES = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "fp16", "bf16",
         "float", "double", "complex_float", "complex_double",
         "float_int", "double_int", "long_int", "int_int", "short_int")
SIZES = (1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8, 8, 16, 8, 16, 16, 8, 8)
BY_NAME = {name: code for code, name in enumerate(NAMES)}
BY_NAME.update(float16=8, half=8, bfloat16=9, float32=10, float64=11, complex64=12, complex128=13)
UINT8, BF16 = 1, 9
# A bool is a uint8 that must stay 0 or 1: it has a number beyond the types until its op is known to be allowed.
BOOL = 256 + UINT8

# Names of numpy, or of a buffer's format: kind and bytes.
_NUMBERS = {("i", 1): 0, ("u", 1): 1, ("i", 2): 2, ("u", 2): 3, ("i", 4): 4, ("u", 4): 5,
            ("i", 8): 6, ("u", 8): 7, ("f", 2): 8, ("f", 4): 10, ("f", 8): 11, ("c", 8): 12,
            ("c", 16): 13, ("b", 1): BOOL}
# Pairs: kind and bytes of the value, offset of the int, bytes in all.
_PAIRS = {("f", 4, 4, 8): 14, ("f", 8, 8, 16): 15, ("i", 8, 8, 16): 16, ("i", 4, 4, 8): 17,
          ("i", 2, 4, 8): 18}
_KINDS = {**dict.fromkeys("bhilqn", "i"), **dict.fromkeys("BHILQN", "u"),
          **dict.fromkeys(("e", "f", "d"), "f"), **dict.fromkeys(("Zf", "Zd", "F", "D"), "c"), "?": "b"}
_FOREIGN = ">!" if sys.byteorder == "little" else "<"


def code_of_name(name: str) -> int:
    """tutti's number of a type, by name."""
    code = BY_NAME.get(name)
    if code is None:
        raise DtypeError(f"there is no type {name!r}; there are {', '.join(BY_NAME)}")
    return code


def code_of_numpy(dtype: Any) -> Optional[int]:
    """tutti's number of a numpy dtype; None if it has none."""
    if dtype.names and len(dtype.names) == 2:
        (value, at), (index, where) = (dtype.fields[n][:2] for n in dtype.names)
        if at or not dtype.isnative or (index.kind, index.itemsize) != ("i", 4):
            return None
        return _PAIRS.get((value.kind, value.itemsize, where, dtype.itemsize))
    if dtype.name == "bfloat16":
        return BF16
    return _NUMBERS.get((dtype.kind, dtype.itemsize)) if dtype.isnative else None


def code_of_format(form: str, itemsize: int) -> Optional[int]:
    """tutti's number of a format as `struct` has them; None if it has none."""
    if form[:1] in _FOREIGN and form[:1]:
        return None
    return _NUMBERS.get((_KINDS.get(form.lstrip("@=<>!"), ""), itemsize))


def code_of_dlpack(kind: int, bits: int, lanes: int) -> Optional[int]:
    """tutti's number of a DLPack type; None if it has none."""
    if kind == 4 and bits == 16 and lanes == 1:
        return BF16
    letter = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}.get(kind, "")
    return _NUMBERS.get((letter, bits // 8)) if lanes == 1 else None


def numpy_dtype(numpy: Any, code: int) -> Any:
    """The numpy dtype of one of tutti's types; bf16 is uint16 unless ml_dtypes is loaded."""
    if code == BF16:
        more = sys.modules.get("ml_dtypes")
        return numpy.dtype(more.bfloat16 if more else "u2")
    for (kind, size), number in _NUMBERS.items():
        if number == code:
            return numpy.dtype(f"{kind}{size}")
    for (kind, size, where, all_of_it), number in _PAIRS.items():
        if number == code:
            return numpy.dtype({"names": ["v", "i"], "formats": [f"{kind}{size}", "i4"],
                                "offsets": [0, where], "itemsize": all_of_it})
    raise DtypeError(f"numpy has no type for {NAMES[code]}")


def name_of(code: int) -> str:
    """A type's name, for error messages."""
    return "bool" if code == BOOL else NAMES[code]
