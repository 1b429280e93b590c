#!/usr/bin/env bash
# other_mpis.sh - the drop-in with stubs of MPIs that are not installed (tests/dropin/stub_mpi.c). The stub has the name of this
# machine's MPI, and the properties of MPICH 5, Open MPI 5 or Intel MPI. It is used with the interface of MPICH, also by the name
# that Intel MPI has, with that of Open MPI, and with the standard ABI, which is translated to that MPICH. Also programs of one MPI
# with tutti's library for another.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"
. "${BASH_SOURCE%/*}/../support/mpi.bash"
. "${BASH_SOURCE%/*}/../support/dropin.bash"
# The MPI's leaks at exit come from plugins that are already unloaded (see over.sh).
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0
source=${BASH_SOURCE%/*}/../dropin/stub_mpi.c
nm -D "$BUILD/libtutti_pmpi_abi.so" | grep -q __asan_ && sanitized="the sanitizer's runtime is not in programs that it did not compile" || sanitized=
compiler() { OMPI_CC=${CC:-gcc} MPICH_CC=${CC:-gcc} "mpicc.${1/ompi/openmpi}" "${@:2}"; } # MPI ARGUMENTS...

# stub_of MPI LIBRARY RENAMED SONAME: makes the stub in $work/MPI, as SONAME, and a copy of the MPI's LIBRARY with a new name of
# the same length.
stub_of() {
  local to=$work/$1 own
  own=$(compiler "$1" -print-file-name="$2") && mkdir -p "$to" && sed "s/${2//./\\.}/$3/" "$own" >"$to/$3" &&
    compiler "$1" -D_GNU_SOURCE -O1 -fPIC -c "$source" -o "$to/stub.o" &&
    ${CC:-gcc} -shared "$to/stub.o" -Wl,--no-as-needed "$to/$3" -Wl,-rpath,'$ORIGIN',-soname,"$4" -ldl -o "$to/$4"
}

# called SONAME: MPICH's stub by another name, in $work/SONAME.
called() {
  local to=$work/$1
  mkdir -p "$to" && cp "$work/mpich/libmpixx.so.12" "$to" &&
    ${CC:-gcc} -shared "$work/mpich/stub.o" -Wl,--no-as-needed "$to/libmpixx.so.12" -Wl,-rpath,'$ORIGIN',-soname,"$1" -ldl -o "$to/$1"
}
# renamed: MPICH's programs, which need Intel MPI's library instead, in $work/programs.
renamed() {
  local to=$work/programs/tests/impi program
  mkdir -p "$to" && for program in drop_ops drop_types drop_requests drop_unused mpi_few; do
    sed 's/libmpich\.so\.12\x00/libmpi.so.12\x00\x00\x00/' "$BUILD/tests/mpich/$program" >"$to/$program" && chmod +x "$to/$program" || return 1
  done
}

one_node() { # MPI: the estimate is that of shared memory
  TUTTI_EXPLAIN=1 run_mpi "$TUTTI" mpi "$(starter "$1")" -n 2 "$BUILD/tests/$1/drop_unused"
  ok "$1: ranks that the MPI finds alone on their nodes share memory" all 'status 0' 'says "Predicted: [0-9.]* ns"'
  n=$((n + 1))
}

# by_name NAME WORDS SONAME [LIBRARY]: a program loads an MPI of this name with RTLD_LOCAL, like Python. It may be linked with
# the LIBRARY of another MPI.
by_name() {
  local to=$work/$3
  rm -f "$report"
  ${CC:-gcc} "$work/loads.c" -Wl,--no-as-needed ${4:+"$4"} -Wl,-rpath,"$work/other" -ldl -o "$to/loads" &&
    run_mpi "$TUTTI" mpi --family mpich "--report=$report" mpirun.mpich -n 2 "$to/loads" "$to/extension.so"
  ok "$1" all 'status 0' '[ "$(grep -o "ok - the sum" "$work/out" | wc -l)" = 2 ]' "$2"
  n=$((n + 1))
}
names() { # SONAME
  local to=$work/$1
  mkdir -p "$work/other" && called "$1" &&
    compiler mpich -c -fPIC "$work/extension.c" -o "$to/extension.o" &&
    ${CC:-gcc} -shared "$to/extension.o" "$to/$1" -Wl,-rpath,"$to" -o "$to/extension.so" &&
    echo 'int MPI_Init(void) { return 1; } int PMPI_Init(void) { return 1; }' |
    ${CC:-gcc} -x c -shared -fPIC - -Wl,-soname,libmpich.so.12 -o "$work/other/libmpich.so.12"
}

# stubbed MPI: the programs with the stub, without and with the drop-in.
stubbed() {
  local mpi=$1 kin=${1/impi/mpich} BUILD=$BUILD
  if [ "$sanitized" ] || ! has_starter $kin || [ ! -x "$BUILD/tests/$kin/drop_ops" ]; then
    skip "a stub, $mpi" "${sanitized:-it is not installed, or the tests were built without it}" 8
    n=$((n + 1))
    return
  fi
  case $mpi in
    ompi) stub_of ompi libmpi.so.40 libmpx.so.40 libmpi.so.40 ;;
    mpich) stub_of mpich libmpich.so.12 libmpixx.so.12 libmpich.so.12 ;;
    impi) called libmpi.so.12 && renamed ;;
  esac >"$work/out" 2>"$work/err" || { ok "$mpi: the stub is built" false; return; }
  local -x LD_LIBRARY_PATH
  case $mpi in
    impi) LD_LIBRARY_PATH=$work/libmpi.so.12:$(realpath "$BUILD/tests") BUILD=$work/programs ;;
    *) LD_LIBRARY_PATH=$work/${mpi/abi/mpich} ;;
  esac
  compared $mpi 2 "Allreduce Reduce Reduce_scatter Reduce_scatter_block" drop_ops
  compared $mpi 2 "Allgather Allgatherv Bcast" drop_types
  compared $mpi 2 "Allreduce Barrier Iallreduce Ibcast Iallgather Ibarrier Ireduce Ireduce_scatter \
    Ireduce_scatter_block Allreduce_init Bcast_init" drop_requests multiple
  one_node $mpi
  run_mpi "$(starter $mpi)" -n 2 "$BUILD/tests/$mpi/mpi_few"
  ok "$mpi: tutti_comm_from_mpi" all 'status 0' 'has "^ok"' '! has "^not ok"'
  n=$((n + 1))
}
yields[impi]=${yields[mpich]}
for mpi in ompi mpich abi impi; do stubbed $mpi; done

# A library for another MPI passes all calls on and says so. (MPICH's handles are shorter than those of other MPIs, which cannot
# pass through a library for MPICH.)
for pair in ompi:mpich ompi:abi mpich:abi abi:ompi abi:mpich; do
  mpi=${pair#*:}
  if [ "$sanitized" ] || ! has_starter $mpi || [ ! -x "$BUILD/tests/$mpi/drop_types" ] || [ ! -e "$BUILD/libtutti_pmpi_${pair%:*}.so" ]; then
    skip "$pair" "${sanitized:-it is not installed, or the tests were built without it}"
  else
    run_mpi "$(starter $mpi)" -n 2 env LD_PRELOAD="${yields[$mpi]} $(realpath "$BUILD")/libtutti_pmpi_${pair%:*}.so" TUTTI_REPORT=1 "$BUILD/tests/$mpi/drop_types"
    ok "the library for ${pair%:*} in a program of $mpi: the MPI has all calls, and a line says so" all 'status 0' 'has "^ok"' '! has "^not ok"' \
      'says "nothing is taken over: this library is for .*, but the program runs"'
  fi
  n=$((n + 1))
done

# past MPI LIBRARY: a program that looks up the functions in the MPI's library calls no function of the drop-in.
past() {
  mpi=$1
  cat >"$work/past.c" <<'EOC'
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv) {
  void *mpi = dlopen(argv[argc - 1], RTLD_NOW | RTLD_GLOBAL);
  int (*init)(void *, void *), (*finalize)(void);
  if (!mpi) return 1;
  *(void **)&init = dlsym(mpi, "MPI_Init");
  *(void **)&finalize = dlsym(mpi, "MPI_Finalize");
  if (init(NULL, NULL) || finalize()) return 1;
  puts("ok - by dlsym");
}
EOC
  ${CC:-gcc} "$work/past.c" -ldl -o "$work/past" && run_mpi "$TUTTI" mpi --family $mpi --report "$(starter $mpi)" -n 2 "$work/past" "$2"
  ok "$mpi: a program that calls its MPI past the library, and a line says so" all 'status 0' 'has "^ok"' \
    '[ "$(grep -c "nothing is taken over: the program calls its MPI past this library" "$work/err")" = 2 ]'
  n=$((n + 1))
}
for pair in ompi:libmpi.so.40 mpich:libmpich.so.12; do
  if [ "$sanitized" ] || ! has_starter ${pair%:*} || [ ! -e "$BUILD/libtutti_pmpi_${pair%:*}.so" ]; then
    skip "${pair%:*}, by dlsym" "${sanitized:-it is not installed}"
    n=$((n + 1))
  else
    past ${pair%:*} ${pair#*:}
  fi
done

mpi=mpich
if [ ! -e "$work/mpich/stub.o" ]; then
  skip "libmpi.so.12" "the stub was not made" 4
  n=$((n + 1))
else
  hidden_sources
  yields[mpich]= # only works for a UCX that is not hidden
  ok "extensions for MPIs of two names are built" eval 'names libmpi.so.12 && names libothers.so.1' 2>"$work/err"
  n=$((n + 1))
  by_name "libmpi.so.12, loaded locally" 'serves Allreduce && ! says "two MPIs"' libmpi.so.12
  by_name "libmpi.so.12, in a program that has another MPI, too" \
    'serves Allreduce && says "this process has two MPIs, .*; the collectives of .*/libmpi.so.12 are taken over"' \
    libmpi.so.12 "$work/other/libmpich.so.12"
  by_name "an MPI by a name that no known one has" 'says "nothing is taken over: this library is for MPICH, but the program runs A stub of an MPI"' libothers.so.1
fi
ok "no process is left" gone
echo "1..$((n + 1))"
exit $bad
