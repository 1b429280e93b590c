#!/usr/bin/env bash
# dropin.sh - unmodified MPI programs with and without tutti's library preloaded: both runs
# must succeed and print the same, and the report must show that tutti executed the calls.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"
. "${BASH_SOURCE%/*}/../support/mpi.bash"
. "${BASH_SOURCE%/*}/../support/dropin.bash"

reductions="Allreduce Reduce Reduce_scatter Reduce_scatter_block"
exchanges="Gather Gatherv Scatter Scatterv Alltoall Alltoallv Scan Exscan"
some_reductions="Allreduce Reduce Reduce_scatter_block"
fortran="Allreduce Reduce Bcast Allgather Barrier"
first() { # MPI RANKS: the tests that depend on the number of ranks
  compared "$1" "$2" "$reductions" drop_ops
  compared "$1" "$2" "Allreduce Reduce Reduce_scatter_block" drop_user
  compared "$1" "$2" "Allgather Allgatherv Bcast" drop_types
  compared "$1" "$2" "$exchanges" drop_exchange
  compared "$1" "$2" "$some_reductions Bcast Allgather Barrier" drop_comms
  compared "$1" "$2" "Allreduce Reduce Bcast Barrier" drop_traffic
}
rest() { # MPI RANKS
  compared "$1" "$2" "Allreduce" drop_wrong
  compared "$1" "$2" "Allreduce Barrier" drop_requests
  compared "$1" "$2" "Allreduce Barrier Iallreduce Ibcast Iallgather Ibarrier Ireduce Ireduce_scatter \
    Ireduce_scatter_block Allreduce_init Bcast_init" drop_requests multiple
  compared "$1" "$2" "$exchanges Igather Igatherv Iscatter Iscatterv Ialltoall Ialltoallv Iscan Iexscan" drop_exchange multiple
  compared "$1" "$2" "Allreduce Bcast" drop_large
  compared "$1" "$2" "Allreduce Bcast Barrier" drop_threads multiple
  compared "$1" "$2" "Allreduce Barrier" drop_callback
  compared "$1" "$2" "Allreduce Barrier" drop_callback only
  [ -z "${TUTTI_TEST_ALL:-}" ] || [ "$2" != 2 ] || compared "$1" "$2" "Bcast" drop_large beyond
  for f in drop_mpifh.f drop_usempi.f90 drop_f08.f90; do compared "$1" "$2" "$fortran" $f; done
}
# The MPI is only used for the bootstrap.
over_ucx() { # MPI RANKS
  [ -e "$BUILD/libtutti_ucx.so" ] || { skip "$1: the drop-in over UCX" "there is no libtutti_ucx.so" 6; n=$((n + 1)); return; }
  local -x TUTTI_NET TUTTI_NODES=0,1
  TUTTI_NET=$(readlink -f "$BUILD")/libtutti_ucx.so
  over=" over UCX"
  compared "$1" "$2" "$reductions" drop_ops
  compared "$1" 2 "Allreduce Reduce Bcast Barrier" drop_traffic
  compared "$1" 2 "Allreduce Bcast Barrier" drop_threads multiple
  over=
}
levels() { # MPI
  local level
  for level in single funneled serialized; do compared "$1" 2 "Allreduce Bcast Barrier" drop_threads $level; done
}

