"""The process group of the backend "tutti" in Python, used if the compiled backend is missing.

A collective is complete when the call returns, so it does not overlap with computation. A call takes about
15 us longer (make bench-torch). Messages are advanced by a separate thread (_mail.py).
SPDX-License-Identifier: BSD-3-Clause
"""
from __future__ import annotations

import datetime
import functools
import os
import time
from typing import Any, Callable, Optional

import torch
from torch._C._distributed_c10d import ReduceOp

import tutti
from tutti import _card
from tutti._comm import another
from tutti._lib import check, lib

from ._flight import Ring, failed
from ._layout import host_room, put_back, room
from ._mail import ANYONE, Mail
from ._monitored import monitored_barrier
from ._stubs import AVG, GroupBase, Store, Tensors, backends_of, options, prefixed, work_done

_RING = Ring()
_HIGHEST_TAG, _RESERVED_TAGS = (1 << 31) - 1, 1 << 16  # of monitored barriers
_LOOK = 0.02  # longest pause between two polls of the store, in seconds
_GROUPS: list["Group"] = []  # keeps the Python objects alive: PyTorch's C++ half may outlive an unreferenced Python half

_Words = tuple[Optional[str], Optional[str]]  # tutti's op for numbers, and for bool
_OPS: dict[Any, _Words] = {
    ReduceOp.SUM: ("sum", "lor"), ReduceOp.PRODUCT: ("prod", "land"), ReduceOp.MIN: ("min", "land"),
    ReduceOp.MAX: ("max", "lor"), ReduceOp.BAND: ("band", "land"), ReduceOp.BOR: ("bor", "lor"),
    ReduceOp.BXOR: ("bxor", "lxor"), AVG: ("avg", None)}
_BY_HASH = {hash(kind): words for kind, words in _OPS.items()}  # by hash, because a comparison of two ReduceOps takes 2 us


def _check(call: str, t: torch.Tensor) -> torch.Tensor:
    """The tensor in a type of tutti: a bool tensor as uint8. Refuses tensors that tutti cannot use."""
    if t.layout != torch.strided:
        raise ValueError(f"tutti: {call}: the tensor is sparse; make it dense (to_dense) first")
    if t.device.type != "cpu" and not (t.device.type == "cuda" and _card.present()):
        why = ("tutti has found no device here (TUTTI_DEVICE=cuda says why)" if t.device.type == "cuda"
               else "tutti sums on the CPU and on CUDA devices")
        raise ValueError(f"tutti: {call}: the tensor is on {t.device}, and {why}; move it (.cpu()) first")
    if t.is_conj() or t.is_neg():
        raise ValueError(f"tutti: {call}: the tensor is a view with another sign; call .resolve_conj() or .resolve_neg() "
                         "first")
    t = t.detach()
    return t.view(torch.uint8) if t.dtype == torch.bool else t


_NUMPY = {torch.float32, torch.float64, torch.float16, torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64,
          *(getattr(torch, name) for name in ("uint16", "uint32", "uint64") if hasattr(torch, name))}


def _seen(t: torch.Tensor) -> Any:
    """The tensor in the form that is fastest for tutti: a numpy array, if numpy has the type. DLPack takes about 10 us more."""
    return t.numpy() if t.dtype in _NUMPY and t.device.type == "cpu" else t


def _only(call: str, tensors: Tensors) -> torch.Tensor:
    if len(tensors) != 1:
        raise ValueError(f"tutti: {call}: one tensor per process is wanted, not {len(tensors)}")
    return _check(call, tensors[0])


def _list(call: str, tensors: Tensors, n: int, like: torch.Tensor, me: Optional[int] = None) -> Tensors:
    """Check a list with one tensor per rank, of the type and size of `like`. With `me`, sizes may differ, and only that of
    rank `me` must be the size of `like`."""
    if len(tensors) != n:
        raise ValueError(f"tutti: {call}: {n} tensors are wanted, one per rank, not {len(tensors)}")
    if any(t.dtype != like.dtype for t in tensors):
        raise ValueError(f"tutti: {call}: tensors of a list must have one type")
    if me is not None and tensors[me].numel() != like.numel():
        raise ValueError(f"tutti: {call}: a rank's part must have one size in its input and its output")
    if me is None and any(t.numel() != like.numel() for t in tensors):
        raise ValueError(f"tutti: {call}: tensors of a list must have one size; all_to_all takes parts of several sizes")
    return [_check(call, t) for t in tensors]


