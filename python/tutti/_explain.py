"""Reports for users: the plan of a call and the reason for it, predicted times, schedules, proofs and drawings;
the capabilities of this machine; the state of a running job.

SPDX-License-Identifier: BSD-3-Clause
"""
from __future__ import annotations

import ctypes
import json
import os
import re
from typing import TYPE_CHECKING, Any, Iterator, Optional, Union

from ._buffers import vector
from ._errors import ArgumentError
from ._kinds import Contract, OpWord
from ._lib import check, lib, text_of
from ._ops import Op, number_of
from ._types import COLLECTIVES, SIZES, code_of_name

if TYPE_CHECKING:
    from ._comm import Comm

_OWNED = {"reduce_scatter", "allgather", "gather", "scatter", "alltoall"}  # each rank has a part of the vector
_PARTS = {"allgather", "gather"}  # the argument of the call is this rank's part
_CONTRACTS = ("same", "any", "run", "element", "exact")
_PICTURES = ("words", "terminal", "svg", "html", "json")


class _Question(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("coll", ctypes.c_int), ("ranks", ctypes.c_int), ("root", ctypes.c_int),
                ("type", ctypes.c_int), ("op", ctypes.c_int), ("contract", ctypes.c_int), ("net", ctypes.c_char_p),
                ("topo", ctypes.c_char_p), ("algorithm", ctypes.c_char_p), ("only", ctypes.c_char_p),
                ("crowd", ctypes.c_double), ("compression", ctypes.c_char_p)]


class _Offer(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("plan", ctypes.c_char_p), ("slices", ctypes.c_int),
                ("possible", ctypes.c_int), ("admissible", ctypes.c_int), ("why", ctypes.c_char * 800),
                *((name, ctypes.c_double) for name in ("seconds", "latency", "transfer", "arithmetic", "processor",
                                                       "copying")),
                *((name, ctypes.c_int) for name in ("steps", "rounds", "messages")), ("vectors", ctypes.c_double),
                ("bound", ctypes.c_char * 64)]


class _Measured(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("plan", ctypes.c_char_p), ("slices", ctypes.c_int),
                ("seconds", ctypes.c_double), ("spread", ctypes.c_double), ("predicted", ctypes.c_double),
                ("own", ctypes.c_char_p), ("own_slices", ctypes.c_int), ("own_seconds", ctypes.c_double),
                ("own_predicted", ctypes.c_double), ("candidates", ctypes.c_int), ("calls", ctypes.c_int),
                ("spent", ctypes.c_double), ("why", ctypes.c_char * 120)]


class _Report(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t),
                *((name, ctypes.c_int) for name in ("proven", "rank_order", "same_grouping", "element", "transitive", "blocks",
                                                    "steps", "messages")),
                *((name, ctypes.c_int64) for name in ("sent_blocks", "reduced", "copied")),
                ("scratch_blocks", ctypes.c_int), ("witness", ctypes.c_char * 400)]


class _Drawing(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("picture", ctypes.c_int), ("rank", ctypes.c_int), ("width", ctypes.c_int),
                ("color", ctypes.c_int), ("topo", ctypes.c_char_p)]


_HERE = -1.0  # TUTTI_CROWD_HERE: the ranks share this machine's memory

_FLAGS = {"possible", "admissible", "proven", "rank_order", "same_grouping", "element", "transitive"}


def _dict_of(struct: Any) -> dict[str, Any]:
    values = {name: getattr(struct, name) for name, *_ in struct._fields_[1:]}
    return {name: value.decode() if isinstance(value, bytes) else bool(value) if name in _FLAGS else value
            for name, value in values.items()}


def _bytes(text: Optional[str]) -> Optional[bytes]:
    return None if text is None else text.encode()


def _coll(name: str) -> int:
    plain = [known.replace("_", "") for known in COLLECTIVES]
    if name.replace("_", "") not in plain:
        raise ArgumentError(f"unknown collective {name!r}; expected {', '.join(COLLECTIVES)}")
    return plain.index(name.replace("_", ""))


def _size(text: Union[int, str]) -> int:
    if isinstance(text, int):
        return text
    found = re.fullmatch(r"([0-9.]+) *([kmgt]?)(i?b)?", text.strip(), re.IGNORECASE)
    if not found:
        raise ArgumentError(f"{text!r} is not a size such as 428, '9KB', '64k' or '1MiB'")
    return int(float(found[1]) * 1024 ** ("kmgt".index(found[2].lower()) + 1 if found[2] else 0))


def _call(what: Any, coll: str, ranks: int, dtype: Optional[str]) -> tuple[int, int]:
    """(elements of the whole vector, type) of a call."""
    _coll(coll)
    if isinstance(what, (int, str)):
        code = code_of_name(dtype or "float")
        return _size(what) // SIZES[code], code
    _, n, code, _ = vector(what, "explain", "array", dtype, False, True)
    return n * ranks if COLLECTIVES[_coll(coll)] in _PARTS else n, code & 255


