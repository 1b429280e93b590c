#!/usr/bin/python3
"""doc_tables.py - makes the tables of docs/ from the files of docs/bench/.

Usage      tools/doc_tables.py [--check] [FILE.md ...]     (make tables)
           --check: changes nothing; exit status 1 and a line for each table that differs.
Form       A page has a line <!-- table NAME VIEW key=value ... -->, the table, and <!-- end of table -->. NAME refers to
           docs/bench/NAME.json (bench/record.py); VIEW is a function in this file, called with the data and the keys.
Age        A table gets a mark if more than 60 commits have changed src/ since it was measured. --check ignores the marks,
           so that unrelated commits do not fail a test. Without the whole history no table is marked.
SPDX-License-Identifier: BSD-3-Clause"""
import argparse
import glob
import json
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.append(os.path.join(ROOT, "bench"))
OLD = 60
BLOCK = re.compile(r"<!-- table (\S+) (\S+)((?: \S+=\S*)*) -->\n(.*?)<!-- end of table -->\n", re.S)
MARK = "*Old: more than %d commits have changed `src/` since this was measured (%s).*\n"


def bytes_name(n):
    return "%d Mi" % (n >> 20) if n >= 1 << 20 else "%d Ki" % (n >> 10) if n >= 1 << 10 else "%d" % n


def size_name(n):
    return bytes_name(n) + ("B" if n >= 1 << 10 else " B")


def number(x):
    return "-" if x is None else str(x) if isinstance(x, (str, int)) else "%.0f" % x if x >= 1000 else "%.3g" % x if x >= 10 else "%.2f" % x


def grid(head, rows, left=1):
    """A Markdown table; the first `left` columns contain words."""
    lines = ["| " + " | ".join(head) + " |", "|" + "|".join("---" if i < left else "---:" for i in range(len(head))) + "|"]
    return "\n".join(lines + ["| " + " | ".join(map(number, r)) + " |" for r in rows]) + "\n"


# ---- views: of {"about", "rows"} and the keys of the line ----


def words(stored, columns=None, left="1"):
    """The stored rows. The names of the columns are the keys of the first row, or `columns` of about."""
    if not stored["rows"]:
        return "*Not measured yet.*\n"
    names = stored["about"].get("columns") or list(stored["rows"][0])
    return grid(names, [[r[n] for n in names] if isinstance(r, dict) else r for r in stored["rows"]], int(left))


def collectives(stored):
    """A row per collective: the geometric mean of the ratios over all sizes, and the smallest ratio with its size and MPI. If the
    MPI is the same in all rows, the head names it."""
    from measure import geomean
    groups, titles = {}, {"openmpi": "Open MPI", "mpich": "MPICH"}
    for r in stored["rows"]:
        groups.setdefault(r["collective"] + (", root rotates" if r["root"] == "rotates" else ""), []).append(r)
    least = {name: min(of, key=lambda r: r["ratio"]) for name, of in groups.items()}
    mpis = {titles.get(r["mpi"], r["mpi"]) for r in least.values()}
    rows = []
    for name, of in groups.items():
        at = "" if name == "barrier" else " at " + bytes_name(least[name]["bytes"])
        mpi = " (%s)" % titles.get(least[name]["mpi"], least[name]["mpi"]) if len(mpis) > 1 else ""
        rows.append([name, "%.2f" % geomean([r["ratio"] for r in of]), "%.2f%s%s" % (least[name]["ratio"], at, mpi)])
    return grid(["collective", "mean ratio", "smallest ratio, at bytes" + (" (%s)" % min(mpis) if len(mpis) == 1 else "")], rows)


def choices(stored):
    """From machines.json, the times of tutti's choices, without the names of the plans."""
    rows, machine = [], ["", ""]
    for r in stored["rows"]:
        machine = r[:2] if r[0] else machine
        if "choice" in r[2]:
            rows.append(machine + [re.sub(r"\*|<br>.*", "", cell) for cell in r[3:]])
    return grid(["machine", "nodes"] + stored["about"]["columns"][3:], rows, 1)


