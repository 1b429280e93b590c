# results.py - simulated times, as tables: docs/sim/results.tsv (Results), and those of parts with other columns (Kept).
#
# Columns    network mode ranks algorithm type bytes seconds verdict predicted plan commit; a figure
#            that is missing is "-". Simulated time does not depend on the machine, only on the sources: commit is theirs
#            (with a + if files of src/ had changed since), or nothing for rows from before 26 November 2026.
# SPDX-License-Identifier: BSD-3-Clause
import functools
import os
import sys

from smpi import MANY_PORTED, Run

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bench"))
import record  # noqa: E402

PATH = "docs/sim/results.tsv"
RIGHT = ("ok", "unchecked", "replayed")


@functools.lru_cache(maxsize=None)
def commit():
    """The commit of the simulated sources. It is read once, because files may change during a long run."""
    return record.commit() or "-"


def replace(path, head, lines):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path + ".new", "w") as out:
        out.write(head + "\n")
        out.writelines(line + "\n" for line in lines)
    os.replace(path + ".new", path)


class Kept:
    """Rows by their first columns. A row is a dict of `columns`; its last column is the commit."""

    def __init__(self, path, keys, values):
        self.path, self.keys, self.columns, self.of = path, keys, keys + values + ["commit"], {}
        for line in open(path) if os.path.exists(path) else []:
            if not line.startswith("#"):
                row = dict(zip(self.columns, line.rstrip("\n").split("\t")))
                self.of[tuple(row[k] for k in keys)] = row

    def put(self, key, **values):
        row = dict(zip(self.keys, map(str, key)), commit=commit(), **{k: str(v) for k, v in values.items()})
        self.of[tuple(map(str, key))] = row

    def get(self, *key):
        """A row, or None."""
        return self.of.get(tuple(map(str, key)))

    def number(self, column, *key):
        """A figure of a row that is right; else None."""
        row = self.get(*key)
        return float(row[column]) if row and row["verdict"] in RIGHT else None

    def write(self):
        rows = ["\t".join(row[c] for c in self.columns) for _, row in sorted(self.of.items())]
        replace(self.path, "# %s; make sim" % " ".join(self.columns), rows)


class Results:
    def __init__(self, path=PATH):
        self.path, self.of, self.commits = path, {}, {}
        for line in open(path) if os.path.exists(path) else []:
            if line.startswith("#"):
                continue
            network, mode, ranks, what, kind, size, seconds, verdict, predicted, plan, *of = line.rstrip("\n").split("\t")
            number = [None if x == "-" else float(x) for x in (seconds, predicted)]
            key = network, mode, int(ranks), what, kind, int(size)
            self.of[key] = Run(number[0], verdict, plan, number[1])
            self.commits[key] = of[0] if of else ""

    def put(self, network, mode, ranks, what, kind, found):
        for size, run in found.items():
            self.of[network, mode, ranks, what, kind, size] = run
            self.commits[network, mode, ranks, what, kind, size] = commit()

    def write(self):
        lines = []
        for key, run in sorted(self.of.items()):
            number = ["-" if x is None else "%.9f" % x for x in (run.seconds, run.predicted)]
            plan = "" if run.plan == "built-in" else run.plan.replace("\t", " ")
            lines.append("\t".join(map(str, [*key, number[0], run.verdict, number[1], plan, self.commits[key]])))
        replace(self.path, "# network mode ranks algorithm type bytes seconds verdict predicted plan commit; make sim", lines)

    def get(self, network, mode, ranks, what, kind, size):
        return self.of.get((network, mode, ranks, what, kind, size))

    def is_right(self, key):
        """An unchecked run counts as right if the largest checked size was right."""
        run = self.of[key]
        if run.verdict == "ok" or not run.seconds:
            return run.verdict == "ok" and bool(run.seconds)
        checked = [(k[5], r) for k, r in self.of.items() if k[:5] == key[:5] and r.verdict in ("ok", "WRONG")]
        return run.verdict in RIGHT and bool(checked) and max(checked)[1].verdict == "ok"

    def best(self, network, mode, ranks, size, many_ported=False):
        """(seconds, name) of the best correct algorithm that is built into SMPI."""
        ran = [
            (run.seconds, key[3])
            for key, run in self.of.items()
            if key[:3] == (network, mode, ranks) and key[5] == size and not key[3].startswith("tutti")
            and self.is_right(key) and (many_ported or key[3] not in MANY_PORTED)
        ]  # fmt: skip
        return min(ran) if ran else (None, "")