# Many nonblocking collectives in flight, of all kinds; also with a contract that excludes some.
pending() { # MPI RANKS
  compared "$1" "$2" "$([ "$2" = 1 ] || echo Iallreduce Ireduce Ireduce_scatter Ireduce_scatter_block Iallgather Iallgatherv Ibcast Ibarrier)" drop_pending
}
exact() { # MPI
  local -x TUTTI_CONTRACT=exact
  over=", exact sums"
  compared "$1" 2 "Iallreduce" drop_pending
  ok "$1: ops that this contract does not have are left to the MPI" [ "$(handed MPI_Iallreduce)" -gt 0 ]
  n=$((n + 1)) over=
}
# tutti does not make communicators for MPI communicators without a collective.
unused() { # MPI
  compared "$1" 2 "Allreduce" drop_unused
  ok "$1: communicators without a collective are not tutti's" grep -q '"communicators": {"served": 1,' "$report"
  n=$((n + 1))
}
# A rank is late for the first collective of a communicator.
late() { # MPI
  local late_job wait='the first collective of an MPI communicator' said=
  rm -f "$work/come"
  TUTTI_LOG=stderr run_mpi "$TUTTI" mpi "$(starter "$1")" -n 3 "$BUILD/tests/$1/drop_late" "$work/come" &
  late_job=$!
  until [ "$said" ] || ! kill -0 $late_job 2>/dev/null; do
    grep -q "$wait has waited [0-9]* s for its other ranks" "$work/err" &&
      said=$("$TUTTI" doctor "$(sed -n 's/^# pid //p' "$work/out")")
    sleep 0.02
  done
  touch "$work/come"
  wait $late_job
  ok "$1: a wait for a communicator's first collective warns, and is shown by the doctor" all 'grep -q "^ok" "$work/out"' \
    'grep -q "$wait waits for its other ranks" <<<"$said"'
  n=$((n + 1))
}
# tutti leaves sessions without MPI_Init to the MPI, and the report says so.
sessions() { # MPI
  if ! grep -qa MPI_Session_init "$BUILD/tests/$1/drop_session"; then
    skip "$1: MPI's sessions" "it has none: they came with MPI 4"
  else
    run_mpi "$TUTTI" mpi --report "$(starter "$1")" -n 2 "$BUILD/tests/$1/drop_session"
    ok "$1: sessions without MPI_Init are left to the MPI, and the report says why" all 'status 0' 'grep -q "^ok" "$work/out"' \
      '[ "$(grep -c "nothing is taken over: this program has MPI sessions" "$work/err")" = 2 ]'
  fi
  n=$((n + 1))
}
# Ranks on two nodes: each communicator uses MPI messages as its network.
nodes() { # MPI
  local -x TUTTI_NODES=0,1
  over=", two nodes"
  compared "$1" 4 "Allreduce Reduce Reduce_scatter_block Bcast Allgather Barrier" drop_comms
  compared "$1" 3 "Iallreduce Ireduce Iallgather Ibcast Ibarrier" drop_pending
  over=
}
# MPI_Error_string and MPI_Error_class accept tutti's error. If it is fatal, every rank prints it before the MPI ends the job.
apart() { # MPI
  run_mpi "$TUTTI" mpi "$(starter "$1")" -n 3 "$BUILD/tests/$1/drop_apart"
  ok "$1: ranks that begin different collectives get the reason" all 'status 0' 'grep -q "^ok" "$work/out"'
  run_mpi "$TUTTI" mpi "$(starter "$1")" -n 3 "$BUILD/tests/$1/drop_apart" fatal
  ok "$1: and write it, where errors are fatal" all '! status 0' '! status 124' \
    'grep -q "^tutti: rank .* called allreduce of [23] int32, sum, but rank [012] called allreduce of [23] " "$work/err"'
  n=$((n + 2))
}

