"""Reduction ops: the built-in ones, weighted sums, and functions of the program.

SPDX-License-Identifier: BSD-3-Clause
"""
from __future__ import annotations

import ctypes
import weakref
from typing import Any, Callable, Optional, Union

from ._errors import OpError, StateError
from ._lib import check, lib
from ._signals import callback
from ._types import NAMES, OPS, SIZES, numpy_dtype

_USER = 1000  # ops made by the program have numbers from this one up


class Op:
    """A reduction op: the function that combines two elements.

    Functions that take an op also take the name of a built-in one: 'sum', 'prod', 'min', 'max', 'avg',
    'band', 'bor', 'bxor', 'land', 'lor', 'lxor', and for pairs 'minloc' and 'maxloc'.

    >>> import tutti
    >>> tutti.SUM
    tutti.SUM
    >>> tutti.scaled(0.5)
    tutti.scaled(0.5)
    """

    code: int
    name: str

    def __init__(self, code: int, name: str) -> None:
        self.code, self.name = code, name

    def __repr__(self) -> str:
        return f"tutti.{self.name}"


class MadeOp(Op):
    """An op made by the program. It is freed with its last reference, or by `free`."""

    def __init__(self, code: int, name: str, function: Any = None) -> None:
        super().__init__(code, name)
        self._for_c = function  # kept alive
        self.function: Optional[Callable[[Any, Any], Any]] = None  # of two arrays, or objects
        self._free = lib.tutti_op_free  # for __del__, which may run after this module's names are gone

    def free(self) -> None:
        """Free the op. No call may use it after that."""
        code, self.code = self.code, -1
        if code >= _USER:
            check(self._free(code))

    def __del__(self) -> None:
        if getattr(self, "code", -1) >= _USER:
            self._free(self.code)
            self.code = -1


BUILT_IN = {word: Op(code, word.upper()) for code, word in enumerate(OPS)}
# Numbers of ops, by name and by object.
_codes: dict[Any, int] = {word: op.code for word, op in BUILT_IN.items()}
_codes.update((op, op.code) for op in BUILT_IN.values())
_codes["mean"] = _codes["avg"]
# Ops whose results are 0 or 1 if all operands are 0 or 1.
_OF_BOOLS = {_codes[word] for word in ("prod", "min", "max", "band", "bor", "bxor", "land", "lor", "lxor")}

# Ops whose function raised an exception during a call that has not ended yet, and the exceptions.
RAISED: dict[MadeOp, BaseException] = {}
_users: "weakref.WeakKeyDictionary[MadeOp, weakref.WeakSet[Any]]" = weakref.WeakKeyDictionary()


def number_of(op: Union[str, Op], comm: Any, name: str) -> int:
    """The number of an op in C, for a call of that name on `comm`."""
    try:
        return _codes[op]
    except (KeyError, TypeError):
        pass
    if not isinstance(op, MadeOp):
        raise OpError(f"{name}: unknown op {op!r}; expected {', '.join(OPS)}, tutti.scaled(factor) "
                      "or tutti.op(function)")
    if op.code < 0:
        raise StateError(f"{name}: {op!r} was freed before")
    if comm is not None:
        _users.setdefault(op, weakref.WeakSet()).add(comm)
    return op.code


def fit_for_bools(code: int, op: int, name: str) -> int:
    """The type in which bools are computed; raises OpError if the op's result is not a bool."""
    if op not in _OF_BOOLS:
        what = OPS[op] if op < _USER else "op of that kind"
        raise OpError(f"{name}: bools have no {what}, because its result is not a bool; use 'lor', 'land', "
                      "'lxor', 'max' or 'min', or convert to integers before")
    return code - 256


