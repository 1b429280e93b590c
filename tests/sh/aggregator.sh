# aggregator.sh - `tutti aggregator`, and jobs on several hosts that can or cannot use it, also while it is killed,
# stopped and restarted. All hosts are this machine; TUTTI_NODES defines the nodes.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"
export UCX_TLS=tcp,self
# UCX's leaks at exit have no symbols; other tests check tutti's own leaks.
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0
n=0
check() { ok "$@" && n=$((n + 1)) || n=$((n + 1)); }

# ---- the command ----
for each in "--above a,b:not the address of an aggregator" "--port x:number from 0" "--port 70000:number from 0" "--jobs 0:positive number" "--memory x:size such as" \
  "what:one argument too many" "--what:unknown|--what"; do
  job aggregator ${each%%:*}
  check "tutti aggregator ${each%%:*} is refused" all "status 2" "says '${each#*:}'"
done

# serve NAME OPTIONS: starts an aggregator; its pid is in $daemon, its port in $port. Its output goes to NAME.
serve() {
  local name=$1 end=$((SECONDS + 20))
  shift
  TOKEN=$token TUTTI_LOG=info,stderr "$TUTTI" aggregator "$@" >"$work/$name" 2>"$work/$name.log" </dev/null &
  daemon=$!
  until port=$(sed -n "s/.*on port //p" "$work/$name" 2>/dev/null) && [ -n "$port" ]; do
    [ $SECONDS -lt $end ] || return 1
    sleep 0.02
  done
}
# ended: ends the aggregator with SIGTERM; true if its exit status is 0.
ended() {
  kill -TERM "$daemon" 2>/dev/null
  rc=0
  { wait "$daemon" || rc=$?; } 2>/dev/null
  [ $rc = 0 ]
}
serve first -p 0
job aggregator -p "$port"
check "a port that is taken is named" all "status 125" "says 'cannot listen on port $port'"
check "SIGTERM ends it with status 0" ended

if [ ! -e "$BUILD/libtutti_ucx.so" ]; then
  skip "jobs with an aggregator" "libtutti_ucx.so was not built (make ucx)" 54
  echo "1..$((n + 1))"
  exit $bad
fi

# ---- jobs ----
# Slow links between hosts and a fast link to the aggregator, so that it is chosen for long vectors. With three hosts or
# more: with two, a host sends one vector even without an aggregator.
printf '%s\n' "alpha = 1ms" "beta = 100ns" "aggregator.beta = 1ns" >"$work/profile"
export TUTTI_PROFILE=$work/profile
list() {
  local i l=
  for ((i = 0; i < $1; i++)); do l=$l${l:+,}localhost:1; done
  echo "$l"
}
sums() { # RANKS NODES SECONDS, or "lost": runs in the background; its output is in $work/out
  TUTTI_NODES=$2 TUTTI_AGGREGATOR=${at:-127.0.0.1:$port} background run -k --hosts "$(list "$1")" "$BUILD/tests/mp_aggregated" "$3"
}
right='! grep -q WRONG "$work/out"'
by_it() { grep -q "^$1 262144 aggregate(" "$work/out"; }
others_by_it() { # the collectives other than allreduce that use the aggregator
  [ "$(sed -nE 's/^plan ([a-z-]+) aggregate\(.*/\1/p' "$work/out" | tr '\n' ' ')" = "$1 " ]
}
fine() { [ "$(grep -cE '^rank [0-9]+: [0-9]+ calls, right: no error' "$work/out")" = "$1" ]; }
count() { [ "$(grep -cE "$2" "$work/out")" = "$1" ]; }

