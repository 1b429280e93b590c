#!/usr/bin/python3
"""search.py - looks for allreduces on few ranks that send the least in a number of rounds, and for proofs that none
sends less (make search).

    tools/search.py [--ranks 5] [--rounds 4] [--limit 60] [--table src/algo/searched.def] [--out build/search]

Idea       A story (tools/story.py) is one block's way through the rounds; a solver finds one (tools/sat.py). Two
           questions are asked for each number of ranks and rounds, until --limit seconds have passed for it:
           Is there a story with fewer sends, in which all ranks send by the same shift of a group in a round? It
           becomes an allreduce by shifting it, a block per rank.
           Is there a story with fewer sends in which a rank may send to any other one in a round? If there is none, no
           allreduce in so many rounds sends fewer blocks, whatever its blocks and shifts: the average rank sends at
           least what the stories of all blocks say, so the largest messages of the rounds are no less in all.
Result     The table gets each story with fewer sends, and each higher bound; `least` is the bound that is proven.
           --out gets the stories as schedules: tutti plan check build/search/P5T4.txt.
SPDX-License-Identifier: BSD-3-Clause"""
import argparse
import os
import re
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from sat import Formula, OutOfTime  # noqa: E402
from story import Group, Story, groups, halves_of, shapes  # noqa: E402

HEAD = """/* searched.def - stories found by `make search` (tools/story.py says how they are written): ranks, rounds, sends of
 * blocks, the fewest that any allreduce in so many rounds can do as far as the solver has proven, group, tree, moves.
 * SPDX-License-Identifier: BSD-3-Clause */
"""
ENTRY = re.compile(r'STORY\((\d+), (\d+), (\d+), (\d+), "([^"]*)", "([^"]*)",\s*"([^"]*)"\)')


class Question:
    """Is there a story with at most `most` sends, along a tree of this shape? With a group: by its shifts, and the
    tree's leaves may be any ranks. Without: any rank may send to any other one, and leaf r is rank r's."""

    def __init__(self, ranks, rounds, shape, most, group=None, neat=False):
        self.P, self.T, self.group = ranks, rounds, group
        self.pairs = halves_of(shape, ranks)
        self.nodes = range(2 * ranks - 1)
        self.f = f = Formula()
        self.at = self.leaves() if group else None
        self.got = [[[f.new() for _ in self.nodes] for _ in range(ranks)] for _ in range(rounds)]
        known = [[self.first(r, n) for n in self.nodes] for r in range(ranks)]
        self.links = []
        for got in self.got:
            self.round(known, got)
            known = [self.after(known[r], got[r]) for r in range(ranks)]
        for k in known:
            f.add(k[-1])
        if neat:
            self.keep_neat()
        f.at_most([x for got in self.got for g in got for x in g], most)

    def leaves(self):
        """Which rank's a leaf is: a permutation. Leaf 0 is rank 0's, because stories may be shifted; of two leaves
        that are added first of all, the lower one is the lower rank's."""
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
        """What is known before the first round: a variable, True or False."""
        if node >= self.P:
            return False
        return self.at[node][rank] if self.group else node == rank

    def implies(self, conditions, known):
        """All conditions imply that `known`, a variable, True or False, is true."""
        if known is not True:
            self.f.add(*[-c for c in conditions], *([known] if known is not False else []))

    def round(self, known, got):
        f, P = self.f, self.P
        if self.group:
            shift = [None] + [f.new() for _ in range(1, P)]
            f.exactly_one(shift[1:])
            link = [[shift[self.group.minus(r, s)] for r in range(P)] for s in range(P)]
            self.links.append(shift)
        else:
            link = [[None if s == r else f.new() for r in range(P)] for s in range(P)]
            for r in range(P):
                f.at_most_one([link[r][s] for s in range(P) if s != r])
                f.at_most_one([link[s][r] for s in range(P) if s != r])
            self.links.append(link)
        for r in range(P):
            senders = [s for s in range(P) if s != r]
            for n in self.nodes:
                if not self.group:
                    f.add(-got[r][n], *[link[s][r] for s in senders])
                for s in senders:
                    self.implies([got[r][n], link[s][r]], known[s][n])
                if known[r][n] is not False:  # it would be of no use
                    f.add(-got[r][n], *([-known[r][n]] if known[r][n] is not True else []))

    def after(self, known, got):
        """What a rank knows after a round: what it knew, what it got, and sums of these."""
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
        """A rank gets one node in a round, and those that get one are neighbours, so that a message is one span."""
        f, P = self.f, self.P
        for got in self.got:
            for g in got:
                f.at_most_one(g)
            some = [f.any_of(g) for g in got]
            first = [f.new() for _ in range(P)]
            for r in range(P):
                f.add(-some[r], some[r - 1], first[r])
            f.at_most_one(first)

    def answer(self, seconds):
        """None, or what a solution says: the number of sends, and the story if it has a group."""
        true = self.f.solve(seconds)
        if true is None:
            return None
        sends = sum(x in true for got in self.got for g in got for x in g)
        return sends, self.story(true) if self.group else None

    def story(self, true):
        rank = {leaf: r for leaf in range(self.P) for r in range(self.P) if self.at[leaf][r] in true}
        name = [rank.get(n, n) for n in self.nodes]
        moves = []
        for got, shift in zip(self.got, self.links):
            by = next(g for g in range(1, self.P) if shift[g] in true)
            moves.append((by, sorted((self.group.minus(r, by), name[n]) for r in range(self.P) for n in self.nodes if got[r][n] in true)))
        pairs = [(name[a], name[b]) for a, b in self.pairs]
        return Story(self.P, self.group.name, pairs, [m for m in moves if m[1]])


