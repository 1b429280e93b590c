# scale.sh - predictions for 100,000 ranks take little time and memory, and agree with the papers' closed
# forms (docs/scale.md); and one rank's set-up stays within its limits.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"

# form PLAN FORMULA TOPO FIGURES: compares the predicted time of 1 MiB on 100,000 ranks with the formula, which may use
# P, L, m, u.
form() {
  job plan price "$1" -n 100000 --size 1MiB --levels "$3" --network "$4" --format json
  ok "$1${3:+ on $3}: the closed form, in $busy ms" all "status 0" "works_within 10000" \
    "$python -c 'if True:
      import json, math
      P = 100000; L = 17; m = 1 << 20; u = m / P; a = 1.5e-6; b = 8 / 200e9; g = 5e-11
      seconds = json.load(open(\"$work/out\"))[\"plans\"][0][\"seconds\"]
      form = $2 + (P - 1) * u * g
      print(seconds, form)
      assert abs(seconds - form) < 1e-8 * form' >>$work/err 2>&1"
}
flat=alpha=1.5us,beta=200Gbit/s,gamma=0.05ns
form 'fold(halving)' '2 * L * a + 2 * (P - 1) * u * b' '' $flat
form 'fold(ring)' '2 * (P - 1) * (a + u * b)' '' $flat
# Levels of 40, 25 and 100: the part of the vector that crosses the slowest link.
tree='pod:100 leaf:25 node:40'
taper=$flat,node.beta=200Gbit/s,leaf.beta=4Tbit/s,pod.beta=50Tbit/s
rest='39 / 40 * m * b + 24 / 25 * m / 40 * 2 * b + 99 / 100 * m / 1000 * 4 * b'
form "blueconnect($tree,halving)" "2 * ((6 + 5 + 7) * a + $rest)" "$tree" $taper
form "blueconnect($tree,ring)" "2 * ((39 + 24 + 99) * a + $rest)" "$tree" $taper
torus='z:40 y:50 x:50 node:1'
form "blueconnect($torus,ring)" \
  '2 * ((49 + 49 + 39) * a + (49 / 50 * m + 49 / 50 * m / 50 + 39 / 40 * m / 2500) * b)' \
  "$torus" $flat,torus=1,hop=100ns

# All plans, and the choice: one rank represents all ranks, so tutti does not build 100,000 schedules.
job plan price all -n 100000 --size 1MiB --levels "$tree" --network $taper
ok "all plans on levels, in $busy ms" all "status 0" "works_within 10000" "grep -qE '^\* blueconnect' $work/out"
# On 1,000 ranks most of the time is spent on plans that are not symmetric.
job explain -n 1000 --size 8 --levels "leaf:25 node:40" --network $flat
ok "the choice among all on 1,000 ranks, in $busy ms" all "status 0" "works_within 30000" \
  "grep -qE '^allreduce of 8 B on 1000 ranks: (windows|.*stages=windows/windows)' $work/out"
job explain -n 1000 --size 8 --network $flat
ok "and without levels, in $busy ms" all "status 0" "works_within 15000"

# Ten thousand nodes, of which some have fewer ranks.
uneven='rack:400 node:25 core:(40*9950,39*30,38*20)'
gaps=gamma=0.05ns,rack.alpha=2us,node.alpha=2us,core.alpha=0.5us,rack.beta=40GB/s,node.beta=10GB/s,core.beta=5GB/s
for coll in reduce_scatter allgather; do
  job explain -n 399930 --size 16MiB --levels "$uneven" --network $gaps --coll $coll
  ok "$coll on uneven levels, in $busy ms" all "status 0" "works_within 10000" \
    "grep -qE '^$coll of 16 MiB on 399930 ranks: blueconnect\(rack' $work/out"
done
for coll in broadcast reduce; do
  job plan price "tree(leaders,$uneven)" -n 399930 --size 8 --levels "$uneven" --network $gaps --coll $coll
  ok "$coll by leaders on uneven levels, in $busy ms" all "status 0" "works_within 10000" \
    "grep -qE '^[*!] tree\(leaders' $work/out"
done

# For a plan without a proof, the output says that the prover was not run.
job plan price 'generalized(r=3)' -n 1000 --size 8 --network $flat
ok "no proof of a plan that was not named" all "status 0" \
  "grep -q '^! generalized(r=3): on 1000 ranks the prover is not asked whether it gives the same bits' $work/out"
job explain -n 5000 --size 8 --network $flat --algo 'generalized(r=3)'
ok "no proof beyond 4096 ranks, even of a plan that was named" all "status 0" \
  "grep -q 'generalized(r=3): on more than 4096 ranks the prover is not asked' $work/out"

# The table of commercial machines agrees with `tutti plan price`: one cell of each machine, and the ring's formula.
machines() {
  rc=0
  timeout -k 5 120 $python - "$BUILD" >"$work/out" 2>"$work/err" <<'PY' || rc=$?
import json, os, subprocess, sys
sys.path.insert(0, "bench")
import machines as m
from scale import time
build = sys.argv[1]
with open("docs/bench/machines.json") as f:
    stored = json.load(f)
cells = {}
for row in stored["rows"]:
    machine, ranks = (row[0], int(row[1].replace(",", ""))) if row[0] else (machine, ranks)
    cells[machine, ranks, row[2].strip("*`")] = dict(zip(stored["about"]["columns"][3:], row[3:]))
assert len(cells) == 5 * 9 and {k[:2] for k in cells} == {(n, p) for n, of in m.RANKS.items() for p in of}, cells.keys()
def price(machine, ranks, plan):
    words = [os.path.join(build, "tutti"), "plan", "price", plan, "--network", machine, "-n", str(ranks), "--size", "1MiB", "--format", "json"]
    said = json.loads(subprocess.run(words, stdout=subprocess.PIPE, check=True, text=True).stdout)
    plan, slices = (said["chosen"], said["slices"]) if plan == "all" else (plan, 1)
    return next(p["seconds"] for p in said["plans"] if (p["plan"], p["slices"]) == (plan, slices))
for machine, (small, middle, large) in m.RANKS.items():
    for ranks, plan, name in ((middle, "all", "tutti's choice"), (small, "doubling", "doubling")):
        got = price(machine, ranks, plan)
        assert time(got) in cells[machine, ranks, name]["1 MiB"], (machine, ranks, plan, got, cells[machine, ranks, name])
for machine, few in (("infiniband", 64), ("leaf-spine", 96)):  # a longer ring takes a minute to predict
    form, got = m.ring(m.network(build, machine, few)[1], few, 1 << 20), price(machine, few, "fold(ring)")
    assert abs(form / got - 1) < 0.03, (machine, form, got)
PY
  status 0
}
ok "predicted times of commercial machines are those of docs/scale.md; a ring takes the time of its formula" machines
