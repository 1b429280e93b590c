"""Functions that make communicators: from a launcher's environment, from an mpi4py communicator, for
threads, by a rendezvous, and by the program's own key-value store or gather.

SPDX-License-Identifier: BSD-3-Clause
"""
from __future__ import annotations

import ctypes
import sys
from typing import Any, Callable, Optional

from . import _lib
from ._comm import Comm, Settings
from ._errors import ArgumentError, StateError, UnsupportedError
from ._lib import check, lib
from ._signals import callback, watch

_ID_BYTES = 512


def _config(net: Optional[str], timeout: float) -> Any:
    config = Settings(ctypes.sizeof(Settings), net=net.encode() if net else None, connect_timeout=timeout)
    return ctypes.byref(config)


def _made(function: Any, *arguments: Any) -> Comm:
    watch()
    out = ctypes.c_void_p()
    status, made = 0, None
    try:
        status = function(ctypes.byref(out), *arguments)
    finally:  # even if a signal handler raises here
        made = Comm(out.value) if out.value else None
    check(status)
    return made  # type: ignore[return-value]


def from_env() -> Comm:
    """A communicator of all ranks that `tutti run`, torchrun, srun or an mpirun with PMIx started; of one rank
    if no launcher did. Collective. Each call makes a new communicator.

    >>> import tutti
    >>> tutti.from_env().size == tutti.size()
    True
    """
    return _made(lib.tutti_comm_from_env)


def from_threads(n: int) -> list[Comm]:
    """`n` communicators for `n` threads of this process; the r-th one is for rank r.

    >>> import tutti, threading, numpy
    >>> def work(comm):
    ...     sums[comm.rank] = int(comm.allreduce(numpy.array([comm.rank]))[0])
    >>> sums = [0, 0, 0]
    >>> threads = [threading.Thread(target=work, args=(c,)) for c in tutti.from_threads(3)]
    >>> for t in threads: t.start()
    >>> for t in threads: t.join()
    >>> sums
    [3, 3, 3]
    """
    if not 1 <= n <= 4096:
        raise ArgumentError(f"from_threads: {n} is not from 1 to 4096")
    handles = (ctypes.c_void_p * n)()
    check(lib.tutti_comm_from_threads(n, handles))
    return [Comm(handle) for handle in handles]


# ---- from an MPI communicator ----

_FAMILIES = {"Open MPI": ("ompi", "Open MPI"), "MPICH": ("mpich", "MPICH"), "Intel MPI": ("mpich", "MPICH"),
             "MVAPICH": ("mpich", "MPICH"), "MVAPICH2": ("mpich", "MPICH"), "Cray MPICH": ("mpich", "MPICH")}
_glue: dict[str, Any] = {}  # tutti_comm_from_mpi_of of the libraries for each MPI, by tag


def is_mpi(comm: Any) -> bool:
    """Is it a communicator of mpi4py?"""
    mpi = sys.modules.get("mpi4py.MPI")
    return mpi is not None and isinstance(comm, mpi.Comm)


def _library_for(tag: str, family: str) -> Any:
    if tag not in _glue:
        name = f"libtutti_mpi_{tag}.so.{_lib.VERSION.split('.')[0]}"
        beside = _lib.folder / name if _lib.folder else None
        try:
            library = ctypes.CDLL(str(beside) if beside and beside.exists() else name)
        except OSError as why:
            raise UnsupportedError(f"from_mpi: mpi4py uses {family}, and tutti's library for it cannot be loaded "
                              f"({why}); `make mpi` builds it where {family} is") from None
        function = library.tutti_comm_from_mpi_of
        function.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
        function.restype = ctypes.c_int
        _glue[tag] = function
    return _glue[tag]


def from_mpi(comm: Any) -> Comm:
    """A communicator of the same ranks, in the same order, as a communicator of mpi4py. Collective over these ranks.
    See docs/mpi.md for the threads that may use it and the network between the nodes."""
    if not is_mpi(comm):
        raise ArgumentError(f"from_mpi takes a communicator of mpi4py, not a {type(comm).__name__}")
    mpi = sys.modules["mpi4py.MPI"]
    vendor = mpi.get_vendor()[0]
    if vendor not in _FAMILIES:
        raise UnsupportedError(f"from_mpi: mpi4py uses {vendor}; tutti knows {', '.join(_FAMILIES)}")
    tag, family = _FAMILIES[vendor]
    function = _library_for(tag, family)
    out = ctypes.c_void_p()
    check(function(family.encode(), mpi._addressof(comm), mpi._sizeof(comm), ctypes.byref(out)))
    return Comm(out.value)


# ---- from processes that another launcher started ----


def unique_id() -> str:
    """Open a rendezvous in this process. Returns its id, one line of text: pass it to `create` on all ranks.

    >>> import tutti
    >>> tutti.create(tutti.unique_id(), 1, 0).size
    1
    """
    text = ctypes.create_string_buffer(_ID_BYTES)
    check(lib.tutti_unique_id(text))
    return text.value.decode()


