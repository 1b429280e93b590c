# repeats.sh - the contract `run`: the same bits from run to run, whatever is measured on the way:
# who comes late, how busy the machine is, what memory can be read, how a plan is carried out.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/tap.bash"
program=$BUILD/tests/mp_exact
[ -x "$program" ] || { skip "from run to run" "no $program" && exit 0; }

# same_as NAME [VARIABLE=VALUE...]: another run, with other ways to carry out the same plans.
fingerprint() { env TUTTI_CONTRACT=run "$@" timeout -k 5 100 "$TUTTI" run -n "$n" "$program" fingerprint; }
same_as() {
  local name=$1
  shift
  fingerprint "$@" >"$work/again" 2>&1
  # where no loop may run, none is named beside the plan
  sed -i 's/, two-shot if nothing is copied$//' "$work/again"
  ok "$n ranks: $name" cmp -s "$work/first" "$work/again"
}
for n in 2 3 5; do
  fingerprint >"$work/first" 2>&1
  sed -i 's/, two-shot if nothing is copied$//' "$work/first"
  ok "$n ranks: sums and plans" grep -qE '^bits [0-9a-f]{16}$' "$work/first"
  same_as "the same again"
  same_as "copies through shared memory" TUTTI_COPIES=private
  same_as "the system reads vectors" TUTTI_COPIES=none
  same_as "everything is copied" TUTTI_COPIES=all
  same_as "step by step, without loops" TUTTI_ENGINE=generic
  same_as "a thread drives what is in flight" TUTTI_PROGRESS_THREAD=1
  (while :; do :; done) &
  busy=$!
  same_as "beside one that takes a core"
  kill $busy
  wait $busy 2>/dev/null
done
exit $bad
