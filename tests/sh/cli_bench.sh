# cli_bench.sh - `tutti bench`: columns, correct results, files, wrong command lines.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"
quick="--iters 2 -w 1 --repeats 3"

rows() { grep -acvE '^#' "$work/out"; }
# All rows have the fields of nccl-tests, numbers in the number columns, and #wrong 0. The last
# field is the plan; it has spaces if there are two plans, or slices.
sound() {
  awk '{ sub(/, two-shot if nothing is copied$/, ""); sub(/ in [0-9]+ slices$/, "") }
       !/^#/ && (NF != 14 || $1 !~ /^[0-9]+$/ || $6 + 0 <= 0 || $9 != 0 || $13 != 0) { bad = 1 }
       END { exit bad }' "$work/out"
}
footer() { grep -qaE '^# Out of bounds values : 0 OK$' "$work/out" && grep -qaE '^# Avg bus bandwidth +: [0-9.e+-]+$' "$work/out"; }

# ---- the table ----
job run -n 3 "$TUTTI" bench -b 4 -e 16K -f 16 $quick
ok "allreduce: a row per size, all right" all "status 0" quiet '[ "$(rows)" = 4 ]' sound footer
ok "the head names the columns of nccl-tests" all \
  "grep -qaE '^# +size +count +type +redop +root +time +algbw +busbw +#wrong +time' '$work/out'" \
  "grep -qaE '^# +\(B\) +\(elements\) +\(us\) +\(GB/s\)' '$work/out'"
ok "sizes and counts" '[' "$(awk '!/^#/ {print $1 "/" $2}' "$work/out" | xargs)" = \
  "4/1 64/16 1024/256 16384/4096" ']'
for coll in reduce_scatter allgather broadcast reduce scan exscan gather scatter alltoall; do
  job bench -n 3 --coll $coll -b 12 -e 12K $quick
  ok "$coll, started by itself" all "status 0" quiet sound footer
done
job bench -n 2 --coll barrier $quick
ok "barrier: one row, nothing to check" all "status 0" '[ "$(rows)" = 1 ]' "grep -qa 'N/A' '$work/out'"
for op in land lor lxor; do
  job bench -b 64 -e 64 $quick -d int8 --op $op
  ok "one rank, $op: 0 or 1 is right" all "status 0" footer
done
job bench -b 1K -e 1K $quick
ok "one rank, no job" all "status 0" quiet sound '[ "$(awk "!/^#/ {print \$8}" "$work/out")" = 0.000 ]'
for what in "-d bf16 --op max" "-d half" "-d int8 --op bxor" "-d complex_double --op prod" "-d double_int --op minloc" \
  "-d uint64 --op avg" "-d int32 --op lxor" "--alloc" "--cycle" "--cycle --alloc -d fp16"; do
  job bench -n 2 -b 4K -e 64K $what $quick
  ok "$what" all "status 0" footer
done
for coll in allreduce reduce broadcast reduce_scatter allgather; do
  job bench -n 4 --helpers 2 --coll $coll -b 4 -e 64K -f 32 $quick
  ok "$coll, with helpers" all "status 0" quiet sound footer "grep -qa 'the last 2 only help' '$work/out'"
done
job bench -n 2 -e 1K --side in $quick
ok "--side in measures only that" all "status 0" "grep -qaE ' +- +- +- +- +[0-9.]+ ' '$work/out'" footer
job bench -n 2 -e 64 $quick --spread
ok "--spread: least and greatest; no 99th percentile of three" all "status 0" \
  'awk "!/^#/ && !(NF == 20 && \$14 <= \$6 && \$6 <= \$16 && \$15 == \"-\") { bad = 1 } END { exit bad }" "$work/out"'
