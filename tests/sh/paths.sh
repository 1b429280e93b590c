#!/usr/bin/env bash
# paths.sh - results are right with every kind of access to a peer's memory, and with both
# engines: the covering table on processes, with each setting.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"
n=0
cover() { # "SETTING=WORD ..." RANKS
  # shellcheck disable=SC2086
  job run -n "$2" env $1 "$BUILD/tests/mp_cover"
  ok "$1 on $2 ranks" all 'status 0' '! grep -q "^not ok" "$work/out"'
  n=$((n + 1))
}
for ranks in 2 5; do
  for word in none private all; do cover TUTTI_COPIES=$word $ranks; done
  for word in plain streaming; do cover TUTTI_STORES=$word $ranks; done
  cover TUTTI_FENCES=own $ranks
  cover TUTTI_ENGINE=generic $ranks
  cover "TUTTI_ENGINE=generic TUTTI_COPIES=all TUTTI_STORES=streaming" $ranks
done
job run -n 2 env TUTTI_COPIES=often "$TUTTI" bench -b 4 -e 4
ok "an unknown word gives a warning, and the job runs" all 'status 0' 'says "often.*cheapest or none or private or all"'
echo 1..$((n + 1))
exit $bad