def _counts(parts: Tensors) -> Optional[list[int]]:
    """The numbers of elements of the parts; None if they are equal."""
    counts = [t.numel() for t in parts]
    return None if len(set(counts)) == 1 else counts


def _op(call: str, opts: Any, t: torch.Tensor) -> Any:  # a word of OpLike
    kind = getattr(opts, "reduceOp", ReduceOp.SUM)
    words: Optional[_Words] = _BY_HASH.get(hash(kind)) or next((w for known, w in _OPS.items() if kind == known), None)
    found = words[t.dtype == torch.bool] if words is not None else None
    if found:
        return found
    raise ValueError(f"tutti: {call}: {t.dtype} has no such op; there are SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR and BXOR "
                     "(for PREMUL_SUM, multiply the tensor by the factor, and use SUM)")


class Group(GroupBase):
    """A process group on a communicator of tutti."""

    def __init__(self, comm: tutti.Comm, store: Store, limit: float) -> None:
        super().__init__(comm.rank, comm.size)
        self.comm, self.store = comm, store
        self.mail = Mail(comm.dup())
        self.process = os.getpid()
        self.number, self.limit, self.monitored = len(_GROUPS), limit, 0

    def getBackendName(self) -> str:
        return "tutti"

    @property
    def options(self) -> Any:
        return options(self.limit)

    @property
    def supports_splitting(self) -> bool:
        return True

    supports_shrinking = supports_splitting

    def split(self, store: Store, ranks: list[int], opts: Any) -> Optional["Group"]:
        """Make a group of these ranks; None on all other ranks."""
        if self.comm.rank not in ranks:
            return None
        return create(store, ranks.index(self.comm.rank), len(ranks), opts._timeout)

    def shrink(self, without: list[int], flags: int, opts: Any = None) -> Optional["Group"]:
        """Make a group without the ranks in `without`, which may have failed. The others connect through the group's store."""
        if flags:
            self.give_up("the ranks that are left call shrink_group")
        name = "_".join(map(str, ["without", *without]))
        left = [r for r in range(self.comm.size) if r not in without]
        return self.split(prefixed(name, self.store), left, opts or self.options)

    def set_timeout(self, timeout: datetime.timedelta) -> None:
        self.limit = timeout.total_seconds()
        self._mine().configure(timeout=self.limit)
        self.mail.set_timeout(self.limit)

    def abort(self) -> None:
        self.give_up("its process group was aborted")

    def give_up(self, reason: str) -> None:
        """Make all operations of this group fail, here and on the other ranks, with this reason."""
        if self.process == os.getpid():
            self.comm._give_up(reason)
            self.mail.abort(reason)

    def _get_sequence_number_for_group(self) -> int:
        return _RING.last(self.number)

    def _mine(self) -> tutti.Comm:
        if os.getpid() != self.process:
            raise RuntimeError("tutti: this process was forked from a rank, and cannot use its process groups; a "
                               "DataLoader's worker must not call torch.distributed")
        return self.comm

    # ---- sums ----

    def allreduce(self, tensors: Tensors, opts: Any = None) -> Any:
        mine = _only("all_reduce", tensors)
        t = mine.contiguous()
        seen = _seen(t)
        self._mine().allreduce(seen, _op("all_reduce", opts, tensors[0]), out=seen)
        put_back("all_reduce", mine, t)
        return work_done(tensors)

    def allreduce_coalesced(self, tensors: Tensors, opts: Any = None) -> Any:
        call = "all_reduce_coalesced"
        mine = [_check(call, t) for t in tensors]
        all_of = [t.contiguous() for t in mine]
        self._mine().allreduce_many([_seen(t) for t in all_of], _op(call, opts, tensors[0]))
        for to, t in zip(mine, all_of):
            put_back(call, to, t)
        return work_done(tensors)

    def reduce(self, tensors: Tensors, opts: Any) -> Any:
        mine = _only("reduce", tensors)
        t = mine.contiguous()
        seen, at_root = _seen(t), opts.rootRank == self.comm.rank
        self._mine().reduce(seen, _op("reduce", opts, tensors[0]), opts.rootRank, out=seen if at_root else None)
        if at_root:
            put_back("reduce", mine, t)
        return work_done(tensors)

    def _reduce_scatter_base(self, to: torch.Tensor, source: torch.Tensor, opts: Any = None) -> Any:
        mine, src = _check("reduce_scatter", to), _check("reduce_scatter", source).contiguous()
        dst = room(mine)
        self._mine().reduce_scatter(_seen(src), _op("reduce_scatter", opts, to), out=_seen(dst))
        put_back("reduce_scatter", mine, dst)
        return work_done([to])

    def reduce_scatter(self, to: Tensors, source: list[Tensors], opts: Any = None) -> Any:
        mine = _only("reduce_scatter", to)
        dst = room(mine)
        parts = _list("reduce_scatter", source[0], self.comm.size, to[0], self.comm.rank)
        flat = torch.cat([t.reshape(-1) for t in parts])
        self._mine().reduce_scatter(flat, _op("reduce_scatter", opts, to[0]), out=dst, counts=_counts(parts))
        put_back("reduce_scatter", mine, dst)
        return work_done(to)

    # ---- copies ----

    def broadcast(self, tensors: Tensors, opts: Any) -> Any:
        mine, gets = _only("broadcast", tensors), opts.rootRank != self.comm.rank
        t = room(mine) if gets else mine.contiguous()
        self._mine().broadcast(_seen(t), root=opts.rootRank)
        if gets:
            put_back("broadcast", mine, t)
        return work_done(tensors)

    def _allgather_base(self, to: torch.Tensor, source: torch.Tensor, opts: Any = None) -> Any:
        mine, src = _check("all_gather", to), _check("all_gather", source).contiguous()
        dst = room(mine)
        self._mine().all_gather(_seen(src), out=_seen(dst))
        put_back("all_gather", mine, dst)
        return work_done([to])

    def allgather(self, to: list[Tensors], source: Tensors, opts: Any = None) -> Any:
        src = _only("all_gather", source).contiguous()
        targets = _list("all_gather", to[0], self.comm.size, source[0], self.comm.rank)
        self._spread("all_gather", targets, lambda out: self._mine().all_gather(src, out=out, counts=_counts(targets)))
        return work_done(to[0])

    def allgather_coalesced(self, to: list[Tensors], source: Tensors, opts: Any = None) -> Any:
        for i, t in enumerate(source):
            self.allgather([[of[i] for of in to]], [t])
        return work_done([t for of in to for t in of])

    def all_gather_single_coalesced(self, to: Tensors, source: Tensors, opts: Any = None) -> Any:
        for dst, src in zip(to, source):
            self._allgather_base(dst, src, opts)
        return work_done(to)

    def reduce_scatter_single_coalesced(self, to: Tensors, source: Tensors, opts: Any = None) -> Any:
        for dst, src in zip(to, source):
            self._reduce_scatter_base(dst, src, opts)
        return work_done(to)

    def allreduce_sparse(self, tensors: Tensors, opts: Any = None) -> Any:
        return self.allreduce(tensors, opts)  # refuses sparse tensors

    def gather(self, to: list[Tensors], source: Tensors, opts: Any) -> Any:
        src = _only("gather", source).contiguous()
        if opts.rootRank != self.comm.rank:
            self._mine().gather(src, root=opts.rootRank)
            return work_done([])
        targets = _list("gather", to[0], self.comm.size, source[0])
        self._spread("gather", targets, lambda out: self._mine().gather(src, opts.rootRank, out=out))
        return work_done(to[0])

    def scatter(self, to: Tensors, source: list[Tensors], opts: Any) -> Any:
        mine = _only("scatter", to)
        dst = room(mine)
        at_root = opts.rootRank == self.comm.rank
        parts = _list("scatter", source[0], self.comm.size, to[0]) if at_root else []
        flat = torch.cat([t.reshape(-1) for t in parts]) if at_root else None
        self._mine().scatter(flat, opts.rootRank, out=dst)
        put_back("scatter", mine, dst)
        return work_done(to)

    @staticmethod
    def _spread(call: str, to: Tensors, how: Callable[[torch.Tensor], object]) -> None:
        sizes = [t.numel() for t in to]
        flat = torch.empty(sum(sizes), dtype=to[0].dtype, device=to[0].device)
        how(flat)
        for t, part in zip(to, flat.split(sizes)):
            put_back(call, t, part)

    def barrier(self, opts: Any = None) -> Any:
        self._mine().barrier()
        return work_done([])

    def monitored_barrier(self, opts: Any, wait_all_ranks: bool = False) -> None:
        """A barrier that raises an error with the missing ranks."""
        given = opts.timeout.total_seconds()
        self.monitored += 1
        monitored_barrier(self, given if given >= 0 else self.limit, wait_all_ranks,
                          _HIGHEST_TAG - self.monitored % _RESERVED_TAGS)

    # ---- messages ----

    def alltoall_base(self, to: torch.Tensor, source: torch.Tensor, to_sizes: list[int], from_sizes: list[int],
                      opts: Any = None) -> Any:
        dst, src = _check("all_to_all_single", to), _check("all_to_all_single", source)
        if not to_sizes and not from_sizes:
            place = room(dst)
            self._mine().all_to_all(src.contiguous(), out=place)
            put_back("all_to_all_single", dst, place)
            return work_done([to])
        self.alltoall(self._parts(dst, to_sizes), self._parts(src, from_sizes))
        return work_done([to])

    def _parts(self, whole: torch.Tensor, sizes: list[int]) -> Tensors:
        rows, ranks = whole.size(0) if whole.dim() else 1, self.comm.size
        each = sizes or [rows // ranks] * ranks
        if len(each) != ranks or sum(each) != rows or min(each) < 0:
            raise ValueError(f"tutti: all_to_all_single: the sizes of the parts must be one per rank, and make {rows} rows")
        return list(whole.split_with_sizes(each))

    def alltoall(self, to: Tensors, source: Tensors, opts: Any = None) -> Any:
        comm = self._mine()
        if len(to) != comm.size or len(source) != comm.size:
            raise ValueError(f"tutti: all_to_all: each list must have one tensor per rank, {comm.size}")
        homes, src = [_check("all_to_all", t) for t in to], [_check("all_to_all", t).contiguous().cpu() for t in source]
        dst, me = [host_room(t) for t in homes], comm.rank
        if to[me].numel() != source[me].numel() or to[me].dtype != source[me].dtype:
            raise ValueError("tutti: all_to_all: what a rank keeps must have one type and size in its input and its output")
        dst[me] = src[me]  # needs no message
        peers = [(me + i) % comm.size for i in range(1, comm.size)]
        requests = [comm.irecv(dst[peer], peer) for peer in peers if dst[peer].numel()]
        requests += [comm.isend(src[peer], peer) for peer in peers if src[peer].numel()]
        for request in requests:
            request.wait()
        for home, t in zip(homes, dst):
            put_back("all_to_all", home, t)
        return work_done(to)

    def _peer(self, call: str, peer: int) -> int:
        self._mine()
        if not 0 <= peer < self.comm.size:
            raise ValueError(f"tutti: {call}: rank {peer} is not in the group of {self.comm.size}")
        if peer == self.comm.rank:
            raise ValueError(f"tutti: {call}: a rank cannot {call} {'to' if call == 'send' else 'from'} itself")
        return peer

    def _note(self, name: str, peer: int, tensors: Tensors) -> dict[str, Any]:
        return _RING.add(self.number, name, tensors, tensors, self.limit, (self.comm.rank, peer))

    def send(self, tensors: Tensors, to: int, tag: int = 0) -> Any:
        t = _only("send", tensors).contiguous().cpu()
        peer = self._peer("send", to)
        return self.mail.send(t, tensors, peer, tag, self._note("send", peer, tensors))

    def recv(self, tensors: Tensors, source: int, tag: int = 0) -> Any:
        t = _only("recv", tensors)
        peer = self._peer("recv", source)
        return self.mail.receive(t, tensors, peer, tag, self._note("recv", peer, tensors))

    def recv_anysource(self, tensors: Tensors, tag: int = 0) -> Any:
        self._mine()
        t = _only("recv", tensors)
        return self.mail.receive(t, tensors, ANYONE, tag, self._note("recv", ANYONE, tensors))


# A function that returns the inputs and the outputs among a collective's arguments.
_Sides = Callable[..., "tuple[Tensors, Tensors]"]
_COLLECTIVES: dict[str, tuple[str, _Sides]] = {
    "allreduce": ("all_reduce", lambda ts, *_: (ts, ts)),
    "allreduce_coalesced": ("all_reduce_coalesced", lambda ts, *_: (ts, ts)),
    "reduce": ("reduce", lambda ts, *_: (ts, ts)),
    "_reduce_scatter_base": ("reduce_scatter", lambda to, source, *_: ([source], [to])),
    "reduce_scatter": ("reduce_scatter", lambda to, source, *_: (source[0], to)),
    "broadcast": ("broadcast", lambda ts, *_: (ts, ts)),
    "_allgather_base": ("all_gather", lambda to, source, *_: ([source], [to])),
    "allgather": ("all_gather", lambda to, source, *_: (source, to[0])),
    "gather": ("gather", lambda to, source, *_: (source, to[0] if to else [])),
    "scatter": ("scatter", lambda to, source, *_: (source[0] if source else [], to)),
    "alltoall_base": ("all_to_all", lambda to, source, *_: ([source], [to])),
    "alltoall": ("all_to_all", lambda to, source, *_: (source, to)),
    "barrier": ("barrier", lambda *_: ([], [])),
}


def _noted(method: Callable[..., Any], name: str, sides: _Sides) -> Callable[..., Any]:
    """The method, with an entry in the flight record."""

    @functools.wraps(method)
    def call(self: Group, *args: Any, **kwargs: Any) -> Any:
        entry = _RING.add(self.number, name, *sides(*args), self.limit)
        try:
            work = method(self, *args, **kwargs)
        except BaseException:
            failed()
            raise
        entry["completed"] = time.time_ns()
        return work

    return call


for _name, _how in _COLLECTIVES.items():
    setattr(Group, _name, _noted(getattr(Group, _name), *_how))
# The names of these methods since PyTorch 2.15.
for _name, _older in (("all_gather_single", "_allgather_base"), ("reduce_scatter_single", "_reduce_scatter_base"),
                      ("all_to_all_single", "alltoall_base")):
    setattr(Group, _name, getattr(Group, _older))
# If a class does not have these attributes, PyTorch 2.15 looks them up in an endless recursion.
for _name in ("supports_coalescing", "_supports_time_estimate", "supports_reconfigure", "supports_window",
              "supports_abort_hooks"):
    setattr(Group, _name, False)


def _has(store: Store, key: str) -> bool:
    if hasattr(store, "check"):
        return store.check([key])
    absent = "tutti: no such key"  # PyTorch 1.13 returns the expected value if the key does not exist
    return store.compare_set(key, absent, absent) != absent.encode()


def _read(store: Store, key: str, seconds: float) -> bytes:
    """Read a key, waiting up to `seconds`. Polls, because PyTorch 1.13's store.wait is not usable with a time limit: after a
    timeout it takes the late reply for the reply to its next request."""
    until, pause = time.monotonic() + seconds, 0.001
    while not _has(store, key):
        if time.monotonic() > until:
            raise TimeoutError(f"no '{key}' in the store within {seconds:.3g} s")
        time.sleep(pause)  # a signal handler may raise an exception here
        pause = min(2 * pause, _LOOK)
    return store.get(key)


def _born(comm: tutti.Comm, store: Store, timeout: datetime.timedelta) -> Group:
    comm.configure(timeout=timeout.total_seconds())
    group = Group(comm, store, timeout.total_seconds())
    _GROUPS.append(group)
    return group


def adopt(handle: int, store: Store, timeout: datetime.timedelta) -> Group:
    """A process group on a duplicate of this communicator. Collective."""
    status, comm = another(handle, lib.tutti_comm_dup)
    check(status)
    assert comm is not None
    return _born(comm, store, timeout)


def _ours(group: Any) -> Optional[Group]:
    """The Group of this backend behind a process group, if any."""
    return next((backend for backend in backends_of(group) if isinstance(backend, Group)), None)


def handle(group: Any) -> int:
    """The handle of the group's communicator; 0 if the group has another backend."""
    ours = _ours(group)
    return ours.comm._handle or 0 if ours else 0


def create(store: Store, rank: int, size: int, timeout: datetime.timedelta) -> Group:
    """A process group of ranks that connect through the store. Collective."""

    def get(key: str, seconds: float) -> bytes:
        return _read(store, key, seconds)

    return _born(tutti.from_store(store.set, get, size, rank, timeout=timeout.total_seconds()), store, timeout)


def number(group: Any) -> int:
    """The number of the group among this process's groups, from 0; -1 if the group has another backend."""
    ours = _ours(group)
    return ours.number if ours else -1


records = _RING.records


def explain(group: Any, bytes: int) -> str:
    ours = _ours(group)
    if ours is None:
        raise ValueError("tutti: explain: this is a process group of another backend")
    return str(ours.comm.explain(bytes // 4, dtype="float"))


def abort(reason: str) -> None:
    """Make all operations of all groups fail, here and on the other ranks, with this reason."""
    for group in _GROUPS:
        group.give_up(reason)


def drain(seconds: float) -> None:
    """Wait until no group has a message in flight. The groups accept no new messages."""
    for group in _GROUPS:
        if group.process == os.getpid():
            group.mail.drain(seconds)
