#!/bin/sh
# demo_faults.sh - what `make demo-faults` runs: 5 ranks train, one of them is killed in the middle
# of an epoch, and 4 go on to the accuracy of the demo.
#
# VICTIM=r kills rank r (2), AFTER=n after n epochs (3).
# Exit status 0 only if it was killed, 4 went on, are alike, and the accuracy is good.
# SPDX-License-Identifier: BSD-3-Clause
set -eu
LC_ALL=C OPENBLAS_NUM_THREADS=1 # the ranks are the parallelism
export LC_ALL OPENBLAS_NUM_THREADS
unset TUTTI_TRACE
cd "$(dirname "$0")/.."
build=${BUILD:-build}
out=$build/demo-faults
tutti=$build/tutti
fashion=$build/examples/fashion
victim=${VICTIM:-2}
after=${AFTER:-3}
need=0.87 # test accuracy, as in demo.sh
failed=

mkdir -p "$out"
rm -f "$out"/*
command="$tutti run --keep-going --verbose -t 300 -n 5 $fashion --survive --need $need"
echo "== Fashion-MNIST on 5 ranks: $command"
{
  rc=0
  $command 2>"$out/err" || rc=$?
  echo "$rc" >"$out/status"
} | tee "$out/log" &
job=$!

# Half of an epoch after so many: as long as half of the last one took.
pid=
at=$(date +%s%N)
until [ -e "$out/status" ] || grep -q "epoch *$after of" "$out/log"; do
  if [ $((after - 1)) -gt 0 ] && ! grep -q "epoch *$((after - 1)) of" "$out/log"; then at=$(date +%s%N); fi
  sleep 0.05
done
sleep "$(awk -v ns=$(($(date +%s%N) - at)) 'BEGIN { print ns / 2e9 }')"
pid=$(sed -n "s/^tutti run: rank $victim is pid \([0-9]*\).*/\1/p" "$out/err")
[ -z "$pid" ] || [ -e "$out/status" ] || {
  echo "  kill -9 $pid: rank $victim"
  kill -9 "$pid"
}
wait $job
sed -n 's/^tutti run: \(rank [0-9]* (pid.*\)/tutti run said: \1/p' "$out/err"

check() { grep -qE "$2" "$out/$3" || failed="$failed $1"; }
check killed "rank $victim \(pid $pid\) was killed by SIGKILL" err
check named "rank $victim \(pid $pid\) died, killed by SIGKILL; rank [0-9] waited for it in allreduce, operation [0-9]+, step [0-9]+" log
check survivors "^4 ranks go on at step [0-9]+, in epoch $((after + 1))" log
check alike "the weights of the 4 ranks are the same to the last bit" log
check accuracy "test accuracy .* PASS" log
[ "$(cat "$out/status")" = 137 ] || failed="$failed status" # of the one that was killed
[ -z "$failed" ] && verdict=PASS || verdict="FAIL:$failed"
echo
echo "demo-faults: $verdict"
[ -z "$failed" ]
