#!/bin/sh
# torch_venv.sh - makes a virtual environment with PyPI's PyTorch, for tests of the backend (make check-torch TORCH=pip). 5 GB.
# Usage      tools/torch_venv.sh FOLDER     does nothing if the folder exists
# Result     status 77 and a line of TAP if PyPI cannot be reached; the tests are then skipped
# SPDX-License-Identifier: BSD-3-Clause
set -eu
ready() { "$1/bin/python3" -c 'import torch, numpy, expecttest' 2>/dev/null; }
ready "$1" && exit
mkdir -p "$1"
exec 9>"$1.lock"
flock 9 # another run may be making it
ready "$1" && exit
python3 -m venv "$1"
# Tries a small package first: if that fails, too, the network is the reason.
"$1/bin/pip" install --quiet --retries 1 expecttest 2>"$1.log" || {
  echo "ok - PyPI's PyTorch # SKIP PyPI cannot be reached from here: $(grep -v '^$' "$1.log" | head -1)"
  exit 77
}
exec "$1/bin/pip" install --quiet torch numpy
