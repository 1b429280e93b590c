# figures.sh - the pictures that scripts draw: all have one style, also for dark pages. The papers'
# figures (make figures): each is drawn, from predictions only, and the papers' statements hold
# where docs/bench/papers.md says so.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"

# draw ARGS...: runs figures.py into $work, without stored data.
draw() {
  rc=0
  timeout -k 5 100 $python sim/figures.py --build "$BUILD" --out "$work/f" --table "$work/t.tsv" "$@" \
    >"$work/out" 2>"$work/err" || rc=$?
}
if command -v gnuplot >/dev/null; then
  draw --quick
  ok "figures: all are drawn" all "status 0" quiet \
    "grep -q 'measured: nothing yet; make figures MORE=--measure' $work/out"
  ok "figures: twelve, each with its names, axes and what the paper states" $python - "$work/f" <<'PY'
import glob, sys
import xml.etree.ElementTree as tree
files = sorted(glob.glob(sys.argv[1] + "/*.svg"))
assert [f.split("/")[-1][:-4] for f in files] == sorted(
    ["001-figure-%d" % n for n in (1, 7, 8, 9, 10, 11, 12)] + ["002-figure-%d" % n for n in (5, 6)] + ["beyond-frontier", "training-hosts", "training-papers"]), files
for f in files:
    words = "".join(tree.parse(f).getroot().itertext())
    ours = f.split("/")[-1].startswith(("beyond", "training"))
    assert ours or ("paper:" in words and "Figure %s:" % f.split("-")[-1][:-4] in words), f
    assert "vector" in words or "ranks" in words or "GPUs" in words or "hosts" in words, f
PY
  draw --quick --only 001-figure-13
  ok "figures: one that does not exist is refused by name" all "status 1" "grep -q \"no figure '001-figure-13'\" $work/err"
else
  skip "figures are drawn" "no gnuplot" 2
fi

# Tests of picture.py: the SVG that gnuplot makes.
cat >"$work/looks.py" <<'PY'
import glob, os, re, sys
sys.path[:0] = ["tools", "sim", "bench"]
import picture
def drawn(path):
    with open(path) as f:
        return f.read()
def good(path):
    """It adapts to a dark page, no text or line is plainly black, no two lines of a panel look the same."""
    svg, panels = drawn(path), {}
    assert svg.count("<style>\n" + picture.text("style.css") + "</style>") == 1, (path, "no style.css")
    for black in ('fill="black"', "fill='black'", "rgb(0,0,0)", "rgb(  0,   0,   0)", "#000000"):
        assert black not in svg, (path, black)
    assert not re.search(r"[Gg]nuplot|<title>\$", svg), (path, "names of gnuplot")
    for number, panel, body in re.findall(r'<g id="plot_(\d+)([a-z]*)"(.*?)(?=<g id="plot_|$)', svg, re.S):
        title, line = re.search("<title>(.*?)</title>", body), re.search("<path[^>]*?stroke='([^']*)'[^>]*", body)
        if line and title:
            dash = re.search("stroke-dasharray='([^']*)'", line[0])
            panels.setdefault(panel, []).append((line[1], dash and dash[1]))
    for panel, lines in panels.items():
        assert len(set(lines)) == len(lines), (path, panel, lines)
PY
# looks NAME: runs the program on stdin after this code.
looks() {
  { cat "$work/looks.py"; cat; } >"$work/look.py"
  ok "$1" $python "$work/look.py" "$work"
}

looks "pictures of docs/: each adapts to a dark page, no two lines of a panel look the same" <<'PY'
of_gnuplot = [f for f in glob.glob("docs/**/*.svg", recursive=True) if '<g id="plot_1' in drawn(f)]
assert len(of_gnuplot) >= 17, of_gnuplot
for f in of_gnuplot:
    good(f)
PY
if command -v gnuplot >/dev/null; then
  looks "scripts draw what is stored: simulations, peers, PyTorch; a bar that is cut says how long it is" <<'PY'
import json
import c10d, peers, results, tables
work = sys.argv[1]
tables.PICTURES = work
found = results.Results()
tables.draw_flat(found)
tables.draw_tree(found)
longest = max(found.get(tables.TREE, "sync", tables.TREE_RANKS, w, "float", tables.MIB[0]).seconds / tables.node_bound(tables.MIB[0])
              for w in ("lr", "smp_rsag"))
