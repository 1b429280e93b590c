# made_schedules.py - small random schedules: tutti's own with a change, and new ones, mostly nearly
# right.
#
# Idea       a prover refuses complete nonsense easily, so such schedules test little. A new schedule
#            therefore gathers and distributes sums correctly, over a random tree, with random
#            buffers, splits, readers and signals. Then the order is derived, and a part is left out.
# SPDX-License-Identifier: BSD-3-Clause
import json
import subprocess

from schedule_text import COLLECTIVES, Rank, Schedule, Span, Step, Unreadable, read, write


def plans(tutti, ranks=(2, 3, 4)):
    """tutti's own schedules: [(name, text)]."""
    listed = subprocess.run([tutti, "plan", "list", "-n", "4", "--format", "json"], capture_output=True, text=True, check=True).stdout
    names = [a["name"] for a in json.loads(listed)["algorithms"]]
    names += ["tree(binary)", "bruck(radix=3)", "fold(halving,stride=-1)", "consistent(i=1)", "aggregate(data=3)", "scan(chain,segments=2)"]
    made = []
    for name in names:
        for coll in COLLECTIVES:
            for P in ranks:
                for more in ([], ["--in-place"]) if coll != "barrier" else ([],):
                    done = subprocess.run([tutti, "plan", "show", name, "-n", str(P), "--coll", coll, "--text", *more],
                                          capture_output=True, text=True)
                    if done.returncode == 0:
                        made.append(("%s %s P=%d %s" % (name, coll, P, " ".join(more)), done.stdout))
    return made


# ---- changes ----

def some_step(s, random, want=lambda step: True):
    all_ = [(r, i) for r, rank in enumerate(s.ranks) for i, step in enumerate(rank.steps) if want(step)]
    return random.choice(all_) if all_ else None


def renumbered(rank, order):
    """The steps in another order, or some of them; a wait for a step that is now later, or gone, is dropped."""
    new = {old: i for i, old in enumerate(order)}
    steps = []
    for i, old in enumerate(order):
        step = rank.steps[old].clone()
        step.after = [new[a] for a in step.after if a in new and new[a] < i]
        steps.append(step)
    rank.steps = steps


def drop(s, random):
    r, i = some_step(s, random)
    renumbered(s.ranks[r], [k for k in range(len(s.ranks[r].steps)) if k != i])


def repeat(s, random):
    r, i = some_step(s, random)
    rank = s.ranks[r]
    at = random.randint(i + 1, len(rank.steps))
    for step in rank.steps[at:]:
        step.after = [a + (a >= at) for a in step.after]
    rank.steps.insert(at, rank.steps[i].clone())


def move(s, random):
    r, i = some_step(s, random)
    order = list(range(len(s.ranks[r].steps)))
    order.insert(random.randrange(len(order)), order.pop(i))
    renumbered(s.ranks[r], order)


def wait_less(s, random):
    at = some_step(s, random, lambda step: step.after)
    if at:
        after = s.ranks[at[0]].steps[at[1]].after
        after.remove(random.choice(after))


def wait_more(s, random):
    r, i = some_step(s, random)
    if i:
        s.ranks[r].steps[i].after.append(random.randrange(i))


def wait_else(s, random):
    wait_less(s, random)
    wait_more(s, random)


def redirect(s, random):
    at = some_step(s, random, lambda step: step.peers)
    if at:
        step, by = s.ranks[at[0]].steps[at[1]], random.randrange(1, s.P)
        step.peers = tuple((p + by) % s.P for p in step.peers)


def other_span(s, random):
    """One span elsewhere: in another buffer, or shifted."""
    r, i = some_step(s, random)
    step = s.ranks[r].steps[i]
    spans = [("dst", None)] * (step.dst is not None) + [("operands", k) for k, o in enumerate(step.operands) if o]
    where, k = random.choice(spans)
    old = step.dst if where == "dst" else step.operands[k]
    new = moved(s, random, old)
    if where == "dst":
        step.dst = new
    else:
        step.operands[k] = new


def moved(s, random, span):
    if random.random() < 0.4:
        return Span(span.buf, [b + 1 if random.random() < 0.8 else max(b - 1, 0) for b in span.blocks])
    return Span(random.choice(("src", "dst", "tmp")), [b % s.B + s.B * random.randrange(2) * (random.random() < 0.3)
                                                       if span.buf == "tmp" else b for b in span.blocks])


def share_tmp(s, random):
    """On one rank, what was in one place of tmp is now in another, everywhere."""
    r = random.randrange(s.P)
    rank = s.ranks[r]
    used = sorted({b for step in rank.steps for x in step.spans() if x.buf == "tmp" for b in x.blocks})
    if len(used) < 2:
        return
    a, b = random.sample(used, 2)
    for step in rank.steps:
        step.dst = swap(step.dst, a, b)
        step.operands = [swap(o, a, b) for o in step.operands]


def swap(span, a, b):
    return Span("tmp", [b if x == a else x for x in span.blocks]) if span and span.buf == "tmp" else span


