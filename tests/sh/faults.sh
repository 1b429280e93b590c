#!/usr/bin/env bash
# faults.sh - ranks that fail, stall or abort: the other ranks get an error, and all end within seconds.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"
prog=$BUILD/tests/mp_faults
keep=--keep-going

# Runs in the background during the other tests, because it takes 11 s.
TOKEN=$token-slow timeout -k 5 40 "$TUTTI" run -n 3 "$prog" slow >"$work/slow" 2>&1 &
slow=$!

job run -n 3 "$prog" exit
ok "a rank that exits: its status is the job's" all 'status 7' 'within 20000' 'says "rank 2"'
ok "no process is left" gone
job run -n 3 "$prog" kill
ok "a rank that is killed: the launcher says by what" all 'status 137' 'within 20000' 'says SIGKILL'
ok "no process is left" gone
# otherwise the address sanitizer turns the signal into an exit status
ASAN_OPTIONS="${ASAN_OPTIONS:-}:handle_segv=0" job run -n 2 "$prog" segv 20
ok "a rank that crashes" all 'status 139' 'within 20000' 'says SIGSEGV'

# Without the launcher's help the library must detect the failure.
job run $keep -n 3 "$prog" kill
ok "those who wait name the dead" all 'within 20000' 'says "a rank died: rank 2 .pid [0-9]+. died, killed by SIGKILL; rank [01] waited for it in allreduce, operation [0-9]+, step [0-9]"'
job run $keep -n 3 "$prog" kill 0 test
ok "ranks that only test a request detect it, too" all 'within 20000' 'says "a rank died: rank 2 .pid [0-9]+. died"'
job run $keep -n 3 "$prog" quiet
ok "a rank that exits without tutti_finalize is lost" all 'within 20000' 'says "a rank died: rank 2 .pid [0-9]+. died, it exited with status 0;"'
job run $keep -n 3 "$prog" kill 0 recv
ok "ranks that wait for a message from it detect it" all 'within 20000' \
  'says "a rank died: rank 2 .pid [0-9]+. died, killed by SIGKILL; rank [01] waited for it to send 1 double with tag 0"'
job run $keep -n 3 sh -c '[ $TUTTI_RANK = 2 ] && kill -9 $$; exec "$@"' sh "$prog" exit
ok "a rank that dies during the bootstrap" all 'within 20000' \
  'says "no communicator: rank 2 of 3 died before tutti_comm_from_env, killed by SIGKILL"'
export TUTTI_TIMEOUT=1
job run $keep -n 3 "$prog" late
ok "a rank that is late is named after TUTTI_TIMEOUT" says "timed out: .*for rank 2 .*TUTTI_TIMEOUT=1"
job run -n 3 "$prog" late 0 test
ok "and so for those who test" all 'within 20000' 'says "timed out: .*for rank 2 .*TUTTI_TIMEOUT=1"'
unset TUTTI_TIMEOUT
job run $keep -n 4 "$prog" abort
ok "an abort with a reason reaches all" all 'within 20000' \
  '[ "$(grep -c "aborted: rank 3 aborted: no more" "$work/err")" = 4 ]'
ok "no process is left" gone
wait $slow
rc=$?
mv "$work/slow" "$work/err"
ok "a rank that waits 10 s warns once, names the late rank, and continues" all 'status 0' \
  '[ "$(grep -cE "^level 0: .*has waited 10[.0-9]* s for rank 2 " "$work/err")" = 2 ]' \
  '[ "$(grep -c "^level 0" "$work/err")" = 2 ]'
# Vectors are copied: a leaf whose vector the root reads where it is has to wait for the root.
for count in 1 4000; do
  TUTTI_COPIES=all TUTTI_TIMEOUT=5 job run -n 2 "$BUILD/tests/mp_crossed" $count
  ok "freeing a communicator waits for no peer that shares memory, $count numbers" all 'status 0' 'within 4000' \
    '[ "$(grep -c "^free: returned" "$work/out")" = 6 ]'
done
echo 1..17
exit $bad
