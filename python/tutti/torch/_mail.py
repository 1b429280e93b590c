"""Messages of a process group of the backend in Python. The same as in c10d/mail.cpp.

tutti's messages between two ranks are ordered and have no tags. Each message of PyTorch is therefore sent as two: a header
with tag and size, and the data. While the program waits for a message from a rank, a receive of one header from that rank is
posted. A message that no receive matches yet is kept. One thread advances all messages; after each poll without progress it
sleeps a little longer.
SPDX-License-Identifier: BSD-3-Clause
"""
from __future__ import annotations

import datetime
import struct
import threading
import time
from typing import Any, Iterator, Optional

import torch

import tutti
from tutti._comm import LIVE

from ._flight import failed
from ._layout import host_room, put_back
from ._stubs import NO_LIMIT, Tensors, WorkBase, set_exception

ANYONE = -1
_HEADER = struct.Struct("qq")  # tag, bytes


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
        self.requests: list[tutti.Request] = []  # of a message that is being sent
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
        self._out: list[Message] = []
        self._wanted: list[Message] = []
        self._kept: list[tuple[int, int, torch.Tensor]] = []  # unexpected messages: rank, tag, bytes
        self._coming: dict[int, Optional[Message]] = {}  # by rank: messages whose header has arrived, but not the data
        self._lines = [self._arrivals(rank) for rank in range(comm.size) if rank != comm.rank]
        self._settled: list[Message] = []  # complete, but not announced yet
        self._why: Optional[Exception] = None  # the error after which the communicator cannot be used
        self._over = False
        self._thread: Optional[threading.Thread] = None

    def send(self, tensor: torch.Tensor, result: Tensors, to: int, tag: int, entry: dict[str, Any]) -> Message:
        return self._add(self._out, Message(self, tensor, result, to, tag, entry))

    def receive(self, tensor: torch.Tensor, result: Tensors, source: int, tag: int, entry: dict[str, Any]) -> Message:
        return self._add(self._wanted, Message(self, tensor, result, source, tag, entry))

    def withdraw(self, message: Message) -> None:
        """Make a receive fail, unless its message has begun to arrive."""
        with self._lock:
            if message in self._wanted:
                self._wanted.remove(message)
                message.settle(RuntimeError("tutti: recv: it was withdrawn"))
                self._settled.append(message)

    def set_timeout(self, seconds: float) -> None:
        with self._lock:
            self._comm.configure(timeout=seconds)

    def _add(self, line: list[Message], message: Message) -> Message:
        with self._lock:
            if self._over:
                raise RuntimeError("tutti: this process group has been destroyed")
            line.append(message)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, daemon=True)
                self._thread.start()
            self._lock.notify()
        return message

    # ---- sends and receives; called by the progress thread only ----

    def _settle(self, message: Message, why: Optional[Exception] = None, source: int = ANYONE) -> None:
        message.settle(why, source)
        self._settled.append(message)

    def _departed(self, m: Message) -> bool:
        if not m.requests:
            head = bytearray(_HEADER.pack(m.tag, len(m.place)))
            m.requests = [self._comm.isend(head, m.peer)] + ([self._comm.isend(m.place, m.peer)] if len(m.place) else [])
        if not all([request.test() for request in m.requests]):
            return False
        self._out.remove(m)
        self._settle(m)
        return True

    def _arrivals(self, rank: int) -> Iterator[bool]:
        """Receive messages from a rank, one after another. A generator; yields whether it made progress."""
        head = bytearray(_HEADER.size)
        while True:
            while not any(m.peer in (ANYONE, rank) for m in self._wanted):
                yield False
            yield from self._until_done(self._comm.irecv(head, rank))
            tag, n = _HEADER.unpack(head)
            message = self._who_wants(rank, tag, n)
            place = torch.empty(n, dtype=torch.uint8, device="cpu") if message is None else message.place
            self._coming[rank] = message
            if n:
                yield from self._until_done(self._comm.irecv(place, rank))
            del self._coming[rank]
            if message is None:
                self._kept.append((rank, tag, place))
                self._hand_out()
            else:
                self._settle(message, source=rank)
            yield True

    @staticmethod
    def _until_done(request: tutti.Request) -> Iterator[bool]:
        while not request.test():
            yield False

    def _who_wants(self, rank: int, tag: int, n: int) -> Optional[Message]:
        """Find the receive that matches a message, and remove it from the list. If the sizes differ, the receive fails and the
        result is None."""
        for m in self._wanted:
            if m.peer in (ANYONE, rank) and m.tag == tag:
                self._wanted.remove(m)
                if len(m.place) == n:
                    return m
                self._settle(m, RuntimeError(f"tutti: recv: rank {rank} of the group sent {n} bytes, where {len(m.place)} "
                                             "are wanted; the tensors must have one type and size"), rank)
                return None
        return None

    def _hand_out(self) -> None:
        """Deliver kept messages that a receive matches now."""
        for letter in list(self._kept):
            rank, tag, place = letter
            message = self._who_wants(rank, tag, len(place))
            if message is not None:
                message.place.copy_(place)
                self._kept = [other for other in self._kept if other is not letter]
                self._settle(message, source=rank)

    # ---- progress ----

    def _turn(self) -> bool:
        """Poll every message once. Returns whether there was progress."""
        with self._lock:
            try:
                if self._why is not None:
                    raise self._why
                self._hand_out()
                happened = any([self._departed(m) for m in list(self._out)] + [next(line) for line in self._lines])
            except tutti.TuttiError as why:
                self._why = why
                for m in self._out + self._wanted + [m for m in self._coming.values() if m is not None]:
                    self._settle(m, why)
                self._out.clear()
                self._wanted.clear()
                self._coming.clear()
                happened = True
            settled, self._settled = self._settled, []
        for m in settled:
            m.announce()
        return happened or bool(settled)

    def _idle(self) -> bool:
        return not (self._out or self._wanted or self._coming)

    def _work(self) -> None:
        vain = 0
        while True:
            with self._lock:
                self._lock.wait_for(lambda: self._over or not self._idle())
                if self._idle():
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
        if self._comm._running:  # posted receives of headers, which nothing waits for at exit
            LIVE.discard(self._comm)