def scaled(factor: float) -> Op:
    """A weighted sum: each rank's values are multiplied by that rank's factor.

    `factor` is the factor of this rank; it must be finite. For floating-point and complex types.

    >>> import tutti, numpy
    >>> comm = tutti.init()
    >>> comm.allreduce(numpy.ones(2), op=tutti.scaled(1 / comm.size))
    array([1., 1.])
    """
    code = ctypes.c_int()
    check(lib.tutti_op_create_scaled(factor, ctypes.byref(code)))
    return MadeOp(code.value, f"scaled({factor!r})")


_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t,
                             ctypes.c_int, ctypes.c_void_p)


def op(function: Callable[[Any, Any], Any], commutative: bool = True) -> Op:
    """Make an op from a function. `function(a, b)` combines two arrays element by element and returns the result.

    function     is called any number of times, with read-only numpy arrays of equal length
                 (memoryviews if numpy is missing). It must be associative. If it is not commutative,
                 `a` comes from lower ranks than `b`. If it raises an exception, the communicator is
                 aborted, and every rank gets the exception's text.
    commutative  whether function(a, b) equals function(b, a); must be the same on all ranks.

    >>> import tutti, numpy
    >>> longer = tutti.op(numpy.hypot)
    >>> tutti.init().allreduce(numpy.array([3.0, 4.0]), op=longer).shape
    (2,)
    """
    if not callable(function):
        raise OpError(f"op: {function!r} is not a function")
    mine: list[weakref.ref[MadeOp]] = []

    def call(a: int, b: int, dst: int, count: int, code: int, _ctx: Any) -> None:
        try:
            _apply(function, a, b, dst, count, code)
        except BaseException as why:  # pylint: disable=broad-except
            self = mine[0]() if mine else None
            if self is not None:
                _tell(self, why)

    function_of_c = callback(_FUNCTION, call)
    code = ctypes.c_int()
    check(lib.tutti_op_create(function_of_c, None, int(commutative), ctypes.byref(code)))
    made = MadeOp(code.value, f"op({getattr(function, '__name__', function)!s})", function_of_c)
    made.function = function
    mine.append(weakref.ref(made))
    return made


def _tell(op: MadeOp, why: BaseException) -> None:
    """The function of an op raised an exception: keep it, and abort the communicators that use the op."""
    first = op not in RAISED
    RAISED.setdefault(op, why)
    for comm in list(_users.get(op, ())) if first else ():
        comm._give_up(f"{op.name} raised {type(why).__name__}: {why}")


def raised_in(keep: Any) -> Optional[BaseException]:
    """The exception that an op among these objects raised, if any. It is returned only once."""
    for thing in keep:
        if isinstance(thing, MadeOp) and thing in RAISED:
            return RAISED.pop(thing)
    return None


def _apply(function: Callable[[Any, Any], Any], a: int, b: int, dst: int, count: int, code: int) -> None:
    try:
        import numpy
    except ImportError:
        _apply_plainly(function, a, b, dst, count, code)
        return
    dtype = numpy_dtype(numpy, code)
    x, y, z = (numpy.frombuffer(memoryview((ctypes.c_char * (count * SIZES[code])).from_address(p)), dtype)
               for p in (a, b, dst))
    x.flags.writeable = y.flags.writeable = False
    result = numpy.asarray(function(x, y))
    if result.shape != z.shape:
        raise ValueError(f"it made {result.shape} of two arrays of shape {z.shape}")
    z[...] = result


_FORMATS = dict(zip(NAMES, "bBhHiIqQeHfd"))


def _apply_plainly(function: Callable[[Any, Any], Any], a: int, b: int, dst: int, count: int, code: int) -> None:
    form = _FORMATS.get(NAMES[code])
    if form is None:
        raise OpError(f"functions of {NAMES[code]} need numpy")
    x, y, z = (memoryview((ctypes.c_char * (count * SIZES[code])).from_address(p)).cast("B").cast(form)
               for p in (a, b, dst))
    result = list(function(x.toreadonly(), y.toreadonly()))
    if len(result) != count:
        raise ValueError(f"it made {len(result)} of {count} elements")
    for i, value in enumerate(result):
        z[i] = value
