# record.py - stores a measurement in a file, docs/bench/NAME.json. tools/doc_tables.py makes the tables of docs/ from these
# files.
#
# Form       {"about": {...}, "rows": [{...}, ...]}. about: date, commit, machine, versions, the command that
#            repeats the measurement, and the meaning of the numbers.
# SPDX-License-Identifier: BSD-3-Clause
import json
import os
import shlex
import subprocess
import sys

import measure

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def commit():
    """The commit of the sources, with a + if files in src/ have changed since; None if the tree is not a checkout."""
    def git(*words):
        return subprocess.run(("git", "-C", ROOT) + words, capture_output=True, text=True, check=True).stdout.strip()
    try:
        return git("rev-parse", "--short=12", "HEAD") + ("+" if git("status", "--porcelain", "--", "src") else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def about(what, command=None):
    return dict(measure.machine(), commit=commit(), what=what, command=command or shlex.join(sys.argv))


def store(path, about, rows):
    """Write the file, with one row per line to make differences readable."""
    with open(path, "w") as f:
        f.write('{"about": %s,\n "rows": [\n%s\n]}\n' %
                (json.dumps(about, indent=1), ",\n".join("  " + json.dumps(r) for r in rows)))


def load(path):
    with open(path) as f:
        return json.load(f)
