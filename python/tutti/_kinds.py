"""Argument and result types of the collectives, for type checkers: the result of an array has the array's class, the result
of an object is an object.

At run time a collective is a function; nothing in this file is called.
SPDX-License-Identifier: BSD-3-Clause
"""
from __future__ import annotations

import array as arrays
from typing import TYPE_CHECKING, Any, List, Literal, Optional, Protocol, Sequence, TypeVar, Union, overload

from . import _request
from ._ops import Op

OpWord = Literal["sum", "prod", "min", "max", "avg", "mean", "band", "bor", "bxor", "land", "lor", "lxor", "minloc", "maxloc"]
OpLike = Union[OpWord, Op]
Contract = Literal["same", "any", "run", "element", "exact"]


class Shaped(Protocol):
    """An array of numpy, PyTorch, and so on."""

    @property
    def dtype(self) -> Any: ...

    @property
    def shape(self) -> Any: ...


if TYPE_CHECKING:
    Array = Union[Shaped, bytearray, memoryview, arrays.array[Any]]
else:
    Array = Any
T = TypeVar("T")
U = TypeVar("U")
A = TypeVar("A", bound=Array)


class Kind:
    """A blocking collective."""


class Summed(Kind):
    """allreduce"""

    @overload
    def __call__(self, array: T, op: OpLike = ..., out: None = ..., *, dtype: Optional[str] = ...,
                 algorithm: Optional[str] = ..., compression: Optional[str] = ..., stream: object = ...) -> T: ...
    @overload
    def __call__(self, array: Any, op: OpLike, out: U, *, dtype: Optional[str] = ..., algorithm: Optional[str] = ..., compression: Optional[str] = ...,
                 stream: object = ...) -> U: ...
    @overload
    def __call__(self, array: Any, op: OpLike = ..., *, out: U, dtype: Optional[str] = ...,
                 algorithm: Optional[str] = ..., compression: Optional[str] = ..., stream: object = ...) -> U: ...
    def __call__(self, *_args: Any, **_named: Any) -> Any:
        raise NotImplementedError


class Same(Kind):
    """scan"""

    @overload
    def __call__(self, array: T, op: OpLike = ..., out: None = ..., *, dtype: Optional[str] = ...,
                 stream: object = ...) -> T: ...
    @overload
    def __call__(self, array: Any, op: OpLike, out: U, *, dtype: Optional[str] = ..., stream: object = ...) -> U: ...
    @overload
    def __call__(self, array: Any, op: OpLike = ..., *, out: U, dtype: Optional[str] = ..., stream: object = ...) -> U: ...
    def __call__(self, *_args: Any, **_named: Any) -> Any:
        raise NotImplementedError


class Before(Kind):
    """exscan: the result of an object is None on rank 0"""

    @overload
    def __call__(self, array: A, op: OpLike = ..., out: None = ..., *, dtype: Optional[str] = ...,
                 stream: object = ...) -> A: ...
    @overload
    def __call__(self, array: T, op: OpLike = ..., out: None = ..., *, dtype: None = ...) -> Optional[T]: ...
    @overload
    def __call__(self, array: Any, op: OpLike, out: U, *, dtype: Optional[str] = ..., stream: object = ...) -> U: ...
    @overload
    def __call__(self, array: Any, op: OpLike = ..., *, out: U, dtype: Optional[str] = ..., stream: object = ...) -> U: ...
    def __call__(self, *_args: Any, **_named: Any) -> Any:
        raise NotImplementedError


class Many(Kind):
    """allreduce_many"""

    @overload
    def __call__(self, arrays: Sequence[A], op: OpLike = ..., outs: None = ..., *,
                 dtype: Optional[str] = ...) -> List[A]: ...
    @overload
    def __call__(self, arrays: Sequence[Any], op: OpLike, outs: Sequence[U], *, dtype: Optional[str] = ...) -> List[U]: ...
    @overload
    def __call__(self, arrays: Sequence[Any], op: OpLike = ..., *, outs: Sequence[U],
                 dtype: Optional[str] = ...) -> List[U]: ...
    def __call__(self, *_args: Any, **_named: Any) -> Any:
        raise NotImplementedError


class ToRoot(Kind):
    """reduce"""

    def __call__(self, array: T, op: OpLike = "sum", root: int = 0, out: Any = None, *,
                 dtype: Optional[str] = None, algorithm: Optional[str] = None, compression: Optional[str] = None, stream: object = None) -> Optional[T]:
        raise NotImplementedError


class Part(Kind):
    """reduce_scatter"""

    @overload
    def __call__(self, array: A, op: OpLike = ..., out: None = ..., *, counts: Optional[Sequence[int]] = ...,
                 dtype: Optional[str] = ..., algorithm: Optional[str] = ..., compression: Optional[str] = ..., stream: object = ...) -> A: ...
    @overload
    def __call__(self, array: Array, op: OpLike, out: U, *, counts: Optional[Sequence[int]] = ...,
                 dtype: Optional[str] = ..., algorithm: Optional[str] = ..., compression: Optional[str] = ..., stream: object = ...) -> U: ...
    @overload
    def __call__(self, array: Array, op: OpLike = ..., *, out: U, counts: Optional[Sequence[int]] = ...,
                 dtype: Optional[str] = ..., algorithm: Optional[str] = ..., compression: Optional[str] = ..., stream: object = ...) -> U: ...
    def __call__(self, *_args: Any, **_named: Any) -> Any:
        raise NotImplementedError


