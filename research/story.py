"""story.py - a story is the schedule of one block in an allreduce: the sums that each rank sends, and their receivers.

Idea       All ranks form the sum of a block along one binary tree, so only the nodes of this tree are useful. A rank has
           its leaf, the nodes that it has received, and each node if it has both halves of the node. In a round a rank
           sends to at most one rank, and receives from at most one.
Group      The ranks form an abelian group, such as 5 or 2x4 (tuples of digits; each digit wraps around). In a round all
           ranks send by the same shift. The story of block b is that of block 0, with b added to all ranks. Over all
           blocks, a rank therefore sends as many blocks as all ranks together send of block 0: the sends of the story.
Text       tree: the inner nodes from below, as pairs. The leaves are 0, 1 ..., by rank, the inner nodes a, b ...
           moves: "1:00 2a|3:14" means two rounds. In the first one, by shift 1, rank 0 sends leaf 0 and rank 2 node a.
SPDX-License-Identifier: BSD-3-Clause"""
import itertools


def shapes(leaves):
    """All binary trees as nested pairs, without regard to the order of halves; a leaf is ()."""
    if leaves == 1:
        return [()]
    found = []
    for left in range(1, leaves // 2 + 1):
        right = leaves - left
        if left == right:
            found += itertools.combinations_with_replacement(shapes(left), 2)
        else:
            found += itertools.product(shapes(left), shapes(right))
    return found


def halves_of(shape, leaves):
    """The inner nodes from below, as pairs: leaves are numbered from 0, inner nodes after them."""
    pairs, free = [], iter(range(leaves))

    def number(part):
        if not part:
            return next(free)
        pairs.append((number(part[0]), number(part[1])))
        return leaves + len(pairs) - 1

    number(shape)
    return pairs


def groups(ranks):
    """The abelian groups of this order, as the sizes of their cyclic factors."""
    return {4: ["4", "2x2"], 8: ["8", "2x4", "2x2x2"]}.get(ranks, [str(ranks)])


class Group:
    def __init__(self, text):
        self.name = text
        self.sizes = [int(s) for s in text.split("x")]

    def plus(self, a, b, sign=1):
        total, unit = 0, 1
        for size in reversed(self.sizes):
            total += (a // unit % size + sign * (b // unit)) % size * unit
            unit *= size
        return total

    def minus(self, a, b):
        return self.plus(a, b, -1)


class Story:
    """A story. moves: one pair per round, (shift, [(sender, node)]); leaf r is that of rank r."""

    def __init__(self, ranks, group, pairs, moves):
        self.ranks, self.name, self.group = ranks, group, Group(group)
        self.pairs, self.moves, self.root = pairs, moves, 2 * ranks - 2
        self.sends = sum(len(m) for _, m in moves)
        self.check()

    def form(self, known):
        for i, (a, b) in enumerate(self.pairs):
            if a in known and b in known:
                known.add(self.ranks + i)

    def check(self):
        known = [{r} for r in range(self.ranks)]
        for shift, moves in self.moves:
            assert shift and len(set(moves)) == len(moves)
            assert all(node in known[sender] for sender, node in moves)
            for sender, node in moves:
                known[self.group.plus(sender, shift)].add(node)
            for k in known:
                self.form(k)
        assert all(self.root in k for k in known)

    def letter(self, node):
        return str(node) if node < self.ranks else chr(ord("a") + node - self.ranks)

    def texts(self):
        tree = " ".join(self.letter(a) + self.letter(b) for a, b in self.pairs)
        rounds = ["%d:%s" % (shift, " ".join("%d%s" % (s, self.letter(n)) for s, n in moves)) for shift, moves in self.moves]
        return tree, "|".join(rounds)

    @staticmethod
    def parse(ranks, group, tree, moves):
        def node(c):
            return int(c) if c.isdigit() else ranks + ord(c) - ord("a")

        pairs = [(node(a), node(b)) for a, b in tree.split()]
        rounds = [text.split(":") for text in moves.split("|")]
        return Story(ranks, group, pairs, [(int(s), [(int(m[0]), node(m[1])) for m in text.split()]) for s, text in rounds])

    # ---- as a schedule ----

    def place(self, block, node, rank):
        if node < self.ranks:
            own = self.group.plus(node, block) == rank
            return "src[%d]" % block if own else "tmp[%d]" % (node * self.ranks + block)
        return "dst[%d]" % block if node == self.root else "tmp[%d]" % (node * self.ranks + block)

    def schedule(self):
        """The schedule as text, with a separate message for each block: for the prover, not for speed."""
        P = self.ranks
        lines = ["tutti-schedule 1 allreduce searched(T=%d) P=%d derive" % (len(self.moves), P)]
        for rank in range(P):
            steps, known = [], [{self.group.minus(rank, b)} for b in range(P)]

            def sums():
                for b in range(P):
                    for i, (left, right) in enumerate(self.pairs):
                        if P + i in known[b] or not {left, right} <= known[b]:
                            continue
                        known[b].add(P + i)
                        step = "reduce %s = %s op %s" % tuple(self.place(b, n, rank) for n in (P + i, left, right))
                        steps.append(step + (" last" if P + i == self.root else ""))

            for shift, moves in self.moves:
                for sender, node in moves:
                    block = self.group.minus(rank, sender)
                    steps.append("send ->%d %s" % (self.group.plus(rank, shift), self.place(block, node, rank)))
                source = self.group.minus(rank, shift)
                for sender, node in moves:
                    block = self.group.minus(source, sender)
                    steps.append("recv <-%d %s" % (source, self.place(block, node, rank)))
                    known[block].add(node)
                sums()
            lines.append("rank %d tmp=%d" % (rank, P * self.root))
            lines += ["  %d %s" % step for step in enumerate(steps)]
        return "\n".join(lines) + "\n"
