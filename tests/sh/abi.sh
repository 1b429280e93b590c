#!/usr/bin/env bash
# abi.sh - programs and tutti's libraries for the standard ABI of MPI 5.0, with a libmpi_abi.so.0 made for the tests, which
# translates the ABI to MPICH (tests/abi), because the distribution's MPIs do not have it.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"
. "${BASH_SOURCE%/*}/../support/mpi.bash"
. "${BASH_SOURCE%/*}/../support/dropin.bash"
mpi=abi
lib=$(realpath "$BUILD")
shim=$lib/libtutti_pmpi_abi.so
# The MPI's leaks at exit come from plugins that are already unloaded (see over.sh).
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0
nm -D "$shim" | grep -q __asan_ && sanitized="the sanitizer's runtime is not in programs that it did not compile" || sanitized=

# ---- without an MPI: this part runs on every machine ----

# The libraries refer to neither MPI functions nor an MPI library.
undefined() { nm -D --undefined-only "$1" | grep -E '\bP?MPIX?_'; }
needs_mpi() { readelf -d "$1" | grep -E 'NEEDED.*libp?mpi'; }
for f in "$shim" "$lib/libtutti_mpi_abi.so"; do
  ok "${f##*/} needs no MPI" all "! undefined $f" "! needs_mpi $f"
done
alone() { # alone COMMAND...: with the drop-in preloaded and LD_BIND_NOW
  rc=0
  LD_BIND_NOW=1 LD_PRELOAD=$shim timeout 20 "$@" >"$work/out" 2>"$work/err" || rc=$?
}
if [ "$sanitized" ]; then
  skip "a shell and its children" "$sanitized"
else
  alone sh -c 'ls / >/dev/null && exit 7'
  ok "a shell and its children are not disturbed" all 'status 7' quiet
fi
n=3

