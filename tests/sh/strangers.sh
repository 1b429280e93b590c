# strangers.sh - security if the key is not secret: only ranks of one user on one host may join, and others with TUTTI_KEY or
# TUTTI_INSECURE=1. Also the data that an eavesdropper between hosts sees, and the interfaces with open ports; everything also
# with IPv6. Hosts are network namespaces (bench/netns.sh); the variables of launchers are set without the launchers.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"
unset TUTTI_KEY TUTTI_INSECURE TUTTI_NET TUTTI_TLS TUTTI_INTERFACE
export TUTTI_CONNECT_TIMEOUT=3
n=0
check() { ok "$@" && n=$((n + 1)) || n=$((n + 1)); }
hello=$BUILD/examples/hello
three='[ "$(grep -c "sum is 3$" "$work/out")" = 3 ]'
two='[ "$(grep -c "sum is 1$" "$work/out")" = 2 ]'
secret="set TUTTI_KEY to the same secret on all ranks, or, on a network that only you use, TUTTI_INSECURE=1"
port=$(free_port)

# as COMMAND...: runs the command in a folder that every user may enter, because the checkout may be private.
as() { (cd "$work" && "$@"); }
# torchrun HOST:PORT [NAME=VALUE ...]: runs two ranks on this host; AS: a command that runs the second one.
torchrun() {
  local at=$1 pid
  shift
  cp "$hello" "$work/hello"
  env RANK=0 WORLD_SIZE=2 MASTER_ADDR="${at%:*}" MASTER_PORT="${at##*:}" "$@" timeout 30 "$work/hello" >"$work/out0" 2>"$work/err0" </dev/null &
  pid=$!
  rc=0
  as ${AS:-} env RANK=1 WORLD_SIZE=2 MASTER_ADDR="${at%:*}" MASTER_PORT="${at##*:}" "$@" timeout 30 "$work/hello" >"$work/out" 2>"$work/err" </dev/null || rc=$?
  wait $pid && rc0=0 || rc0=$?
  cat "$work/out0" >>"$work/out"
  port=$(free_port)
}
chmod 755 "$work"
for at in 127.0.0.1 ::1 "$(hostname)"; do
  if [ "$at" = ::1 ] && ! grep -q . /proc/net/if_inet6 2>/dev/null; then
    skip "on one host, at ::1" "no IPv6 here" && n=$((n + 1))
    continue
  fi
  torchrun "$at:$port"
  check "on one host, at $at: ranks of one user need no secret" all "status 0" "$two"
done
# ---- TLS ----
if [ ! -e "$BUILD/libtutti_tls.so" ]; then
  skip "TLS" "libtutti_tls.so was not built (make tls)" 2 && n=$((n + 2))
else
  cp "$BUILD"/libtutti_tls.so* "$work"
  cp "$BUILD"/libtutti_tcp.so* "$work"
  torchrun "127.0.0.1:$port" TUTTI_TLS=all
  check "ranks meet by TLS" all "status 0" "$two"
  torchrun "127.0.0.1:$port" TUTTI_TLS=al
  check "another word is refused" all "! status 0" "says 'TUTTI_TLS=al: expected all'"
fi

