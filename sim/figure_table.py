# figure_table.py - simulated and measured times, one per line: docs/sim/figures.tsv.
#
# Columns: network mode ranks algorithm type bytes seconds verdict. Network `flat` has the
# parameters of paper 001; `shm` is the memory of one machine, mode `measured`. Verdict: `ok`,
# or the error; only lines with `ok` are drawn.
# SPDX-License-Identifier: BSD-3-Clause
import os
import time

COLUMNS = ["network", "mode", "ranks", "algorithm", "type", "bytes", "seconds", "verdict"]


class Table:
    def __init__(self, path):
        self.path, self.rows, self.notes = path, {}, {}
        if os.path.exists(path):
            with open(path) as f:
                for line in f:
                    if line.startswith("# "):
                        key, _, text = line[2:].rstrip("\n").partition(": ")
                        self.notes[key] = text
                    elif not line.startswith("network\t"):
                        c = line.rstrip("\n").split("\t")
                        self.rows[(c[0], c[1], int(c[2]), c[3], c[4], int(c[5]))] = (float(c[6]), c[7])

    def put(self, network, mode, ranks, algorithm, kind, size, seconds, verdict):
        self.rows[(network, mode, ranks, algorithm, kind, size)] = (seconds, verdict)

    def has(self, network, mode, ranks, algorithm, kind, size):
        return (network, mode, ranks, algorithm, kind, size) in self.rows

    def note(self, key, text):
        self.notes[key] = "%s, %s" % (time.strftime("%Y-%m-%d"), text)

    def write(self):
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        with open(self.path + ".new", "w") as f:
            for key in sorted(self.notes):
                f.write("# %s: %s\n" % (key, self.notes[key]))
            f.write("\t".join(COLUMNS) + "\n")
            for key in sorted(self.rows):
                f.write("\t".join(str(k) for k in key) + "\t%.9g\t%s\n" % self.rows[key])
        os.replace(self.path + ".new", self.path)

    def by_size(self, network, mode, ranks, algorithm, kind="float"):
        """[(bytes, seconds)] of correct runs."""
        return sorted(
            (k[5], v[0])
            for k, v in self.rows.items()
            if k[:5] == (network, mode, ranks, algorithm, kind) and v[1] == "ok"
        )

    def by_ranks(self, network, mode, algorithm, size, kind="float"):
        """[(ranks, seconds)]"""
        return sorted(
            (k[2], v[0])
            for k, v in self.rows.items()
            if k[:2] == (network, mode) and k[3:] == (algorithm, kind, size) and v[1] == "ok"
        )

    def at(self, network, mode, ranks, algorithm, size, kind="float"):
        """Seconds, or None."""
        seconds, verdict = self.rows.get((network, mode, ranks, algorithm, kind, size), (None, ""))
        return seconds if verdict == "ok" else None
