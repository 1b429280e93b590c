"""PyTorch's distributed backend "tutti". To train a DistributedDataParallel script on it, import this module and change the
name of the backend:

    import torch.distributed as dist
    import tutti.torch                      # makes the backend "tutti" known
    dist.init_process_group("tutti")

Start the ranks with `tutti run -n 4 python3 train.py`, with mpirun, or with torchrun. Tensors may be on the CPU, and on a GPU
if the library finds NVIDIA's driver. Ranks on one host use shared memory, ranks on different hosts UCX. See docs/torch.md.
SPDX-License-Identifier: BSD-3-Clause
"""
from __future__ import annotations

import atexit
import ctypes
import importlib.util
import os
import platform
import re
import warnings
from pathlib import Path
from typing import Any

import torch as _torch
import torch.distributed as _dist

from tutti import _card
from tutti._comm import raised as _raised, short as _short
from tutti._exit import fatal as _fatal
from tutti._lib import ADVICE as _ADVICE, folder as _folder

from . import _heap, _launch

if _folder and (_folder / "c10d").is_dir():  # not installed, but in the source tree
    __path__.append(str(_folder / "c10d"))


_NAMED = re.compile(r"_c10d_(\w+)\.cpython-(\d)(\d+)")


def _reason(error: ImportError) -> str:
    """Why the backend in Python is used: the reason noted when the package was installed, or the text of the error."""
    said = Path(__file__).with_name("left_out.txt")
    return said.read_text().strip() if said.exists() and os.environ.get("TUTTI_TORCH") != "python" else str(error)


def _compiled() -> Any:
    """The compiled backend for this version of PyTorch and of Python. tools/torch_flags.py chooses its name."""
    version, python = str(_torch.__version__), ".".join(platform.python_version_tuple()[:2])
    if ".dev" not in version:
        version = ".".join(version.split(".")[:2])
    name = __name__ + "._c10d_" + re.sub(r"\W", "_", version)
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        built = sorted(f"PyTorch {m[1].replace('_', '.')} and Python {m[2]}.{m[3]}"
                       for folder in __path__ for m in map(_NAMED.match, os.listdir(folder)) if m)
        raise ImportError(f"it was not built for PyTorch {version} and Python {python}" + (f", but for {', '.join(built)}" if built else ""))
    # Debian's PyTorch and a wheel of the same version have libraries of different names. Both in one process end it.
    needed = re.search(rb"\0(libtorch_cpu\.so[.\d]*)\0", Path(spec.origin).read_bytes())
    try:
        ctypes.CDLL(needed[1].decode() if needed else None, os.RTLD_NOLOAD | os.RTLD_LAZY)
    except OSError:
        raise ImportError(f"{spec.origin} needs {needed[1].decode() if needed else ''}, and this PyTorch has another one") from None
    return importlib.import_module(name)


try:
    if os.environ.get("TUTTI_TORCH") == "python":
        raise ImportError("TUTTI_TORCH=python")
    _c10d = _compiled()
except ImportError as _why:
    from . import _plain as _c10d  # the backend in Python, with the same functions
    COMPILED = False
    WHY_PLAIN = _reason(_why)
else:
    COMPILED = True
    WHY_PLAIN = ""

from ._stubs import default_group as _default_group, register_backend as _register_backend
from ._elastic import grow, newcomer, note_limit as _note_limit, shrink
from ._flight import asked as _asked, flight_record
from .hooks import average_hook

__all__ = ["COMPILED", "WHY_PLAIN", "average_hook", "explain", "flight_record", "grow", "newcomer", "shrink"]


def register() -> None:
    """The entry point that PyTorch calls for init_process_group("tutti"). The import of this module registers the backend."""


def explain(bytes: int, group: Any = None) -> str:
    """Explain which plan an all_reduce of this many bytes of float runs in a process group, and why. group None: the default
    group."""
    return str(_c10d.explain(_default_group() if group is None else group, bytes))


def _create(store: Any, rank: int, size: int, timeout: Any) -> Any:
    """Make a process group; init_process_group and new_group call this. Rank 0 warns if the slower backend in Python is used,
    unless the user selected it."""
    if not COMPILED and not rank and os.environ.get("TUTTI_TORCH") != "python":
        warnings.warn(f"tutti's PyTorch backend runs in Python ({WHY_PLAIN}). It gives the same results and takes longer "
                      "for each call, because every call passes through the interpreter. `make torch`, or pip with the source "
                      "package, builds the compiled backend (docs/torch.md); TUTTI_TORCH=python silences this.", RuntimeWarning)
    _note_limit(timeout)
    comm = _launch.take(rank, size)
    if comm is None:
        return _c10d.create(store, rank, size, timeout)
    comm.configure(timeout=timeout.total_seconds())
    return _c10d.adopt(comm._handle, store, timeout)


def _at_exit() -> None:
    """If an exception ended the program, abort all groups with its text. Then wait for operations in flight."""
    why = _fatal()
    if why is not None:
        _c10d.abort(_short(_raised(why)).decode())
    _c10d.drain(10)


if not hasattr(_dist.Backend, "TUTTI"):
    _DEVICES = ["cpu", "cuda"] if _card.present() and getattr(_torch.version, "cuda") else ["cpu"]
    _register_backend("tutti", _create, _DEVICES)
    if COMPILED:
        _heap.use(_c10d.place)
        _c10d.ask(_asked())
    _launch.prepare()
    _ADVICE[0] = "tutti.torch.shrink()"
    atexit.register(_at_exit)
