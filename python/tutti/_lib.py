"""The shared library: where it is found, and the signatures of its functions.

Search order: the file that TUTTI_LIBRARY names, or the one in the folder that it names; the folder of this package; the build
folder of the source tree that contains the package; the lib folder of the prefix under which the package is installed; the
system's library path. `CDLL` releases the GIL during every call.
SPDX-License-Identifier: BSD-3-Clause
"""
from __future__ import annotations

import ctypes
import os
import threading
from ctypes import c_char_p, c_double, c_int, c_long, c_size_t, c_uint64, c_void_p
from pathlib import Path
from typing import Any, Iterator, Optional

from ._errors import TuttiError, error_of

VERSION = "0.2.0"
_SONAME = "libtutti.so." + VERSION.split(".")[0]
_HERE = Path(__file__).resolve().parent

# One letter per argument; after a colon, the letter of the result. Without a colon the result is a status (int).
_LETTERS = {"p": c_void_p, "n": c_size_t, "i": c_int, "s": c_char_p, "d": c_double,
            "u": c_uint64, "l": c_long, "-": None}
_FUNCTIONS = {
    "error": ":s", "version": "ppp:s", "log_set": "pp:-", "setting": "s:s", "info": "i:s", "finalize": "",
    "type_size": "i:n", "type_name": "i:s", "type_has_op": "ii", "op_name": "i:s",
    "op_create": "ppip", "op_create_scaled": "dp", "op_free": "i", "reduce_local": "pppnii",
    "comm_from_env": "p", "comm_from_threads": "ip", "comm_split": "piip", "comm_dup": "pp",
    "comm_free": "p", "comm_rank": "p", "comm_size": "p", "comm_abort": "ps",
    "comm_configure": "pp", "comm_config": "pp", "comm_async_error": "p", "group_begin": "p", "group_end": "pp",
    "wait_all": "np", "wait_any": "npp",
    "comm_measure": "piniip", "comm_shrink": "pp", "comm_grow": "pip", "comm_newcomers": "p",
    "newcomer": "", "comm_apart": "piip", "mem_alloc": "pnp", "mem_free": "pp", "comm_register": "ppn", "comm_deregister": "pp",
    "request_start": "p", "request_wait": "p", "request_test": "pp", "request_free": "p",
    "unique_id": "p", "comm_create": "ppiip", "comm_create_store": "ppiip",
    "comm_create_gather": "pppiip", "coll_name": "i:s", "algo_name": "ip:s", "algo_source": "i:s",
    "comm_plan": "piniipn", "comm_price": "piniip", "schedule_text": "siiiiip", "text_free": "p:-",
    "schedule_check": "sp", "schedule_draw": "spp", "prices_make": "pp", "prices_free": "p:-",
    "comm_prices": "piiiip", "prices_offer": "puiip", "prices_chosen": "pup",
    "prices_explain": "puip", "comm_explain": "piniiip", "profile_text": "p",
    "device_here": ":s", "stream_wait": "p", "call_start": "ppp", "call_init": "ppp", "call_on_stream": "pp",
    "wisdom_export": "p", "wisdom_import": "s", "wisdom_forget": "", "job_report": "lip",
    "trace_mark": "psdd:-", "interrupt_set": "pp:-", "python_guard": "pp:p", "buckets_create": "pnppp", "bucket_data": "pn:p", "bucket_ready": "pn",
    "bucket_wait": "pn", "bucket_test": "pnp", "buckets_wait": "p", "buckets_free": "p", "buckets_count": "p:n",
}


def _places() -> Iterator[Path]:
    yield _HERE / _SONAME
    yield _HERE.parents[1] / "build" / _SONAME  # the source tree, if this file is in its python/tutti
    if len(_HERE.parents) > 2:
        yield _HERE.parents[2] / _SONAME  # PREFIX/lib, if this is PREFIX/lib/python3.x/site-packages/tutti


def _load() -> tuple[ctypes.CDLL, Optional[Path]]:
    named = os.environ.get("TUTTI_LIBRARY")
    if named and Path(named).is_dir():
        named = str(Path(named) / _SONAME)
    places = [Path(named)] if named else [p for p in _places() if p.exists()]
    if not places:
        try:
            return ctypes.CDLL(_SONAME), None
        except OSError:
            looked = ", ".join(str(p) for p in _places())
            raise ImportError(
                f"tutti: there is no {_SONAME}, neither where the system looks nor at {looked}; "
                "`make` builds it, `make install` installs it, TUTTI_LIBRARY names it"
            ) from None
    try:
        return ctypes.CDLL(str(places[0])), places[0].resolve().parent
    except OSError as why:
        hint = " (TUTTI_LIBRARY)" if named else ""
        raise ImportError(f"tutti: the library cannot be loaded{hint}: {why}") from None


def declare(name: str, letters: str) -> None:
    arguments, _, result = letters.partition(":")
    try:
        function = getattr(lib, "tutti_" + name)
    except AttributeError:
        raise ImportError(f"tutti: {_where()} has no tutti_{name}: it is older than this package "
                          f"({VERSION}); TUTTI_LIBRARY names another one") from None
    function.argtypes = [_LETTERS[a] for a in arguments]
    function.restype = _LETTERS[result] if result else c_int


def _where() -> str:
    return str(folder / _SONAME) if folder else _SONAME


def _check_version() -> None:
    declare("version", "ppp:s")
    theirs = lib.tutti_version(None, None, None).decode()
    if theirs.split(".")[:2] != VERSION.split(".")[:2]:
        raise ImportError(f"tutti: {_where()} is version {theirs}, and this package is {VERSION}; "
                          "install both from one source, or name the library with TUTTI_LIBRARY")


lib, folder = _load()  # folder: where the library is; None: on the system's library path
_check_version()
for _name, _args in _FUNCTIONS.items():
    declare(_name, _args)


# Exceptions that signal handlers raised while the main thread was waiting in C. The interrupted call ends and raises them.
INTERRUPTS: list[BaseException] = []


def on_main_thread() -> bool:
    """Is this the thread on which signal handlers run?"""
    return threading.current_thread() is threading.main_thread()


def raise_kept() -> None:
    """Raise the exception of a signal handler, if there is one."""
    if INTERRUPTS and on_main_thread():
        raise INTERRUPTS.pop()


ADVICE = ["Comm.shrink"]  # replaces tutti_comm_shrink in the advice of error messages; tutti.torch puts its own function here


def failure(status: int) -> BaseException:
    """The exception for a status, with the message of this thread's last error; or the exception of a signal handler."""
    if INTERRUPTS and on_main_thread():
        return INTERRUPTS.pop()
    sentence = lib.tutti_error().decode(errors="replace")
    return error_of(status, sentence.replace("tutti_comm_shrink gives", f"{ADVICE[0]} gives"))


def check(status: int) -> None:
    """Raise the exception for a status, if it is an error, or that of a signal handler."""
    raise_kept()
    if status:
        raise failure(status)


def text_of(function: Any, *arguments: Any) -> str:
    """The text that a function returns through its last argument, a `char **`."""
    text = c_void_p()
    check(function(*arguments, ctypes.byref(text)))
    try:
        return ctypes.string_at(text.value or 0).decode(errors="replace") if text.value else ""
    finally:
        lib.tutti_text_free(text)
