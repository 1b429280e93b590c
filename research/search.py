#!/usr/bin/python3
"""search.py - searches allreduces on few ranks that send the least in a number of rounds, and proofs that none sends
less (make search).

    research/search.py [--ranks 5] [--rounds 4] [--limit 60] [--table src/algo/algo_searched.def] [--out build/search]

Idea       A story is the schedule of one block (research/story.py), which a solver finds (research/sat.py). Two questions
           are asked for each number of ranks and rounds, for up to --limit seconds:
           1. Does a story with fewer sends exist in which all ranks of a round send by the same shift of a group? Shifting
           it, with one block per rank, gives a symmetric allreduce. The solver gets a separate question for each row of
           shifts and each shape of the tree: thousands of easy questions instead of a hard one. Such stories are "neat": a
           rank sends one message per round.
           2. Can a story have fewer sends if a rank may send to any other rank in a round? If not, no allreduce in T
           rounds with the same bits on all ranks sends fewer blocks, for any blocks and shifts: the average rank sends at
           least the sum of the sends of all stories divided by the ranks, and the largest messages of the rounds together
           are not smaller. research/slices.py has a bound that does not need a solver.
Result     The table gets each story with fewer sends, and each higher bound, both for neat stories and for all allreduces.
           --out gets the stories as schedules: tutti plan check build/search/P5T4.txt.
SPDX-License-Identifier: BSD-3-Clause"""
import argparse
import itertools
import math
import os
import random
import re
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from sat import Formula, OutOfTime  # noqa: E402
from slices import least_sends  # noqa: E402
from story import Group, Story, groups, halves_of, shapes  # noqa: E402

HEAD = """/* algo_searched.def - stories found by `make search` (research/story.py says how they are written): ranks, rounds, sends of
 * blocks; a number that no neat story and a number that no allreduce in T rounds can go below, as far as these are
 * proven; group, tree, moves.
 * SPDX-License-Identifier: BSD-3-Clause */
"""
ENTRY = re.compile(r'STORY\((\d+), (\d+), (\d+), (\d+), (\d+), "([^"]*)", "([^"]*)",\s*"([^"]*)"\)')


