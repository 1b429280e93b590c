#!/usr/bin/env bash
# slurm.sh - ranks started by srun, in a Slurm cluster of two hosts, which are network namespaces of this machine.
#
# Run by `make check-slurm`, not by `make check`, because it needs Slurm's packages and root.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"
case $BUILD in /*) ;; *) BUILD=$PWD/$BUILD ;; esac
unset TUTTI_NET TUTTI_KEY TUTTI_PORT LD_PRELOAD
export OPENBLAS_NUM_THREADS=1
hello=$BUILD/examples/hello

# srun_on PER_HOST [NAME=VALUE ...] COMMAND ...: runs PER_HOST ranks on each of two hosts. SRUN: additional options of srun.
srun_on() {
  local per=$1
  shift
  rc=0
  { TUTTI_INSECURE=${INSECURE-1} TOKEN=$token TUTTI_LOG=info timeout -k 5 240 bash bench/netns.sh slurm 2 "$per" 1gbit env "$@" \
    >"$work/out" 2>"$work/err" || rc=$?; } 2>/dev/null
}
out_has() { [ "$(grep -cE "$1" "$work/out")" = "$2" ]; }
err_has() { grep -qE "$1" "$work/err"; }

srun_on 1 true
[ $rc -ne 77 ] || { skip "srun" "$(tail -n 1 "$work/err")" 13 && exit 0; }

srun_on 2 "$hello"
ok "srun starts four ranks on two hosts" [ $rc -eq 0 ]
ok "each rank has the sum" out_has '^rank [0-3] of 4: the ranks. sum is 6$' 4
ok "they met by Slurm's variables, and talk through UCX" err_has '4 ranks met in .*; UCX '

INSECURE= srun_on 2 TUTTI_CONNECT_TIMEOUT=5 "$hello"
ok "without a secret ranks of two hosts do not meet, and say what to do" all '[ $rc -ne 0 ]' "says 'set TUTTI_KEY to the same secret on all ranks'"
INSECURE= srun_on 2 TUTTI_KEY=0123456789abcdef "$hello"
ok "ranks of a job with TUTTI_KEY" out_has 'sum is 6$' 4

# without Slurm's variables only PMIx provides the rank
SRUN=--mpi=pmix srun_on 2 -u SLURM_PROCID -u SLURM_STEP_NUM_TASKS -u SLURM_STEP_NODELIST "$hello"
ok "srun --mpi=pmix" [ $rc -eq 0 ]
ok "each rank that met by PMIx has the sum" out_has 'sum is 6$' 4

program="import os, sys, numpy, tutti
w = tutti.init()
x = numpy.full(1000, float(w.rank + 1), numpy.float32)
w.allreduce(x)
if w.rank == 3: os._exit(9)
try:
    while True: w.allreduce(x)
except tutti.PeerLostError as why:
    print('rank', w.rank, 'heard:', why)
"
if $python -c 'import numpy' 2>/dev/null; then
  srun_on 2 PYTHONPATH="$PWD/python" TUTTI_LIBRARY="$BUILD/libtutti.so" $python -c "$program"
  ok "a rank that dies ends no job in silence" [ $rc -ne 0 ]
  ok "the other three hear of it" out_has '^rank [012] heard: .*rank 3' 3
else
  skip "a rank that dies" "no numpy" 2
fi

if [ -x "$BUILD/examples/hello_mpi_ompi" ]; then
  SRUN=--mpi=pmix srun_on 2 OMPI_MCA_btl_tcp_if_include=eth0 OMPI_MCA_pml=ob1 TUTTI_REPORT=/dev/stderr \
    "$TUTTI" mpi --family ompi "$BUILD/examples/hello_mpi_ompi"
  ok "an MPI program with the drop-in, by srun --mpi=pmix" [ $rc -eq 0 ]
  ok "tutti made its allreduce" err_has '"bytes_from"'
else
  skip "an MPI program with the drop-in" "no Open MPI" 2
fi

if [ -x "$BUILD/examples/fashion" ] && [ -d /usr/share/datasets/fashion-mnist ]; then
  srun_on 2 "$BUILD/examples/fashion" --epochs 2 --need 0.8
  ok "the demo trains on two hosts" [ $rc -eq 0 ]
  ok "one rank says its accuracy" out_has 'test accuracy' 1
else
  skip "the demo" "make demo has not been built" 2
fi
ok "nothing is left" gone
exit $bad
