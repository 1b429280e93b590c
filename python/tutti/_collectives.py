"""The collectives, each in three forms: `allreduce` returns when it is complete, `iallreduce` returns
a Request, `allreduce_init` returns a Persistent request.

For each collective one method prepares the call; `_forms` derives the three forms from it.
SPDX-License-Identifier: BSD-3-Clause
"""
from __future__ import annotations

import ctypes
import operator
from typing import Any, Optional, Sequence

from . import _kinds
from ._buffers import new_like, same, vector, zero
from ._calls import forms, message_forms, struct_forms
from ._errors import ArgumentError, DtypeError, NotAnArrayError
from ._forms import Ready, blocking, persistent, started
from ._kinds import OpLike
from ._lib import failure, lib
from ._ops import RAISED, fit_for_bools, number_of, raised_in
from ._parts import Parts
from ._request import ANY_SOURCE, ANY_TAG, Received, Request
from ._types import name_of

_SUM, _MOVE = "src dst count type op", "src dst count type"
_BROUGHT = " algorithm compression"  # what a call may bring for itself alone
_OWN = {name: struct_forms(name.replace("all_g", "allg"), fields + _BROUGHT) for name, fields in (
    ("allreduce", _SUM), ("reduce", _SUM + " root"), ("reduce_scatter", _SUM), ("all_gather", _MOVE))}
_ALLREDUCE, _REDUCE_SCATTER, _SCAN, _EXSCAN = (
    forms(name, "pppnii", name, _SUM) for name in ("allreduce", "reduce_scatter", "scan", "exscan"))
_REDUCE_SCATTER_V = forms("reduce_scatterv", "ppppii", "reduce_scatter", "src dst counts type op")
_REDUCE = forms("reduce", "pppniii", "reduce", _SUM + " root")
_ALL_GATHER, _ALL_TO_ALL = (forms(name, "pppni", name, _MOVE) for name in ("allgather", "alltoall"))
_ALL_GATHER_V = forms("allgatherv", "ppppi", "allgather", "src dst counts type")
_GATHER_V, _SCATTER_V = (forms(name + "v", "ppppii", name, "src dst counts type root") for name in ("gather", "scatter"))
_ALL_TO_ALL_V = forms("alltoallv", "pppppi", "alltoall", "src counts dst recv_counts type")
_BROADCAST, _GATHER, _SCATTER = (forms(name, "pppnii", name, _MOVE + " root") for name in ("broadcast", "gather", "scatter"))
_MANY = struct_forms("allreduce", "n srcs dsts counts type op")
_BARRIER = forms("barrier", "p", "barrier", "")
_SEND, _RECV = message_forms("send", "ppniii"), message_forms("recv", "ppniiip")


def _bytes(text: Optional[str]) -> Optional[bytes]:
    return None if text is None else text.encode()


def _with(name: str, ready: Ready, algorithm: Optional[str], compression: Optional[str], counts: Any = None) -> Ready:
    """The same call, with an algorithm or compression for this call only."""
    if algorithm is None and compression is None:
        return ready
    if counts is not None:
        raise ArgumentError(f"{name}: algorithm= and compression= are for parts of equal length; use Comm.configure")
    _, arguments, out, keep = ready
    return _OWN[name], (*arguments, _bytes(algorithm), _bytes(compression)), out, keep


