# cli_wisdom.sh - `tutti tune --wisdom`: measures, shows, merges and refuses files; jobs use and extend
# them, no matter which rank has one.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"
w=$work/w.txt
head="tutti-wisdom 1, tutti $("$TUTTI" --version | cut -d' ' -f2)"
unset TUTTI_WISDOM TUTTI_MEASURE
rest='1 12.310 4% 14.200 10.200 2026-11-22T01:24:22Z'
entries() { grep -cE '^[a-z_]+ +(-|[a-z0-9]+) ' "$1"; }
is() { [ "$1" = "$2" ] || { echo "# '$1' is not '$2'"; false; }; }
# All expected files exist and are complete.
tidy() { ! ls "$work" | grep -vE '^(out|err|[a-z]+\.txt|none|bin)$'; }

# ---- measuring ----
job tune --wisdom -n 3 -b 1K -e 64K -f 8 -o "$w"
ok "three sizes are measured" all 'status 0' quiet '[ "$(head -1 "$w")" = "$head" ]' \
  'is "$(entries "$w")" 3' 'is "$(grep -cE "^ +(1024|8192|65536) " "$work/out")" 3' tidy
ok "... of three processes here" grep -qE '^on [0-9a-f]{8}: 3 processes share memory, .*; [0-9]+ x ' "$w"
job run -n 3 "$TUTTI" tune --wisdom -b 1K -e 1K -c reduce -d int64 --op max -o "$w"
ok "... and the entries of another collective, in a job, are added" all 'status 0' quiet 'is "$(entries "$w")" 4' \
  'grep -qE "^reduce +int64 +max +any +0 +1024 " "$w"' 'is "$(grep -c "^on" "$w")" 1' tidy
job tune --wisdom -n 2 -c broadcast -b 64K -e 64K -o "$w"
ok "... and other ranks" all 'status 0' 'is "$(grep -c "^on" "$w")" 2' 'grep -qE "^broadcast +- +- +any +0 +65536 " "$w"'
cp "$w" "$work/two.txt"
sed '$a on 0000000a: x\nallreduce float sum same 0 4096 naive 1 1 1% 1 1 2026-01-02T00:00:00Z' "$w" >"$work/new.txt"
chmod 666 "$work/new.txt"
background tune --wisdom -n 2 -b 1M -e 16M -o "$work/two.txt"
lines 1 "^ +1048576 " && mv "$work/new.txt" "$work/two.txt"
wait_job
ok "entries that another job wrote during the run stay, and so do the file's permissions" all 'status 0' quiet \
  'is "$(grep -c "^on" "$work/two.txt")" 3' 'is "$(stat -c %a "$work/two.txt")" 666' \
  'is "$(grep -c " 2026-01-02T" "$work/two.txt")" 1' 'is "$(entries "$work/two.txt")" "$(($(entries "$w") + 4))"' tidy
job wisdom -P 2
ok "the old command: a hint" all 'status 2' one_line "says 'is .tutti tune --wisdom.; its -w is -o, and its -P is -n'"
job tune --wisdom -P 2
ok "the old options: a hint" all 'status 2' one_line "says '.-P. is no option; use -n N'"
job tune --wisdom -n 2 -w "$w"
ok "... -w" all 'status 2' one_line "says '.-w. is no option; use -o FILE'"
job tune --wisdom -n 2 -b 256M -e 256M
ok "long vectors are not measured, and the report says so" all 'status 0' \
  'grep -q "not measured: it is longer than 64 MiB" "$work/out"'
TUTTI_CONTRACT=run job tune --wisdom -n 2 -b 4 -e 4
ok "... nor what the contract rules out" grep -q "not measured: the contract forbids" "$work/out"
TUTTI_ALGO=naive job tune --wisdom -n 2 -b 4 -e 4
ok "... nor what is asked for by name" grep -q "not measured: a plan is asked for by name" "$work/out"
job tune --wisdom -n 1 -b 4 -e 4
ok "... nor one rank" grep -q "not measured: there is one rank" "$work/out"

# ---- showing, merging ----
job tune --wisdom "$w"
ok "it is shown, with what fits here" all 'status 0' quiet 'is "$(grep -c "^# fits: " "$work/out")" 2' \
  '[ "$(grep -v "^# fits" "$work/out")" = "$(cat "$w")" ]'
sed -E 's/^on [0-9a-f]+: 2 processes.*;.*/on 12345678: 2 processes share memory; 8 cores of another/
  s/^on [0-9a-f]+: 3 processes/on 12345678: 3 threads/' "$w" >"$work/other.txt"
