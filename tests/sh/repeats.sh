# repeats.sh - the contract `run`: the same bits in every run, even if other conditions differ:
# late ranks, a busy machine, access to the peers' memory, the engine that executes a plan.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"
program=$BUILD/tests/mp_exact
[ -x "$program" ] || { skip "from run to run" "no $program" && exit 0; }

# same_as NAME [VARIABLE=VALUE...]: another run, which executes the same plans differently.
fingerprint() { env TUTTI_CONTRACT=run "$@" timeout -k 5 100 "$TUTTI" run -n "$n" "$program" fingerprint; }
same_as() {
  local name=$1
  shift
  fingerprint "$@" >"$work/again" 2>&1
  # if no specialized fast path may run, the plan is printed without one
  sed -i 's/, two-shot if nothing is copied$//' "$work/again"
  ok "$n ranks: $name" cmp -s "$work/first" "$work/again"
}
for n in 2 ${TUTTI_TEST_ALL:+3} 5; do
  fingerprint >"$work/first" 2>&1
  sed -i 's/, two-shot if nothing is copied$//' "$work/first"
  ok "$n ranks: sums and plans" grep -qE '^bits [0-9a-f]{16}$' "$work/first"
  same_as "the same again"
  same_as "copies through shared memory" TUTTI_COPIES=private
  same_as "the system reads vectors" TUTTI_COPIES=none
  same_as "everything is copied" TUTTI_COPIES=all
  same_as "step by step, without loops" TUTTI_ENGINE=generic
  same_as "a thread drives operations in flight" TUTTI_PROGRESS_THREAD=1
  (while :; do :; done) &
  busy=$!
  same_as "while another process takes a core"
  kill $busy
  wait $busy 2>/dev/null
done

# ---- over a network, with one rank per node ----
. "${BASH_SOURCE%/*}/../support/mpi.bash"
n=3
apart=0,1,2
over() { # NAME COMMAND...: two runs have the same result
  local name=$1 k
  shift
  for k in first again; do
    TUTTI_CONTRACT=run TUTTI_NODES=$apart timeout -k 5 100 "$@" fingerprint >"$work/$k" 2>&1 </dev/null
  done
  ok "$n ranks over $name: sums and plans" grep -qE '^bits [0-9a-f]{16}$' "$work/first"
  ok "$n ranks over $name: the same again" cmp -s "$work/first" "$work/again"
}
if [ -x "$BUILD/tests/ompi/mp_exact" ] && has_starter ompi; then
  over "Open MPI" "$(starter ompi)" -n $n "$BUILD/tests/ompi/mp_exact"
else
  skip "over Open MPI" "no mp_exact of it, or no mpirun.openmpi" 2
fi
if [ -e "$BUILD/libtutti_ucx.so" ]; then
  export UCX_TLS=tcp,self ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0
  over "UCX" "$TUTTI" run --hosts localhost:1,localhost:1,localhost:1 "$program"
else
  skip "over UCX" "no libtutti_ucx.so" 2
fi
exit $bad
