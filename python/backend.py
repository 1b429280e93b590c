"""backend.py - the build backend that pip calls to package this tree (PEP 517, PEP 660). It uses the standard library only, so
`pip install .` needs neither a network nor other packages.

A wheel contains the Python package, the library, the drop-ins for MPI programs, the libraries for networks that are built, the
command `tutti`, and PyTorch's backend. If that cannot be built for this Python, the wheel has a text with the reason instead. `make` builds the
library; without a compiler, the library must exist. `make wheel` writes another wheel, for any Linux (tools/portable_wheel.py).
SPDX-License-Identifier: BSD-3-Clause
"""
from __future__ import annotations

import base64
import functools
import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path
from typing import Any, Iterator, Optional, Sequence

import sources

HERE = Path(__file__).resolve().parents[1]
BUILD = HERE / "build"
VERSION = next(line.split('"')[1] for line in (HERE / "python/tutti/_lib.py").read_text().splitlines()
               if line.startswith("VERSION = "))
MAJOR = VERSION.split(".", maxsplit=1)[0]
INFO = f"tutti-{VERSION}.dist-info"
DEBIANS = "/usr/include/torch/csrc/api/include/torch/version.h"
LIBRARIES = ("tutti", "tutti_ucx", "tutti_tcp", "tutti_pmix", "tutti_tls", "tutti_cuda", "late/tutti_mpi_ompi", "late/tutti_mpi_mpich")
DROPINS = ("tutti_pmpi_ompi", "tutti_pmpi_mpich", "tutti_pmpi_abi")
RELEASE = dict(line.split("=", 1) for line in (HERE / "release.conf").read_text().splitlines() if line[:1].isupper())
# Left out while release.conf has the placeholder address.
ADDRESSES = "" if "example.org" in RELEASE["HOMEPAGE"] else (
    f"Project-URL: Homepage, {RELEASE['HOMEPAGE']}\nMaintainer-email: {RELEASE['CONTACT']}\n")
METADATA = f"""Metadata-Version: 2.1
Name: tutti
Version: {VERSION}
Summary: allreduce and its family for the processes of a job
License: BSD-3-Clause
Requires-Python: >=3.9
Provides-Extra: numpy
Requires-Dist: numpy; extra == "numpy"
{ADDRESSES}Description-Content-Type: text/markdown

""" + (HERE / "docs/python.md").read_text()
# The script `tutti`, which finds the package without importing it; pip replaces the first line with the path of its Python.
COMMAND = '''#!python
import importlib.util
import os
import runpy

_spec = importlib.util.find_spec("tutti")
runpy.run_path(os.path.join(_spec.submodule_search_locations[0], "__main__.py"), run_name="__main__")
'''


def _here() -> str:
    """The platform tag of this machine."""
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")


# ---- the contents of a wheel ----


def _environment() -> dict[str, str]:
    """The environment for a build. pip sets PYTHONPATH to hide installed packages and to add those that the build requires."""
    dropped = ("MFLAGS",) if _required_torch() else ("MFLAGS", "PYTHONPATH")
    return {k: v for k, v in os.environ.items() if not k.startswith("MAKE") and k not in dropped}


@functools.lru_cache
def _required_torch() -> str:
    """The PyTorch that pip is to install for the build, because it builds all packages of a command before it installs any: the
    one that its command names, or any for TORCH=yes. Empty: none, also if this Python has one."""
    try:
        command = Path(f"/proc/{os.getppid()}/cmdline").read_text().split("\0")
    except OSError:
        command = []
    named = [word for word in command if re.fullmatch(r"torch\s*([=<>!~].*)?", word)]
    if os.environ.get("TORCH") == "no" or not (named or os.environ.get("TORCH") == "yes"):
        return ""
    look = "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is not None)"
    without = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    return "" if subprocess.run([sys.executable, "-c", look], env=without, check=False).returncode else [*named, "torch"][0]


def _run_make(*goals: str) -> int:
    return subprocess.run(["make", "-s", f"-j{os.cpu_count()}", *goals], cwd=HERE, env=_environment(), check=False).returncode


