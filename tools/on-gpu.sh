#!/usr/bin/env bash
# on-gpu.sh - on a machine with an NVIDIA GPU: builds tutti, tests calls on GPU vectors, and measures them. The last output is a
# table for docs/gpu.md.
#
#   tools/on-gpu.sh [OUT]        OUT: a folder for logs and results (build/on-gpu)
#
# Needs a driver, a C compiler, make and bash, but no toolkit and no network. PyTorch is measured if python3 has it, and an MPI
# if python3 has mpi4py. PyTorch's process groups on tutti are tested: in Python, and compiled if there are a C++ compiler and
# Python's headers.
#   PARTS     which parts run, of: build tests ranks rates bench peers torch kills (all)
#   RANKS     numbers of processes ("1 2 4"; benchmarks leave out 1); they share the GPU if there is only one
#   BUDGET    seconds per size and variant of the benchmarks (0.3)
#   LAST      bytes of the longest vector (268435456)
#   MIB       size of the vectors whose rates are measured, in MiB (256)
#   KILLS     minimum number of killed ranks (100)
#   TUTTI_CUDA_LIBRARY   another driver: the one of tests/gpu/, to try this script
# The exit status is 1 if a test failed or a target is missed.
# SPDX-License-Identifier: BSD-3-Clause
set -u
cd "$(dirname "$0")/.." || exit 1
BUILD=${BUILD:-build} PARTS=${PARTS:-build tests ranks rates bench peers torch kills} RANKS=${RANKS:-1 2 4}
BUDGET=${BUDGET:-0.3} LAST=${LAST:-268435456} KILLS=${KILLS:-100} FIRST=1024
OUT=${1:-$BUILD/on-gpu}
mkdir -p "$OUT" || exit 1
export BUILD TUTTI_CUDA_LIBRARY=${TUTTI_CUDA_LIBRARY:-libcuda.so.1} TUTTI_PROFILE=none
bad=0

# part NAME: is the part selected?
part() { case " $PARTS " in *" $1 "*) return 0 ;; esac; return 1; }
# try NAME SECONDS COMMAND...: runs a command with a time limit; its output goes to OUT/NAME.log. Prints the result; 77 means
# skipped.
try() {
  local name=$1 limit=$2 rc=0 from=$SECONDS
  shift 2
  timeout -k 5 "$limit" bash -c '"$@"' on-gpu "$@" >"$OUT/$name.log" 2>&1 || rc=$?
  case $rc in
    0) echo "ok     $name, $((SECONDS - from)) s" ;;
    77) echo "skip   $name: $(tail -1 "$OUT/$name.log")" ;;
    *)
      [ $rc != 124 ] || echo "# it took longer than $limit s" >>"$OUT/$name.log"
      echo "NOT OK $name (status $rc), $((SECONDS - from)) s; the end of $OUT/$name.log:"
      tail -15 "$OUT/$name.log" | cut -c 1-300 | sed 's/^/       /'
      bad=1
      ;;
  esac
  return $rc
}
# run N PROGRAM ARGS...: runs a program as N ranks.
run() {
  local n=$1
  shift
  "$BUILD/tutti" run -n "$n" "$@"
}
# Like try, for a program that may be missing; its failure is not a failure of the script.
maybe() {
  local before=$bad
  try "$@" && return 0
  bad=$before
  return 1
}

# ---- parts ----

tests="test_ptx test_gpu test_gpu_peers test_gpu_sums test_gpu_threads"
build() {
  local stub=
  [ -e /usr/include/cmocka.h ] || stub="CMOCKA= CPPFLAGS=-Itests/arm" # a stand-in for cmocka
  # shellcheck disable=SC2086,SC2046
  make -j"$(nproc)" DEPS=no $stub all $(printf "$BUILD/tests/%s " $tests mp_gpu_kill mp_card mp_cover) \
    "$BUILD/bench/gpu_rates" "$BUILD/bench/gpu_allreduce"
}
unit_tests() {
  local failed=0
  for t in $tests; do CMOCKA_MESSAGE_OUTPUT=TAP "$BUILD/tests/$t" || failed=1; done
  return $failed
}
cover() { TUTTI_TEST_CARD=1 run "$1" "$BUILD/tests/mp_cover"; }
torch_build() {
  python3 tools/torch_flags.py cflags || return 77
  make -j"$(nproc)" DEPS=no TORCH_PYTHON="$(command -v python3)" with-torch
}
# torch_ranks N KIND: tests PyTorch's tensors on the GPU. KIND: the backend, compiled or python.
torch_ranks() {
  export PYTHONPATH=$PWD/python TUTTI_LIBRARY=$PWD/$BUILD/libtutti.so.0 TUTTI_TORCH=${2#compiled} PYTHONDONTWRITEBYTECODE=1
  run "$1" python3 python/tests/torch_gpu.py
}
# Repeats launches until KILLS ranks have been killed. In each launch all ranks but one are killed.
kills() {
  local n deaths=0 seed=${SEED:-1} longest=0 failed=0 said
  while [ $deaths -lt "$KILLS" ]; do
    for n in 2 4; do
      said=$(timeout -k 5 100 "$BUILD/tutti" run -k -n $n "$BUILD/tests/mp_gpu_kill" $((seed++)) 2>&1)
      case $said in
        *"survived "*) said=${said##*survived } said=${said%% ms*} && [ "$said" -gt $longest ] && longest=$said ;;
        *) echo "$n ranks, seed $((seed - 1)): $said" && failed=1 ;;
      esac
      deaths=$((deaths + n - 1))
    done
  done
  echo "$deaths deaths; noticed after $longest ms at most"
  return $failed
}

