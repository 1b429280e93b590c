#!/usr/bin/env bash
# shrink.sh - ranks are killed at random times, one after another and during shrink. The other ranks continue,
# from any number of ranks down to one, with right sums. With TUTTI_TEST_ALL=1 several hundred kills.
# SEED=n repeats one run.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"
prog=$BUILD/tests/mp_deaths
[ "${TUTTI_TEST_ALL:-}" = 1 ] && rounds=25 || rounds=1
export ASAN_OPTIONS="${ASAN_OPTIONS:-}:handle_segv=0"
seed=${SEED:-$drawn}
kills=0 tests=0 longest=0
echo "# seed $seed"

all_survive() { [ "$(grep -c '^survived' "$work/out")" = $1 ]; }
for ((round = 0; round < rounds; round++)); do
  for n in 2 3 4 5 6 7 8; do
    for deaths in $((n - 1)) $((1 + (n - 1) / 2)); do
      job run -k -n $n "$prog" $((seed + round)) $deaths
      ok "$deaths of $n ranks die, $((seed + round))" all "all_survive $((n - deaths))" gone
      most=$(sed -n 's/^survived \([0-9]*\) ms/\1/p' "$work/out" | sort -n | tail -1)
      [ "${most:-0}" -gt $longest ] && longest=$most
      kills=$((kills + deaths)) tests=$((tests + 1))
    done
  done
done
# Ranks on several NUMA nodes keep their slots in blocks that were allocated for more ranks than the new communicator has.
for n in 8 16 24; do
  export TUTTI_TOPO="numa:2 core:$((n / 2))"
  job run -k -n $n "$prog" $seed $((n / 3))
  ok "$((n / 3)) of $n ranks die, on two NUMA nodes, $seed" all "all_survive $((n - n / 3))" gone
  kills=$((kills + n / 3)) tests=$((tests + 1))
done
unset TUTTI_TOPO
echo "# $kills deaths; noticed after $longest ms at most"
echo 1..$tests
exit $bad