def tmp_to_dst(s, random):
    """On one rank, a buffer replaces another in a step and all later ones."""
    r, i = some_step(s, random)
    a, b = random.sample(("dst", "tmp", "src"), 2)
    for step in s.ranks[r].steps[i:]:
        step.dst = Span(b, [x % s.B for x in step.dst.blocks]) if step.dst and step.dst.buf == a and b != "src" else step.dst
        step.operands = [Span(b, [x % s.B for x in o.blocks]) if o and o.buf == a else o for o in step.operands]


def in_place(s, random):
    rank = random.choice(s.ranks)
    rank.inplace = not rank.inplace


def mark(s, random):
    at = some_step(s, random, lambda step: step.kind in ("recv_reduce", "reduce"))
    if at:
        step = s.ranks[at[0]].steps[at[1]]
        step.last = not step.last


def other_side(s, random):
    at = some_step(s, random, lambda step: step.kind == "recv_reduce")
    if at:
        s.ranks[at[0]].steps[at[1]].operands.reverse()


def other_kind(s, random):
    at = some_step(s, random, lambda step: step.kind in ("recv", "recv_reduce") and len(step.peers) == 1)
    if at:
        step = s.ranks[at[0]].steps[at[1]]
        step.kind, step.split = ("recv_reduce", False) if step.kind == "recv" else ("recv", False)
        step.operands = [step.dst, None] if step.kind == "recv_reduce" else []


def merge_sends(s, random):
    """Two sends of one span become one to two readers, or one to several becomes several."""
    r, i = some_step(s, random)
    rank = s.ranks[r]
    step = rank.steps[i]
    for k in range(i + 1, len(rank.steps)):
        other = rank.steps[k]
        if step.kind == other.kind == "send" and step.operands == other.operands and not step.split and not other.split:
            step.peers += other.peers
            for later in rank.steps[k + 1:]:
                later.after = [i if a == k else a for a in later.after]
            return renumbered(rank, [x for x in range(len(rank.steps)) if x != k])
    if step.kind == "send" and not step.split and len(step.peers) > 1:
        repeat_at = Step("send", False, step.peers[:1], None, step.operands, False, step.after)
        step.peers = step.peers[1:]
        for later in rank.steps[i:]:
            later.after = [a + (a >= i) for a in later.after]
        rank.steps.insert(i, repeat_at)


def merge_receives(s, random):
    """Two receives into neighbouring places become one that is split."""
    r, i = some_step(s, random, lambda step: step.kind == "recv" and not step.split and len(step.peers) == 1) or (0, None)
    rank = s.ranks[r]
    for k in range(i + 1, len(rank.steps)) if i is not None else ():
        a, b = rank.steps[i], rank.steps[k]
        if b.kind == "recv" and not b.split and len(b.peers) == 1 and len(a.dst.blocks) == len(b.dst.blocks) \
                and a.dst.buf == b.dst.buf and a.peers != b.peers:
            a.split, a.peers, a.dst = True, a.peers + b.peers, Span(a.dst.buf, a.dst.blocks + b.dst.blocks)
            a.after += [x for x in b.after if x < i]
            for later in rank.steps[k + 1:]:
                later.after = [i if x == k else x for x in later.after]
            return renumbered(rank, [x for x in range(len(rank.steps)) if x != k])


