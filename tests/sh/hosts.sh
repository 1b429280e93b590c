# hosts.sh - ranks on several hosts without MPI: `tutti run --hosts`, other launchers' variables, and
# programs with several ranks over UCX. The hosts are all this one; TUTTI_NODES defines the nodes.
# Without UCX only the tests that need none run. SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"
[ "${TUTTI_TEST_ALL:-}" = 1 ] && everything=1 || everything=
export UCX_TLS=tcp,self
# UCX's leaks at exit have no symbols; other tests check tutti's own leaks.
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0
n=0
check() { ok "$@" && n=$((n + 1)) || n=$((n + 1)); }
apart=0,1,2,3,4,5,6,7,8

# list N: N hosts, with one rank each.
list() {
  local i l=
  for ((i = 0; i < $1; i++)); do l=$l${l:+,}localhost:1; done
  echo "$l"
}
passes='! grep -q "^not ok" "$work/out"'

# ---- starting: one node, so no network ----
job run --hosts localhost:2,localhost:1 -l "$BUILD/examples/hello"
check "ranks of two parts are one job" all "status 0" \
  '[ "$(sort "$work/out" | cut -d: -f1 | xargs)" = "[0] rank 0 of 3 [1] rank 1 of 3 [2] rank 2 of 3" ]' \
  '[ "$(grep -c "sum is 3$" "$work/out")" = 3 ]'
job run --hosts a:1,b:2 --agent "$work/agent" true
check "an agent that is not there" all '! status 0' "says 'host [ab] '"
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
check "no key stands in a command line" all '[ "$(grep -cE "^[0-9a-f]{32}$" "$work/out")" = 2 ]' 'grep -qx 0 "$work/out"'
job run -n 3 --hosts localhost:2 true
check "-n that is not what the hosts have" all "status 2" "says 'n 3, but --hosts has 2'"
for list in , a: :2 a:0 a:x "a:2,," -a:1 a:99999; do
  job run "--hosts=$list" true
  check "--hosts $list is refused" all "status 2" "says 'not of the form|which hosts'"
done
job run --part 0:2 -n 1 true
check "--part is no command for people" all "status 2" "says 'tutti run --hosts'"

# ---- other launchers: torchrun's variables, all ranks on this host ----
as_torchrun() { # RANKS COMMAND ...
  local r pids=() ranks=$1
  shift
  rc=0
  : >"$work/out"
  : >"$work/err"
  for ((r = 0; r < ranks; r++)); do
    TOKEN=$token RANK=$r WORLD_SIZE=${SIZE:-$ranks} MASTER_ADDR=127.0.0.1 MASTER_PORT=$port \
      timeout 20 "$@" >>"$work/out" 2>>"$work/err" </dev/null &
    pids+=($!)
  done
  for r in "${pids[@]}"; do wait "$r" || rc=$?; done
}
port=$($python -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])')
as_torchrun 4 "$BUILD/tests/mp_cover"
check "mp_cover on 4 ranks, by torchrun's variables" all "status 0" 'grep -q ^ok "$work/out"' "$passes"
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
  timeout 60 mpirun.openmpi -n 3 "$BUILD/tests/mp_cover" >"$work/out" 2>"$work/err" </dev/null || rc=$?
  check "mp_cover, which knows no MPI, under mpirun, by PMIx" all "status 0" 'grep -q "on 3 processes" "$work/out"' "$passes"
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

# ---- over UCX ----
over() { # RANKS NODES PROGRAM [ARGUMENTS]
  local ranks=$1 nodes=$2 program=$3 from=${EPOCHREALTIME/./}
  shift 3
  TUTTI_NODES=$nodes job run --hosts "$(list "$ranks")" "$BUILD/tests/$program" "$@"
  grep -a '^not ok\|^#' "$work/out" >>"$work/err"
  check "ucx: $program${*:+ $*} on $ranks ranks, nodes $nodes ($(((${EPOCHREALTIME/./} - from) / 1000)) ms)" \
    all "status 0" 'grep -q ^ok "$work/out"' "$passes"
}
if [ ! -e "$BUILD/libtutti_ucx.so" ]; then
  skip "over UCX" "it is not installed, or was not built (make ucx)" 41
  n=$((n + 1))
  TUTTI_NODES=0,1 job run --hosts "$(list 2)" "$BUILD/examples/hello"
  check "two nodes without UCX: a sentence on all" all "status 1" '[ "$(grep -c "cannot be loaded" "$work/err")" -ge 1 ]'
