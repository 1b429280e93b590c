"""Messages of a process group in Python: what c10d/mail.cpp does, with less: of one rank they are received
in the order in which they were sent, so with the tags that they were sent with.

Each is a header, with tag and size, and the bytes. Whoever sends or receives leaves a generator that yields
requests; a thread steps through them, and sleeps a little longer each time that nothing has come.
SPDX-License-Identifier: BSD-3-Clause
"""
from __future__ import annotations

import struct
import threading
import time
from typing import Any, Generator, Optional

import torch

import tutti

_HEADER = struct.Struct("qq")  # tag, bytes
_Steps = Generator[tutti.Request, None, None]


class Mail:
    """Messages over a communicator that becomes its own."""

    def __init__(self, comm: tutti.Comm) -> None:
        self._comm = comm
        self._lock = threading.Condition()
        self._lines: dict[Any, list[tuple[_Steps, Any, list]]] = {}  # by direction and peer, in order
        self._now: dict[Any, tutti.Request] = {}
        self._over = False
        self._thread: Optional[threading.Thread] = None

    def send(self, tensor: torch.Tensor, to: int, tag: int, result: list) -> Any:
        return self._add(("to", to), self._send(tensor, to, tag), result)

    def receive(self, tensor: torch.Tensor, source: int, tag: int, result: list) -> Any:
        return self._add(("from", source), self._receive(tensor, source, tag), result)

    def _send(self, tensor: torch.Tensor, to: int, tag: int) -> _Steps:
        n = tensor.numel() * tensor.element_size()
        yield self._comm.isend(bytearray(_HEADER.pack(tag, n)), to)
        if n:
            yield self._comm.isend(tensor.view(-1), to)

    def _receive(self, tensor: torch.Tensor, source: int, tag: int) -> _Steps:
        head = bytearray(_HEADER.size)
        yield self._comm.irecv(head, source)
        sent, n = _HEADER.unpack(head)
        wanted = tensor.numel() * tensor.element_size()
        if sent != tag or n != wanted:
            self._over = True
            raise RuntimeError(f"tutti: recv: rank {source} of the group sent {n} bytes with tag {sent}, where {wanted} "
                               f"with tag {tag} are wanted; messages come in the order in which they were sent")
        if n:
            yield self._comm.irecv(tensor.view(-1), source)

    # ---- the thread ----

    def _add(self, line: Any, steps: _Steps, result: list) -> Any:
        future: torch.futures.Future = torch.futures.Future()
        with self._lock:
            if self._over:
                raise RuntimeError("tutti: this process group's messages are over")
            self._lines.setdefault(line, []).append((steps, future, result))
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, daemon=True)
                self._thread.start()
            self._lock.notify()
        return torch._C._distributed_c10d._create_work_from_future(future)

    def _step(self, line: Any) -> bool:
        """Whether anything happened."""
        steps, future, result = self._lines[line][0]
        try:
            if line in self._now:
                if not self._now[line].test():
                    return False
                del self._now[line]
            self._now[line] = next(steps)
        except StopIteration:
            self._lines[line].pop(0)
            future.set_result(result)
        except Exception as why:  # of tutti; the caller hears it
            self._now.pop(line, None)
            self._lines[line].pop(0)
            future.set_exception(why)
        return True

    def _work(self) -> None:
        vain = 0
        while True:
            with self._lock:
                lines = [line for line, waiting in self._lines.items() if waiting]
                if not lines and self._over:
                    return
                if not lines:
                    self._lock.wait()
                    vain = 0
                    continue
                happened = False
                for line in lines:
                    happened = self._step(line) or happened
            vain = 0 if happened else vain + 1
            if vain > 20:
                time.sleep(min(20 + 10 * vain, 1000) * 1e-6)

    def drain(self, seconds: float) -> None:
        """Wait for what is under way; what is not done by then is given up."""
        with self._lock:
            self._over = True
            self._lock.notify()
        if self._thread is not None:
            self._thread.join(seconds)
            if self._thread.is_alive():
                self._comm.abort("its process group ends while messages are under way")
                self._thread.join(seconds)
