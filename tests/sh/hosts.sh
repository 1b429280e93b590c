# hosts.sh - ranks on several hosts without MPI: `tutti run --hosts`, and the variables of other launchers. All
# hosts are this machine. SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"
n=0
check() { ok "$@" && n=$((n + 1)) || n=$((n + 1)); }
passes='! grep -q "^not ok" "$work/out"'
one_job='[ "$(grep -c "^1\.\." "$work/out")" = 1 ]' # only rank 0 of a job prints; ranks that did not connect would all print

# ---- starting on one node, without a network ----
job run --hosts localhost:2,localhost:1 -l "$BUILD/examples/hello"
check "ranks of two parts are one job" all "status 0" \
  '[ "$(sort "$work/out" | cut -d: -f1 | xargs)" = "[0] rank 0 of 3 [1] rank 1 of 3 [2] rank 2 of 3" ]' \
  '[ "$(grep -c "sum is 3$" "$work/out")" = 3 ]'
job run --hosts a:1,b:2 --agent "$work/agent" true
check "a missing agent" all '! status 0' "says 'host [ab] '"
cat >"$work/agent" <<'EOS'
#!/bin/sh
echo "$1" >>"$WORK/called"
shift
exec sh -c "$*"
EOS
chmod +x "$work/agent"
WORK=$work job run --hosts "a:1,b:2" --agent "$work/agent" -e "WORDS=it's \"two\" words" \
  sh -c 'echo "$TUTTI_RANK/$TUTTI_SIZE $WORDS $1" "$(readlink /proc/self/fd/0)"' x "a 'b' \$c"
check "an agent is called once per host, and words arrive as they are" all "status 0" \
  '[ "$(sort "$work/called" | xargs)" = "a b" ]' \
  '[ "$(sort "$work/out" | head -1)" = "0/3 it'"'"'s \"two\" words a '"'"'b'"'"' \$c /dev/null" ]' '[ "$(wc -l <"$work/out")" = 3 ]'
job run --hosts localhost:2,localhost:1 sh -c '[ $TUTTI_RANK = 2 ] && exit 7; sleep 50'
check "one fails: its host's name, its status, no process is left" all "status 7" "says 'rank 2 .pid'" \
  "says 'host localhost .pid'" "within 20000" gone
job run --hosts localhost:1,localhost:1 --timeout 0.5 sleep 50
check "--timeout ends the ranks of all hosts" all "status 124" "within 20000" gone
background run --hosts localhost:1,localhost:2 sh -c 'echo ready; exec sleep 987'
lines 3 ready && kill -KILL "$job"
check "the launcher is killed: no process is left" gone
wait_job
background run --hosts localhost:1,localhost:2 sh -c 'echo ready; exec sleep 987'
lines 3 ready && kill -TERM "$job"
wait_job
check "SIGTERM reaches the ranks of all hosts" all '[ "$rc" != hangs ]' gone
background run --hosts localhost:1,localhost:2 sh -c 'trap "echo usr1" USR1; trap "trap : TERM; echo term; sleep 1; exit 3" TERM
  echo ready; while :; do sleep 0.05; done'
