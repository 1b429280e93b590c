"""The backend "tutti" where no compiler has made the other one: a process group in Python.

Collectives are done when the call returns, so nothing overlaps with what the program computes; a call
costs some 15 us more (make bench-torch). Messages go on in a thread of their own (_mail.py).
SPDX-License-Identifier: BSD-3-Clause
"""
# mypy: disable-error-code="attr-defined, override, call-arg, arg-type"
# PyTorch's stubs lack some of what it has.
from __future__ import annotations

import datetime
import os
from typing import Any, Optional

import torch
import torch.distributed as dist

import tutti

from ._mail import ANYONE, Mail

_GROUPS: list["Group"] = []  # PyTorch's half may outlive a Python half that nobody holds

_OPS = {dist.ReduceOp.SUM: ("sum", "lor"), dist.ReduceOp.PRODUCT: ("prod", "land"), dist.ReduceOp.MIN: ("min", "land"),
        dist.ReduceOp.MAX: ("max", "lor"), dist.ReduceOp.BAND: ("band", "land"), dist.ReduceOp.BOR: ("bor", "lor"),
        dist.ReduceOp.BXOR: ("bxor", "lxor"), dist.ReduceOp.AVG: ("avg", None)}
_BY_HASH = {hash(kind): words for kind, words in _OPS.items()}  # its value; to compare two takes 2 us


def _check(call: str, t: torch.Tensor) -> torch.Tensor:
    """As tutti sees it: bool by its bits."""
    if t.layout != torch.strided:
        raise ValueError(f"tutti: {call}: the tensor is sparse; make it dense (to_dense) first")
    if t.device.type != "cpu":
        raise ValueError(f"tutti: {call}: the tensor is on {t.device}, and tutti sums on the CPU; move it (.cpu()) first")
    if not t.is_contiguous():
        raise ValueError(f"tutti: {call}: the tensor is not contiguous; call .contiguous() first, and copy the result "
                         "back")
    if t.is_conj() or t.is_neg():
        raise ValueError(f"tutti: {call}: the tensor is a view with another sign; call .resolve_conj() or .resolve_neg() "
                         "first")
    t = t.detach()
    return t.view(torch.uint8) if t.dtype == torch.bool else t


_NUMPY = {torch.float32, torch.float64, torch.float16, torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64}


def _seen(t: torch.Tensor) -> Any:
    """As tutti takes it at a glance: by numpy, where that has the type; DLPack takes some 10 us more."""
    return t.numpy() if t.dtype in _NUMPY else t


def _only(call: str, tensors: list[torch.Tensor]) -> torch.Tensor:
    if len(tensors) != 1:
        raise ValueError(f"tutti: {call}: one tensor per process is wanted, not {len(tensors)}")
    return _check(call, tensors[0])


def _list(call: str, tensors: list[torch.Tensor], n: int, like: torch.Tensor) -> list[torch.Tensor]:
    """One per rank, of the type and size of `like`."""
    if len(tensors) != n:
        raise ValueError(f"tutti: {call}: {n} tensors are wanted, one per rank, not {len(tensors)}")
    if any(t.numel() != like.numel() or t.dtype != like.dtype for t in tensors):
        raise ValueError(f"tutti: {call}: tensors of a list must have one type and size")
    return [_check(call, t) for t in tensors]


def _op(call: str, opts: Any, t: torch.Tensor) -> str:
    kind = getattr(opts, "reduceOp", dist.ReduceOp.SUM)
    words = _BY_HASH.get(hash(kind)) or next((w for known, w in _OPS.items() if kind == known), (None, None))
    found = words[t.dtype == torch.bool]
    if found:
        return found
    raise ValueError(f"tutti: {call}: {t.dtype} has no such op; there are SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR and BXOR")


def _done(result: list[torch.Tensor]) -> Any:
    future = torch._C.Future([])  # torch.futures' own does the same in Python, for 3 us
    future.set_result(result)
    return torch._C._distributed_c10d._create_work_from_future(future)


