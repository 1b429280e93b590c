#!/usr/bin/env bash
# stress_tests.sh - repeats the tests that depend on time, on a machine that is kept busy.
# SPDX-License-Identifier: BSD-3-Clause
#
#   tools/stress_tests.sh [ROUNDS [PARALLEL]]      (100 rounds, 3 in parallel)
#
# Idea       Only a hang should reach the time limit of a test. To check this, the tests run while
#            stress-ng keeps every core, the memory and the scheduler busy, and while other rounds run.
# Which      The tests below, and the replays of the fuzzers' texts. TIMED names other tests.
# Prints     A line per round: the numbers of tests that passed, failed and were skipped. The output of a failed
#            round stays in BUILD/stress. The exit status is 1 if a round failed.
set -u
cd "${BASH_SOURCE%/*}/.." || exit 2
rounds=${1:-100} parallel=${2:-3}
export BUILD=${BUILD:-build}
command -v stress-ng >/dev/null || { echo "stress_tests.sh: stress-ng is missing; tools/deps.sh stress installs it" >&2; exit 2; }

# Tests with results or limits that depend on time: exits, failures, stopped processes, waits, the cost of sleeping.
timed="tests/sh/aggregator.sh tests/sh/cli_end.sh tests/sh/cli_run.sh tests/sh/cli_trace.sh tests/sh/doctor.sh tests/sh/faults.sh
  tests/sh/grow.sh tests/sh/hosts.sh tests/sh/hostile.sh tests/sh/leftovers.sh tests/sh/settings.sh tests/sh/shrink.sh
  tests/sh/silence.sh $BUILD/tests/test_doctor $BUILD/tests/test_ends $BUILD/tests/test_guard
  $BUILD/tests/test_launch $BUILD/tests/test_meet $BUILD/tests/test_trace $BUILD/tests/test_wake_fd
  $BUILD/tests/mp_asleep $BUILD/tests/mp_bucket $BUILD/tests/mp_lost
  $BUILD/tests/mp_parting $BUILD/tests/mp_stall $BUILD/tests/mp_told"
read -ra programs -d '' <<<"${TIMED:-$timed $(ls "$BUILD"/fuzz/replay_* | grep -v '[.]')}"
keep=$BUILD/stress
mkdir -p "$keep"
work=$(mktemp -d) || exit 2
stress-ng --cpu 0 --vm 1 --vm-bytes 256M --switch 1 --timeout 0 >/dev/null 2>&1 &
load=$!
trap 'kill $load $(jobs -p) 2>/dev/null; rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# round I: runs a round; writes its last line to a file, and keeps the output if a test failed.
round() {
  local log=$work/$1 began=$SECONDS
  tests/run "${programs[@]}" >"$log" 2>&1
  echo "round $1 of $rounds: $(tail -n 1 "$log"), $((SECONDS - began)) s" | tee "$work/$1.end"
  grep -qE '^[0-9]+ passed, 0 failed' <(tail -n 1 "$log") || { mv "$log" "$keep/round-$1.log" && touch "$work/bad"; }
  rm -f "$log"
}

echo "${#programs[@]} test programs, $rounds rounds, $parallel rounds in parallel, under stress-ng"
running=()
for ((i = 1; i <= rounds; i++)); do
  while running=($(jobs -pr | grep -vx $load)) && [ ${#running[@]} -ge "$parallel" ]; do wait -n "${running[@]}"; done
  round $i &
done
wait $(jobs -pr | grep -vx $load)
awk -F'[:,] *' '{for (i = 2; i <= 4; i++) {split($i, of, " "); sum[of[2]] += of[1]}}
  END {printf "%d rounds: %d passed, %d failed, %d skipped\n", NR, sum["passed"], sum["failed"], sum["skipped"]}' "$work"/*.end
[ ! -e "$work/bad" ] || { echo "stress_tests.sh: the rounds that failed are in $keep" >&2; exit 1; }