class Joined(Kind):
    """all_gather"""

    @overload
    def __call__(self, array: A, out: None = ..., *, counts: Optional[Sequence[int]] = ...,  # type: ignore[misc]
                 dtype: Optional[str] = ..., algorithm: Optional[str] = ..., compression: Optional[str] = ..., stream: object = ...) -> A: ...
    @overload
    def __call__(self, array: bytes, out: None = ..., *, counts: Optional[Sequence[int]] = ...,  # type: ignore[misc]
                 dtype: Optional[str] = ..., algorithm: Optional[str] = ..., compression: Optional[str] = ..., stream: object = ...) -> bytearray: ...
    @overload
    def __call__(self, array: T, out: None = ...) -> List[T]: ...  # type: ignore[misc]
    @overload
    def __call__(self, array: Any, out: U, *, counts: Optional[Sequence[int]] = ..., dtype: Optional[str] = ...,
                 algorithm: Optional[str] = ..., compression: Optional[str] = ..., stream: object = ...) -> U: ...
    def __call__(self, *_args: Any, **_named: Any) -> Any:
        raise NotImplementedError


class FromRoot(Kind):
    """broadcast"""

    def __call__(self, array: T, root: int = 0, *, dtype: Optional[str] = None, stream: object = None) -> T:
        raise NotImplementedError


class JoinedAtRoot(Kind):
    """gather"""

    @overload
    def __call__(self, array: A, root: int = ..., out: Any = ..., *, counts: Optional[Sequence[int]] = ..., dtype: Optional[str] = ...,  # type: ignore[misc]
                 stream: object = ...) -> Optional[A]: ...
    @overload
    def __call__(self, array: bytes, root: int = ..., out: Any = ..., *,  # type: ignore[misc]
                 counts: Optional[Sequence[int]] = ..., dtype: Optional[str] = ..., stream: object = ...) -> Optional[bytearray]: ...
    @overload
    def __call__(self, array: T, root: int = ...) -> Optional[List[T]]: ...
    def __call__(self, *_args: Any, **_named: Any) -> Any:
        raise NotImplementedError


class Dealt(Kind):
    """scatter"""

    @overload
    def __call__(self, array: Any, root: int = ..., *, out: U, counts: Optional[Sequence[int]] = ..., dtype: Optional[str] = ..., stream: object = ...) -> U: ...
    @overload
    def __call__(self, array: Any, root: int, out: U, *, counts: Optional[Sequence[int]] = ..., dtype: Optional[str] = ..., stream: object = ...) -> U: ...
    @overload
    def __call__(self, array: A, root: int = ..., out: None = ..., *, counts: Optional[Sequence[int]] = ..., dtype: Optional[str] = ...,
                 stream: object = ...) -> A: ...
    @overload
    def __call__(self, array: Optional[Sequence[T]], root: int = ...) -> T: ...
    def __call__(self, *_args: Any, **_named: Any) -> Any:
        raise NotImplementedError


class Swapped(Kind):
    """all_to_all"""

    @overload
    def __call__(self, array: A, out: None = ..., *, counts: Optional[Sequence[int]] = ...,  # type: ignore[misc]
                 recv_counts: Optional[Sequence[int]] = ..., dtype: Optional[str] = ..., stream: object = ...) -> A: ...
    @overload
    def __call__(self, array: Sequence[T], out: None = ...) -> List[T]: ...  # type: ignore[misc]
    @overload
    def __call__(self, array: Any, out: U, *, counts: Optional[Sequence[int]] = ..., recv_counts: Optional[Sequence[int]] = ...,
                 dtype: Optional[str] = ..., stream: object = ...) -> U: ...
    def __call__(self, *_args: Any, **_named: Any) -> Any:
        raise NotImplementedError


class Nothing(Kind):
    """barrier"""

    def __call__(self) -> None:
        raise NotImplementedError


class Sent(Kind):
    """send"""

    def __call__(self, array: Any, to: int, tag: int = 0, *, dtype: Optional[str] = None) -> None:
        raise NotImplementedError


class Received(Kind):
    """recv"""

    @overload
    def __call__(self, out: None = ..., source: int = ..., tag: int = ..., *, received: Optional[_request.Received] = ...) -> Any: ...
    @overload
    def __call__(self, out: U, source: int = ..., tag: int = ..., *, dtype: Optional[str] = ...,
                 received: Optional[_request.Received] = ...) -> U: ...
    def __call__(self, *_args: Any, **_named: Any) -> Any:
        raise NotImplementedError