export -f build unit_tests cover kills run torch_build torch_ranks
export tests KILLS

echo "# $(uname -m), $(nproc) processors; $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | head -1)"
part build && { try build 400 build || exit 1; }
part tests && try tests 300 unit_tests
for n in $RANKS; do
  part ranks && try "card-$n" 120 run "$n" "$BUILD/tests/mp_card"
  part ranks && try "cover-$n" 200 cover "$n"
done
part rates && try rates 120 "$BUILD/bench/gpu_rates" "$BUILD/libtutti_cuda.so" "${MIB:-256}"
for n in $RANKS; do
  [ "$n" -gt 1 ] || continue
  for way in host device staged stream; do
    part bench && try "bench-$n-$way" 120 run "$n" "$BUILD/bench/gpu_allreduce" $way $FIRST "$LAST" float sum "$BUDGET"
  done
  for way in gloo mpi nccl; do
    part peers && maybe "bench-$n-$way" 100 python3 bench/gpu_peers.py --ranks "$n" --way $way --first $FIRST --last "$LAST" --budget "$BUDGET"
  done
done
if part torch && [ "$(python3 -c 'import torch; print(torch.cuda.is_available())' 2>/dev/null)" = True ]; then
  kinds=python
  maybe torch-build 200 torch_build && kinds="compiled python"
  for kind in $kinds; do
    for n in $RANKS; do [ "$n" -gt 1 ] && try "torch-$kind-$n" 100 torch_ranks "$n" "$kind"; done
  done
fi
part kills && try kills 400 kills

# ---- the table, and the targets ----

# The median microseconds of each variant, a line per size.
table() {
  echo
  echo "Microseconds of an allreduce of floats, $1 processes."
  echo
  echo "| bytes | host | device | staged | stream | gloo | MPI | NCCL |"
  echo "|---|---|---|---|---|---|---|---|"
  cat "$OUT/bench-$1"-*.log 2>/dev/null | awk '
    /^ *[0-9]/ && NF == 9 { sizes[$1] = 1; t[$1, $5] = $6 + 0; if ($9 != 0) t[$1, $5] = "wrong" }
    function show(b, way) { return (b, way) in t ? t[b, way] : "-" }
    END { for (b = 1024; b <= 2 ^ 40; b *= 4) if (b in sizes)
      print "| " b " | " show(b, "host") " | " show(b, "device") " | " show(b, "staged") " | " show(b, "stream") " | " \
        show(b, "gloo") " | " show(b, "mpi") " | " show(b, "nccl") " |" }'
}
# The model parameters of this machine, for a profile (docs/gpu.md).
figures() {
  echo
  echo "For a profile:"
  awk '$1 == "short" { short = $2 } $1 == "both" { bus = $2 } $1 == "float-sum-2x2" { memory = $2 }
    /^ *[0-9]/ && NF == 9 && $5 == "device" && (!sum || $6 < sum) { sum = $6 }
    /^ *[0-9]/ && NF == 9 && $5 == "staged" && $1 == 16384 { turn = $6 - 2 * short }
    END { if (sum) printf "    device.sum = %.1fus\n", sum
      if (memory) printf "    device.memory = %.0fGB/s\n", memory
      if (short) printf "    device.copy = %.1fus\n", short
      if (bus) printf "    device.bus = %.1fGB/s\n", bus
      if (turn) printf "    device.turn = %.0fus\n", turn > 0 ? turn : 0 }' "$OUT/rates.log" "$OUT/bench-2-device.log" "$OUT/bench-2-staged.log" 2>/dev/null
}
# bar NAME WAY LEAST WANTED FIGURE FACTOR RANKS: a target: bytes * FACTOR / time >= WANTED * FIGURE, for LEAST bytes or more.
bar() {
  local name=$1 way=$2 least=$3 wanted=$4 figure=$5 factor=$6 n=$7
  awk -v name="$name" -v way="$way" -v least="$least" -v wanted="$wanted" -v figure="$figure" -v factor="$factor" '
    $1 == figure { rate = $2 }
    /^ *[0-9]/ && NF == 9 && $5 == way && $1 >= least {
      share = $1 * factor / $6 / 1000 / rate; if (!n++ || share < low) { low = share; at = $1 } }
    END {
      if (!n || !rate) { print "skip   " name ": not measured"; exit 0 }
      printf "%s %s: %.0f %% of %.1f GB/s at %d bytes, where it is lowest; wanted %.0f %%\n", \
        low >= wanted ? "ok    " : "NOT OK", name, 100 * low, rate, at, 100 * wanted
      exit low < wanted }' "$OUT/rates.log" "$OUT/bench-$n-$way.log" 2>/dev/null || bad=1
}
{
  cat "$OUT/rates.log" 2>/dev/null
  for n in $RANKS; do [ "$n" -gt 1 ] && [ -e "$OUT/bench-$n-host.log" ] && table "$n"; done
  [ -e "$OUT/rates.log" ] && figures
  echo
} | tee "$OUT/gpu.md"
for n in $RANKS; do
  [ "$n" -gt 1 ] || continue
  # Each of the n processes moves its vector in both directions simultaneously.
  bar "staged on $n processes, of the bus both ways" staged $((4 << 20)) 0.8 both "$n" "$n"
done
# With 2 processes both vectors are read, and both are written.
bar "kernels on 2 processes, of the card's memory" device $((64 << 20)) 0.6 copy 4 2
[ $bad = 0 ] && echo "all holds" || echo "something failed"
exit $bad
