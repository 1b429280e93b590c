# driver.sh - tests/run counts the results that programs print, and crashes and timeouts. The table
# has shell tests and the expected counts.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"
name() { printf '%s/%02d_%s.sh' "$work" "$1" "$2"; }

# name | its line | passed, failed, skipped | the program
n=0 programs=() want=() sums=(0 0 0)
while IFS='|' read -r name word counts text; do
  n=$((n + 1))
  printf '%b\n' "$text" >"$(name $n "$name")"
  programs+=("$(name $n "$name")")
  want+=("$name $word")
  i=0
  for count in $counts; do sums[i]=$((sums[i] + count)) i=$((i + 1)); done
done <<'END'
passes|ok|2 0 0|echo ok - 1; echo ok - 2; echo 1..2
passes-late|ok|1 0 0|sleep 0.5; echo ok
fails|FAILED|1 1 0|echo ok - 1; echo not ok - 2; exit 1
fails-early|FAILED|0 1 0|echo not ok - 1; exit 1
skips-some|ok|1 0 1|echo ok - 1; echo "ok - 2 # SKIP nothing there"
skips|skipped|0 0 1|echo "1..0 # SKIP no such thing"; exit 77
skips-as-cmocka|skipped|0 0 1|echo "not ok 1 - x # SKIP"
status|FAILED|1 1 0|echo ok - 1; exit 3
crashes|FAILED|1 1 0|echo ok - 1; kill -SEGV $$
is-killed|FAILED|0 1 0|kill -KILL $$
hangs|FAILED|1 1 0|echo ok - 1; exec sleep 50
defies|FAILED|1 1 0|trap "" TERM; echo ok - 1; while :; do sleep 0.1; done
hangs-in-a-child|FAILED|0 1 0|sleep 50; :
silent|FAILED|0 1 0|:
ends-early|FAILED|1 1 0|echo 1..2; echo ok 1
talks-on-stderr|ok|1 0 0|echo not a line >&2; echo ok - 1
skips-mute|FAILED|0 1 0|exit 77
END
rc=0
TOKEN=$token TEST_SECONDS=2 timeout 60 tests/run "${programs[@]}" >"$work/out" 2>"$work/err" || rc=$?
told=$(grep -aE '^(ok|FAILED|skipped) .* passed ' "$work/out" | awk '{print $2, $1}' | sort)
ok "each is told" [ "$told" = "$(for ((i = 1; i <= n; i++)); do printf '%02d_%s\n' $i "${want[i - 1]}"; done)" ]
ok "and counted" [ "$(tail -1 "$work/out")" = "${sums[0]} passed, ${sums[1]} failed, ${sums[2]} skipped" ]
ok "there are failures: status 1" status 1
ok "there is no other output" quiet
ok "a program that hangs is ended with all it started" gone
once_more=$(sed -n '/^---- what failed, once more/,/^---- the names alone/p' "$work/out")
ok "and it is said, three times" all '[ "$(grep -c "ran longer than 2 s, or was killed$" "$work/out")" = 12 ]' \
  '[ "$(grep -c "ran longer than 2 s, or was killed$" <<<"$once_more")" = 4 ]'
ok "failures are repeated at the end" grep -qx '03_fails: not ok - 2' <<<"$once_more"
ok "and their names" grep -qx '03_fails: not ok - 2' <<<"$(sed -n '/^---- the names alone/,$p' "$work/out")"
ok "the output of a failing program is in one piece" \
  [ "$(sed -n '/^---- 03_fails:/,/^---- end of 03_fails/p' "$work/out" | sed 1d | xargs)" = "ok - 1 not ok - 2 ---- end of 03_fails" ]
rc=0
tests/run "$(name 1 passes)" "$(name 2 passes-late)" "$(name 1 passes)" >"$work/out" 2>"$work/err" || rc=$?
ok "all pass: status 0" all 'status 0' '[ "$(tail -1 "$work/out")" = "5 passed, 0 failed" ]'
rc=0
tests/run >"$work/out" 2>"$work/err" || rc=$?
ok "none at all: no success" all 'status 1' '[ "$(xargs <"$work/out")" = "no test ran 0 passed, 1 failed" ]'

# ---- which tests run in parallel: each test records how many of each kind are running when it begins ----
mkdir "$work/now"
printf '# a table\n' >"$work/kinds"
for i in 1 2 3 4 5 6 7 8 9; do
  cores=$((i % 3)) # sleeps, one, two
  printf '%02d_counts\t-\t%d\t%d\tfull\n' $i $i $((cores ? 100 * cores : 30)) >>"$work/kinds"
  cat >"$(name $i counts)" <<EOP
touch $work/now/$cores.$i; sleep 0.2; for k in 0 1 2; do ls $work/now | grep -c "^\$k" ; done | xargs >>$work/seen; rm $work/now/$cores.$i; echo ok
EOP
done
PLANS=$work/kinds TEST_CORES=2 tests/run "$work"/0?_counts.sh >"$work/out" 2>"$work/err"
ok "programs use two cores at most" all '[ "$(wc -l <"$work/seen")" = 9 ]' \
  'awk "30 * \$1 + 100 * \$2 + 200 * \$3 > 200 {bad = 1} END {exit bad}" "$work/seen"' 'awk "\$1 > 1 && \$2 == 1 {good = 1} END {exit !good}" "$work/seen"'
rm "$work/seen"
PLANS=$work/kinds TEST_CORES=1 tests/run "$work"/0?_counts.sh >"$work/out" 2>"$work/err"
ok "TEST_CORES=1: one after the other, the longest first" all \
  '[ "$(sed -n "s/^ok *0\([124578]\)_counts .*/\1/p" "$work/out" | xargs)" = "8 7 5 4 2 1" ]'  '[ "$(wc -l <"$work/seen")" = 9 ]' 'awk "30 * \$1 + 100 * \$2 + 100 * \$3 > 100 {bad = 1} END {exit bad}" "$work/seen"'