class Group(dist.ProcessGroup):
    """A process group over a communicator of tutti."""

    def __init__(self, comm: tutti.Comm) -> None:
        super().__init__(comm.rank, comm.size)
        self.comm = comm
        self.mail = Mail(comm.dup())
        self.process = os.getpid()

    def getBackendName(self) -> str:
        return "tutti"

    def _mine(self) -> tutti.Comm:
        if os.getpid() != self.process:
            raise RuntimeError("tutti: this process was forked from a rank, and can not use its process groups; a "
                               "DataLoader's worker must not call torch.distributed")
        return self.comm

    # ---- sums ----

    def allreduce(self, tensors: list[torch.Tensor], opts: Any = None) -> Any:
        t = _seen(_only("all_reduce", tensors))
        self._mine().allreduce(t, _op("all_reduce", opts, tensors[0]), out=t)
        return _done(tensors)

    def allreduce_coalesced(self, tensors: list[torch.Tensor], opts: Any = None) -> Any:
        all_of = [_seen(_check("all_reduce_coalesced", t)) for t in tensors]
        self._mine().allreduce_many(all_of, _op("all_reduce_coalesced", opts, tensors[0]))
        return _done(tensors)

    def reduce(self, tensors: list[torch.Tensor], opts: Any) -> Any:
        t = _seen(_only("reduce", tensors))
        at_root = opts.rootRank == self.comm.rank
        self._mine().reduce(t, _op("reduce", opts, tensors[0]), opts.rootRank, out=t if at_root else None)
        return _done(tensors)

    def _reduce_scatter_base(self, to: torch.Tensor, source: torch.Tensor, opts: Any = None) -> Any:
        dst, src = _seen(_check("reduce_scatter", to)), _seen(_check("reduce_scatter", source))
        self._mine().reduce_scatter(src, _op("reduce_scatter", opts, to), out=dst)
        return _done([to])

    def reduce_scatter(self, to: list[torch.Tensor], source: list[list[torch.Tensor]], opts: Any = None) -> Any:
        dst = _only("reduce_scatter", to)
        parts = _list("reduce_scatter", source[0], self.comm.size, to[0])
        flat = torch.cat([t.reshape(-1) for t in parts])
        self._mine().reduce_scatter(flat, _op("reduce_scatter", opts, to[0]), out=dst)
        return _done(to)

    # ---- copies ----

    def broadcast(self, tensors: list[torch.Tensor], opts: Any) -> Any:
        self._mine().broadcast(_seen(_only("broadcast", tensors)), root=opts.rootRank)
        return _done(tensors)

    def _allgather_base(self, to: torch.Tensor, source: torch.Tensor, opts: Any = None) -> Any:
        self._mine().all_gather(_seen(_check("all_gather", source)), out=_seen(_check("all_gather", to)))
        return _done([to])

    def allgather(self, to: list[list[torch.Tensor]], source: list[torch.Tensor], opts: Any = None) -> Any:
        src = _only("all_gather", source)
        targets = _list("all_gather", to[0], self.comm.size, source[0])
        self._spread(targets, lambda out: self._mine().all_gather(src, out=out), src)
        return _done(to[0])

    def allgather_coalesced(self, to: list[list[torch.Tensor]], source: list[torch.Tensor], opts: Any = None) -> Any:
        for i, t in enumerate(source):
            self.allgather([[of[i] for of in to]], [t])
        return _done([t for of in to for t in of])

    def gather(self, to: list[list[torch.Tensor]], source: list[torch.Tensor], opts: Any) -> Any:
        src = _only("gather", source)
        if opts.rootRank != self.comm.rank:
            self._mine().gather(src, root=opts.rootRank)
            return _done([])
        targets = _list("gather", to[0], self.comm.size, source[0])
        self._spread(targets, lambda out: self._mine().gather(src, opts.rootRank, out=out), src)
        return _done(to[0])

    def scatter(self, to: list[torch.Tensor], source: list[list[torch.Tensor]], opts: Any) -> Any:
        dst = _only("scatter", to)
        at_root = opts.rootRank == self.comm.rank
        parts = _list("scatter", source[0], self.comm.size, to[0]) if at_root else []
        flat = torch.cat([t.reshape(-1) for t in parts]) if at_root else None
        self._mine().scatter(flat, opts.rootRank, out=dst)
        return _done(to)

    def _spread(self, to: list[torch.Tensor], how: Any, like: torch.Tensor) -> None:
        flat = torch.empty(like.numel() * len(to), dtype=like.dtype)
        how(flat)
        for t, part in zip(to, flat.split(like.numel()) if like.numel() else []):
            t.view(-1).copy_(part)

    def barrier(self, opts: Any = None) -> Any:
        self._mine().barrier()
        return _done([])

    # ---- messages ----

    def alltoall_base(self, to: torch.Tensor, source: torch.Tensor, to_sizes: list[int], from_sizes: list[int],
                      opts: Any = None) -> Any:
        dst, src = _check("all_to_all_single", to), _check("all_to_all_single", source)
        if not to_sizes and not from_sizes:
            self._mine().all_to_all(src, out=dst)
            return _done([to])
        self.alltoall(self._parts(dst, to_sizes), self._parts(src, from_sizes))
        return _done([to])

    def _parts(self, whole: torch.Tensor, sizes: list[int]) -> list[torch.Tensor]:
        rows, ranks = whole.size(0) if whole.dim() else 1, self.comm.size
        each = sizes or [rows // ranks] * ranks
        if len(each) != ranks or sum(each) != rows or min(each) < 0:
            raise ValueError(f"tutti: all_to_all_single: the sizes of the parts must be one per rank, and make {rows} rows")
        return list(whole.split(each))

    def alltoall(self, to: list[torch.Tensor], source: list[torch.Tensor], opts: Any = None) -> Any:
        comm = self._mine()
        if len(to) != comm.size or len(source) != comm.size:
            raise ValueError(f"tutti: all_to_all: each list must have one tensor per rank, {comm.size}")
        kept, own = to[comm.rank], source[comm.rank]
        if kept.numel() != own.numel() or kept.dtype != own.dtype:
            raise ValueError("tutti: all_to_all: what a rank keeps must have one type and size in both lists")
        requests = []
        for i in range(comm.size):
            peer = (comm.rank + i) % comm.size
            if i == 0:
                _check("all_to_all", kept).view(-1).copy_(_check("all_to_all", own).view(-1))
            elif to[peer].numel():
                requests.append(comm.irecv(_check("all_to_all", to[peer]), peer))
        for i in range(1, comm.size):
            peer = (comm.rank + i) % comm.size
            if source[peer].numel():
                requests.append(comm.isend(_check("all_to_all", source[peer]), peer))
        for request in requests:
            request.wait()
        return _done(to)

    def _peer(self, call: str, peer: int) -> int:
        self._mine()
        if not 0 <= peer < self.comm.size:
            raise ValueError(f"tutti: {call}: rank {peer} is not in the group of {self.comm.size}")
        if peer == self.comm.rank:
            raise ValueError(f"tutti: {call}: a rank can not {call} {'to' if call == 'send' else 'from'} itself")
        return peer

    def send(self, tensors: list[torch.Tensor], to: int, tag: int = 0) -> Any:
        return self.mail.send(_only("send", tensors), tensors, self._peer("send", to), tag)

    def recv(self, tensors: list[torch.Tensor], source: int, tag: int = 0) -> Any:
        return self.mail.receive(_only("recv", tensors), tensors, self._peer("recv", source), tag)

    def recv_anysource(self, tensors: list[torch.Tensor], tag: int = 0) -> Any:
        self._mine()
        return self.mail.receive(_only("recv", tensors), tensors, ANYONE, tag)


def create(store: dist.Store, rank: int, size: int, timeout: datetime.timedelta) -> Group:
    """What init_process_group("tutti") and new_group call."""

    def get(key: str, seconds: float) -> bytes:
        store.wait([key], datetime.timedelta(seconds=max(seconds, 0.001)))
        return store.get(key)

    comm = tutti.from_store(store.set, get, size, rank, timeout=timeout.total_seconds())
    comm.set_timeout(timeout.total_seconds())
    group = Group(comm)
    _GROUPS.append(group)
    return group


def explain(group: Any, bytes: int) -> str:
    if not isinstance(group, Group):
        raise ValueError("tutti: explain: this is a process group of another backend")
    return group.comm.explain(bytes // 4, dtype="float")


def drain(seconds: float) -> None:
    """Wait until no group has a message under way; then none takes anything more."""
    for group in _GROUPS:
        if group.process == os.getpid():
            group.mail.drain(seconds)