def peers(stored, ranks, state):
    """One number of ranks, on near or far cores: microseconds, and the peers' time divided by tutti's."""
    import peers as p
    rows, n = stored["rows"], int(ranks)
    sizes = sorted({r["bytes"] for r in rows if r["ranks"] == n and r["state"] == state})
    shown = [x for x in ["tutti", "tutti --alloc"] + p.PEERS + ["two-shot floor", "streaming probe", "exchange floor"]
             if any(p.time_of(rows, n, x, b, state) for b in sizes)]
    ratios = [x for x in p.PEERS if any(p.ratio_of(rows, n, x, b, state) for b in sizes)]
    table = grid(["bytes"] + shown + [x + " / tutti" for x in ratios],
                 [[bytes_name(b)] + [p.time_of(rows, n, x, b, state) for x in shown] +
                  [p.ratio_of(rows, n, x, b, state) for x in ratios] for b in sizes], 1)
    means = ["%s %.2f (%.2f)" % (x, p.mean(r), min(r)) for x in ratios if not spins(stored, x, n)
             for r in [[v for v in (p.ratio_of(rows, n, x, b, state) for b in sizes) if v]]]
    return table + "\nRatios to tutti, geometric mean (smallest): " + "; ".join(means) + ".\n"


def spins(stored, peer, ranks):
    """Do the peer's waiting ranks occupy cores that other ranks need? No mean includes such times."""
    return peer == "MPICH" and ranks > stored["about"]["cores"]


def summary(stored):
    """The MPIs' time divided by tutti's on one machine: a line per number of ranks and state; small and large vectors are
    separate."""
    import peers as p
    mpis = [x for x in p.PEERS if x != "gloo"]
    rows, lines = stored["rows"], []
    for n in sorted({r["ranks"] for r in rows}):
        for state in ("near", "far"):
            for title, fits in (("to 4 KiB", lambda b: b <= 4096), ("from 16 KiB", lambda b: b > 4096)):
                cells = []
                for x in mpis:
                    each = {b: p.ratio_of(rows, n, x, b, state) for b in sorted({r["bytes"] for r in rows}) if fits(b)}
                    each = {b: r for b, r in each.items() if r and not spins(stored, x, n)}
                    worst = min(each, key=each.get) if each else None
                    cells.append("%.2f (%.2f at %s)" % (p.mean(each.values()), each[worst], size_name(worst)) if each else "-")
                if cells != ["-"] * len(cells):
                    lines.append(["%d, %s" % (n, state), title] + cells)
    return grid(["ranks, cores", "vectors"] + ["%s / tutti: mean (smallest)" % x for x in mpis], lines, 2)


def hosts(stored, peer, side):
    """The MPI's time divided by that of a side: a row per size, a column per layout."""
    rows = [r for r in stored["rows"] if r["beside"] == peer.replace("_", " ") and side in r]
    layouts = list(dict.fromkeys(r["layout"] for r in rows))
    by = {(r["layout"], r["bytes"]): r[side]["ratio"] for r in rows}
    return grid(["bytes"] + [l.replace("x", " x ") for l in layouts],
                [[bytes_name(b)] + [by.get((l, b)) for l in layouts] for b in sorted({r["bytes"] for r in rows})])


def lighter(stored, kind):
    """The time without compression divided by the time with compression: a row per rate, gradient and kind of compression, the
    mean over the layouts; `plain` where no message is compressed. kind: sums, coders, or training."""
    from measure import geomean
    rows = [r for r in stored["rows"] if r["kind"] == {"sums": "sum", "coders": "coder", "training": "training"}[kind]]
    if not rows:
        return "*Not measured yet.*\n"
    if kind == "coders":
        return grid(["gradients of", "type", "compression", "size ratio", "GB/s, compression", "GB/s, decompression"],
                    [[r["numbers"].split(".")[0], r["type"], r["coder"], r["left"], r["code_GBs"], r["decode_GBs"]] for r in rows], 3)
    if kind == "training":
        return grid(["network", "steps", "compression", "accuracy"],
                    [[r["net"], "%d" % r["steps"], r["code"].replace("none", "plain"), "%.4f" % r["accuracy"]] for r in rows], 3)
    sizes = sorted({r["bytes"] for r in rows})
    groups = list(dict.fromkeys((r["rate"], r["gradient"], r["type"], way) for r in rows for way in ("lossless", "error")
                                if way + "_ratio" in r))

    def cell(group, size):
        rate, gradient, type_, way = group
        of = [r for r in rows if (r["rate"], r["gradient"], r["type"], r["bytes"]) == (rate, gradient, type_, size)]
        coded = [r for r in of if r[way + "_plan"].split(",")[0] in ("lossless", "int8", "fp8_e4m3", "fp8_e5m2")]
        return "%.2f" % geomean([r[way + "_ratio"] for r in of]) if coded else "plain" if of else None

    def left(group):
        return max(r[group[3] + "_left"] for r in rows if (r["rate"], r["gradient"], r["type"]) == group[:3] and r["bytes"] == sizes[-1])
    return grid(["link, Mbit/s", "gradients of", "type", "compression", "size ratio"] + [bytes_name(b) + "B" for b in sizes],
                [["%g" % g[0], g[1], g[2], {"error": "error=1e-2"}.get(g[3], g[3]), "%.2f" % left(g)] + [cell(g, b) for b in sizes]
                 for g in sorted(groups, key=lambda g: g[0])], 4)