sed -i 's/02_counts\t-\t2\t200\tfull/02_counts\t-\t2\t200\tcheck/' "$work/kinds"
PLANS=$work/kinds tests/run --tier check "$work"/0?_counts.sh >"$work/out" 2>"$work/err"
ok "--tier check: the tests of this tier alone" all '[ "$(tail -1 "$work/out")" = "1 passed, 0 failed" ]' 'grep -q "^ok *02_counts" "$work/out"'

sed -i 's/04_counts\t-\t4\t100\tfull/04_counts\t-\t4\t100\tshort/' "$work/kinds"
for each in "--tier check|2" "--added|8" "--short|9"; do
  # shellcheck disable=SC2086
  PLANS=$work/kinds tests/run ${each%|*} "$work"/0?_counts.sh >"$work/out" 2>"$work/err"
  ok "${each%|*}: ${each#*|} of nine tests" '[' "$(tail -1 "$work/out")" = "${each#*|} passed, 0 failed" ']'
done

# ---- the table of expected results ----
plan() { # NUMBER TEXT: a program with NUMBER expected results in the table; -: the table does not have it
  [ "$1" = - ] && : >"$work/plans" || printf '# a table\nother\t7\t1\t100\tfull\nplanned\t%s\t1.0\t100\tcheck\n' "$1" >"$work/plans"
  echo "$2" >"$work/planned.sh"
  rc=0
  PLANS=$work/plans TABLE=$work tests/run ${3:-} "$work/planned.sh" >"$work/out" 2>"$work/err" || rc=$?
}
three='echo ok; echo ok; echo ok'
plan 3 "$three"
ok "as many results as the table says" all 'status 0' '[ "$(tail -1 "$work/out")" = "3 passed, 0 failed" ]'
plan 2 "$three"
ok "more than it says" status 0
plan 4 "$three; echo 1..3"
ok "fewer: a failure, which says both numbers" all 'status 1' '[ "$(tail -1 "$work/out")" = "3 passed, 1 failed" ]' \
  "has '^# planned: 4 results are expected \($work/plans\), 3 came$'"
plan 4 "$three; echo 'ok - x # SKIP no x'"
ok "a skip is a result" status 0
plan 9 "$three; echo 'ok - x # SKIP no x (6 tests)'"
ok "... or as many as it says" all 'status 0' '[ "$(tail -1 "$work/out")" = "3 passed, 0 failed, 1 skipped" ]'
plan 10 "$three; echo 'ok - x # SKIP no x (6 tests)'"
ok "... but no more" all 'status 1' "has '10 results are expected .*, 9 came$'"
plan 4 "echo ok; echo not ok; exit 1"
ok "failures are results, too" all 'status 1' "has '4 results are expected .*, 2 came$'"
plan 4 "echo 'ok - all # SKIP no x'"
ok "a program that is skipped, with a reason" all '[ "$(tail -1 "$work/out")" = "0 passed, 1 failed, 1 skipped" ]' \
  'has "^no test ran"' '! has "are expected"'
plan - "$three"
ok "a program without a row" all 'status 1' "has 'it is not in $work/plans; tests/run --plans writes it there'"
plan 3 "$three; echo 'ok - x # SKIP no x (6 tests)'" --plans
ok "--plans writes the number, and keeps the other rows" all 'status 0' \
  'sed "s/\t[0-9.]*\t[0-9]*\tcheck/\tS\tC\tcheck/" "$work/plans" | tr "\n\t" ";=" | grep -qFx "# a table;other=7=1=100=full;planned=9=S=C=check;"'
plan 3 "echo ok; exit 1" --plans
ok "... but not that of a program that failed" all 'status 1' 'grep -qx "planned	3	1.0	100	check" "$work/plans"'
plan 3 "echo 'ok - all # SKIP no x'" --plans
ok "... nor that of one that could not judge" grep -qx "planned	3	1.0	100	check" "$work/plans"
printf '# a table\nplanned\t3\t1.0\t100\tshort\t77.0\t88\n' >"$work/plans"
echo "$three" >"$work/planned.sh"
rc=0
PLANS=$work/plans TABLE=$work tests/run --plans "$work/planned.sh" >"$work/out" 2>"$work/err" || rc=$?
ok "... and with the tier short those of the full form alone" all 'status 0' '! grep -q 77.0 "$work/plans"' \
  'grep -qxE "planned	3	1.0	100	short	[0-9.]+	[0-9]+" "$work/plans"'
TUTTI_TEST_ALL=1 plan 3 "$three" --plans
ok "... nor those of the full products" all 'status 2' 'grep -qx "planned	3	1.0	100	check" "$work/plans"'
mkdir "$work/build" && printf '#!/bin/sh\necho ok\n' >"$work/build/mp_deaths" && chmod +x "$work/build/mp_deaths"
rc=0
BUILD=$BUILD tests/run "$work/build/mp_deaths" >"$work/out" 2>"$work/err" || rc=$?
ok "a program of several ranks that only shell tests run is not run by itself" all 'status 1' 'has "^no test ran"'

# ---- ended by a signal ----
for signal in INT TERM; do
  TOKEN=$token env --default-signal=INT TEST_SECONDS=50 tests/run "$(name 11 hangs)" "$(name 13 hangs-in-a-child)" >"$work/out" 2>"$work/err" &
  job=$!
  sleep 0.4
  kill -$signal $job
  wait_job
  ok "SIG$signal ends it, and what runs" all '[ "$rc" -gt 128 ]' gone
done
exit $bad
