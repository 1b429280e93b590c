#!/usr/bin/env bash
# doctor.sh - `tutti doctor`: its report on jobs that run, hang or have lost a rank, and on
# processes that do not belong to a job.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"
. "${BASH_SOURCE%/*}/../support/mpi.bash"
n=0

# hang MANNER [OPTIONS of run]: starts a job of 3 ranks that hangs in this manner, in the background.
hang() {
  local manner=$1
  shift
  background run -n 3 "$@" "$BUILD/tests/mp_hang" "$manner"
  lines 1 hangs
}
# ask PID [OPTIONS]: writes the doctor's report to $work/report, and its errors to $work/err2.
ask() {
  rc=0
  timeout 20 "$TUTTI" doctor "$@" >"$work/report" 2>"$work/err2" || rc=$?
}
finds() { grep -qE "$1" "$work/report" || { sed 's/^/# report: /' "$work/report" "$work/err2"; return 1; }; }
# asks PID PATTERN...: repeats for up to 20 s until the report has all patterns, because ranks may be late;
# good: it has them.
asks() {
  local whom=$1 end=$((SECONDS + 20)) pattern
  shift
  good=
  while [ ! "$good" ]; do
    ask "$whom"
    good=1
    for pattern in "$@"; do finds "$pattern" >"$work/missing" || good=; done
    [ $SECONDS -lt $end ] || break
    [ "$good" ] || sleep 0.05
  done
  [ "$good" ] || cat "$work/missing"
}
# Tests a hanging job: the report has all patterns.
test_hang() { # NAME MANNER "options" PATTERN...
  local name=$1 manner=$2 options=$3
  shift 3
  # shellcheck disable=SC2086
  hang "$manner" $options
  asks "$job" "$@"
  ok "$name" all "[ '$good' ]" 'status 0'
  n=$((n + 1))
}
end() { # also waits until all processes of the job have ended, so that the next test does not find them
  kill -9 "$job" 2>/dev/null
  wait "$job" 2>/dev/null
  gone || bad=1
}

pid='\(pid [0-9]+\)'
test_hang "all compute" computes "" '^all ranks compute$' '^ +0 +[0-9]+  sleeps +is outside; it last finished allreduce of 100000 double, sum \(operation [0-9]+\)'
end
test_hang "all work" works "" '^(the ranks are at work; no rank has waited for as long as 0.1 s|all ranks compute)$'
end

test_hang "a rank is stopped" stopped "" \
  "^rank 2 $pid is stopped; ranks 0 and 1 wait for it in allreduce of 100000 double, sum \(operation 5\) for [0-9.]+ s\$" \
  '^ +2 +[0-9]+  stopped +is outside; it last finished allreduce of 100000 double, sum \(operation 4\)' \
  '^ +0 +[0-9]+  sleeps +waits [0-9.]+ s for rank [12] in allreduce of 100000 double, sum \(operation 5\), step [0-9]+'
front=$job
rank=$(awk '$1 == 1 && $2 > 1 {print $2; exit}' "$work/report")
ask "$rank"
ok "the same through a rank's pid" all 'status 0' 'finds "^rank 2 .pid [0-9]+. is stopped; ranks 0 and 1 wait for it"'
ask "$front" --format json
json=1
$python - "$work/report" >"$work/json" 2>&1 <<'P' || json=
import json, sys
job = json.load(open(sys.argv[1]))["jobs"][0]
two = job["ranks"][2]
assert two["process"] == "stopped", two
waits = [c for c in job["ranks"][0]["communicators"] if c["state"] == "waits"]
assert len(waits) == 1 and waits[0]["in"]["collective"] == "allreduce", waits
assert waits[0]["in"]["count"] == 100000 and waits[0]["in"]["type"] == "double" and waits[0]["seconds"] > 0.1, waits
assert "is stopped" in job["verdict"][0], job["verdict"]
P
[ "$json" ] || sed 's/^/# /' "$work/json" "$work/report"
ok "the same as JSON" [ "$json" ]
timeout 20 "$TUTTI" doctor --watch 0.2 "$front" >"$work/watch" 2>&1 &
watcher=$!
for ((i = 0; i < 400; i++)); do [ "$(grep -c "is stopped" "$work/watch")" -lt 2 ] || break; sleep 0.05; done
end
rc=0
wait $watcher || rc=$?
ok "--watch: repeated reports until the job ends" all 'status 0' '[ "$(grep -c "is stopped" "$work/watch")" -ge 2 ]'

test_hang "a rank is outside tutti" elsewhere "" \
  "^rank 2 $pid is outside tutti; it last finished allreduce of 100000 double, sum \(operation 4\); ranks 0 and 1 wait for it in allreduce of 100000 double, sum \(operation 5\) for" \
  "^ +0 .* tag 'gradients', communicator [0-9]+ 'work' of 3 ranks\$"
end
test_hang "the same, and the others only test" tests "" \
  "^rank 2 $pid is outside tutti; it last finished allreduce .*; ranks 0 and 1 wait for it in allreduce"
end
test_hang "two communicators, crossed" crossed "" \
  "^ranks wait for each other: rank [012] $pid for rank [012] in allreduce of 100000 double, sum \(operation [0-9]+\) of communicator [0-9], for [0-9.]+ s; rank"