def create(unique_id: str, ranks: int, rank: int, *, net: Optional[str] = None, timeout: float = 0) -> Comm:
    """A communicator of `ranks` ranks. Each of them calls this with the same id and its own rank.

    net      network between hosts: 'ucx', or the path of a library; None: TUTTI_NET, or ucx if that is unset.
    timeout  seconds to wait for missing ranks; 0: TUTTI_CONNECT_TIMEOUT, or 120 if that is unset.
    """
    if len(unique_id.encode()) >= _ID_BYTES:
        raise ArgumentError("create: this id is too long; pass the one that unique_id() returned")
    text = ctypes.create_string_buffer(unique_id.encode(), _ID_BYTES)
    return _made(lib.tutti_comm_create, text, ranks, rank, _config(net, timeout))


class _Store(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("ctx", ctypes.c_void_p), ("put", ctypes.c_void_p), ("get", ctypes.c_void_p)]


_PUT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t)
_GET = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t,
                        ctypes.POINTER(ctypes.c_size_t), ctypes.c_double)
_GATHER = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)


def _guarded(trouble: list[BaseException], work: Callable[[], None]) -> int:
    """Run `work` in a callback from C. Returns 0, or stores the exception and returns 1."""
    try:
        work()
        return 0
    except BaseException as why:  # pylint: disable=broad-except
        trouble.append(why)
        return 1


def _with_trouble(trouble: list[BaseException], function: Any, *arguments: Any) -> Comm:
    try:
        return _made(function, *arguments)
    except Exception as why:
        if trouble and not isinstance(trouble[0], Exception):
            raise trouble[0]  # for example KeyboardInterrupt
        if trouble:
            raise why from trouble[0]
        raise


def from_store(put: Callable[[str, bytes], None], get: Callable[[str, float], bytes], ranks: int, rank: int, *,
               net: Optional[str] = None, timeout: float = 0) -> Comm:
    """Like `create`, through a key-value store that all ranks share. One store may serve several communicators.

    put  `put(key, value)` stores bytes under a key, and replaces an earlier value.
    get  `get(key, seconds)` returns the bytes of a key, and waits up to `seconds` for it.

    >>> import tutti
    >>> kept = {}
    >>> tutti.from_store(kept.__setitem__, lambda key, seconds: kept[key], 1, 0).size
    1
    """
    trouble: list[BaseException] = []

    def put_it(_ctx: Any, key: bytes, at: int, n: int) -> int:
        return _guarded(trouble, lambda: put(key.decode(), ctypes.string_at(at, n)))

    def get_it(_ctx: Any, key: bytes, at: int, size: int, n: Any, seconds: float) -> int:
        def work() -> None:
            value = bytes(get(key.decode(), seconds))
            n[0] = len(value)
            ctypes.memmove(at, value, min(len(value), size))

        return _guarded(trouble, work)

    functions = callback(_PUT, put_it), callback(_GET, get_it)
    store = _Store(ctypes.sizeof(_Store), None, *(ctypes.cast(f, ctypes.c_void_p).value for f in functions))
    return _with_trouble(trouble, lib.tutti_comm_create_store, ctypes.byref(store), ranks, rank, _config(net, timeout))


def from_gather(gather: Callable[[bytes], bytes], ranks: int, rank: int, *, net: Optional[str] = None,
                timeout: float = 0) -> Comm:
    """Like `create`, through an allgather of the program: `gather(mine)` returns the bytes of all ranks, joined in rank order.
    All ranks pass the same number of bytes.

    >>> import tutti
    >>> tutti.from_gather(lambda mine: mine, 1, 0).size
    1
    """
    trouble: list[BaseException] = []

    def gather_it(_ctx: Any, mine: int, n: int, everybody: int) -> int:
        def work() -> None:
            joined = bytes(gather(ctypes.string_at(mine, n)))
            if len(joined) != n * ranks:
                raise ValueError(f"the gather gave {len(joined)} bytes; {ranks} ranks have {n} each")
            ctypes.memmove(everybody, joined, len(joined))

        return _guarded(trouble, work)

    return _with_trouble(trouble, lib.tutti_comm_create_gather, callback(_GATHER, gather_it), None, ranks, rank,
                         _config(net, timeout))


# ---- the default communicator ----

_world: Optional[Comm] = None


def init(comm: Any = None) -> Comm:
    """The default communicator, used by `tutti.allreduce` and the other functions of this module.

    comm  None: return the default communicator, which the first call makes of all ranks that were started together
          (`from_env`). A communicator of mpi4py, or a Comm: make this the default. The previous one is not freed.

    >>> import tutti
    >>> tutti.init() is tutti.init()
    True
    """
    global _world
    if comm is None:
        if _world is None or _world._handle is None:
            _world = from_env()
    elif isinstance(comm, Comm):
        if comm._handle is None:
            raise StateError("init: this communicator was freed before")
        _world = comm
    else:
        _world = from_mpi(comm)
    return _world


def newcomer() -> bool:
    """Is this process a joining rank, which `tutti run --respawn` started to replace a failed one? In a joining rank
    `init` waits until the other ranks call `Comm.grow`.

    >>> import tutti
    >>> tutti.newcomer()
    False
    """
    return bool(lib.tutti_newcomer())
