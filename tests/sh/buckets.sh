#!/usr/bin/env bash
# buckets.sh - a rank dies during a step of buckets: the others get an error from whichever call
# they are in, and go on with new buckets. SEED=n repeats one run.
# Alone: no
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"
prog=$BUILD/tests/mp_bucket
[ "${TUTTI_TEST_ALL:-}" = 1 ] && rounds=30 || rounds=3
seed=${SEED:-$((RANDOM * 32768 + RANDOM))}
tests=0
echo "# seed $seed"

all_survive() { [ "$(grep -c '^survived' "$work/out")" = $1 ]; }
for ((round = 0; round < rounds; round++)); do
  for n in 2 3 4; do
    for how in "" bf16; do
      job run -k -n $n "$prog" death $((seed + round)) $how
      ok "rank 1 of $n dies, $((seed + round)) ${how:-as floats}" all "all_survive $((n - 1))" gone
      tests=$((tests + 1))
    done
  done
done
echo 1..$tests
exit $bad
