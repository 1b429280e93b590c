#!/usr/bin/env bash
# gpu_kill.sh - ranks with vectors on a GPU are killed at random times. The other ranks get an error in time, their streams
# continue, and the ranks continue. With the simulated driver, or the one that TUTTI_CUDA_LIBRARY names. With TUTTI_TEST_ALL=1
# a hundred kills. SEED=n repeats one run.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"
prog=$BUILD/tests/mp_gpu_kill
export TUTTI_CUDA_LIBRARY=${TUTTI_CUDA_LIBRARY:-$PWD/$BUILD/tests/libcuda_sim.so}
[ "${TUTTI_TEST_ALL:-}" = 1 ] && rounds=17 || rounds=2
seed=${SEED:-$drawn}
deaths=0 longest=0
echo "# seed $seed"

survives() { [ "$(grep -c '^survived' "$work/out")" = 1 ] && [ "$rc" != 124 ]; }
for ((round = 0; round < rounds; round++)); do
  for n in 2 3 4; do
    job run -k -n $n "$prog" $((seed + round)) "${KIB:-256}"
    ok "$((n - 1)) of $n ranks die, $((seed + round))" all survives gone
    most=$(sed -n 's/^survived \([0-9]*\) ms/\1/p' "$work/out")
    [ "${most:-0}" -gt $longest ] && longest=$most
    deaths=$((deaths + n - 1))
  done
done
echo "# $deaths deaths; noticed after $longest ms at most"
echo 1..$((rounds * 3))
exit $bad
