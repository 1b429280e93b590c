#!/usr/bin/env bash
# check_long.sh - make check-long: the checks that take hours, one goal of make after another, by hand or at night.
# The output of a goal goes to $BUILD/long/GOAL.log. All goals run, even if one fails; the last line counts the failures, and
# the exit status is 1 if there are any. ONLY=WORD: only goals whose line contains the word. Seeds come from the clock; the logs
# show them.
# SPDX-License-Identifier: BSD-3-Clause
set -u
export TUTTI_TEST_SEED=${TUTTI_TEST_SEED:-$(date +%s)}
make=${MAKE:-make} logs=${BUILD:-build}/long failed=()
mkdir -p "$logs"
goals() {
  cat <<'EOG'
check-all
check-orders
check-many
prove-fuzz TIME=3600
fuzz TIME=600
soak TIME=1h
torture TIME=1h
stress-tests ROUNDS=20
check-asan
check-ubsan
check-tsan FULL=1
check-torch-asan
check-arm
mutants
check-python
check-torch TORCH=debian
check-torch TORCH=pip
check-dropin PEERS=pip
check-slurm
check-site
check-package
check-wheel
bars
EOG
}
echo "seed $TUTTI_TEST_SEED"
n=0
while read -r goal; do
  case $goal in *"${ONLY:-}"*) ;; *) continue ;; esac
  log=$logs/${goal//[ =]/-}.log from=$SECONDS n=$((n + 1))
  # shellcheck disable=SC2086
  if $make --no-print-directory $goal >"$log" 2>&1 </dev/null; then
    echo "ok      $goal, $((SECONDS - from)) s"
  else
    echo "FAILED  $goal, $((SECONDS - from)) s: $log"
    failed+=("$goal")
  fi
done < <(goals)
echo "$n goals, ${#failed[@]} failed${failed:+: ${failed[*]}}"
[ ${#failed[@]} = 0 ]
