#!/usr/bin/env bash
# readme.sh - runs the README's examples, and the demos, with the tutti that is installed on this machine.
#
#   tests/package/readme.sh [c] [python] [torch] [dropin] [demo]       (all)
#
# In addition to tutti, needs the compilers, MPIs and data that debian/tests/control lists. Uses nothing from a build folder.
# SPDX-License-Identifier: BSD-3-Clause
TUTTI=$(command -v tutti) || { echo "not ok - the command tutti is installed"; exit 1; }
. "${BASH_SOURCE%/*}/../support/tap.bash"
. "${BASH_SOURCE%/*}/../support/mpi.bash"
unset TUTTI_LIBRARY TUTTI_LIB PYTHONPATH LD_LIBRARY_PATH
export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 GLOG_minloglevel=2
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
tree=$PWD

# block LANGUAGE N: the N-th block of this language in the README.
block() { awk -v mark="\`\`\`$1" -v want="$2" '$0 == mark {n++; next} /^```$/ {n += n == want; next} n == want' README.md; }
# line PATTERN: the first line of the README, or the first code in a line, that begins with the pattern.
line() { grep -oE "(^|\`)$1[^\`]*" README.md | head -1 | tr -d '\`'; }
# runs COMMAND...: runs it in the test's folder, as a user would who copies lines; status in rc.
runs() { rc=0 && (cd "$work" && TOKEN=$token timeout -k 5 "${SECONDS_MOST:-120}" "$@") >"$work/out" 2>"$work/err" || rc=$?; }

in_c() {
  block c 1 >"$work/sum.c"
  runs bash -c "$(line 'cc sum.c')"
  ok "C: the README's program compiles as the README says" all 'status 0' quiet
  runs bash -c "$(line 'tutti run -n 4 ./sum')"
  ok "C: and prints what the README says" all 'status 0' 'out_is "4 ranks; their numbers add up to 6"' quiet
}

in_python() {
  block python 1 >"$work/mean.py"
  runs bash -c "$(line 'tutti run -n 4 python3 mean.py')"
  ok "Python: the README's program" all 'status 0' 'out_is "[1.5 1.5 1.5]"' quiet
}

in_torch() {
  python3 -c 'import torch' 2>/dev/null || { skip "PyTorch" "no PyTorch here" 2 && return; }
  block python 2 >"$work/ddp.py"
  runs tutti run -n 4 python3 ddp.py
  ok "PyTorch: the README's program" all 'status 0' 'out_is "tensor([6., 6., 6.])"' quiet
  runs python3 -c 'import tutti.torch as t; print(t.COMPILED, t.WHY_PLAIN)'
  ok "PyTorch: on the compiled backend" all 'status 0' 'out_is "True "'
}

# An MPI program that does not use tutti, started by the README's line.
dropin() {
  local mpi launcher
  cat >"$work/app.c" <<'EOC'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv) {
  int rank, sum;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("the sum is %d\n", sum);
  return MPI_Finalize();
}
EOC
  for mpi in openmpi mpich; do
    runs "mpicc.$mpi" app.c -o app
    ok "$mpi: a program compiles" all 'status 0' quiet
    launcher=$(line 'tutti mpi mpirun' | sed "s/mpirun/mpirun.$mpi/")
    export TUTTI_REPORT=$work/report.json
    runs bash -c "$launcher"
    unset TUTTI_REPORT
    ok "$mpi: $launcher" all 'status 0' 'out_is "the sum is 28"'
    ok "$mpi: and tutti served the call" grep -q '"MPI_Allreduce"' "$work/report.json"
    rm -f "$work/report.json"
  done
}

demos() {
  runs bash -c "cc -O2 -o fashion '$tree'/examples/fashion*.c \$(pkg-config --cflags --libs tutti) -lopenblas -lz -lm -pthread"
  ok "demo: it compiles with what is installed" status 0
  SECONDS_MOST=300 runs tutti run -n 4 ./fashion --need 0.87
  ok "demo: trains on 4 ranks, and the network is good" status 0
  python3 -c 'import torch' 2>/dev/null || { skip "demo: a script with DistributedDataParallel" "no PyTorch here" && return; }
  SECONDS_MOST=300 runs tutti run -n 2 python3 "$tree/examples/train_ddp.py" --steps 50
  ok "demo: a script with DistributedDataParallel" all 'status 0' 'grep -q "\"accuracy\"" "$work/out"'
}

for what in ${*:-c python torch dropin demo}; do
  case $what in
    c) in_c ;;
    python) in_python ;;
    torch) in_torch ;;
    dropin) dropin ;;
    demo) demos ;;
    *) ok "there are examples of $what" false ;;
  esac
done
exit $bad
