#!/usr/bin/env bash
# mistakes.sh - the mistakes of tests/dropin/drop_mistakes.c under `tutti mpi`: each one becomes an error or is reported on
# stderr, and no program hangs. Without tutti some programs hang.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"
. "${BASH_SOURCE%/*}/../support/mpi.bash"
. "${BASH_SOURCE%/*}/../support/dropin.bash"
export TUTTI_TIMEOUT=2 # a call that a rank does not make becomes an error after this time
base=$work

# begin MPI RANKS: runs all mistakes after which a program can continue, in the background, because it mostly waits.
begin() {
  (mpi=$1 work=$base/$1$2
  mkdir "$work"
  OMPI_MCA_orte_tmpdir_base=$base run_mpi "$TUTTI" mpi "$(starter "$1")" -n "$2" "$BUILD/tests/$1/drop_mistakes"
  echo $rc >"$work/rc") &
}

# The mistakes that end the job: the name, and the expected words on stderr ("": only a failure is expected).
unwaited="^tutti: rank [01]: MPI_Finalize, and no call has completed 1 of its non-blocking collectives"
differ="^tutti: rank [01]: .*rank 1 called allreduce of 2 int32, sum, but rank 0 called allreduce of 1 "
late="^tutti: rank 0: .*for rank 1 .*in allreduce of 4 int32, sum, operation 2, which it has not called"
alone=(no-wait "$unwaited" no-wait-on-one "$unwaited" comm-freed-in-flight "$unwaited" fatal "$differ" one-ends "$late"
  freed-comm "" freed-request "" freed-active "" freed-type "" started-twice "" negative-count "")
for mpi in ompi mpich; do
  if ! has_starter $mpi || [ ! -x "$BUILD/tests/$mpi/drop_mistakes" ]; then
    skip "mistakes under $mpi" "it is not installed, or the tests were built without it" 13
    n=$((n + 13))
    continue
  fi
  for p in 2 3; do begin $mpi $p; done
  for ((i = 0; i < ${#alone[@]}; i += 2)); do
    run_mpi "$TUTTI" mpi "$(starter $mpi)" -n 2 "$BUILD/tests/$mpi/drop_mistakes" "${alone[i]}"
    says_or_fails=${alone[i + 1]:+says '${alone[i + 1]}'}
    ok "$mpi: ${alone[i]}" all '! status 124' '! status 137' "${says_or_fails:-! status 0}"
  done
  wait
  for work in "$base/$mpi"[23]; do
    rc=$(cat "$work/rc")
    ok "$mpi: calls that differ, and arguments that no call takes, on ${work##*$mpi} ranks" all 'status 0' \
      '! grep -q "^not ok" "$work/out"' '[ "$(grep -c "^ok" "$work/out")" = 72 ]'
  done
  work=$base
  n=$((n + 13))
done
ok "no process is left" gone
echo "1..$((n + 1))"
exit $bad
