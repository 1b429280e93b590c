"""backend.py - what pip asks to make a package of this tree (PEP 517, PEP 660): with the standard library alone, so that
`pip install .` needs no network and no package before it.

A wheel has the Python package, the library and those for MPIs and networks that are built, the command `tutti`, and
PyTorch's backend, if it is built for this Python. `make` makes the library; where there is no compiler, it has to be there.
SPDX-License-Identifier: BSD-3-Clause
"""
from __future__ import annotations

import base64
import hashlib
import io
import os
import shutil
import subprocess
import sysconfig
import tarfile
import zipfile
from pathlib import Path
from typing import Any, Iterator, Optional

HERE = Path(__file__).resolve().parents[1]
BUILD = HERE / "build"
VERSION = next(line.split('"')[1] for line in (HERE / "python/tutti/_lib.py").read_text().splitlines()
               if line.startswith("VERSION = "))
INFO = f"tutti-{VERSION}.dist-info"
LIBRARIES = ("tutti", "tutti_mpi_ompi", "tutti_mpi_mpich", "tutti_ucx", "tutti_pmix")
METADATA = f"""Metadata-Version: 2.1
Name: tutti
Version: {VERSION}
Summary: allreduce and its family for the processes of a job
License: BSD-3-Clause
Requires-Python: >=3.9
Provides-Extra: numpy
Requires-Dist: numpy; extra == "numpy"
Description-Content-Type: text/markdown

"""
# The command, which finds the package without importing it; pip fills in the Python that it is for.
COMMAND = '''#!python
import importlib.util
import os
import runpy

_spec = importlib.util.find_spec("tutti")
runpy.run_path(os.path.join(_spec.submodule_search_locations[0], "__main__.py"), run_name="__main__")
'''


def _tag() -> str:
    """For any Python 3, on this kind of machine."""
    return "py3-none-" + sysconfig.get_platform().replace("-", "_").replace(".", "_")


# ---- what is in it ----


def _make() -> None:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MAKE") and k != "MFLAGS"}
    library = BUILD / f"libtutti.so.{VERSION.split('.', maxsplit=1)[0]}"
    if shutil.which("make") and (shutil.which("gcc") or shutil.which("cc")):
        subprocess.run(["make", "-s", f"-j{os.cpu_count()}", "all"], cwd=HERE, env=environment, check=True)
    elif not library.exists():
        raise SystemExit(f"tutti: there is no {library}, and neither make nor gcc to build it")


def _package() -> Iterator[tuple[str, Path]]:
    for file in sorted((HERE / "python/tutti").rglob("*")):
        if file.suffix == ".py" or file.name == "py.typed":
            yield str(file.relative_to(HERE / "python")), file


def _built() -> Iterator[tuple[str, Path]]:
    for name in LIBRARIES:
        file = BUILD / f"lib{name}.so.{VERSION.split('.', maxsplit=1)[0]}"
        if file.exists():
            yield f"tutti/{file.name}", file
    yield "tutti/bin/tutti", BUILD / "tutti"
    backend = BUILD / "c10d" / f"_c10d{sysconfig.get_config_var('EXT_SUFFIX')}"
    if backend.exists():
        yield f"tutti/torch/{backend.name}", backend


class _Wheel:
    """One that is written."""

    def __init__(self, folder: str) -> None:
        self.name = f"tutti-{VERSION}-{_tag()}.whl"
        self._zip = zipfile.ZipFile(Path(folder) / self.name, "w", zipfile.ZIP_DEFLATED)
        self._record = ""

    def add(self, name: str, data: bytes, executable: bool = False) -> None:
        entry = zipfile.ZipInfo(name, (2000, 1, 1, 0, 0, 0))
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry.external_attr = (0o100755 if executable else 0o100644) << 16
        self._zip.writestr(entry, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self._record += f"{name},sha256={digest},{len(data)}\n"

    def close(self) -> str:
        for name, text in _about().items():
            self.add(f"{INFO}/{name}", text.encode())
        self.add(f"tutti-{VERSION}.data/scripts/tutti", COMMAND.encode(), True)
        self._record += f"{INFO}/RECORD,,\n"
        self._zip.writestr(f"{INFO}/RECORD", self._record)
        self._zip.close()
        return self.name


def _about() -> dict[str, str]:
    return {"METADATA": METADATA + (HERE / "docs/python.md").read_text(), "LICENSE": (HERE / "LICENSE").read_text(),
            "WHEEL": f"Wheel-Version: 1.0\nGenerator: tutti\nRoot-Is-Purelib: false\nTag: {_tag()}\n"}


# ---- what pip calls ----


def build_wheel(wheel_directory: str, config_settings: Optional[dict[str, Any]] = None,
                metadata_directory: Optional[str] = None) -> str:
    _make()
    wheel = _Wheel(wheel_directory)
    for name, file in [*_package(), *_built()]:
        wheel.add(name, file.read_bytes(), os.access(file, os.X_OK))
    return wheel.close()


def build_editable(wheel_directory: str, config_settings: Optional[dict[str, Any]] = None,
                   metadata_directory: Optional[str] = None) -> str:
    """The package and what is built stay in the tree."""
    _make()
    wheel = _Wheel(wheel_directory)
    wheel.add("tutti.pth", f"{HERE / 'python'}\n".encode())
    return wheel.close()


def prepare_metadata_for_build_wheel(metadata_directory: str, config_settings: Optional[dict[str, Any]] = None) -> str:
    folder = Path(metadata_directory) / INFO
    folder.mkdir()
    for name, text in _about().items():
        (folder / name).write_text(text)
    return INFO


prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel


def _tracked() -> list[str]:
    """The files that git has of the tree; without git, all but the built ones."""
    try:
        out = subprocess.run(["git", "ls-files", "-z"], cwd=HERE, check=True, capture_output=True).stdout
        return [name for name in out.decode().split("\0") if name and (HERE / name).is_file()]
    except (OSError, subprocess.CalledProcessError):
        files = (str(file.relative_to(HERE)) for file in sorted(HERE.rglob("*")) if file.is_file())
        return [name for name in files if not name.startswith(("build", ".")) and "__pycache__" not in name]


def build_sdist(sdist_directory: str, config_settings: Optional[dict[str, Any]] = None) -> str:
    name = f"tutti-{VERSION}"
    with tarfile.open(Path(sdist_directory) / f"{name}.tar.gz", "w:gz", format=tarfile.PAX_FORMAT) as tar:
        for file in _tracked():
            tar.add(HERE / file, f"{name}/{file}")
        about = METADATA.encode()
        entry = tarfile.TarInfo(f"{name}/PKG-INFO")
        entry.size = len(about)
        tar.addfile(entry, io.BytesIO(about))
    return f"{name}.tar.gz"