lines 3 ready && kill -USR1 "$job" && lines 3 usr1 && kill -TERM "$job"
wait_job
check "signals reach the ranks of all hosts, which may handle them" all "status 3" '[ "$(grep -c term "$work/out")" = 3 ]' gone
job run --hosts localhost:2,localhost:1 sh -c '"$0" && "$0" && "$0"' "$BUILD/examples/hello"
check "one program after the other" all "status 0" '[ "$(grep -c "sum is 3$" "$work/out")" = 9 ]' "within 20000"
job run --hosts localhost:1,localhost:1 sh -c 'echo "${TUTTI_ID##*:}"; sleep 0.2
  [ $TUTTI_RANK = 1 ] || cat /proc/[0-9]*/cmdline 2>/dev/null | tr "\0" " " |
    K=${TUTTI_ID##*:} awk "index(\$0, ENVIRON[\"K\"]) {n++} END {print n + 0}"'
check "no command line contains a key" all '[ "$(grep -cE "^[0-9a-f]{32}$" "$work/out")" = 2 ]' 'grep -qx 0 "$work/out"'
job run -n 3 --hosts localhost:2 true
check "-n that is not what the hosts have" all "status 2" "says 'n 3, but --hosts has 2'"
for list in , a: :2 a:0 a:x "a:2,," -a:1 a:99999; do
  job run "--hosts=$list" true
  check "--hosts $list is refused" all "status 2" "says 'not of the form|which hosts'"
done
job run --part 0:2 -n 1 true
check "--part is internal, and says so" all "status 2" "says 'tutti run --hosts'"

rc=0
(cd / && export TOKEN=$token && timeout 60 bash -c 'exec -a tutti "$0" info' "$TUTTI") >"$work/out" 2>"$work/err" || rc=$?
check "a command that was started by its name finds the library for TCP" all "status 0" "has '^wire tcp +yes'"

# ---- other launchers: torchrun's variables, all ranks on this host ----
as_torchrun() { # RANKS COMMAND ...
  local r port pids=() ranks=$1
  port=$(free_port)
  shift
  rc=0
  : >"$work/out"
  : >"$work/err"
  for ((r = 0; r < ranks; r++)); do
    TOKEN=$token RANK=$r WORLD_SIZE=${SIZE:-$ranks} MASTER_ADDR=127.0.0.1 MASTER_PORT=$port \
      timeout 120 "$@" >>"$work/out" 2>>"$work/err" </dev/null &
    pids+=($!)
  done
  for r in "${pids[@]}"; do wait "$r" || rc=$?; done
}
as_torchrun 4 "$BUILD/tests/mp_exact"
check "mp_exact on 4 ranks, by torchrun's variables" all "status 0" "$one_job" "$passes"
SIZE=3 TUTTI_CONNECT_TIMEOUT=0.7 as_torchrun 2 "$BUILD/examples/hello"
check "a rank is missing: all are told which" all "status 1" \
  '[ "$(grep -c "rank 2 of 3 did not come" "$work/err")" = 2 ]'
for each in MASTER_ADDR MASTER_PORT; do
  as_torchrun 2 env -u $each "$BUILD/examples/hello"
  check "torchrun's variables without $each: a sentence on both" all "status 1" '[ "$(grep -c "'$each' is not set" "$work/err")" = 2 ]'
done

if [ -e "$BUILD/libtutti_pmix.so" ] && command -v mpirun.openmpi >/dev/null; then
  . "${BASH_SOURCE%/*}/../support/mpi.bash"
  rc=0
  timeout 60 mpirun.openmpi -n 3 "$BUILD/tests/mp_exact" >"$work/out" 2>"$work/err" </dev/null || rc=$?
  check "mp_exact, which knows no MPI, under mpirun, by PMIx" all "status 0" "$one_job" "$passes"
  rc=0
  SLURM_JOB_ID=1 SLURM_STEP_ID=0 SLURM_STEP_NODELIST=localhost SLURM_STEP_NUM_TASKS=1 SLURM_PROCID=0 \
    timeout 60 mpirun.openmpi -mca plm ^slurm -mca ras ^slurm -n 3 "$BUILD/examples/hello" >"$work/out" 2>"$work/err" </dev/null || rc=$?
  check "the daemons of mpirun are a step of Slurm's: its ranks meet by PMIx" all "status 0" \
    '[ "$(grep -c "of 3: the ranks. sum is 3" "$work/out")" = 3 ]'
  rc=0
  TUTTI_CONNECT_TIMEOUT=1 timeout 60 mpirun.openmpi -n 2 sh -c '[ $PMIX_RANK = 1 ] && exec sleep 3; exec "$0"' \
    "$BUILD/examples/hello" >"$work/out" 2>"$work/err" </dev/null || rc=$?
  check "a rank that PMIx knows of does not come" all "status 1" 'grep -q "not all ranks that PMIx knows of" "$work/err"'
else
  skip "ranks by PMIx" "no libtutti_pmix.so, or no mpirun.openmpi" 3
  n=$((n + 1))
fi
ok "no process is left" gone
echo "1..$((n + 1))"
exit $bad
