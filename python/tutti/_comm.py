"""Communicators: groups of ranks. Settings, splitting, shrinking and growing, shared memory, the end.

SPDX-License-Identifier: BSD-3-Clause
"""
from __future__ import annotations

import contextlib
import ctypes
import enum
import time
import weakref
from typing import Any, Final, Iterator, Optional, Union

from . import _explain
from ._buffers import vector
from ._collectives import Collectives, _address
from ._errors import ArgumentError, StateError, TuttiError
from ._kinds import Contract, OpLike
from ._lib import INTERRUPTS, failure, lib
from ._request import Persistent, Request
from ._types import form_of

class Settings(ctypes.Structure):
    """tutti_config."""
    _fields_ = [("size", ctypes.c_size_t), ("contract", ctypes.c_int), ("algorithm", ctypes.c_char_p), ("slices", ctypes.c_int),
                ("helpers", ctypes.c_int), ("timeout", ctypes.c_double), ("compression", ctypes.c_char_p),
                ("measure", ctypes.c_int), ("name", ctypes.c_char_p), ("net", ctypes.c_char_p),
                ("connect_timeout", ctypes.c_double)]


class _Kept(enum.Enum):
    """A setting that stays as it is."""
    KEPT = "kept"


KEPT: Final = _Kept.KEPT
CONTRACTS = ("same", "any", "run", "element", "exact")
LIVE: set["Comm"] = set()  # all communicators that were not freed


def another(handle: Optional[int], function: Any, *arguments: Any) -> "tuple[int, Optional[Comm]]":
    """Call a function that makes a communicator from the one with this handle. Returns its status and the communicator."""
    out = ctypes.c_void_p()
    status, made = 0, None
    try:
        status = function(handle, *arguments, ctypes.byref(out))
    finally:  # even if a signal handler raises here
        made = Comm(out.value) if out.value else None
    return status, made