# ended_by SIGNAL: ends the daemon with the signal.
ended_by() {
  kill "-$1" "$daemon"
  { wait "$daemon"; } 2>/dev/null
}
# losses RANKS NODES COLLECTIVE: runs the scenes of mp_lost_aggregator. lost_well RANKS: all scenes succeeded.
losses() {
  TUTTI_NODES=$2 TUTTI_AGGREGATOR=127.0.0.1:$port background run -k --hosts "$(list "$1")" "$BUILD/tests/mp_lost_aggregator" "$TUTTI" "$3"
  wait_job
}
lost_well() { all "status 0" "count $1 '^rank [0-9]+: [a-z]+: 0$'"; }
# lost PORT: calls fail on all ranks, and the error names the aggregator on this port, the call, and the remedy.
# goes_on RANKS: the shrunk communicator has the same ranks, and its calls do not use an aggregator.
lost() {
  ! grep -E '^rank [0-9]+: ' "$work/out" |
    grep -qvE "right: the aggregator at 127.0.0.1:$1 is lost: it has closed the connection; rank [0-9]+ waited for it in [a-z_]+, operation [0-9]+\\. tutti_comm_shrink gives the same ranks without it\$"
}
goes_on() {
  all "status 0" "$right" "count $1 '^rank [0-9]+: '" "count $1 'went on as one of $1: .*right: no error'" "count 0 '^second .*aggregate\('"
}
serve jobs -p 0
two="reduce broadcast" four="reduce broadcast reduce-scatter all-gather"
refused="the ranks of a host do not follow each other.*; (reduce_scatter|allgather) runs"
# Ranks, nodes, TUTTI_ALGO, the other collectives that use the aggregator. If the hosts have different numbers of ranks, short
# vectors use it, too.
for each in "3:0,1,2::$two" "6:0,0,1,1,2,2::$two" "6:0,1,2,0,1,2::$two" "5:0,1,2,3,4::$four" "6:0,0,1,1,2,2:aggregate:$four" \
  "6:0,1,2,0,1,2:aggregate:$two" "6:0,0,1,1,1,2:aggregate:$four" "7:1,0,2,0,1,2,2:aggregate:$two"; do
  row jobs || break
  IFS=: read -r ranks nodes algo others <<<"$each"
  TUTTI_ALGO=$algo sums "$ranks" "$nodes" 0.3
  wait_job
  says "$refused" && interleaved=yes || interleaved=no
  case $algo$nodes in aggregate0,1,* | aggregate1,*) wanted=yes ;; *) wanted=no ;; esac
  check "sums on $ranks ranks, nodes $nodes${algo:+, $algo}" all "status 0" "by_it plan" "$right" "fine $ranks" \
    'others_by_it "$others"' "[ $interleaved = $wanted ]"
done
sums 3 0,1,2 1
lines 3 ready
first=$job && cp "$work/out" "$work/one" && mv "$work/out" "$work/out.first"
sums 4 0,1,2,3 0.5
wait_job
check "a second, simultaneous job" all "status 0" "by_it plan" "$right" "fine 4"
job=$first && wait_job
mv "$work/out.first" "$work/out"
check "... and the first" all "status 0" "$right" "fine 3"
sums 2 0,0 0.2
wait_job
check "ranks of one host run without it" all "status 0" "count 0 'aggregate\('" "$right"
TUTTI_ALGO='^aggregate' sums 3 0,1,2 0.2
wait_job
check "it is ruled out by name" all "status 0" "count 0 'aggregate\('" "$right"
TUTTI_ALGO='ring' sums 3 0,1,2 0.2
wait_job
check "another plan is wanted by name" all "status 0" "count 0 'aggregate\('" "count 2 '^plan [0-9]+ .*ring'" "$right"
for plan in "aggregate(data=3,trees=4)" "aggregate(data=3,share=9/32,ring)"; do
  TUTTI_ALGO=$plan sums 3 0,1,2 0.2
  wait_job
  check "$plan is wanted by the name that tutti prints" all "status 0" "$right" "fine 3" \
    'grep -qFx "plan 262144 $plan" "$work/out"'
done
TUTTI_EXPLAIN=1 sums 3 0,1,2 0.2
wait_job
check "TUTTI_EXPLAIN says that it sums, and the price without it" all "status 0" \
  "says 'the aggregator at 127.0.0.1:$port sums it: aggregate\(data=3,trees=[0-9]+\), .*s; among the ranks alone .*, .*s'"
TUTTI_KEY=another sums 3 0,1,2 0.2
wait_job
check "a job with another key runs without it" all "status 0" "says 'without an aggregator.*another key.*TUTTI_KEY'" "$right" \
  "count 0 'aggregate\('"

printf '#!/bin/sh\n[ "$1" = a ] || unset TUTTI_KEY\nshift\nexec sh -c "$*"\n' >"$work/agent"
chmod +x "$work/agent"
kept=$daemon kept_port=$port
TUTTI_KEY=secret serve keyed -p 0
TUTTI_KEY=secret TUTTI_NODES=0,1,2 TUTTI_AGGREGATOR=127.0.0.1:$port background run --hosts a:1,b:1,c:1 --agent "$work/agent" \
  "$BUILD/tests/mp_aggregated" 0.2
wait_job
check "only rank 0 has the key" all "status 0" "by_it plan" "$right" "fine 3"
ended
daemon=$kept port=$kept_port

# ---- TLS ----
if [ ! -e "$BUILD/libtutti_tls.so" ]; then
  skip "TLS to an aggregator" "libtutti_tls.so was not built (make tls)" 6 && n=$((n + 6))
