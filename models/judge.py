# judge.py - a second checker of schedules, which runs src/prove/SEMANTICS.md literally.
#
#   /usr/bin/python3 models/judge.py FILE     a verdict for each kind of wire, and the run that shows it
#
# Idea       for each way in which blocks may be empty and each kind of wire, list the events of all
#            ranks, and for each event the events that it waits for. An event that has happened stays
#            so. The runs are therefore the orders that respect these waits, and every set of events
#            that contains all events its members wait for is reached by some run. Two accesses
#            overlap in some run if and only if neither has ended in the smallest such set in which
#            both have begun. If no accesses overlap, all runs leave the same values, and one run
#            shows them. models/search.py walks through all runs one by one and must find the same.
# Wires      the page's three, and "mixed": each message may or may not be copied, at any moment.
# Invariant  the judge follows the page and docs/schedules.md, and shares no code with the prover.
# SPDX-License-Identifier: BSD-3-Clause
import sys

from schedule_text import COLLECTIVES, ONE_EACH, Unreadable, part_of, read

WIRES = ("whole", "per message", "buffered", "mixed")
NOTHING, MUCH = ((("nothing", 0),), 0), ((("too much", 0),), 2)


class Message:
    __slots__ = ("number", "sender", "reader", "send", "recv", "out", "into", "before")