assert longest > tables.TOP and ">%.1f<" % longest in drawn(work + "/sim-tree.svg"), longest
with open("docs/bench/peers.json") as f:
    stored = json.load(f)
for kind in ("time", "ratio"):
    peers.draw(stored, kind, kind, work + "/peers-%s.svg" % kind)
c10d.plot({n: [{"bytes": 4 << i, "us": {"gloo": 9 + i, "tutti": 3 + i, "nothing": 1 + i}} for i in range(9)] for n in (2, 4)},
          work + "/c10d.svg")
for name in ("sim-flat", "sim-tree", "peers-time", "peers-ratio", "c10d"):
    good("%s/%s.svg" % (work, name))
assert "100 us" in drawn(work + "/peers-time.svg") and "256 KiB" in drawn(work + "/peers-time.svg")
PY
  looks "tools/picture.py: SVG and PNG, for a dark page too; it names what it cannot draw" <<'PY'
work = sys.argv[1]
for name in ("a.svg", "a-dark.svg", "a.png"):
    picture.draw(os.path.join(work, name), "plot x lt 1")
good(work + "/a.svg")
assert "#14181d" in drawn(work + "/a-dark.svg") and "<style>" not in drawn(work + "/a-dark.svg")
with open(work + "/a.png", "rb") as f:
    assert f.read(4) == b"\x89PNG"
for name, script, said in (("a.gif", "plot x", "a.gif"), ("b.svg", "plot nothing_of_that_name", "b.svg"), ("none/b.svg", "plot x", "none/b.svg")):
    try:
        picture.draw(os.path.join(work, name), script)
        assert False, name
    except picture.Failed as e:
        assert said in str(e), e
PY
  printf '0 %s\n' prepare\ 0\ 0\ 0\ 1 forward\ 1\ 0\ 1\ 2 flight\ 1\ 0\ 1\ 2 prepare\ 0\ 0\ 3\ 4 >"$work/timeline-1.tsv"
  rc=0
  $python tools/picture.py "$work/t.png" 900x400 examples/fashion_timeline.gp dir="$work" ranks=1 >"$work/out" 2>"$work/err" || rc=$?
  ok "... of a script, with its arguments" all "status 0" quiet "[ -s $work/t.png ]"
else
  skip "pictures of scripts" "no gnuplot"
fi

# holds NAME: runs a program on stdin, which can use the models and tutti's predictions.
holds() {
  { echo "import sys; sys.path.insert(0, 'sim'); from figure_model import *; import figure_one as one, figure_two as two, figure_source as source"
    echo "prices, P, K = Prices('$BUILD'), 127, 1024"
    cat; } >"$work/holds.py"
  ok "$1" $python "$work/holds.py"
}

holds "001, 15, 25 and 44: prices are the equations; 36 bounds them" <<'PY'
for m in (64, 9216, 1 << 20):
    for plan, f in (("fold(ring)", tau_ring), ("fold(halving)", tau_optimal_bytes), ("generalized(latency)", tau_fewest_steps),
                    ("doubling", tau_doubling), ("rabenseifner", tau_halving)):
        got = prices.plan(plan, P, m)
        assert abs(got / f(P, m) - 1) < 0.01, (plan, m, got, f(P, m))
    for r in range(1, 7):
        assert prices.plan(proposed_plan(P, r), P, m) <= tau_fewer_steps(P, m, r) * 1.001, (m, r)
PY
holds "001, Figure 1: the gain is greatest in between, two kinks, none for very large" <<'PY'
def gain(m): return prices.best(P, m) / prices.proposed(P, m)
top = {m: gain(m) for m in (64, 4 * K, 64 * K, 256 * K, 340 * K, 512 * K, 4096 * K, 65536 * K)}
assert max(top, key=top.get) in (256 * K, 340 * K) and 1.9 < max(top.values()) < 2, top
assert 1.13 < top[64] < 1.15 and 1 <= top[65536 * K] < 1.01, top
best = [min(("doubling", "rabenseifner", "fold(ring)"), key=lambda n: prices.plan(n, P, m))
        for m in (4 * K, 5 * K, 340 * K, 400 * K)]