def verdict(stated, here):
    """Compares two numbers: within 10 % they agree, within 25 % roughly. For a fact: whether it holds. None: not tried."""
    if stated is None:
        return "-" if here is None else here if here in ("partly", "not tried") else "agrees" if here else "no"
    off = max(here / stated, stated / here) - 1
    return "agrees" if off <= 0.10 else "roughly" if off <= 0.25 else "no"


def frontier(stored, sizes):
    """Predicted times in us before and after, and the time divided by that of the frontier, for the sizes 1024,2048,..."""
    wanted = [int(x) for x in sizes.split(",")]
    at = {(r["ranks"], r["bytes"]): r for r in stored["rows"]}
    def cell(r):
        return "%.0f → %.0f (%.2f) %s" % (r["before"], r["now"], r["now"] / r["frontier"], r["plan"])
    return grid(["ranks"] + ["%s B" % bytes_name(b) for b in wanted],
                [["%d" % p] + [cell(at[p, b]) for b in wanted] for p in sorted({p for p, _ in at})], 9)


def papers(stored, section):
    """The statements of a paper compared with the results here. The `numbers` of a row are pairs, and the worst pair decides;
    `holds` of a row is a fact that a command or a test shows."""
    order = ["agrees", "-", "roughly", "no"]
    rows = []
    for r in stored["rows"]:
        if r["section"] == section:
            each = [verdict(*pair) for pair in r.get("numbers", [])] or [verdict(None, r.get("holds"))]
            rows.append([r["stated"], r["here"], max(each, key=order.index) if set(each) <= set(order) else each[0]] +
                        ([r["command"]] if "command" in r else []))
    return grid(stored["about"]["heads"].get(section, ["stated", "here", "verdict", "command"]), rows, 4)


VIEWS = {f.__name__: f for f in (words, collectives, choices, peers, summary, hosts, lighter, frontier, papers)}


# ---- pages ----


def commits_since(about):
    """The number of commits that have changed src/ since the measurement; None if the history is incomplete."""
    def git(*arguments):
        return subprocess.run(("git", "-C", ROOT) + arguments, capture_output=True, text=True, check=True).stdout.strip()
    try:
        if git("rev-parse", "--is-shallow-repository") == "true":
            return None
        commit = (about.get("commit") or "").rstrip("+")
        span = [commit + "..HEAD"] if commit else ["--since=" + about["date"].replace(" UTC", " +0000"), "HEAD"]
        return int(git("rev-list", "--count", *span, "--", "src"))
    except (OSError, KeyError, subprocess.CalledProcessError):
        return None


def made(match, checking):
    """The new text of a block with a table."""
    name, view, keys, old = match.groups()
    with open(os.path.join(ROOT, "docs", "bench", name + ".json")) as f:
        stored = json.load(f)
    text = VIEWS[view](stored, **dict(k.split("=", 1) for k in keys.split()))
    age, mark = commits_since(stored["about"]), MARK % (OLD, stored["about"].get("date", "?"))
    marked = mark in old if age is None or checking else age > OLD
    return "<!-- table %s %s%s -->\n%s%s<!-- end of table -->\n" % (name, view, keys, text, "\n" + mark if marked else "")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--check", action="store_true")
    p.add_argument("files", nargs="*")
    args = p.parse_args()
    pages = args.files or [os.path.join(ROOT, "README.md")] + sorted(glob.glob(os.path.join(ROOT, "docs", "**", "*.md"), recursive=True))
    wrong = 0
    for page in pages:
        with open(page) as f:
            text = f.read()
        new = BLOCK.sub(lambda m: made(m, args.check), text)
        if new == text:
            continue
        wrong += 1
        if args.check:
            old = BLOCK.findall(text)
            for before, after in zip(old, BLOCK.findall(new)):
                if before != after:
                    print("%s: the table %s %s%s does not match docs/bench/%s.json; run `make tables`" %
                          (os.path.relpath(page, ROOT), before[0], before[1], before[2], before[0]))
        else:
            with open(page, "w") as f:
                f.write(new)
            print("%s: made anew" % os.path.relpath(page, ROOT))
    return 1 if args.check and wrong else 0


if __name__ == "__main__":
    sys.exit(main())
