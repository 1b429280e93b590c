#!/usr/bin/env bash
# turns.sh - the drop-in times its own collectives and those of the MPI. The test makes the MPI or tutti slow, and checks that
# the faster library runs all later calls. tutti runs floating-point sums on three ranks in any case, and every call with
# TUTTI_DROPIN=always. The outcome depends on time, so a run is repeated if another process disturbed it.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"
. "${BASH_SOURCE%/*}/../support/mpi.bash"
. "${BASH_SOURCE%/*}/../support/dropin.bash"
unset TUTTI_DROPIN

# by FUNCTION: the side that executes it after the first calls, from the report, once for each kind of call.
by() {
  sed -n "s/.*\"function\": \"$1\", \"bytes_to\".*\"by\": \"\([A-Za-z]*\)\".*/\1/p" "$report" | tr '\n' ' '
}
run() { # RANKS: runs the program; the caller's variables choose the MPI's transport
  rm -f "$report"
  run_mpi "$TUTTI" mpi "--report=$report" "$(starter ompi)" -n "$1" "$BUILD/tests/ompi/drop_turns"
}

# repeated CONDITION RANKS: runs the program up to eight times, until the condition holds.
repeated() {
  for _ in 1 2 3 4 5 6 7 8; do
    run "$2"
    [ "$rc" = 0 ] && eval "$1" && return
  done
}

mpi=ompi
has_starter ompi && [ -e "$BUILD/tests/ompi/drop_turns" ] || { skip "the drop-in measures itself" "no Open MPI" 4; echo "1..4"; exit 0; }
ours='[ "$(by MPI_Bcast)$(by MPI_Barrier)$(by MPI_Allreduce)" = "tutti tutti tutti " ]'
OMPI_MCA_btl=self,tcp repeated "$ours" 2
ok "an MPI that is slow serves nothing that was measured" all 'status 0' '! grep -q "^not ok" "$work/out"' "$ours" '[ "$(by MPI_Reduce)" = "" ]'
theirs='[ "$(by MPI_Bcast)$(by MPI_Barrier)" = "MPI MPI " ]'
TUTTI_NODES=0,1 TUTTI_NET=mpi repeated "$theirs" 2
ok "where tutti is slow, the MPI serves" all 'status 0' '! grep -q "^not ok" "$work/out"' "$theirs" '[ "$(handed MPI_Bcast)" -gt 150 ]'
TUTTI_NODES=0,1,2 TUTTI_NET=mpi run 3
ok "but for sums that round, on three ranks" all 'status 0' '[ "$(served MPI_Allreduce)" -ge 300 ]' '[ "$(handed MPI_Allreduce)" -le 300 ]'
TUTTI_NODES=0,1 TUTTI_NET=mpi TUTTI_DROPIN=always run 2
ok "TUTTI_DROPIN=always: nothing is handed on" all 'status 0' '[ "$(by MPI_Bcast)" = "" ]' '[ "$(handed MPI_Bcast)" = 0 ]' \
  '[ "$(served MPI_Bcast)" = 300 ]'
echo "1..4"
exit $bad
