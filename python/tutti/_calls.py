"""The C functions of collectives and messages in their forms: blocking, nonblocking, persistent, on a stream. The forms that C has
no function for take the arguments as a tutti_call.
SPDX-License-Identifier: BSD-3-Clause
"""
from __future__ import annotations

import ctypes
from ctypes import c_char_p, c_int, c_size_t, c_void_p
from typing import Any, Sequence

from ._lib import declare, lib
from ._types import COLLECTIVES


class _Call(ctypes.Structure):
    """tutti_call."""
    _fields_ = [("size", c_size_t), ("coll", c_int), ("src", c_void_p), ("dst", c_void_p), ("count", c_size_t),
                ("counts", c_void_p), ("recv_counts", c_void_p), ("type", c_int), ("op", c_int), ("root", c_int), ("algorithm", c_char_p),
                ("compression", c_char_p), ("tag", c_char_p), ("stream", c_void_p),
                ("n", c_size_t), ("srcs", c_void_p), ("dsts", c_void_p)]


def _as_struct(function: Any, coll: str, fields: Sequence[str]) -> Any:
    """A function of the communicator, the fields of a tutti_call, and what else `function` takes."""
    number = COLLECTIVES.index(coll)

    def call(comm: Any, *arguments: Any) -> int:
        c = _Call(ctypes.sizeof(_Call), number)
        for name, value in zip(fields, arguments):
            setattr(c, name, ctypes.addressof(value) if isinstance(value, ctypes.Array) else value)
        status: int = function(comm, ctypes.byref(c), *arguments[len(fields):])
        return status

    return call


def _and_wait(comm: Any, call: Any) -> int:
    """The blocking form. If a signal interrupts it, other ranks cannot complete the call, so the communicator is aborted."""
    request = c_void_p()
    try:
        status: int = lib.tutti_call_start(comm, call, ctypes.byref(request))
        status = status or int(lib.tutti_request_wait(ctypes.byref(request)))
        if status and request.value:
            name = COLLECTIVES[call._obj.coll]
            lib.tutti_comm_abort(comm, f"it was interrupted while it waited in {name}".encode())
            lib.tutti_request_wait(ctypes.byref(request))
        return status
    except BaseException:  # a signal handler raised between the two, while the library uses the buffers
        lib.tutti_request_wait(ctypes.byref(request))
        raise


def _functions(name: str, letters: str, suffixes: Sequence[str]) -> list[Any]:
    """The C functions with these suffixes. The last argument of all but the first is a request."""
    for suffix in suffixes:
        declare(name + suffix, letters + ("p" if suffix else ""))
    return [getattr(lib, f"tutti_{name}{suffix}") for suffix in suffixes]


def forms(name: str, letters: str, coll: str, fields: str) -> tuple[Any, ...]:
    """A collective: blocking, nonblocking, persistent, on a stream. The last argument of the second and third is a request, and
    that of the last one a stream. fields: the arguments' names in a tutti_call."""
    names = fields.split()
    return (*_functions(name, letters, ("", "_start")), _as_struct(lib.tutti_call_init, coll, names),
            _as_struct(lib.tutti_call_on_stream, coll, [*names, "stream"]))


def struct_forms(coll: str, fields: str) -> tuple[Any, ...]:
    """Blocking, nonblocking, persistent, for calls that C has no function for."""
    names = fields.split()
    return tuple(_as_struct(form, coll, names) for form in (_and_wait, lib.tutti_call_start, lib.tutti_call_init))


def message_forms(name: str, letters: str) -> tuple[Any, ...]:
    """A message: blocking, nonblocking, persistent."""
    return tuple(_functions(name, letters, ("", "_start", "_init")))
