# cli_plan.sh - `tutti plan`: every algorithm listed, shown, proven and drawn in each
# form, users' own schedules, wrong command lines.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"
tab=$'\t'

lines_within() { # no line of the output is longer, not counting colours
  sed 's/\x1b\[[0-9;]*m//g' "$work/out" | LC_ALL=C.UTF-8 awk -v w="$1" 'length($0) > w { bad = 1 } END { exit bad }'
}

# ---- list ----
job plan list -n 7
ok "list: an algorithm, its source, what it does" all "status 0" quiet "lines_within 120" \
  "has '^fold\(halving\) +6 +6 +1.71'" "has 'Kolmakov and Zhang 2020; for allreduce, reduce_scatter, allgather, barrier$'" \
  "has 'not here: it needs the levels of the machine'"
job plan list -n 5 --format json
ok "list --format json" $python - "$work/out" <<'END'
import json, sys
d = json.load(open(sys.argv[1]))
fold = next(a for a in d["algorithms"] if a["name"] == "fold(ring)")
assert d["ranks"] == 5 and fold["rounds"] == 8 and "allreduce" in fold["collectives"], fold
assert all(a["source"] and ("proven" in a) != ("refuses" in a) for a in d["algorithms"])
END

# ---- every algorithm in every form ----
# Algorithms that can be drawn on 6 ranks; algorithms with parameters get values for them.
names() {
  job plan list -n 6
  sed -nE 's/^([a-z][^ ]*) +[0-9]+ +[0-9]+ .*/\1/p' "$work/out"
  printf '%s\n' "blueconnect(node:3 core:2)" "blueconnect(node:(4,2))" "generalized(r=1)" "consistent(i=1)" \
    "aggregate(data=3,arity=2)" "aggregate(data=3,striped)" "fold(group=3x2,inner)" "tree(radix=3,segments=3)"
}
names >"$work/names"
# The JSON is consistent: counts, rounds, the end. The page and the drawing are consistent with it.
agree() {
  $python - "$work/x.json" "$work/x.svg" "$work/x.html" <<'END'
import collections, json, re, sys
d = json.load(open(sys.argv[1]))
svg, html = open(sys.argv[2]).read(), open(sys.argv[3]).read()
data = json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', html, re.S).group(1))
for key in ("messages", "changes", "values", "rounds", "blocks"):
    assert data[key] == d[key], key
assert len(re.findall(r'<path class="a', svg.split('id="arrows">')[1].split("</g>")[0])) == len(d["messages"])
sent = collections.Counter(m["from"] for m in d["messages"])
assert max(sent.values()) == d["busiest"]["messages"], sent
assert max(m["arrives"] for m in d["messages"]) == d["rounds"]
assert all(1 <= m["leaves"] <= m["arrives"] for m in d["messages"])
held = {}
for round_, rank, buffer, block, value in d["changes"]:
    held[rank, buffer, block] = value
for rank in range(d["data"]):
    for block in range(d["blocks"]):
        assert d["values"][held[rank, 1, block]][1] == d["full"], (rank, block)
assert not re.search(r'(src|href)="|https?://(?!www\.w3\.org/2000/svg)', html), "the page needs something"
END
}
while read -r name; do
  for kind in svg html json txt; do
    job plan draw "$name" -n 6 -o "$work/x.$kind"
    [ "$rc" = 0 ] && [ ! -s "$work/err" ] || break
  done
  ok "draw $name: in each form" all "status 0" quiet '[ -s "$work/x.svg" ] && [ -s "$work/x.txt" ]'
  ok "draw $name: the .svg is XML" valid_xml "$work/x.svg"
  ok "draw $name: all forms agree" agree
  job plan draw "$name" -n 6 -w 60
  ok "draw $name: on 60 columns" all "status 0" quiet "lines_within 60"
  job plan show "$name" -n 6
  ok "show $name: in words" all "status 0" quiet "has '^rank 5'" "has '^  round 1 '"
  job plan show "$name" -n 6 --text
  cp "$work/out" "$work/x.text"
  job plan check "$work/x.text"
  ok "show $name --text: read back and proven" all "status 0" quiet "has ': proven$'"
done <"$work/names"

