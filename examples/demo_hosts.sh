#!/bin/sh
# demo_hosts.sh - the script of `make demo-hosts`: the training of `make demo` on three hosts with two
# ranks each, by `tutti run --hosts`, over UCX, without MPI. Three times, side by side: the hosts sum among
# themselves; `tutti aggregator` sums, on one more host, whose link is as wide as all of theirs
# (docs/aggregator.md); and the hosts send lighter messages (TUTTI_CODE, docs/lighter.md).
#
# The hosts are network namespaces of this machine, each with a separate link (bench/netns.sh);
# as root. HOSTS=3 PER_HOST=2 RATE=1gbit EPOCHS=10 NEED=0.87 CODE=error=1e-2 WAYS="plain aggregator coded".
# OUT=docs/bench adds the figures to those of the manual (docs/hosts.md, after make tables). Exit status 0 only if
# all accuracies are good; 77 where such hosts cannot be made.
# SPDX-License-Identifier: BSD-3-Clause
set -eu
LC_ALL=C OPENBLAS_NUM_THREADS=1 # the ranks are the parallelism
export LC_ALL OPENBLAS_NUM_THREADS
cd "$(dirname "$0")/.."
build=${BUILD:-build}
hosts=${HOSTS:-3} per=${PER_HOST:-2} rate=${RATE:-1gbit} epochs=${EPOCHS:-10} code=${CODE:-error=1e-2} need=${NEED:-0.87}
ways=${WAYS:-plain aggregator coded}
TUTTI=$(readlink -f "$build")/tutti
export TUTTI
out=$(readlink -f "$build")/demo-hosts
mkdir -p "$out"
rm -f "$out"/*
rc=0

# What the links are known to carry, whichever way: a host's, and the aggregator's.
bits=$(echo "$rate" | sed 's/[a-z]*$//') prefix=$(echo "$rate" | sed 's/^[0-9]*//; s/bit$//' | tr gm GM)
echo "beta = $bits${prefix}bit/s, aggregator.beta = $((hosts * bits))${prefix}bit/s" >"$out/profile"

# train WAY: writes WAY.log and WAY.tsv, the loss of every step.
train() {
  case $1 in
    plain) with= say="as it is" ;;
    aggregator) with="AGGREGATOR=$hosts" say="with an aggregator" ;;
    coded) with="TUTTI_CODE=$code" say="TUTTI_CODE=$code" ;;
    *) echo "demo_hosts.sh: WAYS has plain, aggregator and coded, not '$1'" >&2 && exit 2 ;;
  esac
  echo "== Fashion-MNIST on $hosts hosts with $per ranks each, links of $rate, over UCX, $say =="
  echo "tutti run --hosts host1:$per,... --agent AGENT $build/examples/fashion"
  status=0
  env TUTTI_PROFILE="$out/profile" $with timeout 600 bash bench/netns.sh tutti "$hosts" "$per" "$rate" "$(readlink -f "$build")/examples/fashion" \
    --epochs "$epochs" --need "$need" --curve "$out/$1.tsv" >"$out/$1.log" 2>&1 || status=$?
  cat "$out/$1.log"
  [ $status = 0 ] || rc=$status
}

# What a log says: seconds of training, accuracy.
figures() {
  sed -n 's/^trained [0-9]* steps in \([0-9.]*\) s.*/\1/p; s/^test accuracy \([0-9.]*\) .*/\1/p' "$out/$1.log" | xargs
}

for way in $ways; do [ $rc != 0 ] || train "$way"; done
if [ $rc = 0 ]; then
  echo "== side by side =="
  for way in $ways; do echo "$way $(figures "$way")"; done | tee "$out/ways" | awk '
    NR == 1 { time = $2; right = $3 }
    { printf "  %-12s %7.1f s, %.2f times as fast; accuracy %.4f, %+.2f %%\n", $1, $2, time / $2, $3, 100 * ($3 - right) }'
  [ -z "${OUT:-}" ] || "${PYTHON3:-/usr/bin/python3}" bench/demo_rows.py "$OUT/demo-hosts.json" "$out/ways" "$rate" "$hosts x $per" "$code"
  if "${PYTHON3:-/usr/bin/python3}" tools/picture.py "$out/loss.png" 900x500 examples/demo_hosts.gp dir="$out" \
    ways="$ways" seconds="$(cut -d' ' -f2 "$out/ways" | xargs)"; then
    echo "$out/loss.png"
  else
    rc=1
  fi
fi
[ $rc -eq 0 ] && verdict=PASS || verdict="FAIL (status $rc)"
echo "demo-hosts: $verdict"
exit $rc
