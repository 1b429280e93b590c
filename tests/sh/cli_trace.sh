# cli_trace.sh - TUTTI_TRACE in jobs of processes, and `tutti trace`: files are complete even if
# ranks fail; numbers add up; truncated, hostile or unrelated files are refused.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"
player=$BUILD/tests/test_trace
x=$work/x.json
export TUTTI_TRACE=$x
unset TUTTI_TRACE_EVENTS

# check CODE: the file is JSON, and the assertions of CODE hold. e: all events; lanes: those of the ranks; of(...):
# the events of a category.
check() {
  ok "$1" $python - "$x" "$2" <<'END'
import json, sys
e = json.load(open(sys.argv[1]))
lanes = [i["args"] | {"pid": i["pid"], "tid": i["tid"]} for i in e if i["name"] == "tutti_lane"]
names = {i["args"]["name"] for i in e if i["name"] == "thread_name"}
def of(*cats): return [i for i in e if i.get("cat") in cats]
assert e[0]["name"] == "tutti_trace" and len([i for i in e if i["name"] == "tutti_trace"]) == 1
for l in lanes: # no event of a lane is missing
    mine = [i for i in e if i["ph"] in "Xb" and (i["pid"], i["tid"]) == (l["pid"], l["tid"])]
    assert len(mine) == l["events"] > 0 and l["dropped"] == 0, (l, len(mine))
assert len({(l["pid"], l["tid"]) for l in lanes}) == len(lanes)
for i in e:
    if i["ph"] == "X": assert i["dur"] >= 0 and i["ts"] >= 0, i
outer = of("call", "start", "request_wait", "request_test")
for s in of("wait"): # a wait is inside a call of its lane
    assert any(o["tid"] == s["tid"] and o["pid"] == s["pid"] and o["ts"] - 0.002 <= s["ts"] and
               s["ts"] + s["dur"] <= o["ts"] + o["dur"] + 0.002 for o in outer), s
exec(sys.argv[2])
END
}

# ---- jobs ----
job run -n 4 "$player" splits
ok "several communicators: the job runs as ever" all "status 0" quiet '[ "$(ls "$work")" = "$(printf "err\nout\nx.json")" ]'
check "... a lane for each, and its program" 'assert len(lanes) == 4 * 6, len(lanes)
assert {l["pid"] for l in lanes} == {0, 1, 2, 3}
assert {"rank 0", "rank 1, as rank 1 of 2", "rank 3: program, as rank 0 of 2"} < names, names'
check "... calls and flights on every rank" 'assert len(of("call")) == 4 * (3 * 7 + 1), len(of("call"))
assert len(of("flight")) == 2 * 4 * 3 * 7 and len(of("request_wait")) == 4 * 3 * 7
assert all(c["args"]["coll"] in ("allreduce", "barrier") for c in of("call"))
assert len(of("mark")) == 4 * 3 and of("wait") and of("reduce") and of("copy")'
check "... the same operations on all ranks of a communicator" 'import collections
at = collections.defaultdict(list)
comm = {(l["pid"], l["tid"]): l for l in lanes}
unsure = max(l["error_ns"] for l in lanes) / 1000 # the uncertainty of the clocks
for c in of("call"): at[comm[c["pid"], c["tid"]]["comm"], c["args"]["seq"]].append(c)
for (k, s), c in at.items():
    l = comm[c[0]["pid"], c[0]["tid"]]
    assert len(c) == l["ranks"] and len({(i["name"], i["args"]["plan"]) for i in c}) == 1
    assert max(i["ts"] for i in c) <= min(i["ts"] + i["dur"] for i in c) + unsure, "nobody leaves before all have come"'
for algo in 'fold(ring)' doubling rabenseifner; do
  job run -n 3 -e TUTTI_ALGO="$algo" -e TUTTI_ENGINE=generic "$player" splits
  check "$algo: sends, receives, reductions" 'c = [i for i in of("call") if i["args"]["coll"] == "allreduce" and i["args"]["bytes"] == 40000]