# ---- forms of show, check, draw ----
job plan show 'fold(halving)' -n 7 --rank 3
ok "show --rank" all "status 0" "has '^rank 3$'" "! has '^rank 4$'" "has 'adds what comes from rank'" "has ': complete$'"
job plan show 'fold(halving)' -n 7 --rank 3 --text
ok "show --rank --text" all "status 0" "has '^rank 3$'" "! has '^rank 4$'" "has 'recv_reduce'"
job plan show 'aggregate(data=4,arity=2)' -n 7
ok "show says who only helps" has '^rank 6, which only helps$'
job plan check 'fold(ring)' -n 4 --format json
ok "check --format json" all "status 0" "has '\"proven\": true'" "has '\"rounds\": 6'"
job plan show 'fold(ring)' -n 3 --rank 1 --format json
ok "show --rank --format json has that rank's steps" all "status 0" "has '\"rank\": 1, \"step\": 0'" "! has '\"rank\": 2, \"step\"'"
job plan export 'fold(ring)' -n 3 -o "$work/exported.txt"
ok "export writes a file" all "status 0" quiet '[ ! -s "$work/out" ]' 'grep -q "^tutti-schedule 1" "$work/exported.txt"'
job plan check "$work/exported.txt"
ok "... which check reads" all "status 0" "has ': proven$'"
job plan export 'fold(ring)' -n 3 -o "$work/no/file"
ok "... or says why it cannot" all "status 125" one_line "says 'cannot write .*No such file'"

# ---- import: an algorithm of MSCCL, a ring with P chunks, of which one can be sent through scratch ----
ring() { # P COLLECTIVE [SED]: writes x.xml, changed by SED
  $python - "$1" "$2" <<'END' | sed -e "${3:-}" >"$work/x.xml"
import sys
P, coll = int(sys.argv[1]), sys.argv[2]
print('<algo name="a ring" nchunksperloop="%d" nchannels="1" proto="Simple" ngpus="%d" coll="%s" inplace="1">' % (P, P, coll))
for r in range(P):
    print('  <gpu id="%d" i_chunks="%d" o_chunks="0" s_chunks="2">\n    <tb id="0" send="%d" recv="%d" chan="0">' % (r, P, (r + 1) % P, (r - 1) % P))
    steps = [("s", r)] + [("rrcs", r - k) for k in range(1, P)] + [("rcs", r - k) for k in range(P - 2)] + [("r", r + 2)]
    for i, (kind, c) in enumerate(steps):
        print('      <step s="%d" type="%s" srcbuf="i" srcoff="%d" dstbuf="i" dstoff="%d" cnt="1" depid="-1" deps="-1" hasdep="0"/>' % (i, kind, c % P, c % P))
    print('    </tb>\n  </gpu>')
print('</algo>')
END
}
for P in 2 3 8; do
  ring $P allreduce
  job plan import "$work/x.xml" -o "$work/imported.txt"
  ok "import of a ring of $P" all "status 0" quiet '[ ! -s "$work/out" ]'
  job plan check "$work/imported.txt"
  ok "... is proven, with a ring's numbers" all "status 0" "has ': proven$'" "has 'sends $((2 * (P - 1))) messages, $((2 * (P - 1))) of $P blocks'"