# ---- interfaces ----
torchrun "127.0.0.1:$port" TUTTI_INTERFACE=lo
check "TUTTI_INTERFACE names a device" all "status 0" "$two"
torchrun "127.0.0.1:$port" TUTTI_INTERFACE=127.0.0.1
check "... or an address of one" all "status 0" "$two"
torchrun "127.0.0.1:$port" TUTTI_INTERFACE=nothing7
check "... and a sentence names an interface that the host lacks" all "! status 0" "says 'TUTTI_INTERFACE=nothing7 is neither a device of this host'"
other=$(hostname -I 2>/dev/null | tr ' ' '\n' | grep -m 1 '^[0-9.]*$')
TUTTI_INTERFACE=lo background aggregator -p 0
until grep -q port "$work/out" 2>/dev/null; do sleep 0.05; done
its=$(grep -oE 'port [0-9]+' "$work/out" | head -1) its=${its#port }
check "no other interface has the port open" all '(: <"/dev/tcp/127.0.0.1/$its")' '[ -z "$other" ] || ! (: <"/dev/tcp/$other/$its") 2>/dev/null'
kill "$job" && wait_job

if [ "$(id -u)" != 0 ] || ! setpriv --reuid 65534 --clear-groups true 2>/dev/null; then
  skip "another user" "this user cannot become another one" 3 && n=$((n + 3))
else
  AS="setpriv --reuid 65534 --regid 65534 --clear-groups"
  torchrun "127.0.0.1:$port"
  check "another user on the same host stays outside, and says why" all "! status 0" '[ $rc0 != 0 ]' "says '$secret'" '! grep -q "sum is" "$work/out"'
  # A client that accepts any peer, and a rendezvous that does not.
  AS="setpriv --reuid 65534 --regid 65534 --clear-groups env TUTTI_INSECURE=1"
  torchrun "127.0.0.1:$port"
  check "... also if only it wants to" all "! status 0" '[ $rc0 != 0 ]' '! grep -q "sum is" "$work/out"'
  AS="setpriv --reuid 65534 --regid 65534 --clear-groups"
  background aggregator -p 0
  until grep -q port "$work/out" 2>/dev/null; do sleep 0.05; done
  its=$(grep -oE 'port [0-9]+' "$work/out" | head -1) its=${its#port }
  daemon=$job
  rc=0
  cp "$BUILD/tutti" "$work/tutti"
  cp "$BUILD/tests/mp_aggregated" "$BUILD/tests/libtutti_internal.so" "$work"
  cp "$BUILD"/libtutti_ucx.so* "$work" 2>/dev/null
  TUTTI_NODES=0,1,2 UCX_TLS=tcp,self TUTTI_AGGREGATOR=127.0.0.1:$its as $AS timeout 60 "$work/tutti" run \
    --hosts localhost:1,localhost:1,localhost:1 "$work/mp_aggregated" 0.2 >"$work/out" 2>"$work/err" </dev/null || rc=$?
  check "an aggregator without a key serves its own user: others run without it, and say why" all "status 0" \
    "says 'without an aggregator.*is on another host, or another user.*TUTTI_KEY'" '! grep -q "aggregate(" "$work/out"'
  kill "$daemon"
  job=$daemon && wait_job
fi

# hosts [NAME=VALUE ...]: runs one rank on each of two hosts, or of $HOSTS. FAMILY=6, link: with IPv6 addresses, or link-local
# addresses only. PORT=4001 HEARS=FILE: captures the traffic of this port on the first host; PORT=0: of all ports.
hosts() {
  local first=10.77.0.1
  case ${FAMILY:-4} in 6) first=fd77::1 ;; link) first=fe80::1${LINK:+%$LINK} ;; esac
  rc=0
  FIRST=$first LISTEN=$python\ tests/support/sniff.py TOKEN=$token UCX_TLS=tcp,self timeout 60 bash bench/netns.sh tutti ${HOSTS:-2} 1 1gbit sh -c '
    [ -z "${HEARS:-}" ] || [ "$TUTTI_RANK" != 0 ] || { $LISTEN eth0 ${PORT:-4001} "$HEARS" & until [ -e "$HEARS" ]; do sleep 0.05; done; }
    env -u TUTTI_ID -u TUTTI_RANK -u TUTTI_SIZE RANK=$TUTTI_RANK WORLD_SIZE=$TUTTI_SIZE MASTER_ADDR=$FIRST MASTER_PORT=4000 "$@"
    status=$?
    [ -z "${HEARS:-}" ] || [ "$TUTTI_RANK" != 0 ] || kill $!
    exit $status' sh "$@" "$hello" >"$work/out" 2>"$work/err" </dev/null || rc=$?
}
hosts
if [ $rc = 77 ]; then
  skip "two hosts" "$(tail -n 1 "$work/err")" 21 && n=$((n + 21))
elif [ ! -e "$BUILD/libtutti_ucx.so" ] || [ ! -e "$BUILD/libtutti_tls.so" ]; then
  skip "two hosts" "UCX or OpenSSL is not installed, or was not built" 21 && n=$((n + 21))