# The interfaces of Open MPI and MPICH, from which the drop-ins are built, against an installed mpi.h: sizes, values, the names
# of predefined handles, and all prototypes.
values() { # values HEADER: a program that prints what the header defines
  cat <<'EOC'
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#undef OMPI_PREDEFINED_GLOBAL
#define OMPI_PREDEFINED_GLOBAL(type, global) #global
#undef LATE
#define LATE OMPI_PREDEFINED_GLOBAL
static void show(const char *name, int is_text, const void *text, long number) {
  if (is_text) printf("%s %s\n", name, (const char *)text);
  else printf("%s %ld\n", name, number);
}
#define SHOW(x) show(#x, _Generic((x), char *: 1, default: 0), (const void *)(size_t)(x), (long)(x));
int main(void) {
EOC
  sed -nE 's/^#define (MPI_[A-Z0-9_]+) .*/\1/p; s/^  (MPI_[A-Z0-9_]+) =.*/\1/p; /^enum \{ .*\};/{s/enum|[{};]//g; s/ = [^,]*//g; s/[ ,]+/\n/g; p}' "$1" |
    grep -E '^MPI_' | grep -vxE 'MPI_(VERSION|SUBVERSION|ERRORS_ABORT)' | sed 's/.*/SHOW(&)/'
  for f in MPI_SOURCE MPI_TAG MPI_ERROR; do echo "SHOW(offsetof(MPI_Status, $f))"; done
  for f in Aint Offset Count Comm Datatype Errhandler Group Info Op Request Win Status; do echo "SHOW(sizeof(MPI_$f))"; done
  echo 'return 0; }'
}
same_interface() { # same_interface FAMILY COMPILER
  local own=mpi/abi/as_$1.h
  values "$own" >"$work/values.c"
  { echo '#include <mpi.h>' && echo '#define TUTTI_DECLARE(result, name, ...) result MPI_##name(__VA_ARGS__);' &&
    echo "#include \"$PWD/mpi/abi/functions.def\""; } >"$work/declared.c"
  "$2" -w "$work/values.c" -o "$work/values_theirs" 2>"$work/err" && "$work/values_theirs" >"$work/theirs" &&
    ${CC:-gcc} -w -Impi/abi "-DTUTTI_FOR_${1^^}" -c "$work/values.c" -o "$work/values.o" 2>"$work/err" &&
    ${CC:-gcc} "$work/values.o" -o "$work/values_ours" 2>"$work/err" && "$work/values_ours" >"$work/out" &&
    [ "$(wc -l <"$work/out")" -gt 100 ] && diff "$work/theirs" "$work/out" >"$work/err" &&
    "$2" -fsyntax-only "$work/declared.c" 2>"$work/err"
}
for family in ompi mpich; do
  compiler=mpicc.${family/ompi/openmpi}
  if command -v "$compiler" >/dev/null; then
    ok "mpi/abi/as_$family.h agrees with $compiler's mpi.h" same_interface $family "$compiler"
  else
    skip "mpi/abi/as_$family.h" "there is no $compiler"
  fi
done
n=$((n + 2))

if ! has_starter abi || [ ! -x "$BUILD/tests/abi/drop_ops" ]; then
  skip "programs of the standard ABI" "MPICH is not installed, or the tests were built without it" 44
  ok "no process is left" gone
  echo "1..$((n + 2))"
  exit $bad
fi

# ---- the drop-in; `tutti mpi` detects that these programs use the standard ABI ----

for p in 2 4; do
  compared abi $p "Allreduce Reduce Reduce_scatter Reduce_scatter_block" drop_ops
  compared abi $p "Allreduce Reduce Reduce_scatter_block" drop_user
  compared abi $p "Allgather Allgatherv Bcast" drop_types
  compared abi $p "Gather Gatherv Scatter Scatterv Alltoall Alltoallv Scan Exscan" drop_exchange
  compared abi $p "Allreduce Reduce Reduce_scatter_block Bcast Allgather Barrier" drop_comms
done
compared abi 3 "Allreduce Reduce Bcast Barrier" drop_traffic
compared abi 2 "Allreduce" drop_wrong
compared abi 3 "Allreduce Barrier Iallreduce Ibcast Iallgather Ibarrier Ireduce Ireduce_scatter \
  Ireduce_scatter_block Allreduce_init Bcast_init" drop_requests multiple
compared abi 2 "Allreduce Bcast" drop_large
compared abi 2 "Allreduce Bcast Barrier" drop_threads multiple
compared abi 3 "Iallreduce Ireduce Ireduce_scatter Ireduce_scatter_block Iallgather Iallgatherv Ibcast Ibarrier" drop_pending

# Built without Fortran: the MPI has names of types that it refuses, and using them is fatal unless the program changes the
# error handler.
ABI_FORTRAN=0 compared abi 2 "Bcast" drop_types

# ---- tutti_comm_from_mpi: ranks that share memory, and ranks that send messages through the MPI ----

for nodes in - 0,1,2,3 0,0,1; do
  for pair in "mpi_few 4" "mpi_wrong 3" "mpi_beside 2"; do
    TUTTI_NODES=${nodes#-} run_mpi "$(starter abi)" -n "${pair#* }" "$BUILD/tests/abi/${pair% *}"
    ok "abi: ${pair% *} on ${pair#* } ranks, nodes $nodes" all 'status 0' 'has "^ok"' '! has "^not ok"'
    n=$((n + 1))
  done
done

# ---- a different MPI from the one for which the library was built ----

ABI_MAJOR=-1 run_mpi "$TUTTI" mpi "--report=$report" "$(starter abi)" -n 2 "$BUILD/tests/abi/drop_types"
ok "an MPI without the ABI keeps its calls" all 'status 0' 'has "^ok"' '! has "^not ok"'
rm -f "$report"
ABI_MAJOR=2 run_mpi "$(starter abi)" -n 2 "$BUILD/tests/abi/mpi_few"
ok "and tutti_comm_from_mpi refuses it" all '! status 0' 'says "but the program runs a translation of the MPI ABI to MPICH"'
run_mpi "$TUTTI" mpi --family abi "--report=$report" mpirun.mpich -n 2 "$BUILD/tests/mpich/drop_types"
ok "a program of MPICH, with the library for the ABI, keeps its calls" all 'status 0' 'has "^ok"' '! has "^not ok"'
n=$((n + 3))

# ---- an MPI that is hidden from dlsym, because the program loads it with RTLD_LOCAL, like Python's extensions ----

hidden_sources
hidden() { # hidden NUMBER: the MPI's library is libmpi_abi.so.NUMBER
  local to=$work/hidden$1
  mkdir "$to"
  MPICH_CC=${CC:-gcc} mpicc.mpich -shared -Wl,--no-as-needed,-soname,"libmpi_abi.so.$1" "$BUILD"/mpi_mpich/tests/abi/*.o -ldl -o "$to/libmpi_abi.so.$1" &&
    ${CC:-gcc} -DALIASED -Impi/abi -shared -fPIC "$work/extension.c" "$to/libmpi_abi.so.$1" -Wl,-rpath,"$to" -o "$to/extension.so" &&
    ${CC:-gcc} "$work/loads.c" -ldl -o "$to/loads"
}
yields[abi]= # only works for a UCX that is not hidden
for number in 0 1; do
  [ ! "$sanitized" ] || { skip "libmpi_abi.so.$number, loaded locally" "$sanitized"; n=$((n + 1)); continue; }
  rm -f "$report"
  rc=built
  hidden $number >"$work/out" 2>"$work/err" || rc=failed
  [ $rc = failed ] || run_mpi "$TUTTI" mpi --family abi "--report=$report" "$(starter abi)" -n 2 "$work/hidden$number/loads" "$work/hidden$number/extension.so"
  ok "libmpi_abi.so.$number, loaded locally" all 'status 0' '[ "$(grep -o "ok - the sum" "$work/out" | wc -l)" = 2 ]' 'serves Allreduce Allgather'
  n=$((n + 1))
done
ok "no process is left" gone
echo "1..$((n + 1))"
exit $bad
