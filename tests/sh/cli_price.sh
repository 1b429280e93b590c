# cli_price.sh - `tutti plan price` and `tutti explain`: their numbers are right and depend on
# the model parameters, and errors name the line and column.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"

cluster=alpha=30us,beta=1e-8,gamma=2e-10

# ---- levels within a machine ----
machine="package:2 numa:4 cache:8 core:8"
far=shm.package.delay=400ns,shm.package.beta=5e-11,shm.numa.delay=300ns,shm.cache.delay=200ns
job explain -n 512 --size 64KiB --levels "$machine"
ok "levels within a machine share memory; without parameters they are equal" all "status 0" "has 'handling messages'" \
  '! grep -q "between packages" "$work/out"'
job explain -n 512 --size 64KiB --levels "$machine" --network "$far"
ok "with figures each has its price" all "status 0" "has 'latency between packages: [0-9]+ message'" \
  "has 'latency between numas: '" "has 'transfer between packages'" "has 'at most .* between packages, .* between cores'"
job plan price all -n 512 --size 8 --levels "$machine" --shm=1 --network "$far"
ok "plan price: leaders and folds over them are candidates" all "status 0" "has 'two-level\(package:2 core:256,'" \
  "has 'blueconnect\(package:2 numa:4 cache:8 core:8,seq='"
job explain -n 64 --size 64KiB --levels "node:4 package:2 core:8" --shm --network "$far"
ok "below nodes, too" all "status 0" "has 'latency between nodes'" "has 'latency between packages'"

# ---- networks by name ----
while IFS='|' read -r net ranks levels line; do
  job info --network "$net" ${ranks:+-n $ranks}
  ok "--network $net" all "status 0" quiet "has \"^# TUTTI_TOPO='$levels', \"" "has '^$line'"
  topo=$(sed -n "s/^# TUTTI_TOPO='\(.*\)', \(.*\) ranks/\1/p" "$work/out") n=$(sed -n 's/.*, \(.*\) ranks$/\1/p' "$work/out")
  cp "$work/out" "$work/net"
  job explain --network "$net" -n "$n" --size 64KiB --format json
  cp "$work/out" "$work/by-name"
  job explain -n "$n" --levels "$topo" --profile "$work/net" --size 64KiB --format json
  ok "... is its levels and its figures" all "status 0" 'cmp -s "$work/out" "$work/by-name"'
done <<'EOF'
torus:3x4||y:3 x:4 node:1|hop = 300ns
torus:4x4x2,latency=1us,rate=50Gbit/s||z:4 y:4 x:2 node:1|beta = 50Gbit/s
fat-tree:4x8x2,software=2us||leaf:4 node:8|leaf.alpha = 3200ns
dragonfly:3x4x2||group:3 router:4 node:2|group.pairs = 1
dragonfly:3x4x2x5,up=10Gbit/s||group:3 router:4 node:2|group.beta = 50Gbit/s
infiniband|96|leaf:3 node:32|leaf.paths = 32
leaf-spine|100|leaf:3 node:\(48\*2,4\)|leaf.beta = 100Gbit/s
slingshot|1024|group:2 router:32 node:16|group.beta = 108800Gbit/s
slingshot|10240|group:20 router:32 node:16|group.beta = 5600Gbit/s
fat-tree:2x3x4x2x5||pod:2 leaf:3 node:4|pod.paths = 5
infiniband|3072|pod:3 leaf:32 node:32|pod.paths = 1024
leaf-spine|3840|pod:2 leaf:40 node:48|pod.paths = 144
torus:4x4x4,places=unknown,software=0ns|||contention.furthest = 900ns
torus:4x4x4,places=unknown|||contention.mean = 0.7619
torus:4x4x4,places=unknown|||ports = 2
torus:5x5x5,places=unknown|||ports = 3
torus:5x4,places=unknown|||ports = 2
fat-tree:8x8x4,places=unknown|||contention.mean = 1.778
dragonfly:4x4x4,places=unknown|||contention.mean = 4.063
torus:4x8x8,places=unknown|||contention.excess = 3.0371450409883
torus:2x8x8,places=unknown|||contention.excess = 2.8563088068344
fat-tree:8x8x4,places=unknown|||contention.excess = 2.0446130307591
fat-tree:4x3x4x4x2,places=unknown|||contention.excess = 1.8175519127662
dragonfly:4x4x4,places=unknown|||contention.excess = 1.9799413809961
dragonfly:4x4x4,places=unknown,software=0ns|||contention.furthest = 150ns
dragonfly:4x4x4,places=unknown,software=0ns|||contention.nearest = 450ns
torus:4x4x4,places=unknown,software=0ns|||contention.nearest = 600ns
fat-tree:2x3x4x1x9,places=unknown,software=0ns|||contention.nearest = 600ns
EOF
while IFS='|' read -r net ranks words; do
  job explain --network "$net" ${ranks:+-n $ranks} --size 64KiB
  ok "--network $net is refused" all "status 2" "grep -q \"$words\" $work/err"
