"""Messages of a process group of the backend in Python. The same as in c10d/mail.cpp: each message is a request of tutti. One
thread advances all messages; after each poll without progress it sleeps a little longer.
SPDX-License-Identifier: BSD-3-Clause
"""
from __future__ import annotations

import contextlib
import datetime
import threading
import time
from typing import Any, Optional

import torch

import tutti

from ._flight import failed
from ._layout import host_room, put_back
from ._stubs import NO_LIMIT, Tensors, WorkBase, set_exception

ANYONE = tutti.ANY_SOURCE
_NONE = -1  # no tag


def _flat(tensor: torch.Tensor) -> torch.Tensor:
    """The bytes of a tensor."""
    plain = torch.view_as_real(tensor) if tensor.is_complex() else tensor
    return plain.reshape(-1).view(torch.uint8)


class Message(WorkBase):
    """A message that is being sent or received; `wait`, `exception` and `is_success` report its outcome."""

    def __init__(self, mail: "Mail", tensor: torch.Tensor, result: Tensors, peer: int, tag: int,
                 entry: dict[str, Any]) -> None:
        super().__init__()
        self._entry = entry  # the entry in the flight record
        self._home, self._room = tensor, host_room(tensor)
        self.peer, self.tag, self.place = peer, tag, _flat(self._room)
        self.request: Optional[tutti.Request] = None
        self.received = tutti.Received(tag=_NONE)  # stays so in a message that is sent
        self._mail, self._result, self._source = mail, result, ANYONE
        self._over = threading.Event()
        self._why: Optional[Exception] = None
        self._future: torch.futures.Future[Tensors] = torch.futures.Future()

    def settle(self, why: Optional[Exception], source: int = ANYONE) -> None:
        if why is None:
            try:
                put_back("recv", self._home, self._room)
            except ValueError as differs:
                why = differs
        self._why, self._source = why, source
        if why is None:
            self._entry["completed"] = time.time_ns()
        self._over.set()

    def announce(self) -> None:
        """Complete the future. Called without holding a lock, because callbacks may send and receive."""
        if self._why is None:
            self._future.set_result(self._result)
        else:
            failed()
            set_exception(self._future, self._why)

    def wait(self, timeout: datetime.timedelta = NO_LIMIT) -> bool:
        limit = timeout.total_seconds()
        self._mail.drive(self._over)
        try:
            over = self._over.wait(limit if limit > 0 else None)
        except BaseException:  # raised by a signal handler
            self._mail.abort("it was interrupted while it waited")
            raise
        if not over:
            raise RuntimeError(f"tutti: the operation did not finish within {limit:g} s; it continues in the background")
        if self._why is not None:
            raise self._why
        return True

    def is_completed(self) -> bool:
        return self._over.is_set()

    def is_success(self) -> bool:
        return self._over.is_set() and self._why is None

    def exception(self) -> Optional[Exception]:
        return self._why

    def get_future(self) -> torch.futures.Future[Tensors]:
        return self._future

    def result(self) -> Tensors:
        return self._result

    def source_rank(self) -> int:
        return self._source

    _source_rank = source_rank


class Mail:
    """All messages of a process group, over a communicator that this object owns."""

    def __init__(self, comm: tutti.Comm) -> None:
        self._comm = comm
        self._lock = threading.Condition()  # protects all following fields
        self._letters: list[Message] = []  # not complete
        self._settled: list[Message] = []  # complete, but not announced yet
        self._over = False
        self._thread: Optional[threading.Thread] = None

    def send(self, tensor: torch.Tensor, result: Tensors, to: int, tag: int, entry: dict[str, Any]) -> Message:
        return self._add(Message(self, tensor, result, to, tag, entry), True)

    def receive(self, tensor: torch.Tensor, result: Tensors, source: int, tag: int, entry: dict[str, Any]) -> Message:
        return self._add(Message(self, tensor, result, source, tag, entry), False)

    def withdraw(self, message: Message) -> None:
        """Make a receive fail, unless its message has begun to arrive."""
        with self._lock:
            if message in self._letters and message.request is not None and message.request.cancel():
                self._letters.remove(message)
                self._settle(message, RuntimeError("tutti: recv: it was withdrawn"))

    def set_timeout(self, seconds: float) -> None:
        with self._lock:
            self._comm.configure(timeout=seconds)

    def _add(self, m: Message, sends: bool) -> Message:
        with self._lock:
            if self._over:
                raise RuntimeError("tutti: this process group has been destroyed")
            try:
                if sends:
                    m.request = self._comm.isend(m.place, m.peer, m.tag)
                else:
                    m.request = self._comm.irecv(m.place, m.peer, m.tag, received=m.received)
            except tutti.TuttiError as why:
                m.settle(why)
            else:
                self._letters.append(m)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, daemon=True)
                self._thread.start()
            self._lock.notify()
        if m.request is None:
            m.announce()
        return m

    def _settle(self, message: Message, why: Optional[Exception] = None, source: int = ANYONE) -> None:
        message.settle(why, source)
        self._settled.append(message)

    def _complete(self, m: Message) -> bool:
        """Whether a message is complete; then it is settled."""
        assert m.request is not None
        if not m.request.test():
            return False
        self._letters.remove(m)
        got, wanted = m.received, len(m.place)
        if got.tag == _NONE:
            self._settle(m)
        elif got.count == wanted:
            self._settle(m, source=got.source)
        else:
            self._settle(m, RuntimeError(f"tutti: recv: rank {got.source} of the group sent {got.count} bytes, where {wanted} "
                                         "are wanted; the tensors must have one type and size"), got.source)
        return True

    # ---- progress ----

    def _turn(self) -> bool:
        """Poll every message once. Returns whether there was progress."""
        with self._lock:
            try:
                happened = any([self._complete(m) for m in list(self._letters)])
            except tutti.TuttiError as why:
                for m in self._letters:
                    with contextlib.suppress(tutti.TuttiError):
                        assert m.request is not None
                        m.request.wait()
                    self._settle(m, why)
                self._letters.clear()
                happened = True
            settled, self._settled = self._settled, []
        for m in settled:
            m.announce()
        return happened or bool(settled)

    def _work(self) -> None:
        vain = 0
        while True:
            with self._lock:
                self._lock.wait_for(lambda: self._over or bool(self._letters))
                if not self._letters:
                    return
            vain = 0 if self._turn() else vain + 1
            if vain > 20:
                time.sleep(min(20 + 10 * vain, 1000) * 1e-6)

    def drive(self, over: threading.Event) -> None:
        """Make progress until the event is set, if the progress thread itself waits, which happens in callbacks."""
        while threading.current_thread() is self._thread and not over.is_set():
            self._turn()

    def abort(self, reason: str) -> None:
        """Make all messages fail, here and on the other ranks, with this reason."""
        self._comm._give_up(reason)

    def drain(self, seconds: float) -> None:
        """Wait up to `seconds` for messages in flight, then abort the rest. No new messages are accepted."""
        with self._lock:
            self._over = True
            self._lock.notify()
        if self._thread is not None:
            self._thread.join(seconds)
            if self._thread.is_alive():
                self._comm.abort("its process group ends while messages are under way")
                self._thread.join(seconds)