end
test_hang "a message against a collective" letter "" \
  "^ranks wait for each other: .*a message, to receive 7 double with tag 0 of communicator"
end
test_hang "ranks that called different things" differs "" \
  'is over \(ranks made different calls\): operation 5: rank [0-9] called (allreduce of 100000 double, sum|broadcast of 5 int32, root 0), but rank [0-9] called'
end
test_hang "a rank has ended, and no rank waits for it" dies "--keep-going" \
  "^rank 2 has ended; no rank waits for it\$" '^ +2 +[0-9]+  gone'
end
test_hang "a rank has died that others waited for" awaited "--keep-going" \
  'is over \(a rank died\): rank 2 \(pid [0-9]+\) died, it exited with status 0; rank [01] waited for it'
end
test_hang "a rank has left" leaves "" '^ +2 +[0-9]+  sleeps +has left'
end
test_hang "ranks of several parts: the segments of the parts are left out" stopped "--hosts localhost:2,localhost:1" "^rank 2 $pid is stopped; ranks 0 and 1 wait for it"
ok "one job is reported" [ "$(grep -c "^rank  *pid" "$work/report")" = 1 ]
end
test_hang "a rank has not come" absent "" '^ +[02] +[0-9]+  [a-z]+ +waits for the others to come$' '^pid [0-9]+: tutti_comm_from_env waits for rank 1 of 3 to call it, for' '^rank 1 has not called tutti_comm_from_env yet$' '^ +1 +0  - +has not come yet'
end

# ---- waits outside operations ----
for where in "-n 3" "--hosts localhost:2,localhost:1"; do
  test_hang "survivors wait for one that does not call tutti_comm_shrink: $where" shrinks "$where" \
    "^pid [0-9]+: tutti_comm_shrink waits for rank 2 $pid, for [0-9.]+ s\$"
  end
done
export TUTTI_NODES=0,1,2
test_hang "a rank is stopped on another host" stopped "--hosts localhost:2,localhost:1" \
  "^pid [0-9]+: an operation waits for rank 2 of 3 .operation 5., for"
end
unset TUTTI_NODES
background run --hosts localhost:2,localhost:1 sh -c '[ $TUTTI_RANK = 1 ] && exec sleep 50; exec "$0" computes' "$BUILD/tests/mp_hang"
asks "$job" '^pid [0-9]+: the rendezvous waits for rank 1 of 3; 2 came, for' '^pid [0-9]+: tutti_comm_create waits for the ranks that it meets, for'
ok "a rank of several hosts has not come" all "[ '$good' ]" 'status 0'
ask "$job" --format json
ok "the same as JSON" $python -c 'import json, sys; assert len(json.load(open(sys.argv[1]))["waits"]) == 3' "$work/report"
end

# ---- no job, or the job of another user ----
sleep 60 &
other=$!
ask $other
ok "another program's process" all 'status 125' 'grep -q "process $other shares no memory with ranks of a tutti job" "$work/err2"'
kill $other
wait $other 2>/dev/null
ask $other
ok "a process that has ended" all 'status 125' 'grep -q "process $other does not exist" "$work/err2"'
ask none
ok "no number" all 'status 2' 'grep -q "is not the number of a process" "$work/err2"'
ask
ok "no process" all 'status 2' 'grep -q "which process" "$work/err2"'
hang computes
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
  copy=$(mktemp) && cp "$TUTTI" "$copy" && chmod 755 "$copy"
  rc=0
  timeout 20 setpriv --reuid 65534 --regid 65534 --clear-groups "$copy" doctor "$job" >"$work/report" 2>"$work/err2" || rc=$?
  ok "another user is refused" all 'status 125' 'grep -q "is of user 0; only that user and root" "$work/err2"' '[ ! -s "$work/report" ]'
  rm -f "$copy"
else
  skip "another user is refused" "only root can become another one"
fi
end

# ---- under mpirun ----
if [ -x "$BUILD/tests/ompi/mp_hang" ] && has_starter ompi; then
  : >"$work/out"
  TOKEN=$token timeout 60 "$(starter ompi)" -n 3 "$BUILD/tests/ompi/mp_hang" stopped >"$work/out" 2>"$work/err" </dev/null &
  job=$!
  lines 3 hangs
  first=$(alive | while read -r p; do grep -qa mp_hang "/proc/$p/cmdline" && ! grep -qa mpirun "/proc/$p/cmdline" && echo "$p"; done | head -1)
  asks "$first" "^rank 2 $pid is stopped; ranks 0 and 1 wait for it in allreduce of 100000 double, sum"
  ok "under Open MPI, through a rank's pid" all "[ '$good' ]" 'status 0'
  asks "$job" "^rank 2 $pid is stopped; ranks 0 and 1 wait for it"
  ok "under Open MPI, through mpirun's" all "[ '$good' ]" 'status 0'
  for p in $(alive); do kill -9 "$p" 2>/dev/null; done
  wait "$job" 2>/dev/null
else
  skip "under Open MPI, through a rank's pid" "it is not installed, or the tests were built without it"
  skip "under Open MPI, through mpirun's" "the same"
fi
ok "no process is left" gone
echo 1..30
exit $bad
