"""Requests: nonblocking and persistent collectives.

A request keeps its buffers alive, and its communicator keeps the request alive until it is complete. A
program may therefore drop a request without waiting for it.
SPDX-License-Identifier: BSD-3-Clause
"""
from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Iterable, Optional

from ._errors import StateError, TuttiError
from ._lib import failure, lib

if TYPE_CHECKING:
    from ._comm import Comm

ANY_SOURCE = ANY_TAG = -1
_INTERRUPTED = -14
_GOES_ON = StateError.status, _INTERRUPTED  # the request stays active: another thread is in a call; a signal handler raised


class Received(ctypes.Structure):
    """What a receive took: the rank that sent it, its tag, its number of elements. A receive fills it in when it is complete."""
    source: int
    tag: int
    count: int
    _fields_ = [("source", ctypes.c_int), ("tag", ctypes.c_int), ("count", ctypes.c_size_t)]

    def __repr__(self) -> str:
        return f"tutti.Received(source={self.source}, tag={self.tag}, count={self.count})"


class Request:
    """A nonblocking collective. Do not touch its buffers until `wait` has returned, or `test` has
    returned True.

    >>> import tutti, numpy
    >>> request = tutti.iallreduce(numpy.ones(3))
    >>> bool((request.wait() == tutti.size()).all())
    True
    """

    def __init__(self, comm: "Comm", handle: ctypes.c_void_p, result: Any, keep: Any) -> None:
        self._comm, self._handle, self._result, self._keep = comm, handle, result, keep
        self._failure: Optional[BaseException] = None
        comm._running.add(self)

    @property
    def running(self) -> bool:
        """True from the start of the request until `wait` or `test` has found it complete."""
        return self in self._comm._running

    def _settled(self, status: int) -> bool:
        """Record that the request has ended with `status`, and raise its error. Returns True."""
        if status in _GOES_ON and self._handle.value:
            raise failure(status)
        self._comm._running.discard(self)
        self._failure = self._comm._problem(status, self._keep)
        return self._outcome()

    def _outcome(self) -> bool:
        self._keep = self._kept_on()
        if self._failure is not None:
            raise self._failure
        return True

    def _kept_on(self) -> Any:
        return ()

    def wait(self) -> Any:
        """Wait until the request is complete. Returns the result of the call.

        Raises the same exceptions as the blocking call."""
        if self.running:
            self._settled(lib.tutti_request_wait(ctypes.byref(self._handle)))
        elif self._failure is not None:
            raise self._failure
        return self._result

    def test(self) -> bool:
        """Return whether the request is complete. Makes progress; does not block."""
        if not self.running:
            if self._failure is not None:
                raise self._failure
            return True
        done = ctypes.c_int()
        status = lib.tutti_request_test(ctypes.byref(self._handle), ctypes.byref(done))
        return self._settled(status) if status or done.value else False

    def cancel(self) -> bool:
        """Take back a receive whose message has not begun to arrive. Returns whether it did; otherwise wait for the request."""
        if self.running and lib.tutti_request_free(ctypes.byref(self._handle)) == 0:
            self._comm._running.discard(self)
            self._failure = StateError("the receive was cancelled")
            self._keep = ()
        return not self.running

    def __repr__(self) -> str:
        return f"<tutti.{type(self).__name__}, {'running' if self.running else 'not running'}>"


class Persistent(Request):
    """A persistent collective: call `start` and `wait` any number of times, then `free`. Each start uses the
    current contents of the buffers.

    >>> import tutti, numpy
    >>> x = numpy.zeros(2)
    >>> with tutti.init().allreduce_init(x, out=x) as step:
    ...     for i in range(3):
    ...         x[:] = i
    ...         _ = step.start().wait()
    """

    def __init__(self, comm: "Comm", handle: ctypes.c_void_p, result: Any, keep: Any) -> None:
        super().__init__(comm, handle, result, keep)
        comm._running.discard(self)
        comm._persistent.add(self)

    def start(self) -> "Persistent":
        """Start the collective. Raises StateError if it is running."""
        if self._handle.value is None:
            raise StateError("start: this request was freed before")
        status = lib.tutti_request_start(self._handle)
        if status:
            raise self._comm._problem(status, self._keep) or failure(status)
        self._failure = None
        self._comm._running.add(self)
        return self

    def _kept_on(self) -> Any:
        return self._keep

    def free(self) -> None:
        """Free the request; further calls do nothing. Raises StateError if it is running."""
        if self._handle.value is None or self._comm._handle is None:
            return
        status = lib.tutti_request_free(ctypes.byref(self._handle))
        if status:
            raise failure(status)
        self._comm._persistent.discard(self)
        self._keep = ()

    def __enter__(self) -> "Persistent":
        return self

    def __exit__(self, *_why: Any) -> None:
        if self.running and _why[0] is not None:
            return  # an exception is being raised; the communicator frees the request
        if self.running:
            self.wait()
        self.free()

    def __del__(self) -> None:
        handle = getattr(self, "_handle", None)
        if handle is not None and handle.value and not self.running and self._comm._handle:
            lib.tutti_request_free(ctypes.byref(handle))


def wait_all(requests: Iterable[Request]) -> list[Any]:
    """Wait for all requests. Returns their results in the same order.

    >>> import tutti, numpy
    >>> len(tutti.wait_all(tutti.iallreduce(numpy.ones(1)) for _ in range(3)))
    3
    """
    return [request.wait() for request in list(requests)]
