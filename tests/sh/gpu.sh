#!/usr/bin/env bash
# gpu.sh - vectors on a GPU, over the simulated driver (tests/gpu/), or the one that TUTTI_CUDA_LIBRARY names: the
# covering table with every buffer there, streams, lists, buckets; summed by kernels, and on the host; between hosts.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"
export TUTTI_CUDA_LIBRARY=${TUTTI_CUDA_LIBRARY:-$PWD/$BUILD/tests/libcuda_sim.so}
export TUTTI_TEST_CARD=1
n=0

# on RANKS WHAT PROGRAM [SETTING=VALUE ...]
on() {
  local ranks=$1 what=$2 program=$3 from=${EPOCHREALTIME/./}
  shift 3
  job env "$@" "$TUTTI" run -n "$ranks" "$BUILD/tests/$program"
  grep -a '^not ok\|^#' "$work/out" >>"$work/err"
  ok "$program on $ranks ranks${what:+, $what} ($(((${EPOCHREALTIME/./} - from) / 1000)) ms)" all "status 0" 'grep -aq ^ok "$work/out"' '! grep -aq "^not ok" "$work/out"'
  n=$((n + 1))
}
job() { # of tap.bash runs tutti itself
  timeout "${LIMIT:-200}" "$@" >"$work/out" 2>"$work/err" </dev/null
  rc=$?
}
for p in 1 2 3 5; do
  on $p "" mp_card
  on $p "" mp_cover
done
on 2 "sums on the host" mp_card TUTTI_DEVICE_SUMS=host
on 3 "sums on the host" mp_cover TUTTI_DEVICE_SUMS=host
on 2 "a card each" mp_card CUDA_SIM_DEVICES=2
on 3 "the exact sum" mp_card TUTTI_CONTRACT=exact
on 2 "through the generic engine" mp_card TUTTI_ENGINE=generic
on 2 "late cards" mp_card CUDA_SIM_DELAY=300
if [ -e "$BUILD/libtutti_ucx.so" ]; then
  export UCX_TLS=tcp,self ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0
  for nodes in 0,1,2 0,0,1; do
    job env TUTTI_NODES=$nodes "$TUTTI" run --hosts localhost:1,localhost:1,localhost:1 "$BUILD/tests/mp_card"
    ok "mp_card over UCX, nodes $nodes" all "status 0" 'grep -aq ^ok "$work/out"' '! grep -aq "^not ok" "$work/out"'
    n=$((n + 1))
  done
else
  skip "between hosts" "UCX is not installed, or was not built" 2
  n=$((n + 2))
fi
echo "1..$n"
exit $bad
