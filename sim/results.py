# results.py - simulated times, as a table: docs/sim/results.tsv.
#
# Columns    network mode ranks algorithm type bytes seconds verdict predicted plan; a figure
#            that is missing is "-". Simulated time does not depend on the machine.
# SPDX-License-Identifier: BSD-3-Clause
import os

from smpi import MANY_PORTED, Run

PATH = "docs/sim/results.tsv"
RIGHT = ("ok", "unchecked", "replayed")


class Results:
    def __init__(self, path=PATH):
        self.path, self.of = path, {}
        for line in open(path) if os.path.exists(path) else []:
            if line.startswith("#"):
                continue
            network, mode, ranks, what, kind, size, seconds, verdict, predicted, plan = line.rstrip("\n").split("\t")
            number = [None if x == "-" else float(x) for x in (seconds, predicted)]
            self.of[network, mode, int(ranks), what, kind, int(size)] = Run(number[0], verdict, plan, number[1])

    def put(self, network, mode, ranks, what, kind, found):
        for size, run in found.items():
            self.of[network, mode, ranks, what, kind, size] = run

    def write(self):
        os.makedirs(os.path.dirname(self.path) or ".", exist_ok=True)
        with open(self.path + ".new", "w") as out:
            out.write("# network mode ranks algorithm type bytes seconds verdict predicted plan; make sim\n")
            for (network, mode, ranks, what, kind, size), run in sorted(self.of.items()):
                number = ["-" if x is None else "%.9f" % x for x in (run.seconds, run.predicted)]
                plan = "" if run.plan == "built-in" else run.plan.replace("\t", " ")
                row = [network, mode, ranks, what, kind, size, number[0], run.verdict, number[1], plan]
                out.write("\t".join(map(str, row)) + "\n")
        os.replace(self.path + ".new", self.path)

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
