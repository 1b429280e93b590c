"""Collectives of Python objects: numbers, dictionaries, anything that can be pickled.

Each object is pickled. A first collective exchanges slots of a fixed size with the beginning and the length of each pickle.
If a pickle is longer than a slot, a second collective sends the rest; the slots contain its size. Python computes sums,
in rank order, so all ranks get the same result. A rank that cannot pickle its object sends the reason in its slot; the call
then fails on all ranks that read it, and there is no second collective.
Unpickling can run arbitrary code, so the ranks of a job have to trust each other.
SPDX-License-Identifier: BSD-3-Clause
"""
from __future__ import annotations

import functools
import operator
import pickle
import struct
from typing import TYPE_CHECKING, Any, Callable, Iterable, Optional, Sequence

from ._errors import ArgumentError, NotAnArrayError, OpError
from ._kinds import OpLike
from ._ops import MadeOp
from ._request import ANY_SOURCE, ANY_TAG, Received

if TYPE_CHECKING:
    from ._comm import Comm

_SLOT = 256
_HEAD = struct.Struct("<4sIQQ")  # mark, 1: failed, bytes of this object, bytes of the sender's longest object
_MARK = b"\xf7obj"
_ROOM = _SLOT - _HEAD.size


# ---- bytes ----


class _Failed(bytes):
    """What is sent in place of an object that cannot be: the reason, in words."""

    why: BaseException


def _failed(why: BaseException) -> _Failed:
    data = _Failed(f"{type(why).__name__}: {why}".encode()[:_ROOM])
    data.why = why
    return data


def _packed(thing: Any) -> bytes:
    try:
        return pickle.dumps(thing, pickle.HIGHEST_PROTOCOL)
    except Exception as why:  # whatever __reduce__ raises
        return _failed(why)


def _slot(data: bytes, longest: int) -> bytes:
    return (_HEAD.pack(_MARK, isinstance(data, _Failed), len(data), longest) + data[:_ROOM]).ljust(_SLOT, b"\0")


class _Slot:
    """A received slot: the header and the first bytes of an object. `rest` is the number of bytes that follow separately."""

    def __init__(self, slot: memoryview, call: str) -> None:
        mark: bytes
        self.bytes: int
        self.longest: int
        mark, self.failed, self.bytes, self.longest = _HEAD.unpack_from(slot)
        if mark != _MARK:
            raise ArgumentError(f"{call}: this rank brought an object, and another rank an array; all ranks must bring the "
                                "same kind")
        self._first = slot[_HEAD.size:_HEAD.size + min(self.bytes, _ROOM)]

    def reason(self) -> str:
        return bytes(self._first).decode(errors="replace")

    @property
    def rest(self) -> int:
        return max(self.bytes - _ROOM, 0)

    def thing(self, rest: Any = b"") -> Any:
        return pickle.loads(bytes(self._first) + bytes(rest))


def _slots(whole: bytearray, call: str) -> list[_Slot]:
    view = memoryview(whole)
    return [_Slot(view[at:at + _SLOT], call) for at in range(0, len(whole), _SLOT)]


def _none_failed(call: str, slots: Iterable[tuple[int, _Slot]], mine: Iterable[bytes]) -> None:
    """Raise the error of a rank that could not pickle its object; on that rank, its own."""
    for data in mine:
        if isinstance(data, _Failed):
            raise data.why
    for rank, slot in slots:
        if slot.failed:
            raise ArgumentError(f"{call}: rank {rank} brought nothing that can be pickled: {slot.reason()}")


def _rest(data: bytes, size: int) -> bytes:
    return data[_ROOM:].ljust(size, b"\0")


def _longest(slots: Iterable[_Slot]) -> int:
    return max(max(s.longest for s in slots) - _ROOM, 0)


def _things(slots: Sequence[_Slot], whole: Any, size: int) -> list[Any]:
    view = memoryview(whole)
    return [s.thing(view[i * size:i * size + s.rest]) for i, s in enumerate(slots)]


# ---- copies ----