else
  TUTTI_TLS=all serve secret -p 0
  sums 3 0,1,2 0.2
  wait_job
  check "an aggregator speaks TLS: a job without runs without it" all "status 0" "$right" "count 0 'aggregate\('" \
    "says 'without an aggregator: rank 0: .*speaks TLS only: TUTTI_TLS has to be the same'"
  TUTTI_TLS=all sums 6 0,1,2,0,1,2 0.3
  wait_job
  check "it sums for a job with TLS" all "status 0" "by_it plan" "$right" "fine 6"
  for coll in allreduce reduce broadcast; do
    TUTTI_TLS=all losses 3 0,1,2 $coll
    check "... and is lost around ${coll}s" lost_well 3
  done
  TUTTI_TLS=all TUTTI_ALGO=aggregate sums 3 0,1,2 lost
  lines 3 ready
  ended_by KILL
  wait_job
  check "... and is killed among many calls" all "by_it plan" "lost $port" "goes_on 3"
  daemon=$kept port=$kept_port
fi

# ---- one per rack ----
top=$port
serve rack0 -p 0 --above "127.0.0.1:$top"
rack0=$daemon port0=$port
serve rack1 -p 0 --above "127.0.0.1:$top"
rack1=$daemon port1=$port
by_racks() { grep -q "^$1 262144 aggregate(rack:2 .*per=rack" "$work/out"; }
export at=127.0.0.1:$port0,127.0.0.1:$port1
for each in 4:0,1,2,3:"rack:2 node:2" 8:0,0,1,1,2,2,3,3:"rack:2 node:2 core:2"; do
  IFS=: read -r ranks nodes topo <<<"$each"
  TUTTI_ALGO=aggregate TUTTI_TOPO=$topo sums "$ranks" "$nodes" 0.3
  wait_job
  check "racks with an aggregator each, $topo" all "status 0" "by_racks plan" "$right" "fine $ranks" 'others_by_it "$four"'
  plan=$(sed -n 's/^plan 262144 //p' "$work/out" | head -1)
  TUTTI_ALGO=$plan TUTTI_TOPO=$topo sums "$ranks" "$nodes" 0.2
  wait_job
  check "... by the name that tutti prints, $plan" all "status 0" "$right" "fine $ranks" 'grep -qFx "plan 262144 $plan" "$work/out"'
  TUTTI_ALGO=aggregate TUTTI_TOPO=$topo sums "$ranks" "$nodes" lost
  lines "$ranks" ready
  daemon=$rack1 ended_by KILL
  wait_job
  check "... and one of two dies: all ranks name that one" all "by_racks plan" "lost $port1" "goes_on $ranks"
  serve rack1 -p "$port1" --above "127.0.0.1:$top"
  rack1=$daemon
  TUTTI_ALGO=aggregate TUTTI_TOPO=$topo sums "$ranks" "$nodes" lost
  lines "$ranks" ready
  daemon=$kept ended_by KILL
  wait_job
  check "... and the one above dies: they name one that depends on it" all "by_racks plan" "lost '($port0|$port1)'" "goes_on $ranks"
  serve top -p "$top"
  kept=$daemon
done
for each in "rack:4 node:1:0" "rack:2 node:2 core:1:2"; do
  [ "${each##*:}" = 0 ] || at=$at,127.0.0.1:$top
  TUTTI_TOPO=${each%:*} sums 4 0,1,2,3 0.2
  wait_job
  check "${each##*:} racks, and other names: a warning, and the job runs" all "status 0" "$right" \
    "says 'without an aggregator: TUTTI_AGGREGATOR has . names, and TUTTI_TOPO describes ${each##*:} racks'" \
    "count 0 'aggregate\('"
done
at=${at%,*}
kill -KILL "$kept"
{ wait "$kept"; } 2>/dev/null
TUTTI_TOPO='rack:2 node:2' sums 4 0,1,2,3 0.2
wait_job
check "no aggregator above the racks: a warning, and the job runs" all "status 0" "$right" \
  "says 'without an aggregator: rank 0: .*refuses: above it: no aggregator at 127.0.0.1:$top'" "count 0 'aggregate\('"
unset at
kill -KILL "$rack0" "$rack1"
{ wait "$rack0" "$rack1"; } 2>/dev/null
serve jobs -p "$top"

# ---- it ends ----
for each in 3:0,1,2 6:0,0,1,1,2,2; do
  for coll in allreduce reduce broadcast; do
    losses "${each%:*}" "${each#*:}" $coll
    check "it is killed, started again, or cut off, around ${coll}s of ranks ${each%:*}, nodes ${each#*:}" lost_well "${each%:*}"
  done