# The report counts the calls: the Fortran program calls MPI_Allreduce 14 times. With TUTTI_DROPIN=0
# tutti executes no calls, and the report says so.
counts() { # MPI
  local program=$BUILD/tests/$1/drop_mpifh.f
  [ -e "$program" ] || { skip "$1: calls are counted" "no Fortran compiler for this MPI" 4; n=$((n + 1)); return; }
  run_mpi "$TUTTI" mpi "--report=$report" "$(starter "$1")" -n 2 "$program"
  ok "$1: all of Fortran's calls are counted" all 'status 0' '[ "$(served MPI_Allreduce)" = 14 ]' \
    '[ "$(handed MPI_Allreduce)" = 0 ]' '[ "$(served MPI_Barrier)" = 1 ]'
  rm -f "$report"
  TUTTI_DROPIN=0 run_mpi "$TUTTI" mpi "--report=$report" "$(starter "$1")" -n 2 "$program"
  ok "$1: TUTTI_DROPIN=0 leaves them to the MPI" all 'status 0' '[ "$(served MPI_Allreduce)" = 0 ]' \
    '[ "$(handed MPI_Allreduce)" = 14 ]'
  run_mpi "$TUTTI" mpi --report "$(starter "$1")" -n 2 "$program"
  ok "$1: the report for people" all 'status 0' 'says MPI_Allreduce' 'says "communicators? served"' \
    'says "left to the MPI: MPI_COMM_SELF .a communicator of one rank."'
  run_mpi "$TUTTI" mpi "$(starter "$1")" -n 2 "$program"
  ok "$1: no report unless one is wanted" all 'status 0' '! says MPI_Allreduce'
  n=$((n + 4))
}

# A rank that aborts while the others wait for it ends the job, with its status.
dies() { # MPI
  run_mpi "$TUTTI" mpi "$(starter "$1")" -n 3 "$BUILD/tests/$1/drop_dies"
  ok "$1: a rank that aborts ends the job" all 'status 7' 'grep -q "^ok" "$work/out"'
  run_mpi "$TUTTI" mpi "$(starter "$1")" -n 2 "$BUILD/tests/$1/drop_dies" killed
  ok "$1: a rank that is killed ends the job" all '! status 0' '! status 124' 'grep -q "^ok" "$work/out"'
  n=$((n + 2))
}

# The library finds an MPI that is loaded late and with RTLD_LOCAL.
hidden() { # MPI
  local to=$work/hidden_$1 kept=${yields[$1]}
  yields[$1]= # only works for a UCX that is not hidden
  mkdir "$to"
  rm -f "$report"
  mpicc.${1/ompi/openmpi} -shared -fPIC "$work/extension.c" -o "$to/extension.so" 2>"$work/err" && ${CC:-gcc} "$work/loads.c" -ldl -o "$to/loads" &&
    run_mpi "$TUTTI" mpi "--report=$report" "$(starter "$1")" -n 2 "$to/loads" "$to/extension.so"
  ok "$1: an MPI that is loaded late and locally" all 'status 0' 'serves Allreduce'
  ok "$1: the library needs no MPI" all "! readelf -d $BUILD/libtutti_pmpi_$1.so | grep -E 'NEEDED.*libp?mpi'" \
    "! nm -D --undefined-only $BUILD/libtutti_pmpi_$1.so | grep -iE '\\bP?MPIX?_|\\bompi_'"
  yields[$1]=$kept
  n=$((n + 2))
}

hidden_sources
for mpi in ompi mpich; do
  brief && [ $mpi = mpich ] && continue # abi.sh has it
  if ! has_starter $mpi || [ ! -x "$BUILD/tests/$mpi/drop_ops" ]; then
    skip "the drop-in for $mpi" "it is not installed, or the tests were built without it" 68
    n=$((n + 1))
    continue
  fi
  # The full tests use more ranks. abi.sh also runs MPICH's programs.
  for p in ${TUTTI_TEST_ALL:+2} 3 ${TUTTI_TEST_ALL:+5}; do first $mpi $p; done
  for p in 2 ${TUTTI_TEST_ALL:+5}; do rest $mpi $p; done
  for p in 1 3 ${TUTTI_TEST_ALL:+2 5}; do pending $mpi $p; done
  exact $mpi
  unused $mpi
  late $mpi
  sessions $mpi
  hidden $mpi
  nodes $mpi
  apart $mpi
  levels $mpi
  over_ucx $mpi 3
  counts $mpi
  dies $mpi
done
ok "no process is left" gone
echo "1..$((n + 1))"
exit $bad
