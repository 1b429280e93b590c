#!/usr/bin/env bash
# silence.sh - a host is reported as lost when its link has been down for TUTTI_SILENCE, whether busy or idle. A host
# with a rank that is stopped for longer is not. A link failure is also detected if the process that watches the host has
# failed before. Hosts are network namespaces, which need root.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"
export TUTTI_SILENCE=3 ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 # as in over_ucx.sh
case $BUILD in /*) ;; *) BUILD=$PWD/$BUILD ;; esac
ways="flight idle six stop heir" n=0 # six: idle, with IPv6 addresses only
skips() {
  skip "silent hosts" "$1"
  echo 1..1
  exit 0
}
[ -e "$BUILD/libtutti_ucx.so" ] || skips "without UCX there is nothing between hosts"
part() { # WAY: runs a case in the background
  local each=1 way=$1 family=4
  [ "$1" != heir ] || each=2
  [ "$1" != six ] || way=idle family=6
  FAMILY=$family TOKEN=$token TUTTI=$TUTTI timeout -k 5 300 bash bench/netns.sh tutti 3 $each 1gbit -k "$BUILD/tests/mp_silent" "$way" \
    "ip link set eth0 down" >"$work/$1.out" 2>"$work/$1.err" </dev/null
  echo $? >"$work/$1.rc"
}
for way in $ways; do part "$way" & done
wait
for way in $ways; do
  cp "$work/$way.out" "$work/out" && cp "$work/$way.err" "$work/err"
  rc=$(cat "$work/$way.rc")
  [ "$rc" != 77 ] || skips "$(sed -n 's/^netns.sh: //p' "$work/err" | tail -1)"
  sed -n 's/^ok - /# /p' "$work/out"
  said=3 status=0
  [ "$way" != heir ] || said=5 status=137
  ok "$way: each rank says what it should" all "status $status" '[ "$(grep -c "^ok - rank" "$work/out")" = $said ]' '! grep -q "^not ok" "$work/out"'
  n=$((n + 1))
done
ok "no process is left" gone
echo "1..$((n + 1))"
exit $bad