assert best == ["doubling", "rabenseifner", "rabenseifner", "fold(ring)"], best
PY
holds "001, Figure 7: at 10 KB Open MPI's switch costs a factor of seven" <<'PY'
factor = prices.plan("fold(ring)", P, 10000) / prices.plan("doubling", P, 10000 - 4)
assert 7 < factor < 8, factor
for m in (428, 2 * K, 8 * K, 32 * K):
    r = prices.plan(proposed_plan(P, steps_removed(P, m)), P, m)
    assert prices.proposed(P, m) <= r < 1.03 * prices.proposed(P, m), (m, r)  # the estimate fits well
    assert r < min(prices.plan(n, P, m) for n in ("doubling", "rabenseifner", "fold(ring)"))
PY
holds "001, Figures 9 and 8: the gap to halving grows; to the ring it goes away" <<'PY'
gaps = [prices.plan("rabenseifner", P, m) - prices.plan("fold(halving)", P, m) for m in (32 * K, 128 * K, 512 * K)]
assert gaps == sorted(gaps) and gaps[2] > 10 * gaps[0], gaps
assert 1 < prices.plan("fold(ring)", P, 1 << 26) / prices.plan("fold(halving)", P, 1 << 26) < 1.01
PY
holds "001, Figure 10: the two versions cross at 4,011 bytes, where steps in between gain most" <<'PY'
m = one.crossing()
assert abs(m - 4011) < 1, m
def gain(m): return min(tau_optimal_bytes(P, m), tau_fewest_steps(P, m)) / tau_proposed(P, m)
assert all(gain(m) > gain(m * f) for f in (0.5, 0.8, 1.25, 2)) and 1.2 < gain(m) < 1.25, gain(m)
PY
holds "001, Figures 11 and 12: one more step at each power of two; faster at 128 ranks and at least 9 KB" <<'PY'
size = source.SMALL
at = [prices.plan(proposed_plan(p, log2_up(p)), p, size) for p in (63, 64, 65, 96, 127, 128, 129)]
assert at[0] < 1.01 * at[1] and 1.1 < at[2] / at[1] < 1.2 and abs(at[4] / at[5] - 1) < 0.01 and at[6] > 1.1 * at[5], at
for p in (65, 96, 127):
    assert prices.plan("doubling", p, size) > 1.1 * prices.plan("generalized(latency)", p, size), p
m = source.MIDDLE
mine = prices.plan(proposed_plan(128, steps_removed(128, m)), 128, m)
assert mine < 0.95 * min(prices.plan(n, 128, m) for n in ("doubling", "rabenseifner")), mine
PY
holds "002, Figure 5: 1.6 times as fast as one ring over Ethernet; over InfiniBand only if levels overlap" <<'PY'
for widths, low, high in (([two.PCIE, two.ETHERNET], 1.5, 1.65), ([two.NVLINK, two.INFINIBAND], 1.1, 1.15)):
    net, where = two.net([4, 2], widths, two.LATENCY), two.topo([4, 2])
    t = {n: prices.plan(plan, 8, 8e8, net, where) for n, plan in two.plans([4, 2]).items()}
    assert low < t["Ring"] / t["BLC"] < high, t
    assert t["Ring"] / prices.sliced(two.plans([4, 2])["BLC"], 8, 8e8, net + ",ports=2", where) > 1.7
PY
holds "002, Figure 6: with the latency of the ring, GLOO and BlueConnect on 192 GPUs within 3 %" <<'PY'
size = two.whole_floats(two.GRADIENT)
for s, wanted in ((two.RING_THROUGHPUT, "Ring"), (two.STATED["GLOO"], "GLOO"), (two.STATED["BLC"], "BLC")):
    got = 1e3 * prices.plan(two.plans([4, 16, 3])[wanted], 192, size, two.net([4, 16, 3], two.WIDTHS, two.LATENCY),
                            two.topo([4, 16, 3])) + two.JITTER
    assert abs(got / s - 1) < 0.03, (wanted, got, s)
PY
ok "a table is read as it was written; a wrong one is not drawn" $python - "$work/x.tsv" <<'PY'
import sys; sys.path.insert(0, "sim")
from figure_table import Table
t = Table(sys.argv[1])
t.put("flat", "sync", 127, "rdb", "float", 428, 2.7e-4, "ok")
t.put("flat", "sync", 127, "rdb", "float", 64, 2.4e-4, "wrong")
t.note("simulated", "here")
t.write()
u = Table(sys.argv[1])
assert u.rows == t.rows and u.notes == t.notes
assert u.by_size("flat", "sync", 127, "rdb") == [(428, 2.7e-4)] and u.by_ranks("flat", "sync", "rdb", 64) == []
PY
finish