def _make() -> None:
    library = BUILD / f"libtutti.so.{MAJOR}"
    if shutil.which("make") and (shutil.which("gcc") or shutil.which("cc")):
        if _run_make("dropin", "with-tls"):
            raise SystemExit("tutti: make could not build the library; see above")
    elif not library.exists():
        raise SystemExit(f"tutti: there is no {library}, and neither make nor gcc to build it")


# ---- PyTorch's backend in C++, for the PyTorch of this Python: from a wheel, or Debian's ----


def _wheel_of_torch(what: str) -> str:
    """The answer of tools/torch_flags.py for PyTorch's wheel; empty if this Python has none."""
    done = subprocess.run([sys.executable, "tools/torch_flags.py", what], cwd=HERE, env=_environment(), check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return "" if done.returncode else done.stdout.strip()


def _torch_obstacle() -> str:
    """The reason why the backend cannot be built; empty if it can."""
    if os.environ.get("TORCH") == "no":
        return "TORCH=no"
    if not (shutil.which("make") and (shutil.which("g++") or shutil.which("c++"))):
        return "make or a C++ compiler is missing (Debian's make, g++)"
    if not (Path(sysconfig.get_path("include")) / "Python.h").exists():
        return "Python's headers are missing (Debian's python3-dev)"
    if _wheel_of_torch("name"):
        return ""
    if sys.base_prefix != "/usr":
        return (f"{sys.executable} had no PyTorch; install PyTorch, then tutti again (pip install --force-reinstall --no-deps "
                "--no-cache-dir)")
    if not Path(DEBIANS).exists():
        return "neither a PyTorch wheel nor Debian's headers in /usr/include/torch (libtorch-dev) were found"
    return "" if Path("/usr/include/pybind11").exists() else "pybind11's headers are missing (Debian's pybind11-dev)"


def _make_torch() -> str:
    """Build the backend. Returns the reason if it is left out."""
    if _torch_backend().exists():
        return ""
    why = _torch_obstacle()
    if not why:
        goal = [f"TORCH_PYTHON={sys.executable}"] if _wheel_of_torch("name") else []
        why = "it did not compile; `make torch` shows why" if _run_make(*goal, "with-torch") else ""
    if why:
        why = f"the compiled backend was left out when tutti was installed: {why}"
        print("tutti: PyTorch: " + why, file=sys.stderr)
    return why


def _torch_backend() -> Path:
    name = _wheel_of_torch("name")
    if not name:
        text = Path(DEBIANS).read_text() if Path(DEBIANS).exists() else ""
        name = "_".join(["_c10d", *re.findall(r"define TORCH_VERSION_M\w+ (\d+)", text)]) + sysconfig.get_config_var("EXT_SUFFIX")
    return BUILD / "c10d" / name


def _package() -> Iterator[tuple[str, Path]]:
    for file in sorted((HERE / "python/tutti").rglob("*")):
        if file.suffix == ".py" or file.name == "py.typed":
            yield str(file.relative_to(HERE / "python")), file


def _built(build: Path, libraries: Sequence[str]) -> Iterator[tuple[str, Path]]:
    names = [build / Path(name).parent / f"lib{Path(name).name}.so.{MAJOR}" for name in libraries]
    for file in [*names, *(build / f"lib{name}.so" for name in DROPINS)]:
        if file.exists():
            yield f"tutti/{file.name}", file
    yield "tutti/bin/tutti", build / "tutti"


class _Wheel:
    """A wheel that is being written."""

    def __init__(self, folder: str, machine: str, python: str = "py3-none") -> None:
        self._tag = f"{python}-{machine}"
        self.name = f"tutti-{VERSION}-{self._tag}.whl"
        self._zip = zipfile.ZipFile(Path(folder) / self.name, "w", zipfile.ZIP_DEFLATED)
        self._record = ""

    def add(self, name: str, data: bytes, executable: bool = False) -> None:
        self._put(name, data, executable)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self._record += f"{name},sha256={digest},{len(data)}\n"

    def _put(self, name: str, data: bytes, executable: bool = False) -> None:
        entry = zipfile.ZipInfo(name, (2000, 1, 1, 0, 0, 0))  # a fixed time, so that every build gives the same bytes
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry.external_attr = (0o100755 if executable else 0o100644) << 16
        self._zip.writestr(entry, data)

    def close(self) -> str:
        for name, text in _about(self._tag).items():
            self.add(f"{INFO}/{name}", text.encode())
        self.add(f"tutti-{VERSION}.data/scripts/tutti", COMMAND.encode(), True)
        self._record += f"{INFO}/RECORD,,\n"
        self._put(f"{INFO}/RECORD", self._record.encode())
        self._zip.close()
        return self.name


def _about(tag: str) -> dict[str, str]:
    return {"METADATA": METADATA, "entry_points.txt": "[torch.distributed.backends]\ntutti = tutti.torch:register\n",
            "LICENSE": (HERE / "LICENSE").read_text(),
            "WHEEL": f"Wheel-Version: 1.0\nGenerator: tutti\nRoot-Is-Purelib: false\nTag: {tag}\n"}


def wheel_of(folder: str, machine: str, build: Path, libraries: Sequence[str], torch: Optional[Path], why: str) -> str:
    """Write a wheel with the libraries in `build`, and return its name. `why`: the reason why PyTorch's backend is left out."""
    # A wheel with the backend is tagged for one version of Python, so pip's cache does not use it for another one.
    wheel = _Wheel(folder, machine, "cp{0}{1}-cp{0}{1}".format(*sys.version_info) if torch else "py3-none")
    files = [*_package(), *_built(build, libraries)]
    if torch:
        files.append((f"tutti/torch/{torch.name}", torch))
    for name, file in files:
        wheel.add(name, file.read_bytes(), os.access(file, os.X_OK))
    if why:
        wheel.add("tutti/torch/left_out.txt", (why + "\n").encode())
    return wheel.close()


# ---- the functions that pip calls ----


def get_requires_for_build_wheel(config_settings: Optional[dict[str, Any]] = None) -> list[str]:
    return [torch] if (torch := _required_torch()) else []


def build_wheel(wheel_directory: str, config_settings: Optional[dict[str, Any]] = None,
                metadata_directory: Optional[str] = None) -> str:
    _make()
    why = _make_torch()
    return wheel_of(wheel_directory, _here(), BUILD, LIBRARIES, None if why else _torch_backend(), why)


def build_editable(wheel_directory: str, config_settings: Optional[dict[str, Any]] = None,
                   metadata_directory: Optional[str] = None) -> str:
    """A wheel that refers to the package and the built files in the tree."""
    _make()
    _make_torch()
    wheel = _Wheel(wheel_directory, _here())
    wheel.add("tutti.pth", f"{HERE / 'python'}\n".encode())
    return wheel.close()


def prepare_metadata_for_build_wheel(metadata_directory: str, config_settings: Optional[dict[str, Any]] = None) -> str:
    folder = Path(metadata_directory) / INFO
    folder.mkdir()
    for name, text in _about(f"py3-none-{_here()}").items():
        (folder / name).write_text(text)
    return INFO


get_requires_for_build_editable = get_requires_for_build_wheel
prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel


def build_sdist(sdist_directory: str, config_settings: Optional[dict[str, Any]] = None) -> str:
    return sources.write(sdist_directory, VERSION, METADATA)


def describe(packages: Path) -> None:
    """Write the metadata of an installation by `make install`, for `pip list` and for PyTorch, which looks for entry points.
    Without RECORD, because `make uninstall` removes the files."""
    for older in packages.glob("tutti-*.dist-info"):
        shutil.rmtree(older)
    folder = packages / INFO
    folder.mkdir(parents=True)
    for name in ("METADATA", "entry_points.txt"):
        (folder / name).write_text(_about("")[name])


if __name__ == "__main__":
    if sys.argv[1] == "describe":  # make install
        describe(Path(sys.argv[2]))
    else:  # make dist
        Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
        print(f"{sys.argv[1]}/{build_sdist(sys.argv[1])}")
