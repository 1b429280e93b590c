#!/usr/bin/env bash
# hostile.sh - processes of another user cannot read, join or stall a job. A process
# that is started twice, or with the resources of another job, gets an error.
#
# Idea       A job of one user (64321) computes. A second user (65534) tries each line of a table on
#            each process of the job. All attempts must fail, and the job must continue.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"
prog=$BUILD/tests/mp_grow
tests=0
check() { tests=$((tests + 1)) && ok "$@"; }

# ---- two processes for one rank; the memory of another job ----
while IFS='|' read -r name script words; do
  job run -n 2 sh -c "$script" "$prog"
  check "$name" all '[ $rc != 0 ]' 'within 20000' "grep -qE '$words' \"\$work/out\""
done <<'EOT'
a program after another|"$0" no-such-scene; "$0" no-such-scene|rank [01] is already taken by process
two programs simultaneously|"$0" joined & "$0" joined; wait; exit 1|rank [01] is already taken by process
a joiner with an invalid number|TUTTI_NEWCOMER=7 "$0" joined|this job has room for 0
a size that is another|TUTTI_SIZE=3 "$0" joined|holds a job of another size than 3 ranks
no memory of a job|exec 9</dev/null; TUTTI_SHM_FD=9 "$0" joined|is not the shared memory of a tutti job
no descriptor|TUTTI_SHM_FD=997 "$0" joined|descriptor 997 is not
EOT
check "no process is left" gone

# ---- another user ----
victim="setpriv --reuid 64321 --regid 64321 --clear-groups"
neighbour="setpriv --reuid 65534 --regid 65534 --clear-groups"
if [ "$(id -u)" != 0 ] || ! $neighbour true 2>/dev/null; then
  skip "another user" "only root can become two others" rest
  exit $bad
fi
place=$(mktemp -d) && chmod 1777 "$place"
trap 'rm -rf "$place"; finish' EXIT
cp "$TUTTI" "$prog" "$BUILD/tests/libtutti_internal.so" "$place" && chmod 755 "$place"/*
export place

# launch ARGS...: starts a job of the victim in the background.
launch() {
  : >"$work/out"
  TOKEN=$token setsid $victim env "$@" >"$work/out" 2>"$work/err" </dev/null &
  job=$!
}
launch "$place/tutti" run -r 1 -n 3 "$place/mp_grow" for-ever
lines 3 ready
all_of=$(alive)
count=$(echo "$all_of" | wc -l)
check "(the test sees the processes it tries, and their own user may read them)" \
  all '[ "$count" -ge 6 ]' '$victim cat "/proc/$job/environ" | grep -qaz "^TOKEN=$token"'
while IFS='|' read -r name script; do
  got=
  for p in $all_of; do
    if said=$(cd / && $neighbour env p="$p" timeout 10 sh -c "$script" 2>/dev/null) || [ -n "$said" ]; then
      got="$got $p:$(echo "$said" | head -c 60 | tr -c '[:print:]' ?)"
    fi
  done
  check "a neighbour cannot $name" all "[ -z '$got' ]" '[ "$(alive | wc -l)" = $count ]'
done <<'EOT'
open a descriptor of it|for f in $(seq 0 40); do { head -c 1 "/proc/$p/fd/$f" || dd of="/proc/$p/fd/$f" if=/dev/zero bs=1 count=1 conv=notrunc; } 2>/dev/null && exit 0; done; exit 1
list what it has open|ls "/proc/$p/fd" "/proc/$p/map_files"
read its memory|dd if="/proc/$p/mem" bs=1 count=1 skip=4194304
read its environment|cat "/proc/$p/environ"
stop or end it|kill -STOP "$p" || kill -9 "$p" || kill -USR1 "$p"
take it to another core, or to the background|taskset -p 1 "$p" >/dev/null || renice 19 "$p" >/dev/null
ask the doctor|"$place/tutti" doctor "$p"
join by its environment|TUTTI_RANK=0 TUTTI_SIZE=3 TUTTI_SHM_FD=9 TUTTI_NEWCOMER=1; export TUTTI_RANK TUTTI_SIZE TUTTI_SHM_FD TUTTI_NEWCOMER; exec 9<>"/proc/$p/fd/3" && "$place/mp_grow" joined
EOT
check "no process of the job has a socket to connect to" \
  all '! { for p in $all_of; do ls -l /proc/$p/fd; done | grep -q socket; }'
kill -TERM -- "-$job" 2>/dev/null || kill -TERM "$job"
wait_job
check "the job went on until it was ended" all 'status 143' gone

# ---- files of another user where a job writes ----
$neighbour mkfifo "$place/fifo"
$neighbour ln -s "$place/fifo" "$place/link"
$neighbour touch "$place/theirs"
while IFS='|' read -r name setting words; do
  TOKEN=$token timeout 110 $victim env "$setting" TUTTI_MEASURE=1 "$place/tutti" run -n 2 "$place/mp_grow" once >"$work/out" 2>"$work/err"
  rc=$?
  check "$name: a warning, and the job continues" all 'status 0' '[ "$(grep -c "^fine" "$work/out")" = 2 ]' "grep -qE '$words' \"\$work/out\""
done <<EOT
a pipe as trace|TUTTI_TRACE=$place/fifo|TUTTI_TRACE: .*fifo (is no regular file|cannot be opened)
a link to one|TUTTI_TRACE=$place/link|TUTTI_TRACE: .*link (is no regular file|cannot be opened)
a file of its own as trace|TUTTI_TRACE=$place/theirs|TUTTI_TRACE: .*theirs cannot be opened
a pipe as wisdom|TUTTI_WISDOM=$place/fifo|fifo
EOT
if command -v flock >/dev/null; then
  $victim sh -c ': >"$place/wisdom"; chmod 644 "$place/wisdom"'
  TOKEN=$token $neighbour flock -x "$place/wisdom" sleep 120 &
  while flock -n "$place/wisdom" true; do sleep 0.05; done
  TOKEN=$token timeout 110 $victim env TUTTI_MEASURE=1 "TUTTI_WISDOM=$place/wisdom" \
    "$place/tutti" run -n 2 "$place/mp_grow" once >"$work/out" 2>"$work/err"
  rc=$?
  check "a lock on the wisdom: said, and the job ends" all 'status 0' '[ "$(grep -c "^fine" "$work/out")" = 2 ]' \
    'grep -q "wisdom. cannot be written" "$work/out"'
else
  tests=$((tests + 1)) && skip "a lock on the wisdom" "no flock"
fi
echo 1..$tests
exit $bad
