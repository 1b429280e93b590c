#!/usr/bin/env bash
# over.sh - the programs with several ranks over MPI (Open MPI and MPICH), with ranks that share
# memory and ranks that pretend to be on different nodes.
#
# TUTTI_TEST_ALL=1 runs every combination. MPICH's ranks spin, so this is slow with more ranks than
# cores.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"
. "${BASH_SOURCE%/*}/../support/mpi.bash"
. "${BASH_SOURCE%/*}/../support/in_background.bash"
[ "${TUTTI_TEST_ALL:-}" = 1 ] && everything=1 || everything=
n=0 seconds=${everything:+900}
# The MPIs' leaks at exit come from plugins that are already unloaded, so they have no symbols.
# Tests of the same programs under `tutti run` check tutti's own leaks.
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0

# Open MPI's ranks yield while they wait; here they sleep each eighth time, which leaves the cores to ranks that work.
case $BUILD in
*asan*) ;; # its runtime wants to be the first library
*)
  if ${CC:-cc} -x c -O2 -shared -fPIC - -o "$work/sleeps.so" <<'EOC'
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int sched_yield(void) {
  static __thread unsigned calls;
  if (++calls % 8) return (int)syscall(SYS_sched_yield);
  clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){.tv_nsec = 1000}, NULL);
  return 0;
}
EOC
  then yields[ompi]=$work/sleeps.so; fi ;;
esac

has() { [ -x "$BUILD/tests/$1/mp_cover" ] && has_starter "$1"; }