def _broadcast(comm: "Comm", thing: Any, root: int = 0) -> Any:
    data = _packed(thing) if comm.rank == root else b""
    slot = bytearray(_slot(data, len(data)) if comm.rank == root else _SLOT)
    comm.broadcast(slot, root)
    head = _Slot(memoryview(slot), "broadcast")
    _none_failed("broadcast", [(root, head)], [data])
    rest = bytearray(data[_ROOM:] if comm.rank == root else head.rest)
    if head.rest:
        comm.broadcast(rest, root)
    return thing if comm.rank == root else head.thing(rest)


def _all_gather(comm: "Comm", thing: Any, call: str = "all_gather") -> list[Any]:
    data = _packed(thing)
    whole = bytearray(_SLOT * comm.size)
    comm.all_gather(_slot(data, len(data)), out=whole)
    slots = _slots(whole, call)
    _none_failed(call, enumerate(slots), [data])
    counts = [s.rest for s in slots]
    rest = bytearray(sum(counts))
    if rest:
        comm.all_gather(data[_ROOM:], out=rest, counts=counts)
    view, things, at = memoryview(rest), [], 0
    for slot in slots:
        things.append(slot.thing(view[at:at + slot.rest]))
        at += slot.rest
    return things


def _gather(comm: "Comm", thing: Any, root: int = 0, call: str = "gather") -> Optional[list[Any]]:
    data = _packed(thing)
    whole = bytearray(_SLOT * comm.size)
    comm.all_gather(_slot(data, len(data)), out=whole)  # every rank needs the greatest length
    slots = _slots(whole, call)
    _none_failed(call, enumerate(slots), [data])
    size = _longest(slots)
    here = comm.rank == root
    rest = bytearray(size * comm.size) if here else None
    if size:
        comm.gather(_rest(data, size), root, out=rest)
    return _things(slots, rest, size) if rest is not None else None


def _scatter(comm: "Comm", things: Any, root: int = 0) -> Any:
    here = comm.rank == root
    parts = _parts(comm, things, "scatter") if here else []
    size = max(map(len, parts), default=0)
    slot = bytearray(_SLOT)
    comm.scatter(b"".join(_slot(part, size) for part in parts) if here else None, root, out=slot)
    mine = _Slot(memoryview(slot), "scatter")
    _none_failed("scatter", [(root, mine)], parts)
    size = _longest([mine])
    rest = bytearray(size)
    if size:
        comm.scatter(b"".join(_rest(part, size) for part in parts) if here else None, root, out=rest)
    return mine.thing(memoryview(rest)[:mine.rest])


def _all_to_all(comm: "Comm", things: Any) -> list[Any]:
    parts = _parts(comm, things, "all_to_all")
    longest = max(map(len, parts))
    whole = bytearray(_SLOT * comm.size)
    comm.all_to_all(b"".join(_slot(part, longest) for part in parts), out=whole)
    slots = _slots(whole, "all_to_all")
    _none_failed("all_to_all", enumerate(slots), parts)
    size = _longest(slots)
    rest = bytearray(size * comm.size)
    if size:
        comm.all_to_all(b"".join(_rest(part, size) for part in parts), out=rest)
    return _things(slots, rest, size)


def _parts(comm: "Comm", things: Any, call: str) -> list[bytes]:
    """One pickle for each rank. If one fails, all do."""
    parts: list[bytes] = [_failed(ArgumentError(
        f"{call} takes an array, or a list of {comm.size} objects, one per rank, not "
        f"{f'{len(things)} of them' if isinstance(things, (list, tuple)) else type(things).__name__}"))]
    if isinstance(things, (list, tuple)) and len(things) == comm.size:
        parts = [_packed(thing) for thing in things]
    failed = [part for part in parts if isinstance(part, _Failed)]
    return [failed[0]] * comm.size if failed else parts


# ---- messages ----


def _send(comm: "Comm", thing: Any, to: int, tag: int = 0) -> None:
    data = _packed(thing)
    _none_failed("send", [], [data])
    comm.send(_slot(data, len(data)), to, tag)
    if len(data) > _ROOM:
        comm.send(data[_ROOM:], to, tag)


