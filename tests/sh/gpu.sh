#!/usr/bin/env bash
# gpu.sh - vectors on a GPU, with the simulated driver (tests/gpu/), or the one that TUTTI_CUDA_LIBRARY names: the
# covering table with every buffer on the GPU, streams, lists, buckets; sums by kernels, and on the host; several hosts;
# Python arrays.
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
job() { # replaces the function of tap.bash, which runs tutti directly
  timeout "${LIMIT:-200}" "$@" >"$work/out" 2>"$work/err" </dev/null
  rc=$?
}
for p in 2 $(brief || echo 3) ${TUTTI_TEST_ALL:+1 5}; do
  on $p "" mp_card
  on $p "" mp_cover
done
if brief; then
  echo "1..$n"
  exit $bad
fi
on 2 "sums on the host" mp_card TUTTI_DEVICE_SUMS=host WAY=host
on 3 "sums on the host" mp_cover TUTTI_DEVICE_SUMS=host
on 2 "a card each" mp_card CUDA_SIM_DEVICES=2
on 3 "the exact sum" mp_card TUTTI_CONTRACT=exact
on 2 "through the generic engine" mp_card TUTTI_ENGINE=generic
on 2 "late cards" mp_card CUDA_SIM_DELAY=300
on 2 "a GPU that is blocked" mp_card_held
on 2 "the same, sums on the host" mp_card_held TUTTI_DEVICE_SUMS=host
# The cost model decides, unless a variable does; the trace shows the variant that ran.
echo 'device.sum = 1s' >"$work/profile"
ways() { # WHAT WAY SETTING...: the trace has the events that only this variant makes
  local what=$1 way=$2
  shift 2
  rm -f "$work/trace.json"
  on 2 "$what" mp_card TUTTI_TRACE="$work/trace.json" WAY="$way" BRIEF=1 "$@"
  ok "mp_card, $what: the trace shows it" all "grep -q '\"cat\":\"from_device\"' $work/trace.json" \
    "[ \$(grep -c '\"cat\":\"kernel\"' $work/trace.json) $([ "$way" = kernels ] && echo -gt || echo -eq) 0 ]"
  n=$((n + 1))
}
ways "the price decides for kernels" kernels TUTTI_PROFILE=none
ways "the price decides for the host" host TUTTI_PROFILE="$work/profile"
ways "kernels at any price" kernels TUTTI_PROFILE="$work/profile" TUTTI_DEVICE_SUMS=kernels
if [ -e "$BUILD/libtutti_ucx.so" ]; then
  export UCX_TLS=tcp,self ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0
  for nodes in 0,1,2 0,0,1; do
    job env TUTTI_NODES=$nodes "$TUTTI" run --hosts localhost:1,localhost:1,localhost:1 "$BUILD/tests/mp_card"
    ok "mp_card over UCX, nodes $nodes" all "status 0" 'grep -aq ^ok "$work/out"' '! grep -aq "^not ok" "$work/out"'
    n=$((n + 1))
  done
  # Kernels within a host, and messages between hosts; messages only, on a host where a rank has disabled kernels.
  within() { # WHAT HOSTS KERNELS-ON WAY SETTING...: which ranks' traces show kernels
    local what=$1 hosts=$2 with=$3 way=$4 seen= r
    shift 4
    rm -f "$work/trace.json"
    job env TUTTI_NODES=0,0,1,1 TUTTI_ALGO='blueconnect(node:2 core:2,stages=ring/two-shot)' TUTTI_TRACE="$work/trace.json" BRIEF=1 \
      TUTTI_DEVICE_SUMS=kernels "$TUTTI" run --hosts "$hosts" sh -c \
      '[ "$TUTTI_RANK" != 3 ] || export '"${*:-A=1}"'; [ "$TUTTI_RANK" != 0 ] || export WAY='"$way"'; exec "$0"' "$BUILD/tests/mp_card"
    for r in 0 1 2 3; do ! grep -a '"cat":"kernel"' "$work/trace.json" | grep -q "\"pid\":$r\b" || seen=$seen$r; done
    grep -a '^not ok\|^#' "$work/out" >>"$work/err"
    ok "mp_card on 2 hosts of 2 ranks, $what: kernels on ranks ${with:-none}" all "status 0" 'grep -aq ^ok "$work/out"' '! grep -aq "^not ok" "$work/out"' "[ '$seen' = '$with' ]"
    n=$((n + 1))
  }
  four=localhost:1,localhost:1,localhost:1,localhost:1
  within "kernels within each" $four 0123 kernels
  within "on one host alone" $four 01 kernels TUTTI_DEVICE_SUMS=host
else
  skip "between hosts" "UCX is not installed, or was not built" 4
  n=$((n + 4))
fi
# The Python package: arrays with DLPack and with __cuda_array_interface__.
export PYTHONPATH=$PWD/python TUTTI_LIBRARY=$BUILD/libtutti.so.0
if ! $python -c 'import ctypes' 2>/dev/null; then
  skip "Python's arrays" "no Python here" 4
elif nm -D "$TUTTI_LIBRARY" | grep -qE '__(asan|tsan|ubsan)_'; then
  skip "Python's arrays" "the library is built with a sanitizer that a Python without it cannot load" 4
else
  for p in 1 2 3; do
    job "$TUTTI" run -n $p $python python/tests/on_card.py
    grep -a '^not ok\|^#' "$work/out" >>"$work/err"
    ok "on_card.py on $p ranks" all "status 0" '[ "$(grep -ac ^ok "$work/out")" = 17 ]' '! grep -aq "^not ok" "$work/out"'
  done
  job env TUTTI_DEVICE=none "$TUTTI" run -n 1 $python -c 'import sys; sys.path.insert(0, "python/tests")
import card, tutti
card.start(0)
for kind in (card.Tensor, card.Bare):
    try:
        tutti.allreduce(kind([1.0]))
    except tutti.ArgumentError as why:
        print(why)'
  ok "without a device, arrays on a card are refused" all "status 0" \
    '[ "$(grep -c "and tutti works in the memory of the CPU, because it has found no device here" "$work/out")" = 2 ]'
fi
n=$((n + 4))
echo "1..$n"
exit $bad
