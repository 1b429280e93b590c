#!/bin/sh
# demo_faults.sh - the script of `make demo-faults`: 5 ranks train, a rank is killed in the middle of
# an epoch, and 4 continue to the accuracy of the demo. In a second run another process replaces the
# dead rank and joins at the end of an epoch, and 5 ranks continue.
#
# VICTIM=r kills rank r (2), AFTER=n after n epochs (3).
# The exit status is 0 only if the rank was killed, the expected number of ranks continued, all have
# equal weights, and the accuracy is good.
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
pid=

mkdir -p "$out"
rm -f "$out"/*

# Wait for half of an epoch after that many: as long as half of the last one took.
strike() {
  at=$(date +%s%N)
  until [ -e "$out/status" ] || grep -q "epoch *$after of" "$out/log"; do
    if [ $((after - 1)) -gt 0 ] && ! grep -q "epoch *$((after - 1)) of" "$out/log"; then at=$(date +%s%N); fi
    sleep 0.05
  done
  sleep "$(awk -v ns=$(($(date +%s%N) - at)) 'BEGIN { print ns / 2e9 }')"
  pid=$(sed -n "s/^tutti run: rank $victim is pid \([0-9]*\).*/\1/p" "$out/err" | head -1)
  [ -z "$pid" ] || [ -e "$out/status" ] || {
    echo "  kill -9 $pid: rank $victim"
    kill -9 "$pid"
  }
}

# train OPTIONS...: of tutti run.
train() {
  command="$tutti run $* --verbose -t 300 -n 5 $fashion --survive --need $need"
  echo "== Fashion-MNIST on 5 ranks: $command"
  rm -f "$out/status" && : >"$out/log" && : >"$out/err"
  {
    rc=0
    $command 2>"$out/err" || rc=$?
    echo "$rc" >"$out/status"
  } | tee "$out/log" &
  job=$!
  strike
  wait $job
  sed -n 's/^tutti run: \(rank [0-9]* (pid.*\)/tutti run said: \1/p' "$out/err"
}
check() { grep -qE "$2" "$out/$3" || failed="$failed $1"; }

# went NAME STATUS RANKS: how it must have gone.
went() {
  check "$1:killed" "rank $victim \(pid $pid\) was killed by SIGKILL" err
  check "$1:named" "rank $victim \(pid $pid\) died, killed by SIGKILL; rank [0-9] waited for it in allreduce, operation [0-9]+, step [0-9]+" log
  check "$1:survivors" "^4 ranks continue at step [0-9]+, in epoch $((after + 1))" log
  check "$1:alike" "the weights of the $3 ranks are the same to the last bit" log
  check "$1:accuracy" "test accuracy .* PASS" log
  [ "$(cat "$out/status")" = "$2" ] || failed="$failed $1:status"
  cp "$out/log" "$out/log-$1" && cp "$out/err" "$out/err-$1"
}

train --keep-going
went four 137 4 # the status of the one that was killed
echo
train --respawn 1
went five 0 5
check five:again "rank $victim \(pid $pid\) was killed by SIGKILL .*; starting it again in 0.1 s, 1 of 1; the other 4 continue" err
check five:joined "^1 joined, 0 left at the end of an epoch" log
check five:five "^5 ranks continue at step [0-9]+, in epoch [0-9]+" log
[ -z "$failed" ] && verdict=PASS || verdict="FAIL:$failed"
echo
echo "demo-faults: $verdict"
[ -z "$failed" ]