class Comm(Collectives):
    """A group of ranks. `tutti.init` and the `tutti.from_...` functions make one. It lives until `free`, the end
    of its `with` block, or the end of the program. Only one thread at a time may use it.

    >>> import tutti
    >>> with tutti.init().dup() as comm:
    ...     comm.rank < comm.size
    True
    """

    def __init__(self, handle: Optional[int]) -> None:
        if not handle:
            raise StateError("Comm: a communicator is made by tutti.init(), from_mpi, dup, split and so on")
        self._handle = handle
        self.rank: int = lib.tutti_comm_rank(handle)
        self.size: int = lib.tutti_comm_size(handle)
        self._running: set[Request] = set()
        self._persistent: "weakref.WeakSet[Persistent]" = weakref.WeakSet()
        self._on_streams: list[Any] = []  # arrays of calls that streams may wait for
        self._helping: Optional[int] = None  # the number of helpers, once it was asked for
        self._grouped: Optional[list[Any]] = None  # arrays of the calls of an open group
        self._arrays = 0  # live arrays in its memory
        self._registered: dict[int, Any] = {}  # by address: what keeps registered arrays alive
        self._closing: Optional[int] = None  # the handle after `free`, until the last such array is gone
        LIVE.add(self)

    def __repr__(self) -> str:
        return f"<tutti.Comm, freed>" if self._handle is None else f"<tutti.Comm, rank {self.rank} of {self.size}>"

    def _problem(self, status: int, keep: Any = ()) -> Optional[BaseException]:
        if self._handle is None:
            return StateError("this communicator was freed before")
        return super()._problem(status, keep)

    def _check(self, status: int) -> None:
        if status or INTERRUPTS:
            raise self._problem(status) or failure(status)

    def _another(self, function: Any, *arguments: Any) -> Optional["Comm"]:
        status, made = another(self._handle, function, *arguments)
        self._check(status)
        return made

    # ---- communicators made from this one ----

    def split(self, color: Optional[int], key: int = 0) -> Optional["Comm"]:
        """Split the communicator: ranks with the same `color` (0 or more) form a new one, ordered by `key`, then by
        rank here. A rank that passes None as color must call too, and gets None. Collective."""
        if color is not None and not 0 <= color < 1 << 31:
            raise ArgumentError(f"split: color {color} is not from 0 to {(1 << 31) - 1}, nor None")
        return self._another(lib.tutti_comm_split, -1 if color is None else color, key)

    def dup(self) -> "Comm":
        """A new communicator of the same ranks with its own resources, for use by another thread. Collective."""
        return self._another(lib.tutti_comm_dup)  # type: ignore[return-value]

    def shrink(self) -> "Comm":
        """A communicator of the surviving ranks, after PeerLostError or another failure. Collective over the survivors.
        This communicator does not change; free it."""
        return self._another(lib.tutti_comm_shrink)  # type: ignore[return-value]

    def grow(self, least: int = 0) -> "Comm":
        """A communicator of the surviving ranks and of joining ranks, which `tutti run --respawn` starts. Waits for
        at least `least` of them. In a joining rank `tutti.newcomer()` is true; it calls `tutti.init()`. Collective."""
        return self._another(lib.tutti_comm_grow, least)  # type: ignore[return-value]

    @property
    def newcomers(self) -> int:
        """The number of ranks that joined when `grow` made this communicator."""
        return int(lib.tutti_comm_newcomers(self._handle))

    # ---- settings, the same on all ranks ----

    def _settings(self) -> Settings:
        settings = Settings(ctypes.sizeof(Settings))
        self._check(lib.tutti_comm_config(self._handle, ctypes.byref(settings)))
        return settings

    @property
    def config(self) -> dict[str, Any]:
        """The settings in effect, under the names of `configure`."""
        s = self._settings()
        return {"contract": CONTRACTS[s.contract - 1], "algorithm": s.algorithm.decode(), "slices": s.slices,
                "helpers": s.helpers, "timeout": s.timeout, "compression": s.compression.decode(),
                "measure": s.measure > 0, "name": s.name.decode() if s.name else None}

    def configure(self, *, contract: Union[Contract, None, _Kept] = KEPT, algorithm: Union[str, None, _Kept] = KEPT,
                  slices: Union[int, None, _Kept] = KEPT, helpers: Union[int, None, _Kept] = KEPT,
                  timeout: Union[float, None, _Kept] = KEPT, compression: Union[str, None, _Kept] = KEPT,
                  measure: Union[bool, None, _Kept] = KEPT, name: Union[str, None, _Kept] = KEPT) -> None:
        """Change settings; the others stay. All but timeout and name must be the same on all ranks. None: the default, which
        is what the environment variable says.

        contract     how reproducible results are (docs/reproducible.md): 'same' (the same bits on all ranks), 'run' (also in
                     every run), 'element' (the bits of an element depend on its inputs and the number of ranks alone),
                     'exact' (the exact sum, rounded once), or 'any' (no guarantee). TUTTI_CONTRACT
        algorithm    the plans that may run: 'fold(ring)', 'doubling:0-64k;ring:64k-', '^tree'; '': tutti chooses. TUTTI_ALGO
        slices       the number of parts that a vector is cut into, which are pipelined; 0: tutti chooses. TUTTI_SLICES
        helpers      the number of helpers: the last ranks, which contribute no data and sum for the others
        timeout      seconds that calls wait for other ranks before they raise WaitTimeoutError. TUTTI_TIMEOUT
        compression  of messages between hosts where that saves time (docs/lighter.md): 'lossless' (the results keep their
                     bits), 'error=1e-2' (float32 sums may be off by that fraction of the sum of the ranks' largest
                     magnitudes), or 'none'. TUTTI_CODE
        measure      True: measure calls before they first run (docs/wisdom.md). TUTTI_MEASURE
        name         up to 47 bytes that the log, errors, traces and `tutti doctor` show

        >>> import tutti
        >>> with tutti.init().dup() as comm:
        ...     comm.configure(contract="exact", name="loss")
        ...     comm.config["contract"]
        'exact'
        """
        settings = self._settings()
        changes: dict[str, Any] = {"contract": contract, "algorithm": algorithm, "slices": slices, "helpers": helpers,
                                   "timeout": timeout, "compression": compression, "measure": measure, "name": name}
        for key, value in changes.items():
            if value is KEPT:
                continue
            if key == "contract" and value is not None:
                if value not in CONTRACTS:
                    raise ArgumentError(f"configure: unknown contract {value!r}; expected {', '.join(CONTRACTS)}")
                value = 1 + CONTRACTS.index(value)
            elif key == "measure" and value is not None:
                value = 1 if value else -1
            elif isinstance(value, str):
                value = value.encode()
            text = key in ("algorithm", "compression", "name")
            setattr(settings, key, value if value is not None or text else 0)
        if self._on_streams:
            self.stream_wait()
        self._helping = None
        self._check(lib.tutti_comm_configure(self._handle, ctypes.byref(settings)))

    @contextlib.contextmanager
    def group(self) -> "Iterator[None]":
        """Run the calls of a `with` block as one: blocking collectives and messages on arrays return immediately, and are
        complete when the block ends. No array that one of them writes may be used by another.

        >>> import tutti, numpy
        >>> comm, a, b = tutti.init(), numpy.ones(3), numpy.ones(5)
        >>> with comm.group():
        ...     _ = comm.allreduce(a, out=a), comm.allreduce(b, out=b)
        >>> bool((b == comm.size).all())
        True
        """
        self._check(lib.tutti_group_begin(self._handle))
        self._grouped = []
        try:
            yield
        finally:
            try:
                self._check(lib.tutti_group_end(self._handle, None))
            finally:
                self._grouped = None

    def async_error(self) -> None:
        """Raise the error of a communicator that has failed, or PeerLostError if a rank is gone. Does not wait for other ranks."""
        self._check(lib.tutti_comm_async_error(self._handle))

    # ---- plans ----

    def plan(self, what: Any, coll: str = "allreduce", *, op: OpLike = "sum", dtype: Optional[str] = None) -> str:
        """The name of the plan that runs for such a call. `what`: see `tutti.explain`.

        >>> import tutti, numpy
        >>> isinstance(tutti.init().plan(numpy.zeros(3)), str)
        True
        """
        return _explain.plan_of(self, what, coll, op, dtype)

    def explain(self, what: Any, coll: str = "allreduce", *, op: OpLike = "sum", dtype: Optional[str] = None,
                as_dict: bool = False) -> Any:
        """Explain why that plan runs, in words or as a dictionary: see `tutti.explain`."""
        return _explain.explain_on(self, what, coll, op, dtype, as_dict)

    def measure(self, what: Any, coll: str = "allreduce", *, op: OpLike = "sum",
                dtype: Optional[str] = None) -> dict[str, Any]:
        """Time the plans that may be the fastest for such a call, and make later calls use the fastest. Collective; takes
        much longer than the call itself (docs/wisdom.md). Returns the measurements, with times in seconds."""
        return _explain.measure_on(self, what, coll, op, dtype)

    def apart(self, a: int, b: int) -> int:
        """The distance between two ranks: 0 if they share memory, otherwise the number of levels that separate them."""
        return int(lib.tutti_comm_apart(self._handle, a, b, None))

    @contextlib.contextmanager
    def mark(self, name: str) -> Iterator[None]:
        """Record the block under this name in the trace (TUTTI_TRACE, docs/trace.md).

        >>> import tutti
        >>> with tutti.init().mark("forward"):
        ...     pass
        """
        begin = time.clock_gettime(time.CLOCK_MONOTONIC)
        try:
            yield
        finally:
            if self._handle is not None:
                lib.tutti_trace_mark(self._handle, name.encode(), begin, time.clock_gettime(time.CLOCK_MONOTONIC))

    # ---- streams ----

    def stream_wait(self) -> None:
        """Wait until all calls with `stream=` on this communicator are complete. Raises the error of one that failed.

        >>> import tutti
        >>> tutti.init().stream_wait()
        """
        self._check(lib.tutti_stream_wait(self._handle))
        self._on_streams.clear()

    # ---- memory ----

    def alloc(self, nbytes: int) -> memoryview:
        """Allocate zeroed memory that every rank on this machine can read directly, which saves a copy of data in it.
        It is freed with its last reference; the communicator's resources are kept until then."""
        if nbytes < 0:
            raise ArgumentError(f"alloc: {nbytes} bytes")
        at = ctypes.c_void_p()
        self._check(lib.tutti_mem_alloc(self._handle, nbytes, ctypes.byref(at)))
        if not at.value:
            return memoryview(bytearray())
        memory = (ctypes.c_char * nbytes).from_address(at.value)
        self._arrays += 1
        weakref.finalize(memory, self._give_back, at.value).atexit = False
        return memoryview(memory).cast("B")

    def empty(self, shape: Any, dtype: Any = "float64") -> Any:
        """A numpy array of zeros in memory of `alloc`.

        >>> import tutti
        >>> comm = tutti.init()
        >>> x = comm.empty((2, 3), "float32")
        >>> comm.allreduce(x, out=x).shape
        (2, 3)
        """
        import numpy

        kind, axes, n, _ = form_of(shape, dtype)
        return numpy.frombuffer(self.alloc(n * kind.itemsize), kind).reshape(axes)

    def register(self, array: Any) -> None:
        """Let every rank on this machine map an array of yours, which saves a copy of data in it. Its bytes stay. No other thread
        may write to it, or next to it, during the call. The communicator keeps it alive until `deregister` or `free`.

        >>> import tutti, numpy
        >>> comm, x = tutti.init(), numpy.zeros(1 << 16)
        >>> comm.register(x)
        >>> comm.allreduce(x, out=x).size
        65536
        >>> comm.deregister(x)
        """
        at, n, code, keep = vector(array, "register", "array", None, True, True)
        where = _address(at)
        self._check(lib.tutti_comm_register(self._handle, at, n * lib.tutti_type_size(code & 255)))
        if where is not None:
            self._registered[where] = keep

    def deregister(self, array: Any) -> None:
        """End the effect of `register`."""
        at = vector(array, "deregister", "array", None, True, True)[0]
        self._check(lib.tutti_comm_deregister(self._handle, at))
        self._registered.pop(_address(at) or 0, None)

    def _give_back(self, at: int) -> None:
        handle = self._handle if self._closing is None else self._closing
        if handle is not None:
            lib.tutti_mem_free(handle, at)
        self._arrays -= 1
        if self._closing is not None and not self._arrays:
            lib.tutti_comm_free(self._closing)
            self._closing = None

    # ---- the end ----

    def abort(self, reason: str = "") -> None:
        """Make every pending and later call on this communicator, on all ranks, raise AbortedError with `reason`
        (cut at 100 bytes). Any thread may call it at any time."""
        self._check(lib.tutti_comm_abort(self._handle, short(reason) if reason else None))

    def _give_up(self, reason: str) -> None:
        """Like `abort`, but ignores errors, and does nothing if the communicator was freed."""
        if self._handle is not None:
            lib.tutti_comm_abort(self._handle, short(reason))

    def free(self) -> None:
        """Free the communicator and its persistent requests; further calls do nothing. Raises StateError while
        requests are running."""
        if self._handle is None:
            return
        for request in list(self._persistent):
            if not request.running:
                request.free()
        for at in [] if self._running else list(self._registered):
            lib.tutti_comm_deregister(self._handle, at)
            del self._registered[at]
        if self._arrays and not self._running:
            self._closing = self._handle  # closed when the last array is freed
        else:
            self._check(lib.tutti_comm_free(self._handle))
        self._handle = None
        LIVE.discard(self)

    def _drain(self) -> bool:
        """Wait for requests in flight, then free. Ignores errors. Returns False if another thread is inside a call."""
        if self._handle is None:
            return True
        for request in list(self._running):
            with contextlib.suppress(TuttiError):
                request.wait()
        with contextlib.suppress(TuttiError):
            self.free()
        return self._handle is None

    def __enter__(self) -> "Comm":
        return self

    def __exit__(self, kind: Any, why: Any, _trace: Any) -> None:
        if kind is None:
            self.free()
            return
        if kind is not SystemExit or why.code:
            self._give_up(raised(why))
        self._drain()


def raised(why: BaseException) -> str:
    """A one-line description of an exception, which the other ranks get."""
    text = str(why).strip().split("\n")[0]
    return f"it raised {type(why).__name__}" + (f": {text}" if text else "")


def short(reason: str) -> bytes:
    """The reason cut to 100 bytes, the limit in C, without splitting a character."""
    text = reason.replace("\0", " ").encode()
    return text if len(text) <= 100 else text[:97].decode(errors="ignore").encode() + b"..."