assert of("send") and (of("receive") or of("reduce")) and of("reduce")
assert all(0 <= s["args"]["peer"] < 3 for s in of("send") if s["args"]["bytes"] and s["args"]["peer"] >= 0)
sent = sum(s["args"]["bytes"] for s in of("send"))
assert sent >= 2 * 40000 * 14, sent'
done
job run -n 2 "$player" late
check "a rank that waits for a late one names it, before it sums" 'big = sorted((c for c in of("call") if c["pid"] == 0 and c["args"]["coll"] == "allreduce"), key=lambda c: c["ts"])
assert [c["args"]["plan"] for c in big][2] == "fold(ring)" and len(big) == 3, big
for c in big:
    mine = [i for i in e if i["ph"] == "X" and i["pid"] == 0 and i["tid"] == c["tid"] and i["args"]["seq"] == c["args"]["seq"]]
    last = max(i["ts"] for i in mine if i["cat"] == "reduce")
    waits = [i for i in mine if i["cat"] == "wait" and i["args"]["peer"] == 1 and i["ts"] + i["dur"] <= last + 0.002]
    assert sum(i["dur"] for i in waits) > 5000 and last > c["ts"] + 50000, mine'
job trace "$x"
ok "... the first table says for whom: rank 1 first" '[' "$(grep -aoE 'waiting for rank [0-9]' "$work/out" | head -1)" = "waiting for rank 1" ']'
job trace --format json "$x"
ok "... and the trace names the late rank" grep -qaE '"rank": 1, .*"came_last": [3-6], "behind_us": [1-9][0-9]{5,6}[.]' "$work/out"
job run -n 3 "$player" leaves
check "a rank that frees nothing leaves a trace too" 'assert len(of("call")) == 3 * 7'
job run -k -n 4 "$player" dies
ok "a rank is killed: the others end" all "status 137" 'within 20000'
check "... and their part is whole" 'assert {l["pid"] for l in lanes} == {0, 2, 3}, lanes
assert len(of("flight")) == 2 * 3 * 7'
job trace "$x"
ok "... and can be summed up" all "status 0" quiet "grep -qa 'with events of some ranks missing' '$work/out'"
job run -n 2 "$player" leaves
check "the next job replaces the trace" 'assert {l["pid"] for l in lanes} == {0, 1} and len(of("call")) == 2 * 7'
TUTTI_TRACE=/dev/full job run -n 2 "$player" splits
ok "a file that cannot be written: the job runs, and warns" all "status 0" "says 'TUTTI_TRACE: .*the trace is not written'"
TUTTI_TRACE=$work/none/x.json job run -n 2 "$player" splits
ok "a folder that does not exist: the job runs, and warns" all "status 0" "says 'TUTTI_TRACE: .*the trace is not written'"
unset TUTTI_TRACE
rm -f "$x"
job run -n 2 "$player" splits
ok "without TUTTI_TRACE no file is written" all "status 0" '[ ! -e "$x" ]'
export TUTTI_TRACE=$x

# ---- several machines: another clock, in a time namespace ----
# In a chroot the root is not a mount point, and only /proc can be made private.
elsewhere="unshare -m --propagation unchanged bash $work/far $work/boot_id"
. "${BASH_SOURCE%/*}/../support/mpi.bash"
hello=$BUILD/examples/hello_mpi_ompi
cat >"$work/far" <<'END'
mount --make-rprivate /proc && mount --bind "$1" /proc/sys/kernel/random/boot_id && shift && exec unshare -T -f --monotonic 1000 "$@"
END
tr 0-9 9876543210 </proc/sys/kernel/random/boot_id >"$work/boot_id"
if [ ! -x "$hello" ] || ! has_starter ompi; then
  skip "ranks of two machines" "no mpirun.openmpi, or the examples were built without Open MPI" 2
elif ! why=$($elsewhere true 2>&1); then
  skip "ranks of two machines" "no namespace for a clock of its own: ${why##*$'\n'}" 2
else
  rc=0
  TUTTI_NODES=0,1,1 timeout -k 5 60 "$(starter ompi)" -n 1 "$hello" : \
    -n 2 $elsewhere "$hello" >"$work/out" 2>"$work/err" || rc=$?
  ok "ranks of two machines: the job runs" status 0
  check "... and their clocks are brought together" 'assert len(lanes) == 3
for l in lanes: # the clock of the namespace is 1000 s ahead
    ahead = 0 if l["rank"] == 0 else 1000e9
    assert abs(l["offset_ns"] + ahead) <= l["error_ns"] + 1000 and l["error_ns"] < 1e10, l
c = of("call")
assert max(i["ts"] for i in c) < min(i["ts"] + i["dur"] for i in c) + max(l["error_ns"] for l in lanes) / 1000 + 1, c'
fi