def _on(comm: "Comm", what: Any, coll: str, op: Union[str, Op], dtype: Optional[str]) -> tuple[int, int, int, int]:
    """A call as the C functions describe it: collective, count argument, type, op."""
    elements, code = _call(what, coll, comm.size, dtype)
    count = elements // comm.size if COLLECTIVES[_coll(coll)] in _OWNED else elements
    return _coll(coll), count, code, number_of(op, comm, coll)


def plan_of(comm: "Comm", what: Any, coll: str, op: Union[str, Op], dtype: Optional[str]) -> str:
    """See Comm.plan."""
    name = ctypes.create_string_buffer(1024)  # TUTTI_PLAN_TEXT
    comm._check(lib.tutti_comm_plan(comm._handle, *_on(comm, what, coll, op, dtype), name, len(name)))
    return name.value.decode()


def explain_on(comm: "Comm", what: Any, coll: str, op: Union[str, Op], dtype: Optional[str], as_dict: bool) -> Any:
    """See Comm.explain."""
    text = text_of(lib.tutti_comm_explain, comm._handle, *_on(comm, what, coll, op, dtype), int(as_dict))
    return json.loads(text) if as_dict else text


def measure_on(comm: "Comm", what: Any, coll: str, op: Union[str, Op], dtype: Optional[str]) -> dict[str, Any]:
    """See Comm.measure."""
    measured = _Measured(ctypes.sizeof(_Measured))
    comm._check(lib.tutti_comm_measure(comm._handle, *_on(comm, what, coll, op, dtype), ctypes.byref(measured)))
    return _dict_of(measured)


class _Prices:
    """The predicted times of all plans for a call, available within a `with` block."""

    def __init__(self, coll: str, code: int, op: str, ranks: int, root: int, contract: str, net: Optional[str],
                 topo: Optional[str], algo: Optional[str], only: Optional[str], shm: Optional[float],
                 compression: Optional[str]) -> None:
        if contract not in _CONTRACTS:
            raise ArgumentError(f"unknown contract {contract!r}; expected {', '.join(_CONTRACTS)}")
        if shm is None:
            shm = 0.0 if net or topo else _HERE
        figures = [profile()] if shm > 0 else []
        figures += [net] if net else []
        question = _Question(ctypes.sizeof(_Question), _coll(coll), ranks, root, code, number_of(op, None, "explain"),
                             1 + _CONTRACTS.index(contract), _bytes("\n".join(figures) or None), _bytes(topo),
                             _bytes(algo), _bytes(only), shm, _bytes(compression))
        self._handle = ctypes.c_void_p()
        check(lib.tutti_prices_make(ctypes.byref(question), ctypes.byref(self._handle)))

    def __enter__(self) -> ctypes.c_void_p:
        return self._handle

    def __exit__(self, *_why: Any) -> None:
        lib.tutti_prices_free(self._handle)


def explain(what: Any, coll: str = "allreduce", *, op: OpWord = "sum", dtype: Optional[str] = None,
            ranks: Optional[int] = None, root: int = 0, contract: Contract = "same", net: Optional[str] = None,
            topo: Optional[str] = None, algo: Optional[str] = None, shm: Optional[float] = None,
            compression: Optional[str] = None, as_dict: bool = False) -> Any:
    """Explain which plan runs for a call: its predicted time, the reasons, the next best plans, and the excluded ones.

    what     the array of the call, or the size of the whole vector in bytes: 428, '64k', '1MiB'.
    dtype    the element type if `what` is a size; 'float' by default.
    ranks    None: the call on the communicator of `tutti.init()`, as it would run now; the arguments below have no effect,
             except as_dict. A number: this many ranks on this machine, as `tutti run` would start them.
    net      parameters of a network, for other machines: 'alpha=30us,beta=1e-8'.
    topo     placement of the ranks, for other machines: 'node:16 core:4'.
    algo     the plans that may run.
    shm      ranks per core that share this machine's memory.
    compression    compression of messages between hosts ('error=1e-2', 'lossless'): see Comm.configure.
    as_dict  return a dictionary instead of text, with times in seconds.

    >>> import tutti
    >>> print(tutti.explain("1MiB", ranks=4).split(":")[0])
    allreduce of 1 MiB on 4 ranks
    >>> tutti.explain("1KiB", "broadcast", ranks=9, as_dict=True)["ranks"]
    9
    """
    if ranks is None:
        from ._create import init

        return explain_on(init(), what, coll, op, dtype, as_dict)
    elements, code = _call(what, coll, ranks, dtype)
    with _Prices(coll, code, op, ranks, root, contract, net, topo, algo, None, shm, compression) as handle:
        text = text_of(lib.tutti_prices_explain, handle, elements * SIZES[code], int(as_dict))
    return json.loads(text) if as_dict else text


