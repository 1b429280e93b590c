"""The three forms of a collective, made from one function that prepares the call: `blocking(prepare)` returns when the call
is complete, `started(prepare)` returns a Request, `persistent(prepare)` returns a Persistent request.

Types  each form has the arguments of `prepare`; `_kinds` has the result types of the blocking form, for arrays and objects.
SPDX-License-Identifier: BSD-3-Clause
"""
from __future__ import annotations

import ctypes
import functools
import inspect
from typing import TYPE_CHECKING, Any, Callable, TypeVar, cast

from ._card import handle_of, in_order_of
from ._errors import ArgumentError, NotAnArrayError, StateError
from ._objects import of_objects
from ._ops import RAISED
from ._request import Persistent, Request

if TYPE_CHECKING:
    from typing import Concatenate, ParamSpec

    P = ParamSpec("P")
Self = TypeVar("Self")
K = TypeVar("K")
# The C functions, the arguments after the communicator, the result, objects that keep the buffers alive.
Ready = tuple[Any, tuple[Any, ...], Any, Any]


def _dressed(call: Any, like: Any, name: str, doc: str, returns: Any, more: tuple[inspect.Parameter, ...] = ()) -> Any:
    functools.update_wrapper(call, like)
    call.__name__, call.__doc__ = name, doc
    call.__qualname__ = f"Comm.{name}"
    signature = inspect.signature(like)
    call.__signature__ = signature.replace(parameters=(*signature.parameters.values(), *more), return_annotation=returns)
    return call


_KEPT = 16  # the arrays of this many calls on streams are kept alive; at most 8 calls are in flight
_STREAM = inspect.Parameter("stream", inspect.Parameter.KEYWORD_ONLY, default=None, annotation="object")


def _on_stream(self: Any, prepare: Callable[..., Ready], stream: object, args: Any, kwargs: Any) -> Any:
    """Make the call in the order of a stream. The communicator keeps the arrays alive while the call may be in flight: freeing
    an array can make the driver wait for the stream, which is waiting for tutti."""
    if len(self._on_streams) == _KEPT:
        self.stream_wait()
    name = prepare.__name__[1:]
    handle = handle_of(stream, name)
    try:
        with in_order_of(handle):
            functions, arguments, result, keep = prepare(self, *args, **kwargs)
    except NotAnArrayError as why:
        raise ArgumentError(f"{why}; a stream orders arrays on its device only") from None
    if len(functions) < 4:
        raise ArgumentError(f"{name}: stream= does not go with algorithm= or compression=; use Comm.configure")
    status = functions[3](self._handle, *arguments, handle)
    if status or RAISED:
        problem = self._problem(status, keep)
        if problem is not None:
            raise problem
    self._on_streams.append((result, keep))
    return result


def blocking(prepare: Callable[..., Ready], _kind: type[K], streams: bool = False) -> K:
    """The blocking form, named like `prepare` without its underscore. Objects without a buffer go to `of_objects`.
    streams: the form accepts `stream=`; then it returns immediately, and the stream waits for the call."""
    name = prepare.__name__[1:]
    named = tuple(inspect.signature(prepare).parameters)[1:]

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if streams and kwargs and "stream" in kwargs:
            stream = kwargs.pop("stream")
            if stream is not None:
                return _on_stream(self, prepare, stream, args, kwargs)
        try:
            functions, arguments, result, keep = prepare(self, *args, **kwargs)
        except NotAnArrayError as why:
            if self._grouped is not None:
                raise StateError(f"{why}; in a group calls take arrays only") from None
            return of_objects(self, name, why, {**dict(zip(named, args)), **kwargs})
        if self._grouped is not None:
            self._grouped.append((result, keep))
        status = functions[0](self._handle, *arguments)
        if status or RAISED:
            problem = self._problem(status, keep)
            if problem is not None:
                raise problem
        return result

    return cast("K", _dressed(call, prepare, name, prepare.__doc__ or "", "Any", (_STREAM,) if streams else ()))


def _made(kind: Any, which: int, name: str, doc: str, prepare: Any) -> Any:
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            functions, arguments, result, keep = prepare(self, *args, **kwargs)
        except NotAnArrayError as why:
            raise ArgumentError(f"{why}; objects have the blocking form only") from None
        handle = ctypes.c_void_p()
        try:
            status = functions[which](self._handle, *arguments, ctypes.byref(handle))
        except BaseException:  # a signal handler raised after the call was started, and the library uses the buffers
            if handle.value:
                kind(self, handle, result, keep)
            raise
        if status:
            raise self._problem(status, keep)
        return kind(self, handle, result, keep)

    return _dressed(call, prepare, name, doc, kind.__name__)


def started(prepare: "Callable[Concatenate[Self, P], Ready]") -> "Callable[Concatenate[Self, P], Request]":
    """The nonblocking form: its name begins with an i."""
    name = prepare.__name__[1:]
    made: "Callable[Concatenate[Self, P], Request]" = _made(
        Request, 1, "i" + name, f"`{name}`, started: its arguments, and a Request.", prepare)
    return made


def persistent(prepare: "Callable[Concatenate[Self, P], Ready]") -> "Callable[Concatenate[Self, P], Persistent]":
    """The persistent form: its name ends with _init. It prepares the call, and does not start it."""
    name = prepare.__name__[1:]
    made: "Callable[Concatenate[Self, P], Persistent]" = _made(
        Persistent, 2, name + "_init",
        f"`{name}`, to be run again and again: its arguments, and a Persistent request.", prepare)
    return made
