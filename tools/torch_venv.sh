#!/bin/sh
# torch_venv.sh - a virtual environment with PyPI's PyTorch, for tests of the backend (make check-torch TORCH=pip). 5 GB.
# Usage      tools/torch_venv.sh FOLDER     does nothing if it is there
# SPDX-License-Identifier: BSD-3-Clause
set -eu
"$1/bin/python3" -c 'import torch, numpy, expecttest' 2>/dev/null && exit
python3 -m venv "$1"
"$1/bin/pip" install --quiet torch numpy expecttest
