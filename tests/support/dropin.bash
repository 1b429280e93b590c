# dropin.bash - for tests of the drop-in: a program without and with it, and checks of its report. Sourced after
# tap.bash and mpi.bash, never run. SPDX-License-Identifier: BSD-3-Clause
n=0 over=
unset TUTTI_REPORT TUTTI_LIB LD_PRELOAD
export TUTTI_DROPIN=always # who serves a call does not depend on times
report=$work/report.json
mkdir "$work/alone"

# run_mpi COMMAND...: a command of $mpi's; output in $work/out and err, status in rc.
run_mpi() {
  rc=0
  { TOKEN=$token LD_PRELOAD=${yields[$mpi]} timeout -k 5 60 "$@" >"$work/out" 2>"$work/err" </dev/null || rc=$?; } 2>/dev/null
  grep -a '^not ok\|^#' "$work/out" >>"$work/err"
}
# served FUNCTION, handed FUNCTION: the number of calls in the report.
served() {
  sed -n "s/.*\"function\": \"$1\", \"bytes_from\".*\"calls\": \([0-9]*\),.*/\1/p" "$report" | awk '{n += $1} END {print n + 0}'
}
handed() {
  sed -n "s/.*\"function\": \"$1\", \"calls\": \([0-9]*\), .*\"why\".*/\1/p" "$report" | awk '{n += $1} END {print n + 0}'
}
# serves FUNCTION...: there is a report, and tutti served at least one call of each.
serves() {
  local f
  [ -s "$report" ] || { echo "# there is no report"; return 1; }
  for f in "$@"; do
    [ "$(served "MPI_$f")" -gt 0 ] || { echo "# MPI_$f was not served"; return 1; }
  done
}
same() { diff "$work/plain" "$work/out" >"$work/differ" || { sed 's/^/# /' "$work/differ" | head -5; return 1; }; }

# compared MPI RANKS "FUNCTIONS" PROGRAM [ARGUMENTS]: both runs simultaneously, because startup takes most
# of the time.
compared() {
  local mpi=$1 ranks=$2 functions=$3 program=$BUILD/tests/$1/$4
  shift 3
  [ -e "$program" ] || { skip "$mpi: $1" "it could not be built here: no Fortran compiler with this MPI's modules" 2; n=$((n + 1)); return; }
  rm -f "$report" "$work/alone/rc"
  (work=$work/alone; OMPI_MCA_orte_tmpdir_base=$work run_mpi "$(starter "$mpi")" -n "$ranks" "$program" "${@:2}"; echo $rc >"$work/rc") &
  run_mpi "$TUTTI" mpi "--report=$report" "$(starter "$mpi")" -n "$ranks" "$program" "${@:2}"
  wait
  with=$rc rc=$(cat "$work/alone/rc" || echo none)
  cp "$work/alone/out" "$work/plain"
  work=$work/alone ok "$mpi: $* on $ranks ranks" all 'status 0' 'grep -q ^ok "$work/out"' '! grep -q "^not ok" "$work/out"'
  rc=$with
  ok "$mpi: $* on $ranks ranks, with tutti$over" all 'status 0' 'same' "serves $functions"
  n=$((n + 2))
}

# hidden_sources: an MPI that is hidden from dlsym: $work/loads.c loads an extension of $work/extension.c and its MPI as local
# symbols, like Python.
hidden_sources() {
cat >"$work/extension.c" <<'EOC'
#include <mpi.h>
#include <stdio.h>
int extension(void) {
  int one = 1, sum = 0, rank = 0, ranks = 0, all[8] = {0};
  if (MPI_Init(NULL, NULL)) return 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
#ifdef ALIASED /* an MPI of the standard ABI */
  /* One buffer for both: MPICH refuses it and Open MPI does not, so with the ABI tutti serves it. */
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  all[rank] = rank + 1;
  MPI_Allgather(&all[rank], 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
#else
  all[0] = 1, all[ranks - 1] = ranks;
#endif
  if (sum == ranks && all[0] == 1 && all[ranks - 1] == ranks) printf("ok - the sum\n");
  return MPI_Finalize();
}
EOC
cat >"$work/loads.c" <<'EOC'
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv) {
  void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  int (*extension)(void) = NULL;
  if (library) *(void **)&extension = dlsym(library, "extension");
  if (!extension) fprintf(stderr, "%s\n", dlerror());
  return extension ? extension() : 1;
}
EOC
}