done
# A thread block that receives into scratch, and another one that waits for it and reduces.
cat >"$work/x.xml" <<'END'
<?xml version="1.0"?><!-- two ranks -->
<algo name="s" ngpus="2" coll="allreduce" inplace="1">
<gpu id="0" i_chunks="2" o_chunks="0" s_chunks="1"><tb id="0" send="1" recv="1" chan="0">
<step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="s" dstoff="0" cnt="2" depid="-1" deps="-1" hasdep="0"/>
<step s="1" type="r" srcbuf="i" srcoff="-1" dstbuf="s" dstoff="0" cnt="2" depid="-1" deps="-1" hasdep="1"/></tb>
<tb id="1" send="-1" recv="-1" chan="0"><step s="0" type="nop" srcbuf="i" srcoff="-1" dstbuf="i" dstoff="-1" cnt="0" depid="0" deps="1" hasdep="0"/>
<step s="1" type="re" srcbuf="s" srcoff="0" dstbuf="i" dstoff="0" cnt="2" depid="-1" deps="-1" hasdep="0"/></tb></gpu>
<gpu id="1" i_chunks="2" o_chunks="0" s_chunks="1"><tb id="0" send="0" recv="0" chan="0">
<step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="s" dstoff="0" cnt="2" depid="-1" deps="-1" hasdep="0"/>
<step s="1" type="r" srcbuf="i" srcoff="-1" dstbuf="s" dstoff="0" cnt="2" depid="-1" deps="-1" hasdep="1"/></tb>
<tb id="1" send="-1" recv="-1" chan="0"><step s="0" type="nop" srcbuf="i" srcoff="-1" dstbuf="i" dstoff="-1" cnt="0" depid="0" deps="1" hasdep="0"/>
<step s="1" type="re" srcbuf="s" srcoff="0" dstbuf="i" dstoff="0" cnt="2" depid="-1" deps="-1" hasdep="0"/></tb></gpu></algo>
END
job plan import "$work/x.xml"
ok "import of scratch, dependences and several chunks" all "status 0" quiet "has 'reduce dst.0. = dst.0. op tmp.[0-9]+. last$'"
not_imported() { # NAME STATUS WORDS P COLLECTIVE [SED]
  ring "$4" "$5" "${6:-}"
  job plan import "$work/x.xml"
  ok "import, $1" all "status $2" one_line "says '$3'" '[ ! -s "$work/out" ]'
}
not_imported "a wrong sum" 1 'refused: rank' 3 allreduce '0,/"rrcs"/s//"rcs"/'
not_imported "a deadlock" 2 'it deadlocks' 3 allreduce '0,/type="s"/s//type="nop"/'
not_imported "a chunk that there is not" 2 'outside of its buffer' 3 allreduce 's/srcoff="2"/srcoff="9"/'
not_imported "another collective" 2 'takes allreduce, allgather and reduce_scatter, not alltoall' 3 alltoall
not_imported "an unknown step" 2 'x.xml, line 4: expected a type' 3 allreduce 's/type="s"/type="z"/'
not_imported "no number" 2 'line 2: expected id="N", from 0 to 2' 3 allreduce 's/gpu id="0"/gpu id="9"/'
not_imported "something else" 2 'is this an algorithm of MSCCL' 3 allreduce 's/algo/html/'
job plan run 'fold(ring)' -n 2 -b 64 -e 64 --iters 2 --repeats 1 -w 1
ok "run times an algorithm" all "status 0" quiet "has ' fold\\(ring\\)$'" "has 'Out of bounds values : 0 OK'"
job plan run "$work/exported.txt" -n 3
ok "run takes no file" all "status 2" one_line "says 'runs its own algorithms only'"
job plan run
ok "run needs an algorithm" all "status 2" one_line "says 'run needs an algorithm first'"
for kind in svg html json txt; do
  job plan draw 'consistent(i=2)' -n 11 -o "$work/a.$kind"
  job plan draw 'consistent(i=2)' -n 11 -o "$work/b.$kind"
  ok "draw .$kind: the same twice" cmp "$work/a.$kind" "$work/b.$kind"
done
job plan draw doubling -n 6 --color
ok "draw --color" all "status 0" "has '►'" "has $'\x1b\\['"
job plan draw doubling -n 6
ok "draw, not on a terminal: plain" all "status 0" "LC_ALL=C grep -qavE '[^ -~]' '$work/out'" "! LC_ALL=C grep -qaE '[^ -~]' '$work/out'"
# levels: frames, a color per level, and the messages that cross each
three='blueconnect(rack:2 node:2 core:3,stages=doubling/doubling/fold(halving))'
job plan draw "$three" -n 12 -o "$work/x.svg"
ok "levels in the name are drawn" all "status 0" quiet \
  "grep -q 'from rack to rack: 12 messages, 4 vectors' $work/x.svg" \
  "grep -q 'from node to node: 12 messages, 4 vectors' $work/x.svg" \
  "grep -q 'from core to core: 48 messages, 16 vectors' $work/x.svg" \
  '[ "$(grep -c ">node [0-3]<" "$work/x.svg")" = 4 ]'
