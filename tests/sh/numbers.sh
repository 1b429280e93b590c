#!/usr/bin/env bash
# numbers.sh - sequence numbers of operations, messages and pieces exceed 2^31 and 2^32, over every transport: results and
# messages with a number are still right. TUTTI_FIRST_NUMBER sets the first number.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"
. "${BASH_SOURCE%/*}/../support/mpi.bash"
. "${BASH_SOURCE%/*}/../support/over.bash"
export UCX_TLS=tcp,self ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0
K31=2147482648 K32=4294966296 # a thousand operations before the limit; mp_cover makes three thousand
M32=4294967290                # six messages below, so that each slot of a channel is used before

# near FIRST RANKS NAME=VALUE PROGRAM...: runs ranks that share memory.
near() {
  local first=$1 ranks=$2 set=$3
  shift 3
  job run -n "$ranks" env TUTTI_FIRST_NUMBER="$first" "$set" "$BUILD/tests/$@"
  grep -a '^not ok\|^#' "$work/out" >>"$work/err"
  check "$* on $ranks ranks, first number $first, $set" all "status 0" 'grep -q ^ok "$work/out"' "$passes"
}
for first in $K31 $K32; do
  near $first 2 TUTTI_COPIES=none mp_cover
  near $first 3 TUTTI_COPIES=cheapest mp_cover
  near $first 3 TUTTI_COPIES=private mp_cover
  near $first 3 TUTTI_ENGINE=generic mp_cover
done
near $K32 4 "TUTTI_TOPO=numa:2 core:2" mp_cover
near $M32 2 TUTTI_COPIES=private mp_scenes message
near $M32 2 TUTTI_COPIES=none mp_scenes message
export TUTTI_FIRST_NUMBER=$K32
for wire in ucx tcp tls; do
  if [ -e "$BUILD/libtutti_$wire.so" ]; then
    export TUTTI_NET=$wire
    over 3 $apart mp_cover
    over 3 0,0,1 mp_cover
  else
    skip "over $wire" "no libtutti_$wire.so in the build" 2 && n=$((n + 2))
  fi
done
unset TUTTI_NET
# The MPI selects its own transports. With UCX's TCP, MPICH 4.0.2 may hang in MPI_Finalize; UCX_TCP_PUT_ENABLE=n prevents that.
unset UCX_TLS
for mpi in ompi mpich; do
  if [ -x "$BUILD/tests/$mpi/mp_cover" ] && has_starter $mpi; then
    rc=0
    TOKEN=$token LD_PRELOAD=${yields[$mpi]} TUTTI_NODES=0,1 timeout -k 5 200 "$(starter $mpi)" -n 2 "$BUILD/tests/$mpi/mp_cover" \
      >"$work/out" 2>"$work/err" </dev/null || rc=$?
    check "$mpi: mp_cover on 2 ranks" all "status 0" 'grep -q ^ok "$work/out"' "$passes"
  else
    skip "over $mpi" "it is not installed" && n=$((n + 1))
  fi
done
echo "1..$n"
exit $bad