else
  for p in 1 2 3 4 5 6 ${everything:+7 8 9}; do over $p $apart mp_cover; done
  for nodes in 0,0,1 0,1 0,1,1,0,2; do over 5 $nodes mp_cover; done
  over 3 $apart mp_exact
  over 3 $apart mp_wrong
  over 4 0,0,1 mp_wrong
  over 4 0,1 mp_scenes
  over 3 $apart mp_parting
  for nodes in $apart 0,0,1; do over 3 $nodes mp_told; done
  for nodes in $apart 0,0,1,1,2; do over 5 $nodes mp_asleep; done
  for nodes in $apart 0,0,1; do over 3 $nodes mp_stall $((${everything:-0} ? 3 : 1)); done
  over 3 $apart mp_stall 1 1795384486308 # rank 0's calls never wait
  [ ! "$everything" ] || for nodes in $apart 0,0,1; do over 3 $nodes mp_scenes; over 2 $nodes mp_large; done
  for nodes in 0,1,2 0,0,1; do
    TUTTI_NODES=$nodes job run -k --hosts "$(list 3)" "$BUILD/tests/mp_lost"
    check "a rank is killed between nodes $nodes: the others name it soon" all \
      '[ "$(grep -c "^ok - rank [02] .*rank 1 (pid [0-9]*) died" "$work/out")" = 2 ]' "$passes"
  done
  for each in "5 $apart 2" "5 $apart 4" "5 0,0,1,1,2 3" "4 0,1,1,0 3" ${everything:+"8 $apart 7" "6 0,0,1 5"}; do
    read -r ranks nodes deaths <<<"$each"
    for seed in $((RANDOM * 32768 + RANDOM)) ${everything:+1 2 3 4 5 6 7 8 9}; do
      TUTTI_NODES=$nodes job run -k --hosts "$(list "$ranks")" "$BUILD/tests/mp_deaths" $seed "$deaths" far
      check "$deaths of $ranks ranks on nodes $nodes die, the others shrink and go on, $seed" \
        all '[ "$(grep -c "^survived" "$work/out")" = $((ranks - deaths)) ]'
    done
  done
  # messages in several parts, some of which never come: UCX 1.13 cannot cancel a receive of one
  UCX_TCP_TX_SEG_SIZE=8k TUTTI_NODES=$apart job run -k --hosts "$(list 5)" "$BUILD/tests/mp_deaths" 165074234 4 far
  check "4 of 5 ranks die amid messages in parts" all '[ "$(grep -c "^survived" "$work/out")" = 1 ]'
  for each in UCX_TLS=nonsense UCX_TLS=self UCX_TLS=sm,self UCX_NET_DEVICES=nosuch0; do
    UCX_TLS=tcp,self job run -k --hosts "$(list 2)" env TUTTI_NODES=0,1 $each "$BUILD/examples/hello"
    check "UCX without a device, $each: a sentence on all" all "status 1" \
      "[ \"\$(grep -c 'has no network to the other hosts: UCX .*$each' \"\$work/err\")\" = 2 ]"
  done
  UCX_TLS=tcp,self TUTTI_NODES=0,1,2 job run -k --hosts "$(list 3)" sh -c '[ $TUTTI_RANK = 1 ] && export UCX_TLS=self; exec "$0"' "$BUILD/examples/hello"
  check "one of three hosts without a device: a sentence on all" all "status 1" \
    '[ "$(grep -c "rank 0 .* has no network to the other hosts: UCX .* cannot reach rank 1 on .*: Destination is unreachable" "$work/err")" = 3 ]'
  TUTTI_NET=no/such TUTTI_NODES=0,1 job run -k --hosts "$(list 2)" "$BUILD/examples/hello"
  check "a network that is not there: a sentence on all" all "status 1" '[ "$(grep -c "cannot be loaded" "$work/err")" = 2 ]'
  for mpi in ompi mpich; do
    . "${BASH_SOURCE%/*}/../support/mpi.bash"
    if [ ! -x "$BUILD/tests/$mpi/mp_cover" ] || ! has_starter $mpi; then
      skip "TUTTI_NET=ucx under $mpi" "no $(starter $mpi), or the tests were built without this MPI" 4
      n=$((n + 1))
      continue
    fi
    rc=0
    TUTTI_NET=$(readlink -f "$BUILD")/libtutti_ucx.so TUTTI_NODES=0,1 timeout 60 "$(starter $mpi)" -n 3 "$BUILD/tests/$mpi/mp_cover" >"$work/out" 2>"$work/err" </dev/null || rc=$?
    check "TUTTI_NET=ucx under $mpi" all "status 0" 'grep -q ^ok "$work/out"' "$passes"
    for each in "0,1 single" "- single" "0,1 multiple"; do
      read -r nodes level <<<"$each"
      [ $nodes = - ] && set -- || set -- TUTTI_NODES=$nodes
      rc=0
      env "$@" TUTTI_NET="$(readlink -f "$BUILD")/libtutti_ucx.so" timeout 60 "$(starter $mpi)" -n 2 "$BUILD/tests/$mpi/mpi_beside" $level >"$work/out" 2>"$work/err" </dev/null || rc=$?
      check "TUTTI_NET=ucx under $mpi, $level, nodes $nodes: MPI goes on beside it" all "status 0" '[ "$(grep -c ^ok "$work/out")" = 8 ]'
    done
  done
fi
ok "nobody is left" gone
echo "1..$((n + 1))"
exit $bad
