#!/usr/bin/env bash
# waits.sh - the waits of docs/reliability.md ("Every wait") for ranks that do not do their part. Each one warns after 10 s, is
# shown by the doctor, ends at the time limit, and can be interrupted, as stated in the table. In shared memory, and over TLS
# between hosts that are all this machine.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"
n=0
play() { # ROW WHERE OPTIONS...: options of tutti run
  local row=$1 where=$2 way says=3
  shift 2
  for way in limit interrupt; do
    background run "$@" "$BUILD/tests/mp_waits" "$row" $way
    lines $says '^(not )?ok'
    kill -TERM "$job"
    wait_job
    ok "$row, $where: $way" all '! grep -q "^not ok" "$work/out"' '[ "$(grep -c "^ok" "$work/out")" = '$says' ]'
    says=1
    n=$((n + 1))
  done
}
calls="allreduce request recv send dup split shrink grow start"
for r in $calls; do play $r "in shared memory" -n 2; done
for r in joiners joiner; do play $r "in shared memory" -r 1 -n 2; done
if [ -e "$BUILD/libtutti_tls.so" ]; then
  export TUTTI_TLS=all TUTTI_NODES=0,1
  for r in $calls; do play $r "over TLS" --hosts localhost:1,localhost:1; done
  play joiner "over TLS" -r 1 --hosts localhost:1,localhost:1
  export TUTTI_CONNECT_TIMEOUT=2 # s; for the launcher, which has the normal clock
  play joiners "over TLS" -r 1 --hosts localhost:1,localhost:1
else
  skip "over TLS" "libtutti_tls.so was not built (make tls)" 22
  n=$((n + 22))
fi
ok "no process is left" gone
echo "1..$((n + 1))"
exit $bad
