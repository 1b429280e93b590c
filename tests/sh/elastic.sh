#!/usr/bin/env bash
# elastic.sh - ranks on several hosts fail, and joining ranks replace them: on the same host, or on another one if the host is
# lost. Also joining ranks that do not come, or that no rank admits. With TUTTI_TEST_ALL=1 more failures. SEED=n repeats one
# run. All hosts are this machine; TUTTI_NODES defines the nodes.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"
prog=$BUILD/tests/mp_elastic
[ "${TUTTI_TEST_ALL:-}" = 1 ] && rounds=15 || rounds=1
export UCX_TLS=tcp,self ASAN_OPTIONS="${ASAN_OPTIONS:-}:handle_segv=0:detect_leaks=0" # as in over_ucx.sh
seed=${SEED:-$drawn}
tests=0 kills=0 longest=0
echo "# seed $seed"
check() { tests=$((tests + 1)) && ok "$@"; }
count() { [ "$(grep -c "$2" "$work/$1")" = "$3" ]; }
if [ ! -e "$BUILD/libtutti_ucx.so" ]; then
  skip "joiners between hosts" "without UCX there is nothing between hosts" 15
  echo 1..1
  exit 0
fi

# ---- scenes: name | hosts | nodes | restarts | status | successful ranks | message of the launcher or a rank | settings ----
scenes=$(cat <<'EOT'
plain|1,1,1|0,1,2|1|0|3|starting it again in 0.1 s, joiner 1 of 1|
plain|2,1|0,0,1|2|0|3|starting it again in 0.1 s, joiner 1 of 2|
plain|1,2|0,1,1|1|0|3|starting it again in 0.1 s, joiner 1 of 1|
plain|2|0,0|1|0|2|starting it again in 0.1 s, joiner 1 of 1|
late|1,1|0,1|1|0|2||TUTTI_CONNECT_TIMEOUT=1
none|1,1|0,1||0|2||
used-up|1,1,1|0,1,2|1|5|2|exited with status 5|
ignored|1,1,1|0,1,2|1|1|2|exited with status 1|
EOT
)
while IFS='|' read -r name hosts nodes respawns want fine words settings; do
  list=localhost:${hosts//,/,localhost:}
  TUTTI_NODES=$nodes job run --hosts "$list" ${respawns:+-r $respawns} env $settings "$prog" "$name"
  check "$name, hosts with $hosts ranks${respawns:+, $respawns may start}" all "status $want" "count out '^fine' $fine" 'count out wrong 0' \
    ${words:+"says '$words'"} gone
done <<<"$scenes"
check "a joiner that no rank takes in says why it ends" grep -q "no rank is alive that could take it in" "$work/out"

# ---- a host is lost: its ranks are restarted on the host with the fewest ranks ----
cat >"$work/agent" <<'EOS'
#!/bin/sh
echo $$ >"$WORK/pid.$1"
echo "$1" >>"$WORK/called"
shift
exec sh -c "$*"
EOS
chmod +x "$work/agent"
lost() { # LIST NODES HOST: starts a job, and kills its part on this host
  rm -f "$work/called"
  WORK=$work TUTTI_NODES=$2 background run --hosts "$1" -r 2 --agent "$work/agent" "$prog" host
  lines 4 ready && kill -9 "$(cat "$work/pid.$3")"
  wait_job
}
lost a:1,b:2,c:1,d:0 0,1,1,2 b
check "a host with two ranks is lost: they come again on the spare one" all "status 0" 'count out "^fine" 4' 'count out wrong 0' \
  '[ "$(tail -1 "$work/called")" = d ]' "says 'host b .pid [0-9]+. .*; starting 2 of its ranks on host d in 0.1 s'" gone
lost a:1,b:2,c:1 0,1,1,2 b
check "without a spare one, on a host that has ranks" all "status 0" 'count out "^fine" 4' 'count out wrong 0' \
  'tail -1 "$work/called" | grep -q "^[ac]$"' gone

# ---- a spare host needs restarts ----
job run --hosts a:1,b:0 true
check "a spare host without --respawn" all 'status 2' "says 'not of the form.*spare host'"

# ---- random failures, also of joining ranks and during grow, until all ranks are replaced ----
for ((round = 0; round < rounds; round++)); do
  for each in "1,1,1 0,1,2 2" "2,2 0,0,1,1 3" "2,2,2,2 0,0,1,1,2,2,3,3 4"; do
    read -r hosts nodes deaths <<<"$each"
    TUTTI_NODES=$nodes job run --hosts "localhost:${hosts//,/,localhost:}" -r "$deaths" "$prog" lot $((seed + round)) "$deaths"
    check "of hosts with $hosts ranks up to $deaths die and come again, $((seed + round))" all 'status 0' \
      "count out '^done' $(echo $((${hosts//,/+})))" 'count out wrong 0' gone
    kills=$((kills + $(grep -c 'was killed by SIGKILL' "$work/err")))
    most=$(sed -n 's/^grown \([0-9]*\) ms.*/\1/p' "$work/out" | sort -n | tail -1)
    [ "${most:-0}" -gt $longest ] && longest=$most
  done
done
echo "# $kills deaths; back at work after $longest ms at most"
echo 1..$tests
exit $bad
