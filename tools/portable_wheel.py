#!/usr/bin/python3
"""portable_wheel.py - writes the wheel for any Linux of this processor with glibc 2.28 or newer (`make wheel`).

Usage      tools/portable_wheel.py BUILD FOLDER     packs the libraries in BUILD, which were compiled with tools/glibc_2_28.h
Idea       manylinux allows a dependency on glibc only. The wheel therefore contains what is linked with nothing else: the
           library, the command, the Python package, the libraries for TCP, TLS and GPUs, and the drop-ins for MPI programs. TLS
           and the drop-ins look up OpenSSL and the MPI when they are used. The libraries for UCX, PMIx and PyTorch depend on
           the machine; `pip install` of the sources builds them.
SPDX-License-Identifier: BSD-3-Clause"""
import os
import platform
import sys
from pathlib import Path

import check_wheel

LEFT_OUT = ("tutti_ucx", "tutti_pmix")
ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))
import backend  # noqa: E402

WHY = ("the wheel for any Linux has no compiled backend, because it would fit one PyTorch only; `pip install --no-binary "
       "tutti torch tutti` builds it from the source distribution")


def main():
    build, folder = Path(sys.argv[1]), Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    name = backend.wheel_of(str(folder), "manylinux_2_28_" + platform.machine(), build,
                            [name for name in backend.LIBRARIES if name not in LEFT_OUT], None, WHY)
    faults = check_wheel.faults(folder / name)
    for fault in faults:
        print(f"tutti: {name}: {fault}", file=sys.stderr)
    if faults:
        os.remove(folder / name)
        sys.exit(1)
    print(folder / name)


main()
