#!/usr/bin/env bash
# buckets.sh - a rank fails during a step of buckets. The others get an error from the call that they are in,
# and continue with new buckets. SEED=n repeats one run. Also checks with the trace which bytes
# are copied.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"
prog=$BUILD/tests/mp_bucket
[ "${TUTTI_TEST_ALL:-}" = 1 ] && rounds=30 || rounds=3
seed=${SEED:-$drawn}
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

# Two ranks make 4 steps of one bucket of 7994 elements. If tutti allocates its memory, each rank's
# trace has one operation on all elements per step, and no copies.
whole_steps() { grep -c '"ph":"b".*"count":7994,' "$work/trace"; }
copies() { grep -c '"cat":"copy"' "$work/trace"; }
while read -r whose lie wholes copied; do
  job run -n 2 env TUTTI_COPIES=private TUTTI_TRACE="$work/trace" "$prog" $whose
  ok "where tensors lie and what is copied: $whose" all 'status 0' '[ "$(grep -c ": $lie of 12 in the heap" "$work/out")" = 2 ]' \
    '[ "$(whole_steps)" = $wholes ]' '[ "$(($(copies) > 0))" = $copied ]'
  tests=$((tests + 1))
done <<EOW
memory 12 8 0
own 0 0 1
EOW
echo 1..$tests
exit $bad
