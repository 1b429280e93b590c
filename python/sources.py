"""sources.py - writes the source tarball (`make dist`), which is also Python's source distribution: backend.py
calls this.

The tarball of a tree always has the same bytes: sorted names, the time of the last commit (or SOURCE_DATE_EPOCH), no owner.
SPDX-License-Identifier: BSD-3-Clause
"""
from __future__ import annotations

import gzip
import io
import os
import subprocess
import tarfile
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
RESEARCH = ("research/", "mk/research.mk")  # in the repository only
LEFT_OUT = (".git", ".pc", "__pycache__", "PKG-INFO")


def _git(*words: str) -> str:
    """The output of a git command in this tree; empty if the tree is not a checkout."""
    if not (HERE / ".git").exists():
        return ""
    try:
        return subprocess.run(["git", *words], cwd=HERE, check=True, capture_output=True).stdout.decode()
    except (OSError, subprocess.CalledProcessError):
        return ""


def names() -> list[str]:
    """The files that git tracks, except those of research; without git, all files except built ones."""
    tracked = [name for name in _git("ls-files", "-z").split("\0") if name and (HERE / name).is_file()]
    if tracked:
        return sorted(name for name in tracked if not name.startswith(RESEARCH))
    found = [file.relative_to(HERE) for file in HERE.rglob("*") if file.is_file()]
    return sorted(str(name) for name in found
                  if not name.parts[0].startswith("build") and not set(LEFT_OUT) & set(name.parts))


def _time() -> int:
    told = os.environ.get("SOURCE_DATE_EPOCH") or _git("log", "-1", "--format=%ct").strip()
    return int(told) if told else int(max((HERE / name).stat().st_mtime for name in names()))


def write(folder: str, version: str, about: str) -> str:
    """Write the tarball with PKG-INFO, and return its name."""
    stem, time = f"tutti-{version}", _time()
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for name in [*names(), "PKG-INFO"]:
            file = HERE / name
            data = about.encode() if name == "PKG-INFO" else file.read_bytes()
            entry = tarfile.TarInfo(f"{stem}/{name}")
            entry.size, entry.mtime = len(data), time
            entry.mode = 0o755 if name != "PKG-INFO" and os.access(file, os.X_OK) else 0o644
            tar.addfile(entry, io.BytesIO(data))
    with open(Path(folder) / f"{stem}.tar.gz", "wb") as out, gzip.GzipFile("", "wb", 9, out, time) as packer:
        packer.write(packed.getvalue())
    return f"{stem}.tar.gz"
