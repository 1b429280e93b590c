#!/usr/bin/env bash
# rails.sh - vectors use two network devices of each host simultaneously (TUTTI_RAILS): sums are right, and both links carry
# their share. A missing device, a different number of devices, and a link that goes down are reported as errors. Hosts are
# network namespaces, which need root.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"
export LINKS=2 TUTTI_SILENCE=3 ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 # as in over_ucx.sh
case $BUILD in /*) ;; *) BUILD=$PWD/$BUILD ;; esac
n=0
skips() {
  skip "rails" "$1"
  echo 1..1
  exit 0
}
check() { ok "$@" && n=$((n + 1)) || n=$((n + 1)); }
[ -e "$BUILD/libtutti_ucx.so" ] || skips "without UCX there is nothing between hosts"

hosts() { # HOSTS PER_HOST COMMAND ...
  rc=0
  TOKEN=$token TUTTI=$TUTTI timeout -k 5 200 bash bench/netns.sh tutti "$1" "$2" 1gbit "${@:3}" \
    >"$work/out" 2>"$work/err" </dev/null || rc=$?
  [ "$rc" != 77 ] || skips "$(sed -n 's/^netns.sh: //p' "$work/err" | tail -1)"
}
passes='! grep -q "^not ok" "$work/out"'

[ "${TUTTI_TEST_ALL:-}" = 1 ] && everything=1 || everything=
for each in "2 1 mp_cover" "3 2 mp_cover" "3 1 mp_scenes" ${everything:+"3 1 mp_cover" "5 1 mp_cover" "2 2 mp_exact" "4 1 mp_told"}; do
  read -r hosts per program <<<"$each"
  TUTTI_RAILS=eth0,eth1 hosts "$hosts" "$per" "$BUILD/tests/$program"
  check "$program on $hosts hosts of $per" all "status 0" 'grep -q ^ok "$work/out"' "$passes"
done

# The bytes that each device has sent, after a program with long vectors.
cat >"$work/counts" <<'END'
"$@" && cat /sys/class/net/eth0/statistics/tx_bytes /sys/class/net/eth1/statistics/tx_bytes | paste -s | sed 's/^/sent /'
END
for each in eth0,eth1 eth1,eth0 eth0; do
  TUTTI_RAILS=$each hosts 3 1 sh "$work/counts" "$TUTTI" bench -b 4M -e 4M --iters 4 --repeats 2 -w 1
  read -r first second < <(sed -n 's/^sent //p' "$work/out" | head -1)
  if [ $each = eth0 ]; then
    check "one device: nothing on the other" all "status 0" '[ "$first" -gt 10000000 ]' '[ "$second" -lt 100000 ]'
  else
    check "$each: each carries its share ($first and $second bytes)" all "status 0" \
      '[ "$first" -gt 4000000 ]' '[ "$second" -gt 4000000 ]' \
      '[ $((first * 10)) -lt $((second * 15)) ]' '[ $((second * 10)) -lt $((first * 15)) ]'
  fi
done

TUTTI_RAILS=eth0,nosuch0 hosts 2 1 -k "$BUILD/examples/hello"
check "a missing device: an error on all ranks" all "status 1" \
  '[ "$(grep -c "UCX .* nosuch0" "$work/err")" -ge 1 ]' '[ "$(grep -c "rank [01]" "$work/err")" -ge 1 ]'
TUTTI_RAILS=eth0,eth1,eth0,eth1,eth0 hosts 2 1 -k "$BUILD/examples/hello"
check "five devices: a sentence" all "status 1" 'grep -q "TUTTI_RAILS names more than 4 devices" "$work/err"'
hosts 2 1 -k sh -c '[ $TUTTI_RANK = 1 ] && export TUTTI_RAILS=eth0,eth1; exec "$0"' "$BUILD/examples/hello"
check "another number of devices: both numbers" all "status 1" 'grep -qE "has [12] devices of TUTTI_RAILS, and this rank [12]" "$work/err"'
for each in "eth0 idle" "eth1 flight" ${everything:+"eth0 flight" "eth1 idle"}; do
  read -r device way <<<"$each"
  TUTTI_RAILS=eth0,eth1 hosts 3 1 -k "$BUILD/tests/mp_silent" "$way" "ip link set $device down"
  # The other device still works, so either side may be the first to declare the other one lost, and to tell all ranks.
  check "$device goes down, $way: all ranks end, and a silent host is named" all \
    '[ "$(grep -cE "ok - rank [012] after" "$work/out")" = 3 ]' \
    'grep -qE "is lost: its host, host[123], has been silent for 3 s" "$work/out"'
done
ok "no process is left" gone
echo "1..$((n + 1))"
exit $bad
