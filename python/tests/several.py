"""several.py - programs that print TAP, one after another in one interpreter.

    tutti run -n 3 python3 python/tests/several.py FILE [ARGUMENT ...] [-- FILE ...]

SPDX-License-Identifier: BSD-3-Clause
"""
import runpy
import sys

words, bad = sys.argv[1:], False
while words:
    n = words.index("--") if "--" in words else len(words)
    sys.argv, words = words[:n], words[n + 1 :]
    try:
        runpy.run_path(sys.argv[0], run_name="__main__")
    except SystemExit as end:
        bad = bad or bool(end.code)
sys.exit(bad)
