#!/bin/sh
# demo_torch.sh - the script of `make demo-torch`: one DistributedDataParallel script (examples/train_ddp.py), on gloo and
# on tutti, with the same seed, and once without sums. Prints step times and shares of communication, draws both loss
# curves and the step times. RANKS=2 STEPS=300. Exit status 0 only if the curves are equal within rounding and the
# model is good.
# SPDX-License-Identifier: BSD-3-Clause
set -eu
cd "$(dirname "$0")/.."
build=$(readlink -f "${BUILD:-build}")
python=${PYTHON3:-/usr/bin/python3}
LC_ALL=C OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 PYTHONPATH=$PWD/python TUTTI_LIBRARY=$build/libtutti.so.0
GLOG_minloglevel=2 PYTHONDONTWRITEBYTECODE=1
export LC_ALL OMP_NUM_THREADS OPENBLAS_NUM_THREADS PYTHONPATH TUTTI_LIBRARY GLOG_minloglevel PYTHONDONTWRITEBYTECODE
out=$build/demo-torch
mkdir -p "$out"
echo "== Fashion-MNIST by PyTorch's DistributedDataParallel on ${RANKS:-2} ranks: gloo, then tutti, then without sums =="
echo "tutti run -n ${RANKS:-2} python3 examples/train_ddp.py --backend BACKEND"
run() { # NAME OPTIONS...
  name=$1
  shift
  timeout 400 "$build/tutti" run -n "${RANKS:-2}" "$python" examples/train_ddp.py --steps "${STEPS:-300}" "$@" >"$out/$name.out"
  grep -v '^{' "$out/$name.out" || true
}
for backend in gloo tutti; do run $backend --backend $backend; done
run without --backend tutti --no-sums
"$python" examples/demo_torch.py "$out"
