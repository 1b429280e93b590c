# settings.sh - the environment of a process: the log, other launchers, little address space.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"

hello=$PWD/$BUILD/examples/hello
log=$work/log

# ---- TUTTI_LOG, with a program that has no log callback ----
alone() { # alone VARIABLE=value ...: runs hello as one rank without a launcher
  rc=0
  TOKEN=$token timeout 20 env "$@" "$hello" >"$work/out" 2>"$work/err" || rc=$?
}
alone TUTTI_TIMEOUT=soon
ok "a program alone: a wrong setting is not printed unasked" all "status 0" quiet
alone TUTTI_LOG=stderr TUTTI_TIMEOUT=soon
ok "TUTTI_LOG=stderr prints it, with the process" all "status 0" one_line \
  "says '^tutti\[[0-9]+\]: TUTTI_TIMEOUT=.soon. is not a positive number of seconds'"
alone TUTTI_LOG="$log" TUTTI_TIMEOUT=soon
ok "a file is appended to" all "status 0" quiet '[ "$(grep -c TUTTI_TIMEOUT "$log")" = 1 ]'
alone TUTTI_LOG="info,$log" TUTTI_EXPLAIN=1
ok "a level and a file" all "status 0" quiet 'grep -q "Predicted:" "$log"'
alone TUTTI_LOG=off TUTTI_EXPLAIN=1 TUTTI_TIMEOUT=soon
ok "off is off" all "status 0" quiet
alone TUTTI_EXPLAIN=1
ok "TUTTI_EXPLAIN alone goes to stderr" all "status 0" "says 'Predicted:'"
alone TUTTI_LOG=/no/such/folder/log TUTTI_TIMEOUT=soon
ok "a file that cannot be written: said, and the line is not lost" all "status 0" \
  "says '/no/such/folder/log. cannot be written: No such file'" "says 'TUTTI_TIMEOUT=.soon'"
mkfifo "$work/pipe"
alone TUTTI_LOG="$work/pipe" TUTTI_TIMEOUT=soon
ok "a pipe without a reader does not stall the program" all "status 0" "says 'TUTTI_TIMEOUT=.soon'"
for setting in TUTTI_TIMEOUT=soon TUTTI_EXPLAIN=very TUTTI_SLICES=many TUTTI_ENGINE=fast TUTTI_COPIES=often \
  TUTTI_FENCES=some TUTTI_STORES=big TUTTI_PROGRESS_THREAD=yes TUTTI_MEASURE=2; do
  job run -n 3 env "$setting" "$hello"
  ok "tutti run: $setting is told once" all "status 0" one_line "says '^tutti.*${setting%=*}='"
done
job run -n 2 env TUTTI_EXPLAIN=1 "$hello"
ok "tutti run: TUTTI_EXPLAIN is heard" all "status 0" "says 'on 2 ranks'"

# ---- a rank of several reports an error ----
refused() { # refused WORDS: the job fails with this message, and without a result
  all '[ "$rc" != 0 ]' "grep -qE '$1' '$work/out' '$work/err'" "grep -q 'tutti run' '$work/out' '$work/err'"
}
for by in PMI_SIZE OMPI_COMM_WORLD_SIZE MV2_COMM_WORLD_SIZE PALS_SIZE FLUX_JOB_SIZE WORLD_SIZE SLURM_STEP_NUM_TASKS; do
  alone $by=2
  ok "$by=2, and no way to the other rank: refused" refused "$by=2 says"
  alone $by=1
  ok "$by=1: alone" status 0
done
alone WORLD_SIZE=2 RANK=0
ok "torchrun's variables without an address: refused" refused "MASTER_ADDR and MASTER_PORT"
alone PMIX_RANK=0 PMIX_NAMESPACE=x LD_LIBRARY_PATH=/no TUTTI_CONNECT_TIMEOUT=1
ok "PMIx without a server: refused" '[' "$rc" != 0 ']'
if command -v mpirun.mpich >/dev/null; then
  for _ in 1 2 3 4 5; do # the launcher is killed by SIGPIPE if it is slower than its ranks
    rc=0
    TOKEN=$token timeout 60 mpirun.mpich -n 2 "$hello" </dev/null >"$work/out" 2>"$work/err" || rc=$?
    [ $rc = 141 ] || break
  done
  ok "ranks of MPICH's mpirun without MPI are refused" refused "tutti_comm_from_mpi"
else
  skip "ranks of MPICH's mpirun without MPI are refused" "no mpirun.mpich"
fi

# ---- little address space ----
for kib in 20000 60000 100000 200000 1000000; do
  rc=0
  (ulimit -v $kib && TOKEN=$token timeout 20 "$TUTTI" run -n 2 "$hello" >"$work/out" 2>"$work/err") || rc=$?
  ok "ulimit -v $kib: it runs, or a sentence says why not" \
    eval '[ "$rc" = 0 ] || grep -q "raise .ulimit -v" "$work/out" "$work/err"'
done
ok "with 1 GB it runs" status 0
exit $bad
