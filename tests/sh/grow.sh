#!/usr/bin/env bash
# grow.sh - failed ranks are restarted and join the others. Also joining ranks that do not come, fail, have
# another version or write invalid data, and joining ranks that no rank admits. With TUTTI_TEST_ALL=1 some
# hundred failures. SEED=n repeats one run. The jobs run in parallel, because most of the time is
# waiting.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"
prog=$BUILD/tests/mp_grow
[ "${TUTTI_TEST_ALL:-}" = 1 ] && rounds=40 || rounds=1
export ASAN_OPTIONS="${ASAN_OPTIONS:-}:handle_segv=0"
seed=${SEED:-$drawn}
kills=0 tests=0 longest=0
echo "# seed $seed"
check() { tests=$((tests + 1)) && ok "$@"; }
count() { [ "$(grep -c "$2" "$work/$1")" = "$3" ]; }

# launch NAME ARGS...: runs `tutti run ARGS` in the background.
# result NAME: waits for the job, and sets the same variables as `job`.
launch() {
  local name=$1
  shift
  { rc=0
    TOKEN=$token timeout -k 5 60 "$TUTTI" run "$@" >"$work/$name.out" 2>"$work/$name.err" || rc=$?
    echo $rc >"$work/$name.rc"; } 2>/dev/null &
}
result() {
  local end=$((SECONDS + 70))
  until [ -s "$work/$1.rc" ] || [ $SECONDS -gt $end ]; do sleep 0.02; done
  rc=$(cat "$work/$1.rc") && cp "$work/$1.out" "$work/out" && cp "$work/$1.err" "$work/err"
}

# ---- scenes: name | number of restarts | status | number of successful ranks | settings ----
scenes=$(cat <<'EOT'
joined|1|0|3|
mixed|1|0|3|
no-respawn||0|3|
nobody-dies|1|0|3|TUTTI_CONNECT_TIMEOUT=1
used-up|2|5|2|
ignored|1|3|2|
ignored-long|1|3|2|TUTTI_CONNECT_TIMEOUT=1
forged-0|1|3|2|TUTTI_CONNECT_TIMEOUT=1
forged-1|1|3|2|
forged-2|1|3|2|
forged-3|1|3|2|
forged-4|1|3|2|
forged-5|1|3|2|
forged-6|1|3|2|
EOT
)
while IFS='|' read -r name respawns _ _ settings; do
  launch "$name" ${respawns:+-r $respawns} -n 3 env $settings "$prog" "$name"
done <<<"$scenes"
launch other -r 1 -n 3 sh -c '[ $TUTTI_NEWCOMER = 1 ] && export TUTTI_ALGO=ring TUTTI_SLICES=7 TUTTI_CONTRACT=any; exec "$0" joined' "$prog"
launch bad -r 1 -n 3 sh -c '[ $TUTTI_NEWCOMER = 1 ] && export TUTTI_ALGO=nonsense; exec "$0" used-up' "$prog"
launch always -r 3 -n 2 sh -c '[ $TUTTI_RANK = 0 ] && exec sleep 4; exit 6'
launch alone -r 6 -n 2 sh -c '[ $TUTTI_RANK = 0 ] || { echo $$ >>"$0"; exit 6; } # rank 0 ends when that has for the sixth time
  until [ "$(grep -c . "$0" 2>/dev/null)" = 6 ]; do sleep 0.01; done; last=$(tail -n 1 "$0")
  while kill -0 "$last" 2>/dev/null; do sleep 0.01; done' "$work/alone.pid"
launch shown -r 2 -l -v -n 2 sh -c '[ $TUTTI_RANK = 0 ] && exec sleep 1
  [ $TUTTI_NEWCOMER = 2 ] && { echo here; exit 0; }; kill -9 $$'

while IFS='|' read -r name _ want fine settings; do
  result "$name"
  check "$name${settings:+, $settings}" all "status $want" "count out '^fine' $fine" 'count out wrong 0'
done <<<"$scenes"
result other
check "a joiner with other settings" all 'status 0' 'count out "^fine" 3'
result bad
check "a joiner whose settings cannot be read says so" all 'status 1' 'grep -q "TUTTI_ALGO: .*nonsense" "$work/out"' 'count out "^fine" 2'
result always
check "one that always fails is started again so often, and less and less quickly" all 'status 6' \
  'says "^tutti run: rank 1 .pid [0-9]+. exited with status 6; starting it again in 0.1 s, 1 of 3; the other 1 continue"' \
  'says "in 0.2 s, 2 of 3"' 'says "in 0.4 s, 3 of 3"' 'says "status 6; the other 1 continue; it is not started again"' \
  'count err "" 4'
result alone
check "a rank is not started again when the others have ended" all 'status 6' 'says "rank 1 is not started again: the others have ended"'
result shown
check "its output is a rank's, and --verbose says who it is" all 'status 0' 'grep -q "^\[1\] here" "$work/out"' \
  'says "rank 1 is pid [0-9]+, joiner 1"' 'says "rank 1 is pid [0-9]+, joiner 2"'
job run -r 0 -n 1 true
check "no number" all 'status 2' 'says "respawn .0. is not a number from 1"'

# ---- random failures: failed ranks are restarted until the job is complete ----
for ((round = 0; round < rounds; round++)); do
  for n in 2 3 5; do
    job run -r 4 -n $n "$prog" lot $((seed + round)) 4
    check "of $n ranks up to 4 die and come again, $((seed + round))" all 'status 0' "count out '^done' $n"
    most=$(sed -n 's/^done \([0-9]*\) ms/\1/p' "$work/out" | sort -n | tail -1)
    [ "${most:-0}" -gt $longest ] && longest=$most
    kills=$((kills + $(grep -c 'was killed by SIGKILL' "$work/err")))
  done
done
echo "# $kills deaths; whole again after $longest ms at most"
check "no process is left" gone
echo 1..$tests
exit $bad