else
  check "on two hosts, without a secret: the ranks do not meet, and say what to do" all "! status 0" "says 'rank 1.*$secret'" '! grep -q "sum is" "$work/out"'
  hosts TUTTI_KEY=0123456789abcdef
  check "... with a secret they do" all "status 0" "$two"
  hosts TUTTI_INSECURE=1
  check "... and with TUTTI_INSECURE=1" all "status 0" "$two"
  key=0123456789abcdef
  FAMILY=6 hosts TUTTI_KEY=$key
  check "hosts that have addresses of IPv6 alone meet" all "status 0" "$two"
  FAMILY=6 hosts
  check "... with a secret only" all "! status 0" "says 'rank 1.*$secret'" '! grep -q "sum is" "$work/out"'
  export FAMILY=link HOSTS=3
  hosts TUTTI_KEY=$key
  check "hosts with only link-local addresses: UCX does not reach them, and a sentence says so" all "! status 0" \
    "says 'cannot reach rank . on host., which has only link-local addresses.*set TUTTI_NET=tcp'"
  hosts TUTTI_KEY=$key TUTTI_TLS=all
  check "... by TLS they meet and sum" all "status 0" "$three"
  LINK=eth0 hosts TUTTI_KEY=$key TUTTI_TLS=all TUTTI_INTERFACE=eth0
  check "... also where the address has a link's name, and TUTTI_INTERFACE that of a device" all "status 0" "$three"
  LINK=other7 hosts TUTTI_KEY=$key TUTTI_TLS=all
  check "... or a name that no host knows" all "status 0" "$three"
  LINKS=2 hosts TUTTI_KEY=$key TUTTI_TLS=all sh -c 'export TUTTI_INTERFACE=fe80::$((RANK + 1))%eth1; "$0"'
  check "... on the second of two links, where both have the same addresses" all "status 0" "$three"
  LINKS=2 hosts TUTTI_KEY=$key TUTTI_TLS=all sh -c '[ $RANK != 0 ] || export TUTTI_INTERFACE=eth1; "$0"'
  check "... where the other ranks try one link after the other" all "status 0" "$three"
  rc=0
  AGGREGATOR=4 TUTTI_TLS=all TOKEN=$token timeout 60 bash bench/netns.sh tutti 3 1 1gbit "$PWD/$BUILD/tests/mp_aggregated" 0.2 >"$work/out" 2>"$work/err" </dev/null || rc=$?
  check "... and an aggregator sums for them" all "status 0" '[ "$(grep -c "went on as one of 3.*right: no error" "$work/out")" = 3 ]' 'grep -qE "(aggregate|split)\(" "$work/out"'
  unset FAMILY HOSTS
  hosts TUTTI_KEY=$key TUTTI_INTERFACE=eth0
  check "hosts meet on the interface that is asked for" all "status 0" "$two"
  HEARS=$work/plain hosts TUTTI_KEY=$key TUTTI_INSECURE=1
  check "a listener hears the names of hosts where TUTTI_INSECURE allows it, and no key" all "status 0" "$two" 'grep -aq "host2, pid" "$work/plain"' '! grep -aq $key "$work/plain"'
  TUTTI_KEY=$key AGGREGATOR=4 PORT=0 HEARS=$work/keys hosts
  check "nor, where an aggregator sums, the key of its sessions" all "status 0" "$two" 'grep -aq "sums:4747" "$work/keys"' \
    '$python tests/support/heard_keys.py "$work/keys" $key | grep -qE "^[1-9][0-9]* sessions, 0 keys"'
  HEARS=$work/secret hosts TUTTI_KEY=$key
  check "... and no name where it does not" all "status 0" "$two" '[ -s "$work/secret" ]' '! grep -aqE "host[12]|10[.]77" "$work/secret"'
  hosts TUTTI_KEY=$key TUTTI_CONNECT_TIMEOUT=2 sh -c '[ $RANK = 0 ] || export TUTTI_INSECURE=1; "$0" || { sleep $((4 * RANK)); exit 1; }'
  check "a rank that came without TLS is refused, and both say what differs" all "! status 0" \
    "says 'connected without TLS.*TUTTI_INSECURE must be the same'" "says 'a process connected without TLS: TUTTI_TLS and'"
  mkdir -p "$work/far/from/plugins" && cp "$hello" "$work/far/from/plugins/bare"
  bare=$work/far/from/plugins/bare
  hosts TUTTI_KEY=$key TUTTI_CONNECT_TIMEOUT=2 sh -c '[ $RANK = 0 ] && exec "$1"; exec "$0"' "$bare"
  check "a rank without OpenSSL says what to install, and which variable does without" all "! status 0" \
    "says 'rank 1: TLS needs libtutti_tls.so, which cannot be loaded.*package libssl.*TUTTI_INSECURE=1 on all of them'"
  hosts TUTTI_KEY=$key TUTTI_CONNECT_TIMEOUT=2 sh -c '[ $RANK = 0 ] && exec "$0"; "$1" || { sleep 4; exit 1; }' "$bare"
  check "... and so does a rendezvous without it" all "! status 0" \
    "says 'rank 1: .*does not speak TLS: it needs OpenSSL 3 there'" "says 'a process came with TLS, which this one lacks: install OpenSSL 3'"
  hosts TUTTI_KEY=$key TUTTI_INSECURE=1 "$bare"
  check "... which TUTTI_INSECURE=1 lets meet" all "! status 0" '! grep -q "speak TLS" "$work/err"' "says 'network'"
  HEARS=$work/all hosts TUTTI_KEY=$key TUTTI_TLS=all
  check "TUTTI_TLS=all encrypts the meeting, too, and needs no UCX" all "status 0" "$two" '[ -s "$work/all" ]' '! grep -aqE "host[12]|10[.]77" "$work/all"'
fi
check "no process is left" gone
echo "1..$n"
exit $bad