done <<'EOF'
ring:4||unknown network '.*'; expected torus:, fat-tree:
fat-tree:4x8||the form fat-tree:.PODSx.LEAVESxNODESxUPLINKS
torus:4x0||the form torus:8x8x8
torus:2x2,speed=3||latency=300ns, software=1us or places=unknown is missing at 'speed=3'
torus:2x2,places=known||places=unknown is missing at 'places=known'
torus:2x2|5|has 4 nodes, and -n says 5
slingshot||how many nodes has slingshot? -n N
slingshot|100|groups of 512 nodes; the next possible number is -n 512
infiniband|2100|do not fill the last of infiniband's pods of 1024 nodes; the next possible number is -n 3072
fat-tree:2x3x4x2||the form fat-tree:.PODSx.LEAVESxNODESxUPLINKS.xLINKS
torus:2x2x2x2x2||the form torus:8x8x8
EOF
for profile in profiles/*.profile; do
  machine=$(basename "$profile" .profile)
  n=$(sed -n "s/^# TUTTI_TOPO=.*, \(.*\) ranks$/\1/p" "$profile") topo=$(sed -n "s/^# TUTTI_TOPO='\(.*\)', .*/\1/p" "$profile")
  job explain --network "$machine" -n "$n" --size 1MiB --format json
  cp "$work/out" "$work/by-name"
  job explain -n "$n" --levels "$topo" --profile "$profile" --size 1MiB --format json
  ok "$profile is $machine, and says of each figure whether a source states it" all "status 0" 'cmp -s "$work/out" "$work/by-name"' \
    "grep -q '^#.*  stated: ' $profile" "grep -q '^#.*assumed' $profile"
done
job explain --network torus:4x4 --levels node:4 --size 1KiB
ok "--network and --levels" all "status 2" "grep -q 'leave out --levels' $work/err"

# ---- price ----
job plan price all -n 127 --size 9KB --network $cluster
ok "price: fewer steps for integers, ruled out for floats" all "status 0" quiet \
  "has '^! generalized\(r=3\) +546 us +11 +11 +11 +20.8 KiB'" "has '^\* lanes\(n=8\) +535 us +11 '" \
  "has '^! generalized\(r=3\): the op rounds'"
job plan price all -n 127 --size 1KB --network $cluster --type int32
ok "price: and runs for integers" all "status 0" "has '^\* generalized\(latency\)'"
job plan price all -n 127 --size 1KB --network $cluster --contract any
ok "price: or where ranks may differ" all "status 0" "has '^\* generalized\(latency\)'"
job explain -n 2 --size 1MiB
cp "$work/out" "$work/here"
ok "without a machine it is this one: shared memory, and its figures are printed" all "status 0" \
  'grep -q "copying" "$work/here"' 'grep -q "^On this machine, with these parameters" "$work/here"' 'grep -q "^  shm.message" "$work/here"'
