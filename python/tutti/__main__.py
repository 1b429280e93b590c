"""python3 -m tutti: runs the command `tutti` of this package. This file imports nothing from the package, because the
installed script runs it without loading the package.

SPDX-License-Identifier: BSD-3-Clause
"""
from __future__ import annotations

import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Iterator

_HERE = Path(__file__).resolve().parent


def _places() -> Iterator[Path]:
    yield _HERE / "bin" / "tutti"  # installed by pip
    yield _HERE.parents[1] / "build" / "tutti"  # the source tree, if this file is in its python/tutti
    if len(_HERE.parents) > 3:
        yield _HERE.parents[3] / "bin" / "tutti"  # PREFIX/bin, if this is PREFIX/lib/python3.x/site-packages/tutti


def main() -> None:
    """Replace this process by the command."""
    found = [str(place) for place in _places() if os.access(place, os.X_OK)]
    program = found[0] if found else shutil.which("tutti")
    if program is None or os.path.realpath(program) == os.path.realpath(sys.argv[0]):
        sys.exit(f"tutti: the command is not here: neither {', nor '.join(str(place) for place in _places())}; "
                 "`make install` or `pip install .` installs it")
    for number in signal.SIGPIPE, signal.SIGXFSZ:  # Python ignores them
        signal.signal(number, signal.SIG_DFL)
    os.execv(program, ["tutti", *sys.argv[1:]])


if __name__ == "__main__":
    main()
