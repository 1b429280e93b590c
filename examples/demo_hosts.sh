#!/bin/sh
# demo_hosts.sh - the script of `make demo-hosts`: the training of `make demo` on three hosts with two
# ranks each, by `tutti run --hosts`, over UCX, without MPI; once as it is, and once with lighter messages
# (TUTTI_CODE, docs/lighter.md), side by side.
#
# The hosts are network namespaces of this machine, each with a link of its own (bench/netns.sh);
# as root. HOSTS=3 PER_HOST=2 RATE=1gbit EPOCHS=10 NEED=0.87 CODE=error=1e-2 (none: only once). Exit status 0
# only if both accuracies are good; 77 where such hosts cannot be made.
# SPDX-License-Identifier: BSD-3-Clause
set -eu
LC_ALL=C OPENBLAS_NUM_THREADS=1 # the ranks are the parallelism
export LC_ALL OPENBLAS_NUM_THREADS
cd "$(dirname "$0")/.."
build=${BUILD:-build}
hosts=${HOSTS:-3} per=${PER_HOST:-2} rate=${RATE:-1gbit} epochs=${EPOCHS:-10} code=${CODE:-error=1e-2} need=${NEED:-0.87}
TUTTI=$(readlink -f "$build")/tutti
export TUTTI
out=$(readlink -f "$build")/demo-hosts
mkdir -p "$out"
rm -f "$out"/*
rc=0

# train CODE: writes CODE.log and CODE.tsv, the loss of every step.
train() {
  echo "== Fashion-MNIST on $hosts hosts with $per ranks each, links of $rate, over UCX, TUTTI_CODE=$1 =="
  echo "tutti run --hosts host1:$per,... --agent AGENT $build/examples/fashion"
  status=0
  TUTTI_CODE=$1 timeout 600 bash bench/netns.sh tutti "$hosts" "$per" "$rate" "$(readlink -f "$build")/examples/fashion" \
    --epochs "$epochs" --need "$need" --curve "$out/$1.tsv" >"$out/$1.log" 2>&1 || status=$?
  cat "$out/$1.log"
  [ $status = 0 ] || rc=$status
}

# What a log says: seconds of training, accuracy.
figures() {
  sed -n 's/^trained [0-9]* steps in \([0-9.]*\) s.*/\1/p; s/^test accuracy \([0-9.]*\) .*/\1/p' "$out/$1.log" | xargs
}

train none
[ "$code" = none ] || [ $rc != 0 ] || train "$code"
if [ $rc = 0 ] && [ "$code" != none ]; then
  echo "== side by side =="
  { figures none && figures "$code"; } | awk -v code="$code" '
    NR == 1 { time = $1; right = $2 }
    { printf "  %-24s %7.1f s  accuracy %.4f\n", NR == 1 ? "as they are" : code, $1, $2 }
    END { printf "  %.2f times as fast; accuracy %+.2f %%\n", time / $1, 100 * ($2 - right) }'
  if "${PYTHON3:-/usr/bin/python3}" tools/picture.py "$out/loss.png" 900x500 examples/demo_hosts.gp dir="$out" \
    code="$code" plain="$(figures none)" coded="$(figures "$code")"; then
    echo "$out/loss.png"
  else
    rc=1
  fi
fi
[ $rc -eq 0 ] && verdict=PASS || verdict="FAIL (status $rc)"
echo "demo-hosts: $verdict"
exit $rc