job explain -n 2 --size 1MiB --network alpha=30us
ok "with --network it is a network" all "status 0" '! grep -q "On this machine" "$work/out"' 'grep -q transfer "$work/out"'
job plan price all -n 2 --size 1MiB
ok "plan price: the same machine" all "status 0" 'grep -q "^\* *$(head -1 "$work/here" | sed "s/.*: //") " "$work/out"'
job explain -n 127 --size 512 --network $cluster --contract exact
ok "explain: exact sums are of integers, by any plan" all "status 0" \
  "has '^Exact: a float of 4 bytes becomes integers of 8'" "has '^allreduce of 1 KiB on 127 ranks: generalized'"
job explain -n 127 --size 9KB --network $cluster --contract exact --op prod
ok "explain: exact products are refused" all "! status 0" "grep -q 'no products of float' $work/err"
job plan price ring -n 100 --size 1MiB --network alpha=0,beta=1GB/s,gamma=0
ok "price: one plan, by a short name" all "status 0" "has '^\* fold\(ring\) +2.0[78] ms +198 +198 +198 '"
job plan price 'fold(group=5x2,inner)' -n 10 --size 1k --network $cluster
ok "price: one that is not proposed" all "status 0" "has '^\* fold\(group=5x2,inner\) +'"
racks="rack:2 node:3 core:4"
job plan price "aggregate($racks,per=rack)" -n 27 --size 1MiB --levels "$racks" --network rack.beta=25Gbit/s,node.beta=50Gbit/s,core.beta=200Gbit/s
ok "price: helpers at each rack, added to the levels of the other ranks" all "status 0" \
  "has '^\* aggregate\($racks,per=rack\) .*transfer between racks'"
job plan price 'aggregate(data=7)' -n 8 --size 1k --network $cluster
ok "price: one with helpers, which bring no data" all "status 0" "has '^\* aggregate\(data=7\) +[0-9.]+ us +14 +14 '"
job plan price 'consistent(i=1)' -n 113 --size 8 --network $cluster,ports=4
ok "price: with several ports, more rounds of one port than steps" all "status 0" \
  "has '^\* consistent\(i=1\) +[0-9.]+ us +8 +21 '"
job plan price 'fold(halving)' -n 100000 --size 1k --network $cluster
ok "price: 100,000 ranks" all "status 0" "has '^\* fold\(halving\) +1.04 ms +34 '"
job plan price all -n 12 --size 3MiB --levels "rack:2 node:2 core:3" --network core.beta=1e-9,node.beta=4e-9,rack.beta=8e-9 --format json
ok "price --format json: sorted, parts add up, what runs is the best that may" $python - "$work/out" <<'END'
import json, sys
d = json.load(open(sys.argv[1]))
can = [p for p in d["plans"] if p["possible"]]
assert [p["seconds"] for p in can] == sorted(p["seconds"] for p in can)
for p in can:
    parts = sum(p[k] for k in p if k.endswith("_s"))
    assert abs(parts - p["seconds"]) < 1e-8 * p["seconds"] + 1e-15, p
    assert p["rounds"] >= p["messages"], p
