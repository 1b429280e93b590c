#!/usr/bin/env bash
# spaces.sh - ranks in separate PID namespaces (one container each), where every rank has the same pid. Without address
# randomization they also have the same addresses. Sums of private memory are right with every kind of access, and a failed
# rank is detected.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"
prog=$BUILD/tests/mp_private
apart="unshare --pid --fork --kill-child"
fixed="setarch -R"
right='grep -qx right "$work/out"'
n=0
rows() { # NAME RANKS COPIES COMMAND...
  local name=$1 ranks=$2 copies=$3
  shift 3
  TUTTI_COPIES=$copies job run -n $ranks "$@" "$prog" 262144
  ok "$name, $ranks ranks, TUTTI_COPIES=$copies" all "status 0" "$right" gone
}
able=yes
why=$($apart true 2>&1) || able=
for ranks in 2 4; do
  for copies in none cheapest; do
    for row in "in one namespace:$fixed" "a namespace each:$apart" "a namespace each, the same addresses:$apart $fixed" \
      "the same addresses, a namespace each:$fixed $apart"; do
      case $row in
        *unshare*) [ "$able" ] || { skip "${row%%:*}, $ranks ranks, TUTTI_COPIES=$copies" "$why"; continue; } ;;
      esac
      rows "${row%%:*}" $ranks $copies ${row#*:}
    done
  done
done
# The launcher, which is outside, reports how a rank ended, because the pid of a rank is not valid in other containers.
if [ "$able" ]; then
  job run -k -n 3 $apart bash -c '[ $TUTTI_RANK = 1 ] && exit 7; exec "$0" 1024' "$prog"
  ok "a rank of another namespace that ends is noticed" all "! status 0" "says 'exited with status 7'" gone
else
  skip "a rank of another namespace that ends is noticed" "$why"
fi
echo 1..17
exit $bad