def signal(s, random):
    """One more message: of any block, into tmp that no other step uses, or into tmp that another step does use."""
    a, b = random.sample(range(s.P), 2)
    block = random.randrange(s.B)
    top = max([s.ranks[b].tmp] + [x + 1 for step in s.ranks[b].steps for y in step.spans() if y.buf == "tmp" for x in y.blocks])
    layer = random.randrange((top + s.B - 1) // s.B + 1)
    for r, step in ((a, Step("send", peers=(b,), operands=[Span(random.choice(("src", "src", "dst")), (block,))])),
                    (b, Step("recv", peers=(a,), dst=Span("tmp", (layer * s.B + block,))))):
        steps = s.ranks[r].steps
        at = random.randint(0, len(steps))
        for later in steps[at:]:
            later.after = [x + (x >= at) for x in later.after]
        if at and random.random() < 0.5:
            step.after = [random.randrange(at)]
        steps.insert(at, step)
        if at + 1 < len(steps) and random.random() < 0.6:
            steps[random.randrange(at + 1, len(steps))].after.append(at)


def order_anew(s, random):
    s.derive = True


CHANGES = ((drop, 1), (repeat, 1), (move, 3), (wait_less, 6), (wait_more, 1), (wait_else, 2), (redirect, 1), (other_span, 2),
           (share_tmp, 3), (tmp_to_dst, 2), (in_place, 3), (mark, 1), (other_side, 1), (other_kind, 1), (merge_sends, 3),
           (merge_receives, 3), (signal, 4), (order_anew, 1))


def changed(s, random):
    s = s.clone()
    for _ in range(random.choice((1, 1, 1, 2, 2, 3))):
        if any(rank.steps for rank in s.ranks):
            random.choices([c for c, _ in CHANGES], [w for _, w in CHANGES])[0](s, random)
    return s


# ---- from scratch ----

class Maker:
    """The steps of all ranks, in a possible order of execution, and the contents of their buffers."""

    def __init__(self, random):
        self.random, P = random, random.choice((2, 2, 3, 3, 3, 4))
        coll = random.choice(("allreduce", "allreduce", "reduce", "broadcast", "barrier"))
        self.s = s = Schedule(coll, P, random.choice((1, 1, 1, 2, 3)), name="made")
        s.root = random.randrange(P) if coll in ("reduce", "broadcast") else 0
        for rank in s.ranks:
            rank.inplace = random.random() < 0.4
        self.few = random.choice((1, 2, 4))

    def spare(self, blocks):
        """Somewhere in tmp."""
        layer = self.random.randrange(self.few)
        return Span("tmp", [layer * self.s.B + b for b in blocks])

    def own(self, blocks):
        return Span("src", blocks)

    def up(self, blocks):
        """Sum over a random tree. Returns the position of the sum on the root."""
        s, random = self.s, self.random
        left, at = list(range(s.P)), {r: self.own(blocks) for r in range(s.P)}
        random.shuffle(left)
        left.remove(s.root)
        left.append(s.root)
        while len(left) > 1:
            n = min(len(left) - 1, random.choice((1, 1, 2, 3)))
            children, to = left[:n], random.choice(left[n:])
            left = left[n:]
            last = len(left) == 1
            dst = Span("dst", blocks) if last or (s.coll != "reduce" and random.random() < 0.3) else self.spare(blocks)
            self.take(children, to, at, dst, blocks, last)
            at[to] = dst
        return at[s.root]

    def take(self, children, to, at, dst, blocks, last):
        random, steps = self.random, self.s.ranks[to].steps
        for c in children:
            self.s.ranks[c].steps.append(Step("send", peers=(to,), operands=[at[c]]))
        if random.random() < 0.5:
            peers = sorted(children) if len(children) < 3 else children
            sides = [[at[to], None], [None, at[to]]]
            steps.append(Step("recv_reduce", peers=peers, dst=dst, operands=random.choice(sides), last=last))
            return
        base = random.randrange(self.few)
        places = [Span("tmp", [(base + k) * self.s.B + b for b in blocks]) for k in range(len(children))]
        if len(children) > 1 and random.random() < 0.6:
            steps.append(Step("recv", True, children, Span("tmp", sum((p.blocks for p in places), ()))))
        else:
            for c, p in zip(children, places):
                steps.append(Step("recv", peers=(c,), dst=p))
        steps.append(Step("reduce", dst=dst, operands=[at[to], *places], last=last))

    def down(self, at, blocks):
        s, random = self.s, self.random
        have, want = {s.root: at}, [r for r in range(s.P) if r != s.root]
        random.shuffle(want)
        while want:
            n = min(len(want), random.choice((1, 1, 2, 3)))
            readers, want = want[:n], want[n:]
            source = random.choice(sorted(have))
            s.ranks[source].steps.append(Step("send", peers=readers, operands=[have[source]]))
            for r in readers:
                s.ranks[r].steps.append(Step("recv", peers=(source,), dst=Span("dst", blocks)))
                have[r] = Span("dst", blocks)

    def make(self):
        s, random = self.s, self.random
        cut = random.randint(1, s.B)
        for blocks in (range(cut), range(cut, s.B)):
            if not blocks:
                continue
            if s.coll == "broadcast":
                at = self.own(tuple(blocks))
            else:
                at = self.up(tuple(blocks))
            if s.coll != "reduce":
                self.down(at, tuple(blocks))
            if s.coll == "broadcast" and not s.ranks[s.root].inplace:
                s.ranks[s.root].steps.append(Step("copy", dst=Span("dst", blocks), operands=[at]))
        return s


def made(random):
    s = Maker(random).make()
    order_steps(s, random.choice((0, 0, 0.1, 0.3)), random)
    for _ in range(random.choice((0, 0, 1, 1, 2))):
        random.choice((signal, signal, wait_less, wait_else, move, share_tmp, merge_sends, merge_receives, in_place))(s, random)
    return s


def order_steps(s, less, random):
    """Each step waits for those before it that touch what it touches, but for a share of them."""
    for r, rank in enumerate(s.ranks):
        one = rank.inplace and r < s.data and (s.coll not in ("reduce", "broadcast") or r == s.root)
        seen = []
        for i, step in enumerate(rank.steps):
            reads = {("dst" if one and o.buf == "src" else o.buf, b) for o in step.operands if o for b in o.blocks}
            writes = {(step.dst.buf, b) for b in step.dst.blocks} if step.dst else set()
            step.after = [k for k, (rd, wr) in enumerate(seen)
                          if (wr & reads or wr & writes or rd & writes) and random.random() >= less]
            seen.append((reads, writes))


def texts(own, random, count):
    """Yield `count` schedules as text. own: tutti's schedules, as they were read."""
    while count:
        try:
            s = changed(random.choice(own), random) if random.random() < 0.55 else made(random)
            yield write(s)
        except Unreadable:
            continue
        count -= 1


def small(plans_, steps):
    return [s for s in (read(text) for _, text in plans_) if sum(len(r.steps) for r in s.ranks) <= steps]