def _recv(comm: "Comm", _nothing: None, source: int = ANY_SOURCE, tag: int = ANY_TAG, received: Optional[Received] = None) -> Any:
    slot, took = bytearray(_SLOT), Received() if received is None else received
    comm.recv(slot, source, tag, received=took)
    head = _Slot(memoryview(slot), "recv")
    rest = bytearray(head.rest)
    if rest:
        comm.recv(rest, took.source, took.tag)
    took.count = 1
    return head.thing(rest)


# ---- sums ----

_FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "sum": operator.add, "avg": operator.add, "mean": operator.add, "prod": operator.mul,
    "min": lambda a, b: b if b < a else a, "max": lambda a, b: b if a < b else a,
    "band": operator.and_, "bor": operator.or_, "bxor": operator.xor,
    "land": lambda a, b: bool(a) and bool(b), "lor": lambda a, b: bool(a) or bool(b),
    "lxor": lambda a, b: bool(a) != bool(b),
    "minloc": lambda a, b: b if (b[0], b[1]) < (a[0], a[1]) else a,
    "maxloc": lambda a, b: b if a[0] < b[0] or (a[0] == b[0] and b[1] < a[1]) else a,
}


def _folded(things: Sequence[Any], op: OpLike, call: str) -> Any:
    name = op if isinstance(op, str) else op.name.lower()
    if isinstance(op, MadeOp):
        if op.function is None:
            raise OpError(f"{call}: {op!r} is for arrays of numbers; multiply the object before")
        return functools.reduce(op.function, things)
    function = _FUNCTIONS.get(name)
    if function is None:
        raise OpError(f"{call}: unknown op {op!r}; expected {', '.join(_FUNCTIONS)} or tutti.op(function)")
    if name in ("land", "lor", "lxor"):
        things = [bool(thing) for thing in things]
    total = functools.reduce(function, things)
    return total / len(things) if name in ("avg", "mean") else total


def _allreduce(comm: "Comm", thing: Any, op: OpLike = "sum") -> Any:
    return _folded(_all_gather(comm, thing, "allreduce"), op, "allreduce")


def _reduce(comm: "Comm", thing: Any, op: OpLike = "sum", root: int = 0) -> Any:
    things = _gather(comm, thing, root, "reduce")
    return None if things is None else _folded(things, op, "reduce")


def _scan(comm: "Comm", thing: Any, op: OpLike = "sum") -> Any:
    return _folded(_all_gather(comm, thing, "scan")[:comm.rank + 1], _no_average("scan", op), "scan")


def _exscan(comm: "Comm", thing: Any, op: OpLike = "sum") -> Any:
    before = _all_gather(comm, thing, "exscan")[:comm.rank]
    return _folded(before, _no_average("exscan", op), "exscan") if before else None


def _no_average(call: str, op: OpLike) -> OpLike:
    if op in ("avg", "mean") or getattr(op, "name", "") == "AVG":
        raise OpError(f"{call}: avg over some of the ranks is not supported; use the sum, and divide")
    return op


FORMS: dict[str, Callable[..., Any]] = {
    "allreduce": _allreduce, "reduce": _reduce, "scan": _scan, "exscan": _exscan, "broadcast": _broadcast,
    "all_gather": _all_gather, "gather": _gather, "scatter": _scatter, "all_to_all": _all_to_all, "send": _send,
    "recv": _recv}


def of_objects(comm: Any, name: str, why: NotAnArrayError, given: dict[str, Any]) -> Any:
    """Run the collective of that name on objects; no argument in `given` is an array. why: the error of the attempt to use the
    argument as an array, raised if the collective does not take objects."""
    form = FORMS.get(name)
    thing = given.pop("array", None)
    if form is None or why.what is not thing:
        raise ArgumentError(str(why)) from None
    for word in ("out", "dtype", "counts", "recv_counts", "algorithm", "compression"):
        if given.pop(word, None) is not None:
            raise ArgumentError(f"{why}; {word}= is for arrays") from None
    return form(comm, thing, **given)