def say(text):
    print("%s %s" % (time.strftime("%H:%M:%S"), text), flush=True)


class Search:
    """For one number of ranks and rounds: the best story, and the least number of sends that is possible."""

    def __init__(self, ranks, rounds, story, least, limit):
        self.P, self.T, self.story, self.least = ranks, rounds, story, max(least, 2 * (ranks - 1))
        self.end = time.time() + limit
        self.open = False  # was a question left without an answer?

    def ask(self, *question, **more):
        left = self.end - time.time()
        if left < 1:
            raise OutOfTime()
        return Question(self.P, self.T, *question, **more).answer(left)

    def sends(self):
        return self.story.sends if self.story else 3 * self.P * self.T

    def improve(self):
        """Looks for stories with fewer sends, first for neat ones, until there is none."""
        for neat in (True, False):
            while self.sends() > self.least:
                found = self.better(neat)
                if not found:
                    break
                self.story = found
                say("P=%d T=%d: %d sends%s" % (self.P, self.T, found.sends, ", neat" if neat else ""))

    def better(self, neat):
        for group in groups(self.P):
            for shape in shapes(self.P):
                answer = self.ask(shape, self.sends() - 1, group=Group(group), neat=neat)
                if answer:
                    return answer[1]
        return None

    def bound(self):
        """Raises `least` as far as the solver can prove it."""
        while self.least < self.sends():
            for i, shape in enumerate(shapes(self.P)):
                answer = self.ask(shape, self.least)
                if answer:
                    say("P=%d T=%d: %d sends are possible for a block alone" % (self.P, self.T, answer[0]))
                    return
            self.least += 1
            say("P=%d T=%d: at least %d sends" % (self.P, self.T, self.least))

    def run(self):
        for part in (self.improve, self.bound):
            try:
                part()
            except OutOfTime:
                self.open = True
                say("P=%d T=%d: out of time" % (self.P, self.T))


def read_table(path):
    table = {}
    if os.path.exists(path):
        with open(path) as file:
            for P, T, _, least, *story in ENTRY.findall(file.read()):
                table[int(P), int(T)] = Story.parse(int(P), *story), int(least)
    return table


def write_table(path, table):
    with open(path, "w") as file:
        file.write(HEAD)
        for (P, T), (story, least) in sorted(table.items()):
            tree, moves = story.texts()
            file.write('STORY(%d, %d, %d, %d, "%s", "%s",\n      "%s")\n' % (P, T, story.sends, least, story.name, tree, moves))


def main():
    usage = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    usage.add_argument("--ranks", type=int, nargs="*", default=range(3, 9))
    usage.add_argument("--rounds", type=int, nargs="*")
    usage.add_argument("--limit", type=float, default=60, help="seconds for each number of ranks and rounds")
    usage.add_argument("--table", default="src/algo/searched.def")
    usage.add_argument("--out", help="a folder for the schedules")
    o = usage.parse_args()
    table = read_table(o.table)
    for P in o.ranks:
        few = (P - 1).bit_length()
        for T in o.rounds or range(few, 2 * few + 1):
            if any((P, t) in table and table[P, t][0].sends == 2 * (P - 1) for t in range(few, T)):
                continue  # fewer rounds do the same
            story, least = table.get((P, T), (None, 0))
            search = Search(P, T, story, least, o.limit)
            search.run()
            if search.story:
                table[P, T] = search.story, search.least
                write_table(o.table, table)
            say("P=%d T=%d: %d sends, at least %d" % (P, T, search.sends(), search.least))
    for (P, T), (story, _) in table.items() if o.out else ():
        os.makedirs(o.out, exist_ok=True)
        with open(os.path.join(o.out, "P%dT%d.txt" % (P, T)), "w") as file:
            file.write(story.schedule())


if __name__ == "__main__":
    main()