class Question:
    """The question whether a story with at most `most` sends exists, with a tree of this shape. With a group: a neat story with
    these shifts, where the leaves of the tree may be any ranks. Without a group: any rank may send to any other rank, and leaf
    r is that of rank r."""

    def __init__(self, ranks, rounds, shape, most, group=None, shifts=()):
        self.P, self.T, self.group, self.shifts = ranks, rounds, group, shifts
        self.pairs = halves_of(shape, ranks)
        self.nodes = range(2 * ranks - 1)
        self.f = f = Formula()
        self.at = self.leaves() if group else None
        self.got = [[[f.new() for _ in self.nodes] for _ in range(ranks)] for _ in range(rounds)]
        known = [[self.first(r, n) for n in self.nodes] for r in range(ranks)]
        for i, got in enumerate(self.got):
            if group:
                self.shifted_round(known, got, shifts[i])
            else:
                self.free_round(known, got)
            known = [self.after(known[r], got[r]) for r in range(ranks)]
        for k in known:
            f.add(k[-1])
        if group:
            self.keep_neat()
        f.at_most([x for got in self.got for g in got for x in g], most)

    def leaves(self):
        """The assignment of leaves to ranks is a permutation. Leaf 0 is that of rank 0, because stories may be shifted. If two
        leaves are added to each other, the lower leaf is that of the lower rank."""
        f, P = self.f, self.P
        at = [[f.new() for _ in range(P)] for _ in range(P)]
        for i in range(P):
            f.exactly_one(at[i])
            f.exactly_one([at[k][i] for k in range(P)])
        f.add(at[0][0])
        for a, b in self.pairs:
            if b < P:
                for i in range(P):
                    for k in range(i):
                        f.add(-at[a][i], -at[b][k])
        return at

    def first(self, rank, node):
        """Whether a rank has a node before the first round: a variable, True or False."""
        if node >= self.P:
            return False
        return self.at[node][rank] if self.group else node == rank

    def implies(self, conditions, known):
        """All conditions imply that `known`, a variable, True or False, is true."""
        if known is not True:
            self.f.add(*[-c for c in conditions], *([known] if known is not False else []))

    def is_new(self, known, got):
        """A rank does not receive nodes that it has, because this would be useless."""
        for have, g in zip(known, got):
            for n in self.nodes:
                if have[n] is not False:
                    self.f.add(-g[n], *([-have[n]] if have[n] is not True else []))

    def shifted_round(self, known, got, shift):
        self.is_new(known, got)
        for r in range(self.P):
            for n in self.nodes:
                self.implies([got[r][n]], known[self.group.minus(r, shift)][n])

    def free_round(self, known, got):
        f, P = self.f, self.P
        link = [[None if s == r else f.new() for r in range(P)] for s in range(P)]
        self.is_new(known, got)
        for r in range(P):
            senders = [s for s in range(P) if s != r]
            f.at_most_one([link[r][s] for s in senders])
            f.at_most_one([link[s][r] for s in senders])
            for n in self.nodes:
                f.add(-got[r][n], *[link[s][r] for s in senders])
                for s in senders:
                    self.implies([got[r][n], link[s][r]], known[s][n])

    def after(self, known, got):
        """The nodes of a rank after a round: those from before, those that it received, and sums of these."""
        now = []
        for n in self.nodes:
            reasons = [got[n]] + [known[n]] * (known[n] is not False)
            if known[n] is True:
                now.append(True)
                continue
            both = None
            if n >= self.P:
                halves = [now[h] for h in self.pairs[n - self.P]]
                if all(h is not False for h in halves):
                    both = self.f.new()
                    for h in halves:
                        self.implies([both], h)
                    reasons.append(both)
            x = self.f.new()
            self.f.add(-x, *reasons)
            now.append(x)
        return now

    def keep_neat(self):
        """In a round a rank receives at most one node, and the receiving ranks are equally far apart, so that a message is one
        row of blocks. Or every rank receives one node, and such a row of ranks receives a second one."""
        f, P = self.f, self.P
        for got in self.got:
            some, more = [f.any_of(g) for g in got], [self.two_of(g) for g in got]
            any_more = f.any_of(more)
            for r in range(P):
                f.add(-any_more, some[r])
            apart = range(1, P // 2 + 1) if len(self.group.sizes) == 1 else [1]
            is_apart = [f.new() for _ in apart]
            f.add(*is_apart)
            for x, by in zip(is_apart, apart):
                self.row(x, some, by)
                self.row(x, more, by)

    def two_of(self, literals):
        """A variable that is true if two literals are true. Three literals cannot be true."""
        two = self.f.new()
        for i, j, k in itertools.combinations(literals, 3):
            self.f.add(-i, -j, -k)
        for i, j in itertools.combinations(literals, 2):
            self.f.add(-i, -j, two)
        return two

    def row(self, condition, literals, by):
        """The true literals form one row around the circle, with distance `by`."""
        first = [self.f.new() for _ in literals]
        for r, x in enumerate(literals):
            self.f.add(-condition, -x, literals[r - by], first[r])
        self.f.at_most_one(first)

    def answer(self, seconds):
        """Solves the question. Returns the number of sends, and the replay if ranks form a group; None without a solution."""
        true = self.f.solve(seconds)
        if true is None:
            return None
        sends = sum(x in true for got in self.got for g in got for x in g)
        return sends, self.story(true) if self.group else None

    def story(self, true):
        rank = {leaf: r for leaf in range(self.P) for r in range(self.P) if self.at[leaf][r] in true}
        name = [rank.get(n, n) for n in self.nodes]
        moves = []
        for got, by in zip(self.got, self.shifts):
            moves.append((by, sorted((self.group.minus(r, by), name[n]) for r in range(self.P) for n in self.nodes if got[r][n] in true)))
        pairs = [(name[a], name[b]) for a, b in self.pairs]
        return Story(self.P, self.group.name, pairs, [m for m in moves if m[1]])


def say(text):
    print("%s %s" % (time.strftime("%H:%M:%S"), text), flush=True)


def all_shifts(group, ranks, rounds):
    """All rows of shifts, one shift per round. If rows differ only by a factor of a circle, only the first one is used."""
    units = [u for u in range(1, ranks) if math.gcd(u, ranks) == 1] if len(group.sizes) == 1 else [1]
    rows = itertools.product(range(1, ranks), repeat=rounds)
    return [row for row in rows if all(row <= tuple(u * s % ranks for s in row) for u in units)]


class Search:
    """For one number of ranks and rounds: the best story, the lower bound for neat stories, and the lower bound for all
    stories."""

    def __init__(self, ranks, rounds, story, stories, least, limit):
        self.P, self.T, self.story, self.stories, self.least = ranks, rounds, story, stories, least
        self.end = time.time() + limit

    def ask(self, seconds, *question, **more):
        left = self.end - time.time()
        if left < 1:
            raise OutOfTime()
        return Question(self.P, self.T, *question, **more).answer(min(seconds, left))

    def sends(self):
        return self.story.sends if self.story else 3 * self.P * self.T

    def improve(self):
        """Ask each question for a second, then the open questions for longer."""
        rows = [(Group(g), row, s) for g in groups(self.P) for row in all_shifts(Group(g), self.P, self.T) for s in shapes(self.P)]
        random.Random(1).shuffle(rows)
        seconds = 1
        while rows and self.sends() > self.stories:
            rows = self.still_open(rows, seconds)
            seconds *= 4
        self.stories = self.sends()

    def still_open(self, rows, seconds):
        """The questions that the solver did not answer in this time, and the questions with a story."""
        left = []
        for group, row, shape in rows:
            try:
                answer = self.ask(seconds, shape, self.sends() - 1, group=group, shifts=row)
            except OutOfTime:
                if time.time() + 1 > self.end:
                    raise
                answer = left.append((group, row, shape))
            if answer:
                self.story = answer[1]
                left.append((group, row, shape))
                say("P=%d T=%d: %d sends" % (self.P, self.T, self.sends()))
        return left

    def bound(self):
        """Raise `least` as far as the solver can prove it."""
        while self.least < self.sends():
            for shape in shapes(self.P):
                answer = self.ask(self.end - time.time(), shape, self.least)
                if answer:
                    say("P=%d T=%d: %d sends are possible for a block alone" % (self.P, self.T, answer[0]))
                    return
            self.least += 1
            self.stories = max(self.stories, self.least)
            say("P=%d T=%d: at least %d sends" % (self.P, self.T, self.least))

    def run(self):
        for part in (self.improve, self.bound):
            try:
                part()
            except OutOfTime:
                say("P=%d T=%d: out of time" % (self.P, self.T))


def read_table(path):
    table = {}
    if os.path.exists(path):
        with open(path) as file:
            for P, T, _, stories, least, *story in ENTRY.findall(file.read()):
                table[int(P), int(T)] = Story.parse(int(P), *story), int(stories), int(least)
    return table


def write_table(path, table):
    with open(path, "w") as file:
        file.write(HEAD)
        for (P, T), (story, stories, least) in sorted(table.items()):
            tree, moves = story.texts()
            counts = P, T, story.sends, stories, least
            file.write('STORY(%d, %d, %d, %d, %d, "%s", "%s",\n      "%s")\n' % (*counts, story.name, tree, moves))


def main():
    usage = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    usage.add_argument("--ranks", type=int, nargs="*", default=range(3, 9))
    usage.add_argument("--rounds", type=int, nargs="*")
    usage.add_argument("--limit", type=float, default=60, help="seconds for each number of ranks and rounds")
    usage.add_argument("--table", default="src/algo/algo_searched.def")
    usage.add_argument("--out", help="a folder for the schedules")
    o = usage.parse_args()
    table = read_table(o.table)
    for P in o.ranks:
        few = (P - 1).bit_length()
        for T in o.rounds or range(few, 2 * few + 1):
            if any((P, t) in table and table[P, t][0].sends == 2 * (P - 1) for t in range(few, T)):
                continue  # fewer rounds have the same result
            story, stories, least = table.get((P, T)) or (None, *[least_sends(P, T)] * 2)
            search = Search(P, T, story, stories, least, o.limit)
            search.run()
            if search.story:
                table[P, T] = search.story, search.stories, search.least
                write_table(o.table, table)
            say("P=%d T=%d: %d sends; stories have at least %d, allreduces %d" % (P, T, search.sends(), search.stories, search.least))
    for (P, T), (story, *_) in table.items() if o.out else ():
        os.makedirs(o.out, exist_ok=True)
        with open(os.path.join(o.out, "P%dT%d.txt" % (P, T)), "w") as file:
            file.write(story.schedule())


if __name__ == "__main__":
    main()