def prices(what: Any, coll: str = "allreduce", *, ranks: int, op: OpWord = "sum", dtype: Optional[str] = None,
           root: int = 0, contract: Contract = "same", net: Optional[str] = None, topo: Optional[str] = None,
           algo: Optional[str] = None, only: Optional[str] = None, shm: Optional[float] = None,
           compression: Optional[str] = None) -> list[dict[str, Any]]:
    """The predicted time of every plan, the fastest first; see `explain` for the arguments. Plans that cannot run come
    last, with the reason in `why`. only: one plan, or one family of plans.

    >>> import tutti
    >>> offers = tutti.prices("64k", ranks=4)
    >>> offers[0]["seconds"] <= offers[1]["seconds"] and offers[0]["possible"]
    True
    """
    elements, code = _call(what, coll, ranks, dtype)
    with _Prices(coll, code, op, ranks, root, contract, net, topo, algo, only, shm, compression) as handle:
        offers = list(_offers(handle, elements * SIZES[code]))
    return sorted(offers, key=lambda offer: (not offer["possible"], offer["seconds"], offer["plan"]))


def _offers(handle: ctypes.c_void_p, nbytes: int) -> Iterator[dict[str, Any]]:
    i = 0
    while True:
        offer = _Offer(ctypes.sizeof(_Offer))
        status = lib.tutti_prices_offer(handle, nbytes, i, 1, ctypes.byref(offer))
        if status == ArgumentError.status and i:
            return
        check(status)
        yield _dict_of(offer)
        i += 1


def plans() -> dict[str, str]:
    """The algorithms: their names, each with a one-sentence description.

    >>> import tutti
    >>> "fold(ring)" in tutti.plans()
    True
    """
    found: dict[str, str] = {}
    i = 0
    while True:
        sentence = ctypes.c_char_p()
        name = lib.tutti_algo_name(i, ctypes.byref(sentence))
        if name is None:
            return found
        found[name.decode()] = (sentence.value or b"").decode()
        i += 1


def schedule(algo: str, ranks: int, coll: str = "allreduce", *, rank: Optional[int] = None, root: int = 0,
             in_place: bool = False) -> str:
    """The schedule of a plan as text (docs/schedules.md). rank None: the schedules of all ranks.

    >>> import tutti
    >>> tutti.schedule("fold(ring)", 3).split()[0]
    'tutti-schedule'
    """
    return text_of(lib.tutti_schedule_text, algo.encode(), _coll(coll), ranks, -1 if rank is None else rank, root,
                   int(in_place))


def prove(text: str) -> dict[str, Any]:
    """Check a schedule, given as text for all ranks. In the resulting dictionary either `proven` is true, or `witness`
    describes the error.

    >>> import tutti
    >>> tutti.prove(tutti.schedule("fold(ring)", 3))["proven"]
    True
    """
    report = _Report(ctypes.sizeof(_Report))
    check(lib.tutti_schedule_check(text.encode(), ctypes.byref(report)))
    return _dict_of(report)


def draw(text: str, picture: str = "terminal", *, rank: Optional[int] = None, width: int = 0,
         color: bool = False, topo: str = "") -> str:
    """Draw a schedule, given as text for all ranks, as 'words', 'terminal' (characters), 'svg', 'html' or 'json'. An SVG shows
    the levels of `topo`, such as "node:4 core:3"; without `topo`, those in the algorithm's name.

    >>> import tutti
    >>> "<svg" in tutti.draw(tutti.schedule("doubling", 4), "svg")
    True
    """
    if picture not in _PICTURES:
        raise ArgumentError(f"unknown picture {picture!r}; expected {', '.join(_PICTURES)}")
    drawing = _Drawing(ctypes.sizeof(_Drawing), _PICTURES.index(picture), -1 if rank is None else rank, width,
                       int(color), topo.encode())
    return text_of(lib.tutti_schedule_draw, text.encode(), ctypes.byref(drawing))


def profile() -> str:
    """The parameters of this machine's cost model, as text with a comment for each (docs/prices.md)."""
    return text_of(lib.tutti_profile_text)


def info() -> dict[str, str]:
    """The features that this machine supports, and for the others the reason.

    >>> import tutti
    >>> tutti.info()["wire shm"][:3]
    'yes'
    """
    lines: dict[str, str] = {}
    i = 0
    while True:
        line = lib.tutti_info(i)
        if line is None:
            return lines
        name, _, value = line.decode().partition(": ")
        lines[name] = value
        i += 1


def doctor(pid: Optional[int] = None, *, as_dict: bool = False) -> Any:
    """Report what every rank of a running job is doing, which rank it is waiting for, and what is wrong (`tutti doctor`).
    pid: the process id of any rank, or of the launcher; None: this process."""
    text = text_of(lib.tutti_job_report, os.getpid() if pid is None else pid, int(as_dict))
    return json.loads(text) if as_dict else text


def wisdom_export() -> str:
    """All wisdom (measured choices of plans) of this process, as text (docs/wisdom.md)."""
    return text_of(lib.tutti_wisdom_export)


def wisdom_import(text: str) -> None:
    """Add the entries of `text` to this process's wisdom. They affect communicators that are made later."""
    check(lib.tutti_wisdom_import(text.encode()))


def wisdom_forget() -> None:
    """Delete all wisdom of this process."""
    check(lib.tutti_wisdom_forget())