best = next(p for p in can if p["admissible"])
runs = next(p for p in can if (p["plan"], p["slices"]) == (d["chosen"], d["slices"]))
assert runs["seconds"] <= best["seconds"] * (1 + 1e-6), (runs, best)
assert any("blueconnect(rack:2 node:2 core:3" in p["plan"] for p in can)
END
if command -v gnuplot >/dev/null; then
  job plan price all -n 13 --plot "$work/x.svg" --network $cluster
  ok "price --plot" all "status 0" quiet "grep -q '<svg' $work/x.svg" "grep -q 'runs: fold(halving)' $work/x.svg" \
    "grep -q '>doubling<' $work/x.svg" "grep -q '>bruck<' $work/x.svg"
  # The picture has every color that style.css changes on a dark page.
  adapts() {
    local css=${BASH_SOURCE%/*}/../../cli/style.css value
    for value in $(grep -o '="[^"]*"' "$css" | sort -u | tr -d ' ="'); do
      tr -d ' ' <"$work/x.svg" | grep -qF "=\"$value\"" || { echo "# no $value" && return 1; }
    done
    grep -q prefers-color-scheme "$work/x.svg"
  }
  ok "price --plot adapts itself to a dark page" adapts
  ok "price --plot: times and sizes have units" all "grep -q '>10 ms<' $work/x.svg" "grep -q '>64 KiB<' $work/x.svg || grep -q '>16 KiB<' $work/x.svg"
  colours() { grep -oE "^\s*<path stroke='rgb\([^)]*\)'" "$work/x.svg" | sort -u | wc -l; }
  ok "price --plot: each named family has a different colour" '[' "$(colours)" -ge 10 ']'
  job plan price all -n 13 --plot "$work/x-dark.png" --network $cluster
  ok "price --plot, dark" all "status 0" '[ -s "$work/x-dark.png" ]'
else
  skip "price --plot" "no gnuplot" 5
fi

# ---- explain ----
job explain -n 127 --size 9KB --network $cluster
ok "explain: the plan, its parts, the next, the crossings, the refused" all "status 0" quiet \
  "has '^allreduce of 9 KiB on 127 ranks: lanes\(n=8\)$'" "has '330 us +62 % +latency: 11 messages'" \
  "has '203 us +38 % +transfer'" "has '^Next best:'" "has 'from +92.2 KiB +fold\(halving\)'" \
  "has 'generalized\(r=3\): the op rounds'" "has 'blueconnect: it needs the levels'"
# The compression and the link, in the text and in the object of --format json.
while IFS='|' read -r code beta says object; do
  job explain -n 8 --size 4MiB --network beta=$beta --code "$code"
  ok "explain --code $code, a byte takes $beta: in words" all "status 0" "[ \"\$(grep -cE '$says' '$work/out')\" = $([ "$says" = ^Coded ] && echo 0 || echo 1) ]"
  job explain -n 8 --size 4MiB --network beta=$beta --code "$code" --format json
  ok "... and as JSON" $python - "$work/out" "$object" <<'END'
import json, sys
found, wanted = json.load(open(sys.argv[1]))["code"], json.loads(sys.argv[2])
assert found == wanted, found
END
done <<'END'
error=1e-2|40ns|^Coded: as int8 between hosts, 254 bytes of 1000; at most 2 roundings|{"name": "int8", "left": 0.2539, "roundings": 2, "error": 0.00789}
error=0.2,code=fp8_e5m2|40ns|^Coded: as fp8_e5m2 between hosts, 254 bytes|{"name": "fp8_e5m2", "left": 0.2539, "roundings": 2, "error": 0.147969}
lossless|40ns|^Coded: without loss between hosts; about 840 bytes|{"name": "lossless", "left": 0.84}
lossless|1ns|^Coded|null
none|40ns|^Coded|null
END
job explain -n 192 --size 1MiB --levels "rack:3 node:16 core:4" --network rack.beta=25Gbit/s,node.beta=50Gbit/s,core.beta=200Gbit/s,core.alpha=2us
ok "explain: by level" all "status 0" "has 'ranks: transposed\(group=3x16x4,parts=3'" "has 'transfer between racks'" \
  "has 'latency between nodes: 4 messages'" "has 'at most 42.7 KiB between racks, 640 KiB between nodes, 2.02 MiB between cores'"
job explain -n 4 --size 64k --shm=2
ok "explain: shared memory" all "status 0" "has ': two-shot$'" "has 'on the cores they share'"
job explain -n 8 --size 64k --algo 'ring:32k-' --network $cluster
ok "explain: a wish" all "status 0" "has ': fold\(ring\), as asked for$'"
job explain -n 8 --size 64k --algo '^fold;^bruck;^rabenseifner;^halving-doubling' --network $cluster
ok "explain: ruled out" all "status 0" "has 'fold\(halving\): it is ruled out by name'"
job explain -n 8 --size 64k --network $cluster --all
ok "explain --all: the explanation, then the table of plan price" all "status 0" quiet "has '^allreduce of 64 KiB on 8 ranks: '" \
  '[ "$(sed -n "/, predicted$/,\$p" "$work/out")" = "$("$TUTTI" plan price all -n 8 --size 64k --network $cluster)" ]'
job explain -n 8 --size 64k --network $cluster --all --format json
ok "... as JSON, both in one object" $python -c 'import json, sys
d = json.load(open(sys.argv[1]))
assert d["all"]["chosen"] and len(d["all"]["plans"]) > 20 and d["explained"]' "$work/out"
job explain -n 8 --size 64k --network $cluster --format csv
ok "... as CSV: a line per plan, one is chosen" $python -c 'import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
assert len(rows) > 20 and sum(r["chosen"] == "1" for r in rows) == 1 and all(None not in r for r in rows)' "$work/out"
job help model
ok "help model" all "status 0" quiet "has '^  alpha=30us '" "has '^--levels LEVELS'"
job explain -n alpha=30us --size 8
ok "-n with parameters of a network: a hint" all "status 2" one_line "says 'go to --network'"
job explain -n 4 --size 8 --topo node:2
ok "--topo: a hint" all "status 2" one_line "says '.--topo. is no option; use --levels'"
job explain -n 4 --size 8 --topology=torus:2x2
ok "--topology: a hint" all "status 2" one_line "says 'use --network'"
job explain -n 4 --size 8 --network torus:2x2 --network gamma=1e-9
ok "a name and parameters" all "status 0" quiet
job explain -n 4 --size 8 --network torus:2x2 --network torus:4
ok "two names" all "status 2" one_line "says 'has two names'"
job explain -n 8 --size 8 --network $cluster --format json
ok "explain --format json" $python - "$work/out" <<'END'
import json, sys
d = json.load(open(sys.argv[1]))
level = d["levels"][0]
assert abs(level["latency_s"] + level["transfer_s"] + d["arithmetic_s"] - d["seconds"]) < 1e-12
assert d["by_size"][0]["from"] == 0 and len(d["by_size"]) > 1 and len(d["next"]) == 3
assert all(r["why"] for r in d["refused"])
END

job explain -n 13 --coll barrier
ok "explain: a barrier has no size" all "status 0" quiet "has '^barrier on 13 ranks: '"

# ---- the model parameters ----
# If messages take longer, the chosen plan has fewer. Editing the built-in parameters changes the choice.
job info --profile
cp "$work/out" "$work/profile"
ok "the built-in figures read back" all "status 0" "has '^shm.turn += 2e-06'"
job explain -n 4 --size 64k --shm=2 --profile "$work/profile"
ok "and change nothing" all "status 0" "has ': two-shot$'"
sed -i 's/^shm.turn .*/shm.turn = 50us/' "$work/profile"
job explain -n 4 --size 64k --shm=2 --profile "$work/profile"
ok "with long turns, the plan with fewer turns" all "status 0" "has ': one-shot$'"
TUTTI_PROFILE=$work/profile TUTTI_EXPLAIN=1 job run -n 4 "$TUTTI" bench -b 64k -e 64k --iters 2 --repeats 1
ok "a program that runs reads them, and says what it runs and why" all "status 0" \
  "grep -qE 'allreduce of 64 KiB on 4 ranks: one-shot' $work/err" "grep -q 'Next best:' $work/err" \
  "has 'one-shot'"
printf 'alpha = 3us\nshm.turn = fast\n' >"$work/profile"
TUTTI_PROFILE=$work/profile job run -n 2 "$TUTTI" bench -b 4 -e 4 --iters 2 --repeats 1
ok "a wrong profile: its line and column, and the built-in figures" all "status 0" \
  "grep -qE 'line 2, column 12: expected a time such as 30us, found .fast.; the built-in parameters' $work/err"

# ---- overrides on a running program ----
TUTTI_ALGO='doubling:-1k;ring:1k-' job run -n 3 "$TUTTI" bench -b 512 -e 2k -f 2 --iters 2 --repeats 1
ok "TUTTI_ALGO by size" all "status 0" "has '^ +512 .*doubling'" "has '^ +1024 .*fold\(ring\)'"
TUTTI_ALGO='generalized(r=1)' job run -n 5 "$TUTTI" bench -b 512 -e 512 --iters 2 --repeats 1
ok "a plan that cannot run is reported with its reason" all "status 0" \
  "grep -q 'generalized(r=1) cannot do an op that rounds' $work/err"
TUTTI_CONTRACT=any TUTTI_ALGO='generalized(r=1)' job run -n 5 "$TUTTI" bench -b 512 -e 512 --iters 2 --repeats 1
ok "and runs where ranks may differ" all "status 0" "has 'generalized\\(r=1\\)'"

# ---- single hosts ----
job explain -n 7 --size 4MiB --network $cluster
ring=$(sed -n 's/^Predicted: \([0-9.]*\) ms.*/\1/p' "$work/out")
job explain -n 7 --size 4MiB --network $cluster,host.3.beta=1e-7
ok "explain: one host is slow" all "status 0" "has '^Links differ: 1 host has other parameters, and slow ones come last$'"
job explain -n 7 --size 4MiB --network $cluster,host.3-4.beta=1e-8
ok "explain: figures that are those of the others change no time" all "status 0" "has '^Links differ: 2 hosts have'" \
  '[ -n "$ring" ]' "has '^Predicted: $ring ms'"
job plan price all -n 12 --size 64KiB --levels "node:4 core:3" --shm --network $cluster,host.1.beta=1e-7,host.3.ports=2
ok "plan price: of nodes" all "status 0" quiet "has '^\* '"

# ---- wrong command lines ----
wrong() { # wrong SENTENCE ARGUMENTS ...: the error is SENTENCE, on standard error only
  local sentence=$1
  shift
  job "$@"
  ok "wrong: ${*:2}" all "! status 0" "grep -qaE -e '$sentence' $work/err"
}
wrong "holds 4 ranks, not 7" explain -n 7 --size 1k --levels node:4
wrong "line 1, column 7: expected a time such as 30us, found .3u." explain -n 7 --size 1k --network alpha=3u
wrong "character 1: expected a level such as node:4" explain -n 7 --size 1k --levels nod
wrong "no such level" explain -n 7 --size 1k --network node.alpha=1us
wrong "did you mean" explain -n 7 --size 1k --algo rign
wrong "on how many ranks" explain --size 1k
wrong "parameters for the host 7, and the hosts here are 0 to 6" explain -n 7 --size 1k --network host.7.beta=1e-7
wrong "the hosts here are 0 to 3" plan price all -n 12 --size 1k --levels "node:4 core:3" --network host.3-4.beta=1e-7
wrong "column 6: expected a range from the lower number to the higher, such as 4-7" explain -n 7 --size 1k --network host.4-3.beta=1
wrong "column 22: expected hosts other than 4-7, which have parameters already" explain -n 9 --size 1k --network host.4-7.beta=1,host.5.beta=1
wrong "of what size" explain -n 3
wrong "is not a size such as 428, 9KB" explain -n 3 --size 1q
wrong "did you mean .allreduce." explain -n 3 --size 1k --coll alreduce
wrong "whose product is P" plan price 'fold(group=4x2)' -n 7 --size 1k
wrong "needs the levels of the machine" plan price blueconnect -n 7 --size 1k
wrong "not estimated on this many ranks" plan price two-shot -n 100000 --size 1k
wrong "has no op" explain -n 3 --size 1k --type float --op band
wrong "no level of .rack:4. is within a machine" explain -n 4 --size 1k --shm --levels rack:4
finish