# job_of MPI RANKS NODES PROGRAM [ARGUMENTS]: nodes as in TUTTI_NODES; '-': all share memory.
job_of() {
  local mpi=$1 ranks=$2 nodes=$3 program=$4
  shift 4
  rc=0
  { TOKEN=$token LD_PRELOAD=${yields[$mpi]} TUTTI_NODES=${nodes#-} timeout -k 5 "${seconds:-60}" "$(starter "$mpi")" -n "$ranks" \
    "$BUILD/tests/$mpi/$program" "$@" >"$work/out" 2>"$work/err" </dev/null || rc=$?; } 2>/dev/null
}
# over MPI RANKS NODES PROGRAM [ARGUMENTS]: the same as a test.
over() {
  local mpi=$1 ranks=$2 nodes=$3 program=$4 from=${EPOCHREALTIME/./}
  row "nodes $nodes" "$mpi, $program" || return 0
  job_of "$@"
  shift 4
  grep -a '^not ok\|^#' "$work/out" >>"$work/err"
  ok "$mpi: $program${*:+ $*} on $ranks ranks, nodes $nodes ($(((${EPOCHREALTIME/./} - from) / 1000)) ms)" \
    all 'status 0' 'grep -q ^ok "$work/out"' '! grep -q "^not ok" "$work/out"'
  n=$((n + 1))
}

apart=0,1,2,3,4,5,6,7,8 # no shared memory
layouts="- $apart 0,0,1 0,1 0,1,1,0,2"

open_mpi() {
  local p nodes level
  for p in 1 2 3 4 5 7 9; do
    over ompi $p $apart mp_cover
    [ $p = 1 ] || over ompi $p 0,0,1 mp_cover
    [ $((p % 4)) != 1 ] || over ompi $p - mp_cover
  done
  over ompi 5 0,1 mp_cover
  for nodes in - $apart 0,1,1,0,2; do
    over ompi 4 "$nodes" mpi_beside
  done
  over ompi 3 0,0,1 mpi_beside multiple
  over ompi 2 - mpi_beside serialized
  over ompi 2 $apart mpi_beside funneled
  over ompi 3 $apart mp_exact
  over ompi 3 $apart mp_wrong
  over ompi 3 $apart mp_wrong 1 556609466 # two ranks are in a later call before they detect the first failure
  over ompi 4 0,0,1 mp_wrong
  over ompi 3 - mp_wrong
  over ompi 3 - mp_stall 1
  over ompi 4 0,1,1 mp_exact
  for nodes in - $apart 0,0,1; do over ompi 3 "$nodes" mpi_wrong; done
  over ompi 1 - mpi_wrong
  # its messages wait until their receives begin
  TUTTI_TIMEOUT=1 job_of ompi 2 0,1 mp_crossed 1000
  ok "ompi: freeing a communicator whose peer takes nothing ends at the time limit, and names the call" all 'status 0' \
    '[ "$(grep -c "^free: .*in tutti_comm_free, to receive what this rank sent in reduce of 1000 double" "$work/out")" = 2 ]' \
    '[ "$(grep -c "^free again: returned" "$work/out")" = 2 ]'
  job_of ompi 2 0,1 mp_waits free limit
  ok "ompi: such a wait warns, is shown by the doctor, and ends at the time limit" all '[ "$(grep -c "^ok" "$work/out")" = 3 ]'
  job_of ompi 2 0,1 mp_waits free interrupt
  ok "ompi: such a wait is interrupted" all '[ "$(grep -c "^ok" "$work/out")" = 1 ]'
  for p in 2 4; do over ompi $p - mpi_late; done
  n=$((n + 3))
}

mpich() {
  local nodes p
  for p in 2 4; do over mpich $p - mpi_late; done
  for nodes in - $apart; do
    over mpich 2 "$nodes" mp_cover
    over mpich 2 "$nodes" mp_exact
    over mpich 2 "$nodes" mpi_beside multiple
    over mpich 2 "$nodes" mpi_wrong
  done
  over mpich 1 - mp_cover
  over mpich 6 $apart mp_cover # enough ranks for every algorithm
  over mpich 1 - mpi_wrong
  for p in 3 5 8; do
    for nodes in - $apart 0,0,1; do over mpich $p "$nodes" mpi_few; done
  done
}

whole() { # MPI
  local p nodes level
  for nodes in $layouts; do
    for p in 1 2 3 4 5 6 7 8 9; do TUTTI_TEST_ALL= over "$1" $p "$nodes" mp_cover; done
    for p in 1 2 3 4 5 7; do
      over "$1" $p "$nodes" mp_scenes
      over "$1" $p "$nodes" mpi_wrong
      [ $p = 1 ] || over "$1" $p "$nodes" mp_wrong
      for level in single funneled serialized multiple; do over "$1" $p "$nodes" mpi_beside $level; done
    done
  done
  for nodes in - $apart; do over "$1" 2 "$nodes" mp_large; done
}

# The scenes with a rank that sleeps.
scenes() { # MPI
  case $1 in
    ompi) seconds=110 in_background over ompi 3 $apart mp_scenes && seconds=110 in_background over ompi 4 0,1 mp_scenes ;;
    mpich) seconds=110 in_background over mpich 2 $apart mp_scenes ;;
  esac
}

# The same program under `tutti run`.
launched() { # MPI
  job run -n 3 "$BUILD/tests/$1/mp_scenes"
  ok "$1: the program of mpirun, under tutti run" all 'status 0' 'grep -q "^1\.\." "$work/out"' '! grep -q "^not ok" "$work/out"'
}

for mpi in ompi $(brief || echo mpich); do
  has $mpi || continue
  in_background launched $mpi
  [ "$everything" ] || brief || scenes $mpi
  told # more than ten ranks on two cores would exceed the time limits
done
for mpi in ompi $(brief || echo mpich); do
  if ! has $mpi; then
    [ $mpi = ompi ] && tests=41 || tests=24
    skip "over $mpi" "it is not installed, or the tests were built without it" $tests
    n=$((n + 1))
    continue
  fi
  if [ "$everything" ]; then
    whole $mpi
  else
    case $mpi in ompi) open_mpi ;; *) mpich ;; esac
  fi
done
ok "no process is left" gone
echo "1..$((n + 1))"
exit $bad