job bench -n 2 -e 4 --iters 2 -w 1 --repeats 100 --spread
ok "--spread: of a hundred there is one" '[' "$(awk '!/^#/ && $15 > 0 && $14 <= $15 && $15 <= $16' "$work/out" | wc -l)" = 1 ']'
job bench -n 2 -e 4K $quick
ok "a line with one plan fits into 120 columns" '[' "$(awk '!/if nothing is copied/ { if (length($0) > most) most = length($0) } END { print most <= 120 }' "$work/out")" = 1 ']'
job bench -n 2 -e 64 --check 0 $quick
ok "--check 0 checks nothing" all "status 0" "grep -qa 'N/A' '$work/out'" "! grep -qa 'Out of bounds' '$work/out'"

# ---- files ----
job bench -n 2 -e 1K $quick --format json -o "$work/a.json"
ok "--format json writes" all "status 0" '[ -s "$work/a.json" ]'
ok "the JSON holds what the table shows" $python - "$work/a.json" <<'END'
import json, sys
d = json.load(open(sys.argv[1]))
assert d["ranks"] == 2 and d["coll"] == "allreduce" and d["measure"] == "loop", d
assert [r["bytes"] for r in d["rows"]] == [4, 16, 64, 256, 1024]
for r in d["rows"]:
    for side in ("out_of_place", "in_place"):
        s = r[side]
        assert s["wrong"] == 0 and 0 < s["us_min"] <= s["us_median"] <= s["us_max"] and s["us_p99"] is None, s
END
job bench -n 2 -e 1K $quick --format csv
ok "--format csv: a line per size and side, and nothing else" all "status 0" quiet '[ "$(wc -l <"$work/out")" = 11 ]' \
  "has '^bytes,count,side,'" "has '^1024,256,in,[0-9.]+,'"
if command -v gnuplot >/dev/null; then
  for kind in svg png; do
    job bench -n 2 -e 1K $quick --plot "$work/a.$kind"
    ok "--plot draws a .$kind" all "status 0" '[ -s "$work/a.'$kind'" ]'
  done
else
  skip "--plot draws" "no gnuplot" 2
fi

# ---- wrong command lines: one sentence, status 2 ----
while read -r sentence; do
  read -r options
  job bench $options
  refused() { status 2 && one_line && grep -qaE -e "$sentence" "$work/err"; }
  ok "bench $options: refused" refused
done <<'END'
-b 'x' is not a size
-b x
-e '4Q' is not a size
-e 4Q
the first size, 64, is above the last, 4
-b 64 -e 4
-f '1' is not a number above 1
-f 1
--side 'on' is neither
--side on
no type 'flaot'; did you mean 'float'\?
-d flaot
no op 'sun'; did you mean 'sum'\?
--op sun
no collective 'allgathr'; did you mean 'allgather'\?
--coll allgathr
type float has no op bxor
--op bxor
--check '2' is not a whole number from 0 to 1
--check 2
-n '0' is not a whole number
-n 0
--iters '0' is not a whole number
--iters 0
'-P' is no option; use -n N
-P 2
'--json' is no option; use --format json
--json x
'-J' is no option; use --format json -o FILE
-J x
-o is the output file; for the op use --op max
-o max
in which format\? --format json
-o a.json
--format is text, json or csv, not 'xml'
--format xml
option '--format' needs a value
--format
no option '--cicle'; did you mean '--cycle'\?
--cicle
neither a .svg nor a .png
--plot a.pdf
--root 1, but the ranks are 0 to 0
--coll broadcast --root 1
--helpers 1, but the job has 1 ranks
--helpers 1
'more' is one argument too many
more
END
job run -n 3 "$TUTTI" bench -d flaot
ok "in a job rank 0 alone complains" all "status 2" '[ "$(grep -ac "no type" "$work/err")" = 1 ]'
job run -n 2 "$TUTTI" bench -n 3
ok "-P that is not the job's" all "status 2" "says 'n 3, but the job has 2 ranks'"
job run -n 2 "$TUTTI" bench --format json -o /no/such/folder/file
ok "a file that cannot be written is an error before anything is measured" all "status 125" \
  "says \"cannot write '/no/such/folder/file'\"" "out_is ''"
exit $bad
