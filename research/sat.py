"""sat.py - a formula in clauses, and the SAT solver that decides it (cadical; tools/deps.sh search).

Variables are positive numbers; the negative number is the negation. `solve` returns the set of variables that are true, or
None if the formula has no solution; or it raises OutOfTime.
SPDX-License-Identifier: BSD-3-Clause"""
import os
import subprocess
import tempfile


class OutOfTime(Exception):
    """The solver ran out of time: it found neither a solution nor a proof."""


class Formula:
    def __init__(self):
        self.variables = 0
        self.clauses = []

    def new(self):
        self.variables += 1
        return self.variables

    def add(self, *literals):
        self.clauses.append(literals)

    def any_of(self, literals):
        """A variable that is the disjunction of the literals."""
        x = self.new()
        self.add(-x, *literals)
        for y in literals:
            self.add(x, -y)
        return x

    def at_most_one(self, literals):
        for i, x in enumerate(literals):
            for y in literals[:i]:
                self.add(-x, -y)

    def exactly_one(self, literals):
        self.add(*literals)
        self.at_most_one(literals)

    def at_most(self, literals, most):
        """At most `most` literals are true. Merges unary counts pair by pair, cut off at most + 1 (the totalizer of Bailleux
        and Boufkhad, 2003)."""
        counts = [[x] for x in literals]
        while len(counts) > 1:
            counts = [self.merged(counts[i:i + 2], most + 1) for i in range(0, len(counts), 2)]
        if counts and len(counts[0]) > most:
            self.add(-counts[0][most])

    def merged(self, pair, cut):
        a, b = pair[0], pair[-1]
        if len(pair) == 1:
            return a
        both = [self.new() for _ in range(min(len(a) + len(b), cut))]
        for i in range(len(a) + 1):
            for j in range(len(b) + 1):
                if 0 < i + j <= cut:
                    self.add(*[-a[i - 1]] * (i > 0), *[-b[j - 1]] * (j > 0), both[i + j - 1])
        return both

    def solve(self, seconds):
        with tempfile.NamedTemporaryFile("w", suffix=".cnf", delete=False) as file:
            file.write("p cnf %d %d\n" % (self.variables, len(self.clauses)))
            for clause in self.clauses:
                file.write(" ".join(map(str, clause)) + " 0\n")
        try:
            run = subprocess.run(["cadical", "-q", "-t", str(max(1, round(seconds))), file.name], capture_output=True, text=True)
        finally:
            os.unlink(file.name)
        if run.returncode == 20:
            return None
        if run.returncode != 10:
            raise OutOfTime(run.stderr)
        words = " ".join(line[2:] for line in run.stdout.splitlines() if line.startswith("v ")).split()
        return {int(w) for w in words if not w.startswith("-")} - {0}