class Collectives(Parts):
    """The collectives. All ranks of a communicator must make the same calls in the same order.

    array   a contiguous object with a buffer or `__dlpack__`; it is not copied.
    out     the same, writable and of the same type; None: allocate the result. `out` may be
            `array` itself (in place), but must not overlap it otherwise.
    op      'sum', 'prod', 'min', 'max', 'avg', 'band', 'bor', 'bxor', 'land', 'lor', 'lxor',
            'minloc', 'maxloc', or an op from `tutti.op` or `tutti.scaled`.
    dtype   the element type of the bytes, such as 'bf16'; None: the array's own type.
    root    the rank that has the data, or gets the result.
    stream  a GPU stream: a stream object of PyTorch, CuPy, ..., or the driver's handle. The blocking form then returns
            immediately. The call is ordered after the work enqueued on the stream before it, and work enqueued later
            waits for the call (docs/gpu.md).
    algorithm, compression  for this call only, instead of those of `configure`; the same on all ranks.
    Raises  ArgumentError, DtypeError, OpError, OverlapError, OutOfMemoryError, StateError: nothing was
            changed. MismatchError, PeerLostError, WaitTimeoutError, AbortedError: raised on all ranks; `out` is undefined
            and the communicator cannot be used any more.
    """

    _handle: Optional[int]
    _helping: Optional[int]
    _grouped: Optional[list[Any]]
    rank: int
    size: int
    _running: set[Request]

    def _problem(self, status: int, keep: Any = ()) -> Optional[BaseException]:
        """The exception to raise after a call on this communicator, if any."""
        raised = raised_in(keep) if RAISED else None
        if not status and raised is None:
            return None
        if status:
            problem = failure(status)
        else:  # the op has aborted the communicator, so a barrier fails with the error that the other ranks get
            problem = failure(_barrier_status(self))
        if raised is None:
            return problem
        if not isinstance(raised, Exception):
            return raised  # KeyboardInterrupt, SystemExit
        problem.__cause__ = raised
        return problem

    def _all(self, name: str, array: Any, op: OpLike, out: Any, dtype: Optional[str]) -> Ready:
        """The arguments of a collective whose result has the size of its input."""
        if out is array:
            src, count, code, keep = vector(array, name, "array", dtype, True)
            dst, kept = src, None
        else:
            src, count, code, keep = vector(array, name, "array", dtype)
            if out is None:
                out = new_like(array, count, count)
            dst, n, kind, kept = vector(out, name, "out", dtype, True)
            if n != count or kind != code:
                same(name, n, count, kind, code)
        number = number_of(op, self, name)
        if code > 255:
            code = fit_for_bools(code, number, name)
        return None, (src, dst, count, code, number), out, (keep, kept, op)

    def _allreduce(self, array: Any, op: OpLike = "sum", out: Any = None, *, dtype: Optional[str] = None,
                   algorithm: Optional[str] = None,
                   compression: Optional[str] = None) -> Ready:
        """The sum (or minimum, ...) of all ranks' arrays, on every rank.

        >>> import tutti, numpy
        >>> comm = tutti.init()
        >>> x = numpy.arange(3, dtype=numpy.float32)
        >>> y = comm.allreduce(x)                    # a new array
        >>> comm.allreduce(x, op="max", out=x)       # in place
        array([0., 1., 2.], dtype=float32)
        >>> import array
        >>> comm.allreduce(array.array("d", [1.5]), op="min")
        array('d', [1.5])
        """
        _, arguments, out, keep = self._all("allreduce", array, op, out, dtype)
        return _with("allreduce", (_ALLREDUCE, arguments, out, keep), algorithm, compression)

    allreduce = blocking(_allreduce, _kinds.Summed, True)
    iallreduce = started(_allreduce)
    allreduce_init = persistent(_allreduce)

    def _allreduce_many(self, arrays: Sequence[Any], op: OpLike = "sum", outs: Optional[Sequence[Any]] = None, *,
                        dtype: Optional[str] = None) -> Ready:
        """`allreduce` of a list of arrays of one type, such as gradients, as one operation.

        outs  the same number of arrays, of the same lengths; None: in place.

        >>> import tutti, numpy
        >>> layers = [numpy.ones(3), numpy.ones((2, 2))]
        >>> tutti.init().allreduce_many(layers, op="avg")[0]
        array([1., 1., 1.])
        """
        name = "allreduce_many"
        given = list(arrays)
        into = given if outs is None else list(outs)
        if len(into) != len(given):
            raise ArgumentError(f"{name}: {len(given)} arrays and {len(into)} outs; there must be one for each")
        code, counts, keep = 0, [], [op]
        srcs, dsts = [], []
        for i, (array, out) in enumerate(zip(given, into)):
            dst, n, kind, kept = vector(out, name, "out", dtype, True)
            src, count, code_of_it, keeps = (dst, n, kind, kept) if out is array else vector(array, name, "array", dtype)
            same(name, n, count, kind, code_of_it, f"out {i}")
            if i and code_of_it != code:
                raise DtypeError(f"{name}: array {i} is of type {name_of(code_of_it)}, and those before it of "
                                 f"{name_of(code)}; one call is for one type")
            code = code_of_it
            srcs.append(_address(src))
            dsts.append(_address(dst))
            counts.append(count)
            keep += [kept, keeps]
        number = number_of(op, self, name)
        if code > 255:
            code = fit_for_bools(code, number, name)
        pointers, sizes = ctypes.c_void_p * len(given), ctypes.c_size_t * len(given)
        return _MANY, (len(given), pointers(*srcs), pointers(*dsts), sizes(*counts), code, number), into, keep

    allreduce_many = blocking(_allreduce_many, _kinds.Many)
    iallreduce_many = started(_allreduce_many)
    allreduce_many_init = persistent(_allreduce_many)

    def _reduce(self, array: Any, op: OpLike = "sum", root: int = 0, out: Any = None, *,
                dtype: Optional[str] = None, algorithm: Optional[str] = None,
                compression: Optional[str] = None) -> Ready:
        """Like `allreduce`, but only `root` gets the result; the other ranks get None.

        >>> import tutti, numpy
        >>> tutti.init().reduce(numpy.array([2.0]), op="prod").shape
        (1,)
        """
        root = self._rank("reduce", "root", root)
        if self.rank == root:
            _, (src, dst, count, code, number), out, keep = self._all("reduce", array, op, out, dtype)
        else:
            src, count, code, keep = vector(array, "reduce", "array", dtype)
            dst = out = None
            number = number_of(op, self, "reduce")
            keep = (keep, op)
            if code > 255:
                code = fit_for_bools(code, number, "reduce")
        return _with("reduce", (_REDUCE, (src, dst, count, code, number, root), out, keep), algorithm, compression)

    reduce = blocking(_reduce, _kinds.ToRoot, True)
    ireduce = started(_reduce)
    reduce_init = persistent(_reduce)

    def _scan(self, array: Any, op: OpLike = "sum", out: Any = None, *, dtype: Optional[str] = None) -> Ready:
        """On rank r, the sum (or minimum, ...) over ranks 0 to r. 'avg' is not supported.

        >>> import tutti, numpy
        >>> int(tutti.init().scan(numpy.array([1]))[0]) == tutti.rank() + 1
        True
        """
        _, arguments, out, keep = self._all("scan", array, op, out, dtype)
        return _SCAN, arguments, out, keep

    scan = blocking(_scan, _kinds.Same, True)
    iscan = started(_scan)
    scan_init = persistent(_scan)

    def _exscan(self, array: Any, op: OpLike = "sum", out: Any = None, *, dtype: Optional[str] = None) -> Ready:
        """On rank r, the sum (or minimum, ...) over ranks 0 to r-1. On rank 0 `out` is unchanged; without
        `out`, rank 0 gets zeros. 'avg' is not supported.

        >>> import tutti, numpy
        >>> int(tutti.init().exscan(numpy.array([1]))[0]) == tutti.rank()
        True
        """
        fresh = out is None
        _, arguments, out, keep = self._all("exscan", array, op, out, dtype)
        if fresh and self.rank == 0:
            zero(out, arguments[1], arguments[2], arguments[3])
        return _EXSCAN, arguments, out, keep

    exscan = blocking(_exscan, _kinds.Before, True)
    iexscan = started(_exscan)
    exscan_init = persistent(_exscan)

    def _reduce_scatter(self, array: Any, op: OpLike = "sum", out: Any = None, *,
                        counts: Optional[Sequence[int]] = None, dtype: Optional[str] = None,
                        algorithm: Optional[str] = None,
                        compression: Optional[str] = None) -> Ready:
        """Rank r gets the r-th part of the sum (or minimum, ...) of all ranks' arrays.

        counts  number of elements for each rank, the same list on all ranks; None: equal parts.
        To work in place, pass this rank's part of `array` as `out`; the other parts stay unchanged.

        >>> import tutti, numpy
        >>> comm = tutti.init()
        >>> comm.reduce_scatter(numpy.ones(2 * comm.size), op="max")
        array([1., 1.])
        """
        name = "reduce_scatter"
        src, count, code, keep = vector(array, name, "array", dtype)
        sizes, mine = self._cut(name, count, counts)
        if out is None:
            out = new_like(array, mine, count)
        dst, n, kind, kept = vector(out, name, "out", dtype, True)
        same(name, n, mine, kind, code)
        number = number_of(op, self, name)
        if code > 255:
            code = fit_for_bools(code, number, name)
        functions = _REDUCE_SCATTER if counts is None else _REDUCE_SCATTER_V
        return _with(name, (functions, (src, dst, sizes, code, number), out, (keep, kept, op, sizes)), algorithm, compression, counts)

    reduce_scatter = blocking(_reduce_scatter, _kinds.Part, True)
    ireduce_scatter = started(_reduce_scatter)
    reduce_scatter_init = persistent(_reduce_scatter)

    def _all_gather(self, array: Any, out: Any = None, *, counts: Optional[Sequence[int]] = None,
                    dtype: Optional[str] = None, algorithm: Optional[str] = None,
                    compression: Optional[str] = None) -> Ready:
        """All ranks' arrays, joined along the first axis in rank order, on every rank.

        counts  number of elements of each rank, the same list on all ranks; None: equal parts.
        To work in place, pass this rank's part of `out` as `array`.

        >>> import tutti, numpy
        >>> comm = tutti.init()
        >>> comm.all_gather(numpy.full((1, 2), comm.rank)).shape == (comm.size, 2)
        True
        """
        name = "all_gather"
        src, count, code, keep = vector(array, name, "array", dtype, False, True)
        sizes, total = self._joined(name, count, counts)
        if out is None:
            out = new_like(array, total, count)
        dst, n, kind, kept = vector(out, name, "out", dtype, True, True)
        same(name, n, total, kind, code)
        functions = _ALL_GATHER if counts is None else _ALL_GATHER_V
        return _with(name, (functions, (src, dst, sizes, code & 255), out, (keep, kept, sizes)), algorithm, compression, counts)

    all_gather = blocking(_all_gather, _kinds.Joined, True)
    iall_gather = started(_all_gather)
    all_gather_init = persistent(_all_gather)

    def _broadcast(self, array: Any, root: int = 0, *, dtype: Optional[str] = None) -> Ready:
        """Copy the `array` of `root` into every rank's `array`, and return that.

        >>> import tutti, numpy
        >>> tutti.init().broadcast(numpy.arange(2), root=0)
        array([0, 1])
        """
        root = self._rank("broadcast", "root", root)
        at, count, code, keep = vector(array, "broadcast", "array", dtype, self.rank != root, True)
        return _BROADCAST, (at, at, count, code & 255, root), array, keep

    broadcast = blocking(_broadcast, _kinds.FromRoot, True)
    ibroadcast = started(_broadcast)
    broadcast_init = persistent(_broadcast)

    def _gather(self, array: Any, root: int = 0, out: Any = None, *, counts: Optional[Sequence[int]] = None,
                dtype: Optional[str] = None) -> Ready:
        """On `root`, all ranks' arrays, joined along the first axis; the other ranks get None.

        counts  as for all_gather.

        >>> import tutti, numpy
        >>> tutti.init().gather(numpy.zeros(3)).size == 3 * tutti.size()
        True
        """
        name = "gather"
        root = self._rank(name, "root", root)
        src, count, code, keep = vector(array, name, "array", dtype, False, True)
        sizes, total = self._joined(name, count, counts)
        dst = kept = None
        if self.rank != root:
            out = None
        else:
            if out is None:
                out = new_like(array, total, count)
            dst, n, kind, kept = vector(out, name, "out", dtype, True, True)
            same(name, n, total, kind, code)
        functions = _GATHER if counts is None else _GATHER_V
        return functions, (src, dst, sizes, code & 255, root), out, (keep, kept, sizes)

    gather = blocking(_gather, _kinds.JoinedAtRoot, True)
    igather = started(_gather)
    gather_init = persistent(_gather)

    def _scatter(self, array: Any, root: int = 0, out: Any = None, *, counts: Optional[Sequence[int]] = None,
                 dtype: Optional[str] = None) -> Ready:
        """Rank r gets the r-th part of the root's array.

        array  is read on the root only; it may be None on the other ranks.
        out    may be None on the root only, because a rank's `out` determines the size of its part.
        counts  number of elements for each rank, the same list on all ranks; None: equal parts.

        >>> import tutti, numpy
        >>> comm = tutti.init()
        >>> comm.scatter(numpy.zeros(3 * comm.size), out=numpy.ones(3))
        array([0., 0., 0.])
        """
        name = "scatter"
        root = self._rank(name, "root", root)
        src = keep = None
        if self.rank == root:
            src, total, code, keep = vector(array, name, "array", dtype, False, True)
            mine = self._cut(name, total, counts)[1]
            if out is None:
                out = new_like(array, mine, total)
        elif out is None and array is None:
            raise NotAnArrayError(f"{name}: rank {self.rank}, which is not the root, needs an out for its part of an array", None)
        elif out is None:
            raise ArgumentError(f"{name}: rank {self.rank}, which is not the root, needs an out")
        dst, n, kind, kept = vector(out, name, "out", dtype, True, True)
        if self.rank == root:
            same(name, n, mine, kind, code)
        sizes = self._joined(name, n, counts)[0]
        functions = _SCATTER if counts is None else _SCATTER_V
        return functions, (src, dst, sizes, kind & 255, root), out, (keep, kept, sizes)

    scatter = blocking(_scatter, _kinds.Dealt, True)
    iscatter = started(_scatter)
    scatter_init = persistent(_scatter)

    def _all_to_all(self, array: Any, out: Any = None, *, counts: Optional[Sequence[int]] = None,
                    recv_counts: Optional[Sequence[int]] = None, dtype: Optional[str] = None) -> Ready:
        """Send the r-th part of `array` to rank r, and receive the r-th part of `out` from rank r.

        counts, recv_counts  number of elements for each rank, and from each rank: this rank's own lists; None: equal parts.

        >>> import tutti, numpy
        >>> comm = tutti.init()
        >>> comm.all_to_all(numpy.zeros((comm.size, 2))).shape == (comm.size, 2)
        True
        """
        name = "all_to_all"
        src, count, code, keep = vector(array, name, "array", dtype, out is array, True)
        dst, kept = src, None
        if (counts is None) != (recv_counts is None):
            raise ArgumentError(f"{name}: counts and recv_counts belong together; one of them is missing")
        table, mine = self._cut(name, count, counts)
        sizes, total = (None, count) if recv_counts is None else self._table(name, recv_counts)
        if out is not array:
            if out is None:
                out = new_like(array, total, count)
            dst, n, kind, kept = vector(out, name, "out", dtype, True, True)
            same(name, n, total, kind, code)
        if counts is None:
            return _ALL_TO_ALL, (src, dst, mine, code & 255), out, (keep, kept)
        return _ALL_TO_ALL_V, (src, table, dst, sizes, code & 255), out, (keep, kept, table, sizes)

    all_to_all = blocking(_all_to_all, _kinds.Swapped, True)
    iall_to_all = started(_all_to_all)
    all_to_all_init = persistent(_all_to_all)

    def _barrier(self) -> Ready:
        """Wait until all ranks have called `barrier`.

        >>> import tutti
        >>> tutti.init().barrier()
        """
        return _BARRIER, (), None, ()

    barrier = blocking(_barrier, _kinds.Nothing)
    ibarrier = started(_barrier)
    barrier_init = persistent(_barrier)

    def _send(self, array: Any, to: int, tag: int = 0, *, dtype: Optional[str] = None) -> Ready:
        """Send `array` to rank `to`, which receives it with `recv`. The receive that was started first among those that accept
        this rank and `tag`, a number from 0, takes the message. `send` may block until the
        message is received. Two ranks that both send first may deadlock; use `isend` on one of them.

        >>> import tutti, numpy
        >>> comm = tutti.init()
        >>> request = comm.isend(numpy.ones(1), comm.rank)
        >>> comm.recv(numpy.zeros(1), comm.rank)
        array([1.])
        >>> request.wait()
        """
        to = self._rank("send", "to", to)
        src, count, code, keep = vector(array, "send", "array", dtype, False, True)
        return _SEND, (src, count, code & 255, to, operator.index(tag)), None, keep

    send = blocking(_send, _kinds.Sent)
    isend = started(_send)
    send_init = persistent(_send)

    def _recv(self, out: Any = None, source: int = ANY_SOURCE, tag: int = ANY_TAG, *, dtype: Optional[str] = None,
              received: Optional[Received] = None) -> Ready:
        """Receive a message from rank `source` into `out`, and return `out`; see `send`. Without `out`, receive and
        return an object. A message may have fewer elements than `out`: `received`, a `tutti.Received`, says how many, from
        which rank, and with which tag.

        >>> import tutti
        >>> comm, received = tutti.init(), tutti.Received()
        >>> if comm.size > 1 and comm.rank < 2:
        ...     _ = comm.send({"loss": 0.5}, 1, tag=7) if comm.rank == 0 else comm.recv(tag=7, received=received)
        """
        if source != ANY_SOURCE:
            source = self._rank("recv", "source", source)
        dst, count, code, keep = vector(out, "recv", "out", dtype, True, True)
        place = None if received is None else ctypes.addressof(received)
        return _RECV, (dst, count, code & 255, source, operator.index(tag), place), out, (keep, received)

    recv = blocking(_recv, _kinds.Received)
    irecv = started(_recv)
    recv_init = persistent(_recv)

    def _rank(self, name: str, what: str, rank: int) -> int:
        rank = operator.index(rank)
        if not 0 <= rank < self.size:
            raise ArgumentError(f"{name}: {what} {rank} is not a rank of 0..{self.size - 1}")
        return rank

    @property
    def helpers(self) -> int:
        """The number of helpers. These are the last ranks; they contribute no data (see `Comm.configure`)."""
        if self._helping is None:
            self._helping = int(self._settings().helpers)
        return self._helping

    def _settings(self) -> Any:
        raise NotImplementedError


def _address(pointer: Any) -> Optional[int]:
    return pointer if pointer is None or isinstance(pointer, int) else ctypes.addressof(pointer)


def _barrier_status(comm: Collectives) -> int:
    """The status of a barrier, called on an aborted communicator."""
    return int(_BARRIER[0](comm._handle))