job tune --wisdom "$work/other.txt"
ok "... and what does not" all 'status 0' 'grep -q "^# does not fit: another machine" "$work/out"' \
  'grep -q "^# this machine: fits ranks that are placed like this" "$work/out"'
printf '%s\non 0000000a: x\nallreduce float sum same 0 4096 naive 1 1 1%% 1 1 2026-01-02T00:00:00Z\n' "$head" >"$work/new.txt"
printf '%s\non 0000000a: x\nallreduce float sum same 0 4096 one-shot 1 1 1%% 1 1 2026-01-01T00:00:00Z\n' "$head" >"$work/old.txt"
for order in "new old" "old new"; do
  set -- $order
  rm -f "$work/all.txt"
  job tune --wisdom --merge "$work/$1.txt" "$work/$2.txt" "$w" -o "$work/all.txt"
  ok "merging $order and one more: the newer stays" all 'status 0' quiet 'grep -q "4096 naive" "$work/all.txt"' \
    '! grep -q "4096 one-shot  *1  *1.000 " "$work/all.txt"' 'is "$(entries "$work/all.txt")" $((1 + $(entries "$w")))' tidy
done

# ---- refused files ----
# refused NAME WORDS STATUS ARGUMENTS: the command fails with these words, and no file changes.
refused() {
  local name=$1 words=$2 want=$3 before
  shift 3
  before=$(cat "$work"/*.txt | cksum)
  job "$@"
  ok "$name" all "status $want" one_line "says '$words'" '[ "$(cat "$work"/*.txt | cksum)" = "'"$before"'" ]' tidy
}
printf 'hello\n' >"$work/bad.txt"
sed "1s/tutti 0.*/tutti 0.0.1/" "$w" >"$work/stale.txt"
printf '%s\non 0000000a: x\nallreduce float sum same 0 4096 naiv %s\n' "$head" "$rest" >"$work/torn.txt"
refused "no wisdom at all" 'bad.txt: the wisdom, line 1, column 1: expected .tutti-wisdom 1.* found .hello' 125 tune --wisdom "$work/bad.txt"
refused "another version's" 'line 1, column 23: it was measured with tutti .0.0.1., and this is .*measure again' 125 tune --wisdom "$work/stale.txt"
refused "a plan that there is not" 'line 3, column 33: expected a plan .*naiv' 125 tune --wisdom "$work/torn.txt"
printf '%s\non 0000000a: x\n\0one\n' "$head" >"$work/nul.txt"
refused "a file that is torn" 'nul.txt: line 3, column 1: expected text, found a NUL byte' 125 tune --wisdom "$work/nul.txt"
mkfifo "$work/none"
refused "a pipe, whose other end may never come" 'none: it is not a regular file' 125 tune --wisdom "$work/none"
refused "... nor to be added to" 'none. cannot be read' 125 tune --wisdom --merge "$work/old.txt" -o "$work/none"
rm "$work/none"
refused "a merge with a wrong file" 'torn.txt: the wisdom, line 3' 125 tune --wisdom --merge "$w" "$work/torn.txt" -o "$work/old.txt"
refused "a merge into a wrong file" 'wisdom .*bad.txt., line 1' 125 tune --wisdom --merge "$w" -o "$work/bad.txt"
refused "no such file" 'none: No such file' 125 tune --wisdom "$work/none"
job tune --wisdom -n 2 -b 4 -e 4 -o "$work/torn.txt"
ok "measurements into a wrong file are refused before they begin" all '[ "$rc" != 0 ]' 'says "torn.txt: the wisdom, line 3"' '! grep -q 4 "$work/out"'
refused "nothing to do" 'what. A file to show, or -n' 2 tune --wisdom
refused "a file to show, and -w" 'files are shown, or put together with --merge' 2 tune --wisdom "$w" -o "$w"
refused "--merge without -w" 'merge takes files, and -o' 2 tune --wisdom --merge "$w"
refused "a size that is none" 'e .4X. is not a size' 2 tune --wisdom -n 2 -e 4X
refused "sizes the wrong way round" 'the first size, 8, is above the last, 4' 2 tune --wisdom -n 2 -b 8 -e 4
refused "an op that the type has not" 'type float has no op band' 2 tune --wisdom -n 2 --op band
refused "an option that there is not" 'did you mean .--merge.' 2 tune --wisdom --marge

# ---- jobs ----
bench="bench -b 8K -e 8K --budget 0.001 --repeats 1 -w 1 --side out"
printf '%s\n%s\nallreduce float sum same 0 8192 fold(ring) 1 5 1%% 9 1 2026-11-22T01:24:22Z\n' "$head" \
  "$(grep '^on .*: 3 processes' "$w")" >"$work/ring.txt"
TUTTI_WISDOM=$work/ring.txt job $bench -n 3
ok "a job runs what wisdom says" all 'status 0' quiet 'grep -q "fold(ring), measured 5.00 us" "$work/out"'
TUTTI_WISDOM=$work/ring.txt TUTTI_EXPLAIN=1 job $bench -n 3
ok "... and says so" says 'By wisdom: at 8 KiB it took 5.00 us \+- 1 %; the plan with the least estimate took 9.00 us'
TUTTI_WISDOM=$work/ring.txt job $bench -n 2
ok "... not one of other ranks" all 'status 0' quiet '! grep -q "measured" "$work/out"'
for contract in run exact; do
  TUTTI_WISDOM=$work/ring.txt TUTTI_MEASURE=1 TUTTI_CONTRACT=$contract job $bench -n 3
  ok "... nor under the contract $contract" all 'status 0' '! grep -q "measured" "$work/out"'
done
TUTTI_WISDOM=$work/ring.txt TUTTI_ALGO=naive job $bench -n 3
ok "... nor against a wish" all 'status 0' 'grep -q " naive$" "$work/out"'
TUTTI_WISDOM=$work/ring.txt TUTTI_ALGO='^fold' job $bench -n 3
ok "... nor what is ruled out" all 'status 0' quiet '! grep -q "measured" "$work/out"'
TUTTI_WISDOM=$work/torn.txt job $bench -n 3
ok "a wrong file: a warning with line and column, and the job continues" all 'status 0' \
  'says "wisdom .*torn.txt., line 3, column 33: expected a plan.*; it is not used"' '! grep -q "measured" "$work/out"'
job run -n 3 sh -c '[ $TUTTI_RANK = 0 ] && export TUTTI_WISDOM='"$work"'/ring.txt; exec "$@"' sh "$TUTTI" $bench
ok "only rank 0 has a file: it counts" all 'status 0' quiet 'grep -q "fold(ring), measured 5.00 us" "$work/out"'
job run -n 3 sh -c '[ $TUTTI_RANK = 0 ] || export TUTTI_MEASURE=1 TUTTI_WISDOM='"$work"'/ring.txt; exec "$@"' sh "$TUTTI" $bench
ok "only others have: it does not" all 'status 0' quiet '! grep -q measured "$work/out"'

# ---- TUTTI_MEASURE ----
rm -f "$work/m.txt"
TUTTI_MEASURE=1 TUTTI_WISDOM=$work/m.txt job $bench -n 3
ok "TUTTI_MEASURE=1: what runs was measured, and is kept" all 'status 0' quiet 'grep -q ", measured " "$work/out"' \
  'grep -qE "^allreduce +float +sum +same +0 +8192 " "$work/m.txt"' tidy
before=$(cat "$work/m.txt")
TUTTI_MEASURE=1 TUTTI_WISDOM=$work/m.txt job $bench -n 3
ok "... once" all 'status 0' '[ "$(cat "$work/m.txt")" = "$before" ]'
TUTTI_MEASURE=1 TUTTI_WISDOM=$work/m.txt job $bench -n 2
ok "... and entries of other ranks are added" all 'status 0' 'is "$(grep -c "^on" "$work/m.txt")" 2' tidy
TUTTI_WISDOM=$work/n.txt job $bench -n 3
ok "without it nothing is written" all 'status 0' quiet '[ ! -e "$work/n.txt" ]'
for wrong in 'hello\n' '\0hello\n' '\0' "$head\n\0\n"; do
  printf "$wrong" >"$work/bad.txt"
  cp "$work/bad.txt" "$work/m.txt"
  TUTTI_MEASURE=1 TUTTI_WISDOM=$work/m.txt job $bench -n 3
  ok "a file without wisdom, ${wrong@Q}, is not overwritten" all 'status 0' 'says "it is not used"' \
    'says "the measurements are not kept"' 'cmp -s "$work/bad.txt" "$work/m.txt"' tidy
done
TUTTI_MEASURE=1 TUTTI_WISDOM=$work/none/m.txt job $bench -n 3
ok "a folder that there is not: a warning" all 'status 0' 'says "none/m.txt. cannot be written: No such file"'
job run --keep-going -n 3 sh -c '[ $TUTTI_RANK = 2 ] && exec timeout -s KILL 1 "$@"; exec "$@"' sh "$TUTTI" tune --wisdom -b 4 -e 4M -f 1.01
ok "a rank that dies while it measures is named" all '[ "$rc" != 0 ]' 'within 20000' 'says "rank 2 .pid [0-9]+. died"' gone
exit $bad