done
for each in 6:0,1,2,0,1,2 6:0,0,1,1,1,2; do
  TUTTI_ALGO=aggregate sums "${each%:*}" "${each#*:}" lost
  lines "${each%:*}" ready
  ended_by KILL
  wait_job
  check "it is killed among many calls, ranks ${each%:*}, nodes ${each#*:}" all "by_it plan" "lost $port" "goes_on ${each%:*}"
  serve again -p "$port"
done
sums 6 0,1,2,0,1,2 lost
lines 6 ready
ended_by KILL
serve again -p "$port"
wait_job
check "it is killed, and started again: the ranks continue without it" all "by_it plan" "lost $port" "goes_on 6"
printf '%s\n' "alpha = 1ms" "beta = 100ns" "aggregator.beta = 50ns" >"$work/narrow"
TUTTI_PROFILE=$work/narrow TUTTI_ALGO=aggregate sums 3 0,1,2 lost
lines 3 ready
ended_by KILL
wait_job
check "it is killed while it sums a share of the vectors" all "lost $port" "goes_on 3" \
  'grep -q "^plan 262144 aggregate(.*share=" "$work/out"' "count 0 '^second .*share='"
serve again -p "$port"
sums 3 0,1,2 lost
lines 3 ready
ended_by TERM
wait_job
check "it is ended among many calls" all "by_it plan" "lost $port" "goes_on 3"
serve again -p "$port"
TUTTI_TIMEOUT=1 sums 3 0,1,2 lost
lines 3 ready
kill -STOP "$daemon"
wait_job
kill -CONT "$daemon"
check "it is stopped: after TUTTI_TIMEOUT all ranks name it, and continue without it" all "by_it plan" "goes_on 3" \
  "count 3 'right: rank [0-2] has waited [0-9.]+ s for the aggregator at 127.0.0.1:$port in .*: TUTTI_TIMEOUT=1\. tutti_comm_shrink gives the same ranks without it$'"
victim() { alive | while read -r p; do tr '\0' ' ' <"/proc/$p/cmdline" | grep -q "^[^ ]*mp_aggregated" && echo "$p"; done | tail -1; }
sums 4 0,1,2,3 20
lines 4 ready
victim=$(victim)
kill -KILL "$victim"
wait_job
check "a rank dies: the others name it, and continue with the aggregator" all "$right" \
  "count 3 'calls, right: rank [0-3] \(pid $victim\) died'" "count 3 'went on as one of 3: .*right: no error'" "by_it second"
kept=$daemon kept_port=$port
serve other -p 0
TUTTI_ALGO=aggregate sums 3 0,1,2 lost
lines 3 ready
victim=$(victim)
kill -STOP "$victim"
ended_by KILL
lines 2 'calls, right: ' && kill -CONT "$victim"
wait_job
check "it is killed while a rank is stopped: the others do not wait for that one" all "lost $port" "goes_on 3"
daemon=$kept port=$kept_port
sums 3 0,1,2 0.2
wait_job
check "it survives: the next job uses it" all "status 0" "by_it plan" "$right"
check "SIGTERM ends it and all its sessions" all ended \
  '[ "$(grep -c "a session of . began" "$work/again.log")" -ge 1 ]'
at=127.0.0.1:1 sums 3 0,1,2 0.2
wait_job
check "no aggregator listens there: a warning, and the job runs" all "status 0" "says 'without an aggregator: rank 0: no aggregator at 127.0.0.1:1'" "$right"
at=a:b sums 3 0,1,2 0.2
wait_job
check "a wrong TUTTI_AGGREGATOR: a warning, and the job runs" all "status 0" "says 'without an aggregator.*expected HOST'" "$right"
# This test needs hosts and simulated packet loss, which few systems support. It therefore belongs to the full tests.
if [ "${TUTTI_TEST_ALL:-}" = 1 ]; then
  rc=0
  NETEM="delay 1ms reorder 10% loss 1%" AGGREGATOR=3 TUTTI_PROFILE=$work/profile TOKEN=$token timeout 60 bash bench/netns.sh \
    tutti 3 1 200mbit "$PWD/$BUILD/tests/mp_aggregated" 2 >"$work/out" 2>"$work/err" || rc=$?
  if [ $rc = 77 ]; then
    skip "packets are lost and overtake each other" "$(sed -n 's/^netns.sh: //p' "$work/err" | head -1)"
    n=$((n + 1))
  else
    check "packets are lost and overtake each other" all "status 0" "by_it plan" "$right" "fine 3"
  fi
fi
serve small -p 0 -j 2
sums 6 0,1,0,1,0,1 0.2
wait_job
check "it is full: a warning, and the job runs" all "status 0" "says 'without an aggregator.*2 sessions already'" "$right" \
  "count 0 'aggregate\('"
ended
echo "1..$n"
exit $bad