class Game:
    """A schedule with its steps under one numbering, its messages matched, its faults listed."""

    def __init__(self, s):
        self.s, self.steps, self.rank_of, self.base = s, [], [], []
        for r, rank in enumerate(s.ranks):
            self.base.append(len(self.steps))
            self.steps += rank.steps
            self.rank_of += [r] * len(rank.steps)
        self.faults = []
        self.messages, self.outgoing, self.incoming = [], [[] for _ in self.steps], [[] for _ in self.steps]
        has = [bool(self.has(r, 0)) and bool(self.has(r, 1)) for r in range(s.P)]
        self.inplace = [rank.inplace and has[r] for r, rank in enumerate(s.ranks)]
        for id, step in enumerate(self.steps):
            self.check(id, step)
        if not self.faults:
            self.match()
        self.after = [[self.base[self.rank_of[id]] + a for a in step.after] for id, step in enumerate(self.steps)]
        if s.derive and not self.faults:
            self.derive()

    def has(self, r, which):
        """The blocks of src (0) or dst (1) that the collective gives to a rank."""
        s, what = self.s, COLLECTIVES[self.s.coll][which]
        if r >= s.data or (what == "root" and r != s.root) or (which and s.coll == "exscan" and r == 0):
            return range(0)
        return range(r, r + 1) if what == "own" else range(s.B)

    def fault(self, id, text):
        r = self.rank_of[id]
        self.faults.append("rank %d step %d: %s" % (r, id - self.base[r], text))

    def at(self, id, span, i):
        """Where position i of a span lies: in place, src and dst are one buffer, called dst."""
        r = self.rank_of[id]
        return r, "dst" if span.buf == "src" and self.inplace[r] else span.buf, span.blocks[i]

    def own_part(self, id):
        """The positions of a split span that belong to the rank itself."""
        step, r = self.steps[id], self.rank_of[id]
        return [i for e, p in enumerate(step.peers) if p == r and step.split for i in part_of(step, e)]

    def check(self, id, step):
        r, s = self.rank_of[id], self.s
        cargo = step.dst or step.operands[0]
        if step.split and (step.kind == "recv_reduce" or len(cargo.blocks) % len(step.peers)):
            return self.fault(id, "its span does not split")
        if len(set(step.peers)) < len(step.peers):
            return self.fault(id, "a rank twice among its peers")
        if any(a >= id - self.base[r] for a in step.after):
            return self.fault(id, "it waits for a later step")
        if step.kind == "recv_reduce":
            sides = step.operands.count(None)
            if sides == 2 and step.peers.count(r) != 1:
                return self.fault(id, "its own operand has no place")
            if len(step.operands) - sides != 1 or sides == 0:
                return self.fault(id, "it needs one local operand and the received one")
        if step.last and COLLECTIVES[s.coll][2] not in ("all", None):
            return self.fault(id, "no sum of a scan is complete")
        skip = self.own_part(id)
        self.check_bounds(id, step, skip)
        self.check_inside(id, step, skip)

    def check_bounds(self, id, step, skip):
        r, s = self.rank_of[id], self.s
        for write in (False, True):
            for span in [step.dst] if write and step.dst else step.operands if not write else []:
                for i in range(len(span.blocks)) if span else ():
                    _, buf, block = self.at(id, span, i)
                    if i in skip and (write or step.kind == "send") or buf == "tmp":
                        continue
                    mine = self.has(r, buf == "dst")
                    if self.inplace[r] and not write:
                        mine = range(s.B)
                    if block not in mine or (write and buf == "src"):
                        return self.fault(id, "it %s %s[%d], which this rank may not" % (
                            "writes" if write else "reads", buf, block))

    def check_inside(self, id, step, skip):
        """A step writes no block twice, and overwrites an operand only at the position of that operand."""
        if not step.dst:
            return
        others = sum(p != self.rank_of[id] for p in step.peers)
        if step.kind == "recv" and not step.split and others > 1:
            return self.fault(id, "several messages into the same blocks")
        place = {}
        for i in range(len(step.dst.blocks)):
            if i not in skip:
                if self.at(id, step.dst, i) in place:
                    return self.fault(id, "it writes a block twice")
                place[self.at(id, step.dst, i)] = i
        for span in step.operands:
            if span and (len(span.blocks) != len(step.dst.blocks) or not all(map(self.alike, span.blocks, step.dst.blocks))):
                return self.fault(id, "its operands are of other sizes")
            for i in range(len(span.blocks)) if span else ():
                if place.get(self.at(id, span, i), i) != i:
                    return self.fault(id, "it writes a block that it reads at another position")

    def alike(self, a, b):
        return self.s.coll == "alltoall" or a % self.s.B == b % self.s.B

    def match(self):
        ends = ({}, {})
        for id, step in enumerate(self.steps):
            for e, peer in enumerate(step.peers):
                r = self.rank_of[id]
                if peer != r:
                    sends = step.kind == "send"
                    ends[not sends].setdefault((r, peer) if sends else (peer, r), []).append((id, e))
        for pair in sorted(set(ends[0]) | set(ends[1])):
            out, into = ends[0].get(pair, []), ends[1].get(pair, [])
            if len(out) != len(into):
                late = out[len(into)] if len(out) > len(into) else into[len(out)]
                return self.fault(late[0], "a message between ranks %d and %d with one end" % pair)
            before = None
            for (send, e), (recv, f) in zip(out, into):
                before = self.meet(pair, send, e, recv, f, before)
                if before is None:
                    return self.fault(send, "its reader expects blocks of other sizes")

    def meet(self, pair, send, e, recv, f, before):
        m = Message()
        m.number, (m.sender, m.reader), m.send, m.recv, m.before = len(self.messages), pair, send, recv, before
        out, into = self.steps[send], self.steps[recv]
        m.out = [self.at(send, out.operands[0], i) for i in part_of(out, e)]
        m.into = [self.at(recv, into.dst, i) for i in part_of(into, f)]
        if len(m.out) != len(m.into) or not all(self.alike(a[2], b[2]) for a, b in zip(m.out, m.into)):
            return None
        self.messages.append(m)
        self.outgoing[send].append(m)
        self.incoming[recv].append(m)
        return m

    def touches(self, id):
        """What a step reads and what it writes."""
        step, skip = self.steps[id], self.own_part(id)
        reads = {self.at(id, o, i) for o in step.operands if o for i in range(len(o.blocks))
                 if step.kind != "send" or i not in skip}
        writes = {self.at(id, step.dst, i) for i in range(len(step.dst.blocks)) if i not in skip} if step.dst else set()
        return reads, writes

    def derive(self):
        for r, base in enumerate(self.base):
            seen = []
            for id in range(base, base + len(self.s.ranks[r].steps)):
                reads, writes = self.touches(id)
                self.after[id] = [x for x, (rd, wr) in seen if wr & reads or wr & writes or rd & writes]
                seen.append((id, (reads, writes)))

    # ---- which blocks have bytes ----

    def sizes(self):
        """The sets of blocks that have bytes, as far as the events differ: [set with bytes, blocks looked at]."""
        s, full = self.s, frozenset(range(self.s.B))
        if s.coll == "alltoall":
            sets = [full]
        elif s.coll in ONE_EACH:
            sets = [frozenset(b for b in full if x >> b & 1) for x in range(2 ** s.B - 1, 0, -1)]
        else:
            sets = [frozenset(range(n)) for n in range(s.B, 0, -1)]
        groups = {}
        for blocks in sets:
            key = tuple(any(b % s.B in blocks for _, _, b in m.out) for m in self.messages)
            groups.setdefault(key, [key, set()])[1].update(blocks)
        return list(groups.values())