job plan draw 'fold(ring)' -n 6 --levels 'node:(2,4)' -o "$work/x.json"
ok "levels that were asked for: JSON says which one a message crosses" all "status 0" quiet \
  '[ "$(grep -o "\"level\": \"node\"" "$work/x.json" | wc -l)" = 20 ]' \
  '[ "$(grep -o "\"level\": \"rank\"" "$work/x.json" | wc -l)" = 40 ]'
job plan draw 'fold(ring)' -n 6 --levels 'node:2 core:2' -o "$work/x.svg"
ok "... of other ranks: refused" all "status 2" "grep -q 'holds 4 ranks, not 6' $work/err"
job plan draw 'fold(halving)' -n 127 -o "$work/x.svg"
ok "draw 127 ranks" all "status 0" 'valid_xml "$work/x.svg"' '[ "$(grep -c "<path class=\"a" "$work/x.svg")" -ge 1778 ]'
job plan draw 'fold(halving)' -n 127 -w 132
ok "draw 127 ranks on 132 columns" all "status 0" "lines_within 132"

# ---- users' own schedules ----
cat >"$work/mine.txt" <<'END'
tutti-schedule 1 allreduce mine</script><b>"&' P=2 blocks=1 derive
rank 0 inplace tmp=1
  0 send ->1 dst[0]
  1 recv <-1 tmp[0]
  2 reduce dst[0] = dst[0] op tmp[0] last
rank 1 inplace tmp=1
  0 send ->0 dst[0]
  1 recv <-0 tmp[0]
  2 reduce dst[0] = tmp[0] op dst[0] last
END
for kind in svg html json; do
  job plan draw "$work/mine.txt" -o "$work/x.$kind"
  ok "a person's schedule as .$kind" all "status 0" quiet
done
ok "a name with brackets and quotes does no harm" all 'valid_xml "$work/x.svg"' "! grep -q '<b>' '$work/x.html'"
ok "nor to the JSON" agree
sed -i '/reduce dst.*tmp.*op dst/d' "$work/mine.txt"
job plan check "$work/mine.txt"
ok "check refuses with a witness" all "status 1" "has 'refused'" "has 'rank 1, at the end'"
job plan check "$work/mine.txt" --format json
ok "check --format json refuses with a witness" all "status 1" "has '\"proven\": false, \"witness\": \"rank 1'"
job plan draw "$work/mine.txt"
ok "draw says why it does not draw that" all "status 2" one_line "says 'refused: rank 1, at the end'"

# ---- wrong command lines: one sentence, status 2 ----
while IFS=$tab read -r sentence arguments; do
  eval "job plan $arguments"
  ok "plan $arguments: refused" all "status 2" one_line "says \"$sentence\""
done <<END
list, show, check, draw, export, import, run or price\\?${tab}
no 'plan drwa'; did you mean 'draw'\\?${tab}drwa
draw needs an algorithm or a file${tab}draw
say for how many ranks: -n N${tab}draw doubling
no algorithm is called 'duobling'; did you mean 'doubling'\\?${tab}draw duobling -n 4
parameter 'halfing' is none of${tab}show 'fold(halfing)' -n 4
neither a .svg, a .html, a .json nor a .txt${tab}draw doubling -n 4 -o x.pdf
neither a .svg${tab}draw doubling -n 4 -o svg
json goes into a .json file${tab}draw doubling -n 4 --format json -o x.svg
'9' is not a number from 20${tab}draw doubling -n 4 -w 9
'x' is not a number from 1${tab}draw doubling -n x
127 ranks need 132 columns, there are 80${tab}draw doubling -n 127 -w 80
rank 9 does not exist; the ranks are 0 to 3${tab}show doubling -n 4 -r 9
text and --format json exclude each other${tab}show doubling -n 4 --text --format json
too many for a picture${tab}draw 'fold(ring)' -n 600
no option '--outptu'; did you mean '--output'\\?${tab}draw doubling --outptu x
no collective 'allredcue'; did you mean 'allreduce'\\?${tab}draw doubling -n 4 -c allredcue
'core:2)' is one argument too many${tab}draw 'blueconnect(node:2' 'core:2)' -n 4
END
job plan draw doubling -n 4 -o /no/such/folder/x.svg
ok "a picture in a missing folder" all "status 125" one_line "says \"cannot write '/no/such/folder/x.svg': No such file\""
exit $bad