# ---- tutti trace ----
job run -n 4 "$player" splits
job trace "$x"
ok "for people" all "status 0" quiet "grep -qa '^4 ranks, .* 71 collectives$' '$work/out'" \
  "has '^   time           ms  phase, of the time of all ranks'" "has '^ *[0-9.]+ % +[0-9.]+  waiting for rank [0-3]$'" \
  "grep -qa 'Where the time went' '$work/out'" "grep -qa 'Which rank came last' '$work/out'" \
  "grep -qa 'Critical path of allreduce' '$work/out'" "grep -qaE 'rank [0-3] comes' '$work/out'"
TUTTI_ALGO=ring TUTTI_TRACE=$x job run -n 12 "$TUTTI" bench -b 64K -e 64K --repeats 1 --iters 3
job trace "$x"
ok "a ring's long paths and many ranks: a page" all "status 0" '[ "$(wc -l <"$work/out")" -le 72 ]' \
  "has '^  ... and 4 more ranks: --all'" "has '^ +[.]{3}  [0-9]+ steps more: --all'"
job trace --all "$x"
ok "--all: every rank, and paths whole" all "status 0" "! has ' more ranks'" "! has 'steps more'" \
  '[ "$(wc -l <"$work/out")" -gt 100 ]'
job run -n 4 "$player" splits
job trace --format json "$x"
ok "--format json" all "status 0" quiet
ok "the numbers add up" $python - "$work/out" "$x" <<'END'
import json, sys
d, e = json.load(open(sys.argv[1])), json.load(open(sys.argv[2]))
assert [r["rank"] for r in d["ranks"]] == [0, 1, 2, 3] and d["torn"] == 0
assert {w["rank"] for w in d["waited_for"]} <= {-1, 0, 1, 2, 3} and all(w["us"] >= 0 for w in d["waited_for"])
for r in d["ranks"]:
    parts = sum(r[k + "_us"] for k in ("arithmetic", "copying", "waiting", "else", "marked", "outside"))
    assert abs(parts - r["span_us"]) < 0.01, r
    assert 0 <= r["waiting_in_flight_us"] <= r["in_flight_us"] <= r["span_us"]
    mine = [i for i in e if i["ph"] == "X" and i["pid"] == r["rank"]]
    span = max(i["ts"] + i["dur"] for i in mine) - min(i["ts"] for i in mine)
    assert abs(span - r["span_us"]) < 1000, (span, r)
    assert r["arithmetic_us"] <= sum(i["dur"] for i in mine if i["cat"] == "reduce") + 0.01
assert sum(r["came_last"] for r in d["ranks"]) * 1.0 == d["collectives"]
assert sum(c["calls"] for c in d["calls"]) == d["collectives"] == 2 * 7 + 1 + 2 * 2 * 2 * 7
for c in d["calls"]:
    assert c["median_us"] <= c["worst_us"]
    for p in (c["median_path"], c["worst_path"]):
        assert p[0]["does"] == "comes" and p[0]["at_us"] == 0
        at = [h["at_us"] for h in p]
        assert at == sorted(at) and all(h["us"] >= 0 and h["gap_us"] >= 0 for h in p), p
END
cp "$x" "$work/a.json"
job trace --draw "$x"
ok "--draw: lines of 100 columns, three per rank" all "status 0" quiet '[ "$(grep -acE "^  .{16}[|].{100}[|]$" "$work/out")" = 12 ]'
job trace --draw=0+0.5 "$x"
ok "--draw from the begin" all "status 0" "grep -qa '^from 0.000 ms, 5.000 us per column' '$work/out'"
job trace "$x" -o "$work/piece.svg"
ok "-o: a picture, whose every row is a rank's" all "status 0" quiet 'valid_xml "$work/piece.svg"' \
  '[ "$(grep -c ">rank [0-3]<" "$work/piece.svg")" = 4 ]' 'grep -q "rect class=.w. " "$work/piece.svg"' 'grep -q "class=.f. " "$work/piece.svg"'
job trace "$x" -o "$work/piece.png"
ok "-o with another ending" all "status 2" one_line "says 'name it .svg'"
job trace "$x" -o "$work/none/piece.svg"
ok "-o into no folder" all "status 125" one_line "says 'cannot write .*No such file'"
for span in 1 + -1+1 1+0 1+x nan+1; do
  job trace --draw=$span "$x"
  ok "--draw=$span is refused" all "status 2" one_line "says 'is not of the form FROM.LENGTH'"
