# second_judge.sh - compares the prover with an independent second one (models/judge.py): on tutti's plans,
# on schedules with a known error, and on some thousand random schedules, which are the same in each run.
# `make prove-fuzz` uses new ones, for any length of time. SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"
rc=0
timeout -k 5 300 $python models/prove_fuzz.py --build "$BUILD" --count 1600 --seed 20 >"$work/out" 2>"$work/err" || rc=$?
# field NAME: a number of the summary
field() { sed -n "s/^  prover and judge:.*$1 \([0-9]*\).*/\1/p" "$work/out"; }
ok "tutti's own plans are right with every kind of wire, and proven" has "^[1-9][0-9]* plans of tutti's own: all right"
ok "schedules that are wrong in a known way are refused" has "^[1-9][0-9]* wrong ones: all refused"
ok "prover and judge agree on schedules made at random" all "status 0" '[ "$(field "both accept")" -gt 500 ]' \
  '[ "$(field "both refuse")" -gt 300 ]'
