# over_tcp.sh - programs with several ranks over TCP, which need no other library, and over TLS (TUTTI_TLS=all). The hosts are
# all this one, and TUTTI_NODES defines the nodes; or network namespaces (bench/netns.sh), where somebody listens, or a cable is cut.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"
. "${BASH_SOURCE%/*}/../support/in_background.bash"
. "${BASH_SOURCE%/*}/../support/over.bash"
unset TUTTI_NET TUTTI_KEY TUTTI_INTERFACE TUTTI_TLS
case $BUILD in /*) ;; *) BUILD=$PWD/$BUILD ;; esac

# ---- programs, and deaths, over $wire ----
programs() {
  had=()
  brief || in_background over 4 0,1 mp_scenes
  brief || in_background over 3 $apart mp_parting
  brief || for nodes in $apart 0,0,1; do in_background over 3 $nodes mp_told; done
  for p in 1 2 3 5 ${everything:+4 6 7 8 9}; do over $p $apart mp_cover; done
  for nodes in 0,0,1 0,1,1,0,2; do over 5 $nodes mp_cover; done
  over 3 $apart mp_exact
  brief || over 5 0,0,1,1 mp_coded
  over 3 $apart mp_wrong
  over 4 0,0,1 mp_wrong
  told
  for nodes in $apart 0,0,1,1,2; do over 5 $nodes mp_asleep; done
  for nodes in $apart 0,0,1; do over 3 $nodes mp_stall 1; done
  [ ! "$everything" ] || over 2 $apart mp_large

  killed_between_nodes
  for each in "3 0,1,2" "3 0,0,1"; do
    read -r ranks nodes <<<"$each"
    TUTTI_NODES=$nodes job run -r 1 --hosts "$(list "$ranks")" "$BUILD/tests/mp_elastic" plain
    check "$wire: a joiner takes a dead rank's place, nodes $nodes" all "status 0" '[ "$(grep -c "^fine" "$work/out")" = 3 ]'
  done
}
wire=tcp
export TUTTI_NET=tcp
programs

# ---- who may join, and which network ----
# Jobs sum, one after another, until the file `enough` exists.
until [ -e "$work/enough" ]; do
  TUTTI_NODES=0,1 TOKEN=$token timeout -k 5 120 "$TUTTI" run --hosts "$(list 2)" "$BUILD/tests/mp_exact" || exit 1
done >"$work/out" 2>"$work/err" </dev/null &
job=$!
knocks=$($python tests/support/knock.py "$token" 20)
: >"$work/enough"
wait_job
check "strangers at the ports of all ranks are refused, and the job continues" all "status 0" '[ "$knocks" -ge 20 ]' "$passes" quiet
TUTTI_NODES=0,1 job run -k --hosts "$(list 2)" sh -c '[ $TUTTI_RANK = 0 ] || export TUTTI_NET=no_such; exec "$0"' "$BUILD/examples/hello"
check "a network that one rank lacks: a sentence on all" all "! status 0" '[ "$(grep -c "rank 1 .*cannot be loaded" "$work/err")" = 2 ]'
unset TUTTI_NET
# A folder without UCX's library.
mkdir "$work/alone" && cp -L "$TUTTI" "$BUILD/examples/hello" "$BUILD/libtutti_tcp.so.0" "$work/alone"
TUTTI_NODES=0,1 TUTTI_LOG=info job run --hosts "$(list 2)" "$work/alone/hello"
check "without UCX ranks use TCP" all "status 0" "says 'ranks on several hosts use TCP'" "says '; TCP was opened'"
rm "$work/alone/libtutti_tcp.so.0"
TUTTI_NODES=0,1 job run -k --hosts "$(list 2)" "$work/alone/hello"
check "... and without both a sentence says so" all "! status 0" "says \"the network 'tcp' cannot be loaded\""

wire=tls
export TUTTI_TLS=all
if [ ! -e "$BUILD/libtutti_tls.so" ]; then
  skip "over TLS" "libtutti_tls.so was not built (make tls)" 44
  n=$((n + 1))
  TUTTI_NODES=0,1 job run --hosts "$(list 2)" "$BUILD/examples/hello"
  check "without it: a sentence on all" all "! status 0" "says 'TLS needs libtutti_tls.so, which cannot be loaded'"
  echo "1..$n"
  exit $bad
fi
if brief; then
  over 3 0,0,1 mp_cover
  over 3 $apart mp_stall 1
else
  programs
fi

# ---- its dependencies, and the settings that it ignores ----
TUTTI_NODES=0,1 TUTTI_RAILS=eth0,eth1 TUTTI_LOG=warn job run --hosts "$(list 2)" "$BUILD/examples/hello"
check "TUTTI_RAILS is not used, and a line says so" all "status 0" "says 'TUTTI_RAILS is not used: over TCP and TLS, one connection'"
for net in tls tcp; do
  TUTTI_NODES=0,1 TUTTI_NET=$net TUTTI_LOG=info job run --hosts "$(list 2)" "$BUILD/examples/hello"
  check "TUTTI_NET=$net with TUTTI_TLS=all" all "status 0" "says '; TLS 1.3 was opened'"
done
TUTTI_NODES=0,1 TUTTI_LOG=info TUTTI_NET=tls TUTTI_TLS= job run --hosts "$(list 2)" "$BUILD/examples/hello"
check "TUTTI_NET=tls encrypts without TUTTI_TLS" all "status 0" "says '; TLS 1.3 was opened'"
TUTTI_NODES=0,1 TUTTI_NET=tcp TUTTI_TLS= job run -k --hosts "$(list 2)" sh -c '[ $TUTTI_RANK = 0 ] || export TUTTI_NET=tls; exec "$0"' "$BUILD/examples/hello"
check "ranks with two networks: a sentence on all" all "! status 0" \
  '[ "$(grep -c "rank 1 .* has TLS 1.3, and rank 0 .* has TCP: they need the same; TUTTI_NET=tcp works" "$work/err")" = 2 ]'
TUTTI_NODES=0,1 TUTTI_NET=ucx UCX_TLS=tcp,self job run -k --hosts "$(list 2)" "$BUILD/examples/hello"
if [ -e "$BUILD/libtutti_ucx.so" ]; then
  check "a network that encrypts nothing is refused" all "! status 0" "says 'TUTTI_TLS=all: UCX .* does not encrypt what ranks'"
else
  skip "a network that encrypts nothing" "UCX is not installed, or was not built" && n=$((n + 1))
fi
. "${BASH_SOURCE%/*}/../support/mpi.bash"
for mpi in ompi; do
  if [ ! -x "$BUILD/tests/$mpi/mp_cover" ] || ! has_starter $mpi; then
    skip "TUTTI_NET=tls under $mpi" "no $(starter $mpi), or the tests were built without this MPI" 3
    n=$((n + 1))
    continue
  fi
  under() { # NAME=VALUE ...
    rc=0
    env TUTTI_NODES=0,1 LD_LIBRARY_PATH="$BUILD" "$@" TOKEN=$token timeout 60 "$(starter $mpi)" -n 3 "$BUILD/tests/$mpi/mp_cover" >"$work/out" 2>"$work/err" </dev/null || rc=$?
    cat "$work/out" >>"$work/err"
  }
  under TUTTI_NET=tls TUTTI_KEY=0123456789abcdef
  check "under $mpi, with TUTTI_KEY" all "status 0" 'grep -q ^ok "$work/out"' "$passes"
  under TUTTI_NET=tls
  check "... without it: a sentence says that ranks need it" all "! status 0" "says 'set TUTTI_KEY to the same text'"
  under
  check "... over the MPI: a sentence says what encrypts" all "! status 0" "says 'does not encrypt what ranks.*TUTTI_NET=tls does, with TUTTI_KEY'"
done

# ---- hosts ----
# hosts HEARS PROGRAM ...: three hosts of one rank; HEARS: what somebody hears on host 1 of all packets, or "".
hosts() {
  local hears=$1
  shift
  rc=0
  LISTEN="$python tests/support/sniff.py" HEARS=$hears TOKEN=$token timeout -k 5 120 bash bench/netns.sh tutti "${HOSTS:-3}" 1 1gbit -k sh -c '
    [ -z "$HEARS" ] || [ "$TUTTI_RANK" != 0 ] || { $LISTEN eth0 0 "$HEARS" & until [ -e "$HEARS" ]; do sleep 0.05; done; }
    "$@"
    status=$?
    [ -z "$HEARS" ] || [ "$TUTTI_RANK" != 0 ] || kill $!
    exit $status' sh "$@" >"$work/out" 2>"$work/err" </dev/null || rc=$?
}
known="the quick brown fox jumps over 13 lazy dogs, and no dog hears it."
hosts "$work/heard" "$BUILD/tests/mp_secret" "$known"
if [ $rc = 77 ]; then
  skip "hosts" "$(tail -n 1 "$work/err")" 9 && n=$((n + 1))
else
  check "three hosts: somebody who listens hears no part of a vector" all "status 0" '[ "$(grep -c "^ok" "$work/out")" = 3 ]' \
    '[ "$(stat -c %s "$work/heard")" -gt 1000000 ]' '! grep -aq "quick brown fox" "$work/heard"' '! grep -aq host2 "$work/heard"'
  if [ -e "$BUILD/libtutti_ucx.so" ]; then
    TUTTI_TLS= hosts "$work/clear" "$BUILD/tests/mp_secret" "$known"
    check "... and over UCX does" all "status 0" 'grep -aq "quick brown fox" "$work/clear"'
  else
    skip "the same over UCX" "UCX is not installed, or was not built" && n=$((n + 1))
  fi
  FAMILY=6 hosts "" "$BUILD/tests/mp_cover"
  check "hosts that have addresses of IPv6 alone" all "status 0" "$passes"
  unset TUTTI_TLS
  cp -L "$BUILD/libtutti_tcp.so.0" "$BUILD/libtutti_tls.so.0" "$work/alone"
  for family in 4 6 link; do
    FAMILY=$family TUTTI_LOG=info TUTTI=$work/alone/tutti HOSTS=2 hosts "" "$work/alone/hello"
    check "two hosts without UCX, by addresses of the kind $family" all "status 0" '[ "$(grep -c "sum is 1$" "$work/out")" = 2 ]' "says '; TCP was opened'"
  done
  TUTTI_NET=tcp hosts "" "$BUILD/tests/mp_cover"
  check "three hosts over TCP" all "status 0" "$passes"
  TUTTI_NET=tcp TUTTI_SILENCE=3 hosts "" "$BUILD/tests/mp_silent" flight "ip link set eth0 down"
  check "over TCP a cable is cut amid messages: all name the silent host" all '[ "$(grep -c "^ok - rank .*has been silent for 3 s" "$work/out")" = 3 ]' "$passes"
  export TUTTI_TLS=all
  TUTTI_SILENCE=3 hosts "" "$BUILD/tests/mp_silent" flight "ip link set eth0 down"
  check "a cable is cut amid messages: all name the silent host" all '[ "$(grep -c "^ok - rank .*has been silent for 3 s" "$work/out")" = 3 ]' "$passes"
fi
check "no process is left" gone
echo "1..$n"
exit $bad