done
job trace "$work/none.json"
ok "no such file" all "status 125" one_line "says 'none.json: No such file'"
job trace
ok "no file named" all "status 2" one_line "says 'which file'"
job trace --json "$x"
ok "the old name of an option: a hint" all "status 2" one_line "says '.--json. is no option; use --format json'"
job trace --jsno "$x"
ok "a wrong option" all "status 2" one_line "says 'no option .--jsno'"
job trace "$work"
ok "a folder" all "status 125" one_line
refused() { # NAME SENTENCE: the content of b.json is refused with this error
  job trace "$work/b.json"
  ok "$1" all "status 1" one_line "says '^tutti trace: .*b.json:[0-9]+:[0-9]+: $2'" '[ ! -s "$work/out" ]' 'works_within 5000'
}
: >"$work/b.json" && refused "an empty file" "the file ends here"
echo '[]' >"$work/b.json" && refused "an empty array" "an event"
echo '[{"name":"x","ph":"X"}]' >"$work/b.json" && refused "another program's trace" "this is not a trace"
printf '\177ELF\0\1\2' >"$work/b.json" && refused "a program" "this is not a trace"
size=$(stat -c %s "$work/a.json")
for cut in 1 2 3 7 40 500 $((size / 2)) $((size / 3)); do
  head -c $((size - cut)) "$work/a.json" >"$work/b.json"
  if [ $cut = 1 ]; then continue; fi # only the end of the last line is missing
  refused "cut off $cut bytes before the end" "the file ends here"
done
head -3 "$work/a.json" >"$work/head"
{ cat "$work/head"; head -c 5000000 /dev/zero | tr '\0' '['; } >"$work/b.json" && refused "deeply nested" "an event"
{ cat "$work/head"; printf '{"args":{"args":{'; } >"$work/b.json" && refused "args in args" "only args"
{ cat "$work/head"; printf '{"name":"'; head -c 50000000 /dev/zero | tr '\0' 'x'; } >"$work/b.json" && refused "a string without an end" "the string is longer"
{ cat "$work/head"; printf '{"name":'; head -c 50000000 /dev/zero | tr '\0' '9'; } >"$work/b.json" && refused "a number without an end" "the number is longer"
{ cat "$work/head"; for i in $(seq 100); do printf '{"k%s":1,"ph":"M"},\n' "$i"; done; printf '{'; for i in $(seq 100); do printf '"k%s":1,' "$i"; done; } >"$work/b.json" && refused "too many members" "the event has more members"
event() { { cat "$work/head"; printf '%s]\n' "$1"; } >"$work/b.json"; }
event '{"name":"x","cat":"call","ph":"X","ts":1,"dur":1,"pid":77,"tid":1}' && refused "a lane from nowhere" "the event is of a lane"
event '{"name":"x","cat":"call","ph":"X","ts":1e999,"dur":1,"pid":0,"tid":1}' && refused "an endless time" "a number"
event '{"name":"x\n","ph":"X"}' && refused "an escape" "tutti.s traces have no escapes"
event '{"name":"tutti_lane","ph":"M","pid":-1,"tid":1,"args":{"rank":0,"ranks":2}}' && refused "a lane of rank -1" '"pid" has an impossible'
{ printf '[{"name":"tutti_trace","ph":"M","args":{"version":1}}'; for i in $(seq 40000); do printf ',{"name":"tutti_lane","ph":"M","pid":%s,"tid":1,"args":{"rank":0,"ranks":1}},{"name":"m%s","cat":"mark","ph":"X","ts":1,"dur":1,"pid":%s,"tid":1}' "$i" "$i" "$((i / 2 + 1))"; done; echo ']'; } >"$work/b.json"
job trace --format json "$work/b.json"
ok "40000 ranks, and as many names of marks, in no time" all "status 0" 'works_within 5000'
lane='{"name":"tutti_lane","ph":"M","pid":5,"tid":5,"args":{"rank":0,"ranks":2}},'
event "$lane"'{"name":"x","cat":"send","ph":"X","ts":1,"dur":-5,"pid":5,"tid":5}' && refused "a negative duration" '"dur" has'
event "$lane"'{"name":"x","cat":"send","ph":"X","ts":1,"dur":5,"pid":5,"tid":5,"args":{"peer":2}}' && refused "a peer that there is not" '"peer" has'
event "$lane"'{"name":"x","cat":"love","ph":"X","ts":1,"dur":5,"pid":5,"tid":5}' && refused "a category of somebody else" "the event is of no category"
event "$lane"'{"name":"x","cat":"flight","ph":"e","ts":1,"pid":5,"tid":5}' && refused "an end without a begin" "an end without"
{ cat "$work/a.json"; echo x; } >"$work/b.json" && refused "more behind the end" "something follows"
exit $bad