class Access:
    """It may begin once the events in `begins` have happened, and is over after any of those in `over`."""
    __slots__ = ("step", "write", "begins", "over", "place", "message")

    def __init__(self, step, write, begins, over, place, message):
        self.step, self.write, self.begins, self.over = step, write, begins, over
        self.place, self.message = place, message


class Play:
    """Events, what each waits for, and accesses, with these wires and these messages with bytes."""

    def __init__(self, game, wires, bytes_of, blocks):
        self.g, self.wires, self.bytes_of, self.blocks = game, wires, bytes_of, blocks
        self.copied_at_start = wires in ("buffered", "mixed")  # of mixed runs, the one where all are copied
        n = len(game.steps)
        self.landing, at = [0] * len(game.messages), 2 * n
        self.of_step = [0] * n
        for id, step in enumerate(game.steps):
            if step.dst is None or not step.peers:
                continue
            together = wires == "whole" or step.kind == "recv_reduce"
            self.of_step[id] = at
            for m in game.incoming[id]:
                self.landing[m.number] = at
                at += not together
            at += together
        self.waits, self.accesses = [[] for _ in range(at)], []
        for id in range(n):
            self.waits_of(id, game.steps[id])
        for id in range(n):
            self.accesses_of(id, game.steps[id])

    def waits_of(self, id, step):
        g, waits, start, end = self.g, self.waits, 2 * id, 2 * id + 1
        waits[start] = [2 * a + 1 for a in g.after[id]]
        waits[end] = [start]
        if step.kind == "send":
            for m in g.outgoing[id] if self.wires in ("whole", "per message") else ():
                if self.bytes_of[m.number]:
                    waits[end].append(2 * m.recv + 1 if self.wires == "whole" else self.landing[m.number])
        elif step.peers:
            waits[self.of_step[id]].append(start) if self.of_step[id] < len(waits) else None
            for m in g.incoming[id]:
                mine = waits[self.landing[m.number]]
                mine.append(start)
                if m.before:
                    mine.append(self.landing[m.before.number])
                if self.bytes_of[m.number]:
                    mine.append(2 * m.send)
                waits[end].append(self.landing[m.number])
            if step.kind == "recv_reduce" or self.wires == "whole":
                waits[end].append(self.of_step[id])

    def accesses_of(self, id, step):
        g, start, end = self.g, 2 * id, 2 * id + 1

        def add(write, begins, over, places, message=None):
            for place in places:
                if place[2] % g.s.B in self.blocks:
                    self.accesses.append(Access(id, write, begins, over, place, message))
        if step.kind == "send":
            for m in g.outgoing[id]:
                if self.wires == "buffered":  # in one moment, the start
                    add(False, self.waits[start], 1 << start, m.out, m.number)
                else:
                    add(False, [start], 1 << end | 1 << self.landing[m.number], m.out, m.number)
        elif step.kind == "recv":
            for m in g.incoming[id]:
                landing = self.landing[m.number]
                add(True, self.waits[landing], 1 << landing, m.into)
        else:
            reads, writes = g.touches(id)
            moment = self.of_step[id] if step.peers else end
            begins = self.waits[moment] if step.peers else [start]
            add(False, begins, 1 << moment, reads)
            add(True, begins, 1 << moment, writes)

    def order(self):
        """One run; and for each event, which had to be before it. Events that never come are missing."""
        left, waiters, run, self.past = [], [[] for _ in self.waits], [], [0] * len(self.waits)
        for e, waits in enumerate(self.waits):
            left.append(len(waits))
            for w in waits:
                waiters[w].append(e)
        queue = [e for e, n in enumerate(left) if n == 0]
        for e in queue:
            run.append(e)
            past = 0
            for w in self.waits[e]:
                past |= self.past[w] | 1 << w
            self.past[e] = past
            for x in waiters[e]:
                left[x] -= 1
                if left[x] == 0:
                    queue.append(x)
        return run

    def begun(self, access):
        past = 0
        for w in access.begins:
            past |= self.past[w] | 1 << w
        return past

    def race(self):
        at = {}
        for a in self.accesses:
            at.setdefault(a.place, []).append((a, self.begun(a)))
        for place, list_ in at.items():
            for i, (a, past) in enumerate(list_):
                for b, other in list_[:i]:
                    if (a.write or b.write) and a.step != b.step and not a.over & other and not b.over & past:
                        return b, a, past | other
        return None

    # ---- one run ----

    def start_memory(self):
        g = self.g
        self.memory = {(r, "dst" if g.inplace[r] else "src", b): (((r, b),), 0)
                       for r in range(g.s.P) for b in g.has(r, 0)}
        self.copies = {}

    def happen(self, e):
        """What an event does to the memory. A value is the inputs in it, and whether it was marked last."""
        g, memory, n = self.g, self.memory, len(self.g.steps)
        step, id = (g.steps[e // 2], e // 2) if e < 2 * n else (None, None)
        if e >= 2 * n:
            for m in g.messages:
                if self.landing[m.number] == e and g.steps[m.recv].kind == "recv":
                    for (here, there) in zip(m.into, self.arriving(m)):
                        memory[here] = there
            for id in range(n):
                if self.of_step[id] == e and g.steps[id].kind == "recv_reduce":
                    self.combine(id)
        elif e % 2 and not step.peers:
            self.combine(id)
        elif e % 2 == 0 and step.kind == "send" and self.copied_at_start:
            for m in g.outgoing[id]:
                self.copies[m.number] = [memory.get(p, NOTHING) for p in m.out]

    def arriving(self, m):
        return self.copies.get(m.number) or [self.memory.get(p, NOTHING) for p in m.out]

    def combine(self, id):
        g, step = self.g, self.g.steps[id]
        coming = {m.sender: self.arriving(m) for m in g.incoming[id]}
        among = step.operands.count(None) == 2
        results = []
        for i in range(len(step.dst.blocks)):
            terms = []
            for o in step.operands:
                own = self.memory.get(g.at(id, o, i), NOTHING) if o else None
                if among and own:
                    terms = [coming[p][i] if p != g.rank_of[id] else own for p in step.peers]
                elif o:
                    terms.append(own)
                elif not among:
                    terms += [coming[p][i] for p in step.peers if p in coming]
            results.append(terms[0] if step.kind == "copy" else total(terms, step.last, g.s.P))
        for i, value in enumerate(results):
            self.memory[g.at(id, step.dst, i)] = value

    def wrong(self):
        """What a rank does not get, or None."""
        g, s = self.g, self.g.s
        sums = COLLECTIVES[s.coll][2]
        for r in range(s.P):
            for b in g.has(r, 1):
                if b not in self.blocks:
                    continue
                if sums:
                    wanted = [(x, b) for x in range(s.data if sums == "all" else r + (sums == "upto"))]
                else:
                    wanted = [(s.root, b) if COLLECTIVES[s.coll][0] == "root" else (b, r if s.coll == "alltoall" else b)]
                inputs, mark = self.memory.get((r, "dst", b), NOTHING)
                if sorted(inputs, key=str) != sorted(wanted, key=str):
                    return "rank %d ends with dst[%d] = %s" % (r, b, say(inputs))
                if mark == 2 or (sums == "all" and len(wanted) > 1 and mark != 1):
                    return "rank %d ends with dst[%d] complete, but `last` is not just on the step that makes it so" % (r, b)
        return None


def total(terms, last, P):
    inputs = sum((t[0] for t in terms), ())
    if len(inputs) > P:  # in no result
        return MUCH
    return inputs, 2 if any(t[1] for t in terms) else int(last)


def say(inputs):
    return " + ".join("%s%s" % ("rank %d's " % r if isinstance(r, int) else r + " ", b) for r, b in inputs)


def deaf(g):
    """In a barrier, a rank that leaves without having heard of another: (rank, other), or None."""
    n = len(g.steps)  # events: starts, ends, and the messages' landings
    tells = [(n + a, id) for id, after in enumerate(g.after) for a in after]
    for id, step in enumerate(g.steps):
        landings = [2 * n + m.number for m in g.messages if m.recv == id]
        tells += [(id, n + id)] + [(x, n + id) for x in landings]
        if step.kind == "recv_reduce":
            tells += [(x, y) for x in landings for y in landings if x != y]
    for m in g.messages:
        tells.append((m.recv, 2 * n + m.number))
        if any(b % g.s.B == 0 for _, _, b in m.out):
            tells.append((m.send, 2 * n + m.number))
        if m.before is not None:
            tells.append((2 * n + m.before.number, 2 * n + m.number))
    heard = [{r} for r in g.rank_of] + [set() for _ in range(n + len(g.messages))]
    grown = True
    while grown:
        grown = False
        for a, b in tells:
            grown |= not heard[a] <= heard[b]
            heard[b] |= heard[a]
    for r in range(g.s.P):
        all_ = {r}.union(*[heard[n + id] for id, x in enumerate(g.rank_of) if x == r])
        for other in range(g.s.P):
            if other not in all_:
                return r, other
    return None


def play_one(g, wires, bytes_of, blocks):
    p = Play(g, wires, bytes_of, blocks)
    run = p.order()
    if len(run) < len(p.waits):
        return "deadlock", p, run
    race = p.race()
    if race:
        return "race", p, race
    p.start_memory()
    for e in run:
        p.happen(e)
    wrong = p.wrong()
    return ("wrong", p, wrong) if wrong else ("right", p, run)


def judge(s, wires=WIRES):
    """{kind of wire: (verdict, play, what shows it)}; of a text without a meaning: {"all": ("malformed", None, why)}."""
    g = Game(s)
    if not g.faults and s.coll == "barrier" and deaf(g):
        g.faults.append("rank %d leaves the barrier without rank %d" % deaf(g))
    if g.faults:
        return {"all": ("malformed", None, g.faults[0])}
    verdicts = {}
    for w in wires:
        for bytes_of, blocks in g.sizes():
            verdicts[w] = play_one(g, w, bytes_of, blocks)
            if verdicts[w][0] != "right":
                break
    return verdicts


# ---- in words ----

def name_event(p, e):
    g, n = p.g, len(p.g.steps)

    def step(id):
        return "rank %d step %d" % (g.rank_of[id], id - g.base[g.rank_of[id]])
    if e < 2 * n:
        return "%s %s" % (step(e // 2), "ends" if e % 2 else "starts")
    of = [m for m in g.messages if p.landing[m.number] == e]
    if not of:
        return "%s sums" % step(p.of_step.index(e))
    return "what rank%s sent lands in %s" % (" " + ", ".join(str(m.sender) for m in of), step(of[0].recv))


def tell(verdict):
    what, p, shown = verdict
    if what == "malformed" or p is None:
        return [what + ": " + shown]
    empty = sorted(set(range(p.g.s.B)) - {b % p.g.s.B for m in p.g.messages if p.bytes_of[m.number] for _, _, b in m.out} - p.blocks)
    lines = ["where blocks %s are empty:" % empty] if empty else []
    if what == "race":
        a, b, done = shown
        lines += ["  " + name_event(p, e) for e in p.order() if done >> e & 1]
        for x in (a, b):
            r = p.g.rank_of[x.step]
            lines.append("  rank %d step %d may now be %s %s[%d]" % (
                r, x.step - p.g.base[r], "writing" if x.write else "reading", x.place[1], x.place[2]))
    elif what == "deadlock":
        lines += ["  " + name_event(p, e) for e in shown]
        for e in set(range(len(p.waits))) - set(shown):
            if e % 2 == 0 or e >= 2 * len(p.g.steps):
                lines.append("  never: %s, which needs: %s" % (
                    name_event(p, e), "; ".join(name_event(p, w) for w in p.waits[e] if w not in shown)))
    elif what == "wrong":
        lines += ["  " + name_event(p, e) for e in p.order()] + ["  " + shown]
    return [what] + lines


def main():
    try:
        verdicts = judge(read(open(sys.argv[1]).read() if sys.argv[1:2] != ["-"] else sys.stdin.read()))
    except Unreadable as e:
        sys.exit("unreadable: expected %s" % e)
    for wires, verdict in verdicts.items():
        print("\n".join(["%s: %s" % (wires, tell(verdict)[0])] + tell(verdict)[1:]))
    sys.exit(any(v[0] != "right" for v in verdicts.values()))


if __name__ == "__main__":
    main()
