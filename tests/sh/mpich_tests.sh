#!/usr/bin/env bash
# mpich_tests.sh - MPICH's own tests of collectives (test/mpi/coll) with and without tutti's library preloaded: both runs have
# the same status and output. A part of `make check-dropin`, which sets WHOLE=1.
#
# apt-get fetches MPICH's sources, which contain the tests. Each MPI's compiler builds them, without MPICH's configure. Tests are
# skipped if the MPI lacks a function that they need, or if they fail without tutti. ONLY=WORD: only tests with this word in the
# name.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"
. "${BASH_SOURCE%/*}/../support/mpi.bash"
. "${BASH_SOURCE%/*}/../support/dropin.bash"
. "${BASH_SOURCE%/*}/../support/sources.bash"
case $BUILD in /*) ;; *) BUILD=$PWD/$BUILD ;; esac
if [ -z "${WHOLE:-}" ] || ! fetched mpich; then
  skip "MPICH's tests" "no sources of MPICH here: ${why:-only make check-dropin fetches them}"
  exit
fi
theirs=$work/sources/test/mpi
# The results of configure.
for name in STDARG_H STDINT_H STDLIB_H STRING_H SYS_TIME_H SYS_TYPES_H UNISTD_H INTTYPES_H LONG_LONG LONG_DOUBLE FLOAT__COMPLEX \
  DOUBLE__COMPLEX LONG_DOUBLE__COMPLEX _BOOL; do
  echo "#define HAVE_$name 1"
done >"$theirs/include/mpitestconf.h"
cp "$theirs/include/mpitestconf.h" "$theirs/dtpools/dtpoolsconf.h"
# Two functions that MPI 3.0 removed.
sed -i -E 's/MPI_Type_(hvector|hindexed)\(/MPI_Type_create_\1(/' "$theirs/dtpools/src/dtpools_custom.c"

# built MPI: builds all programs, in $work/MPI.
built() {
  local flags="-O1 -w -DHAVE_MPITESTCONF_H -DTHREAD_PACKAGE_NAME=THREAD_PACKAGE_POSIX -I$theirs/include -I$theirs/dtpools/include" cc=mpicc.${1/ompi/openmpi}
  mkdir "$work/$1" && (cd "$work/$1" &&
    $cc $flags -c "$theirs"/util/{mtest,mtest_common,mtest_thread,dtypes}.c "$theirs"/dtpools/src/*.c &&
    ar rcs util.a ./*.o &&
    awk '/^[a-z]/ {print $1}' "$theirs/coll/testlist.in" | sort -u | xargs -P "$(nproc)" -I{} sh -c \
      'f=$2/coll/{}.c; also=; [ -e "$f" ] || { n={}; f=$2/coll/${n#nb}.c also=-DUSE_MTEST_NBC; }
       $0 $1 $also "$f" util.a -lm -o {} 2>{}.why || :' "$cc" "$flags" "$theirs") >"$work/out" 2>"$work/err"
}
# play RANKS PROGRAM [ARGUMENT...]: runs a program without and with tutti, in parallel.
play() {
  local name="$mpi: ${*:2} on $1 ranks" program=$work/$mpi/$2
  [ -x "$program" ] || { skip "$name" "it does not compile: $(grep -m1 -oE 'error: .*|undefined reference.*' "$program.why")"; return; }
  rm -f "$work/alone/rc"
  (work=$work/alone; OMPI_MCA_orte_tmpdir_base=$work run_mpi "$(starter "$mpi")" -n "$1" "$program" "${@:3}"; echo $rc >"$work/rc") &
  run_mpi "$TUTTI" mpi "--report=$report.$n" "$(starter "$mpi")" -n "$1" "$program" "${@:3}"
  wait
  sort "$work/alone/out" >"$work/plain"
  sort -o "$work/out" "$work/out"
  if ! grep -q 'No Errors' "$work/plain"; then
    skip "$name" "it fails without tutti: status $(cat "$work/alone/rc")"
  else
    ok "$name" all 'status 0' same
  fi
}

lines=$(grep -c '^[a-z]' "$theirs/coll/testlist.in")
for mpi in ompi mpich; do
  if ! has_starter $mpi || [ ! -e "$BUILD/libtutti_pmpi_$mpi.so" ] || ! built $mpi; then
    skip "MPICH's tests, $mpi" "no $(starter $mpi) here, or no drop-in for it, or they could not be built" $((lines + 1))
    n=$((n + lines + 1))
    continue
  fi
  rm -f "$report".*
  while read -r name ranks more; do
    case $name in *"${ONLY:-}"*) ;; *) continue ;; esac
    words=$(grep -o 'arg=[^ ]*' <<<"$more" | sed 's/^arg=//') # the other words are the time and the memory that it needs
    # shellcheck disable=SC2086
    play "$ranks" "$name" $words
    n=$((n + 1))
  done < <(grep '^[a-z]' "$theirs/coll/testlist.in")
  served=$(cat "$report".* | sed -n 's/.*"bytes_from".*"calls": \([0-9]*\),.*/\1/p' | awk '{n += $1} END {print n + 0}')
  ok "$mpi: tutti served calls: $served" [ "$served" -gt 0 ]
  n=$((n + 1))
done
ok "no process is left" gone
echo "1..$((n + 1))"
exit $bad
