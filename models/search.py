# search.py - every run of a schedule, one event after another. The result must be the one that
# models/judge.py finds in one step.
#
# Idea       a state is the set of past events, the copied messages, and the contents of the memory.
#            The search continues from each new state with every event that may be next. It leaves
#            nothing out, so it suits small schedules only: when its budget of states is spent, it
#            reports that the schedule is too large, not that it is right.
# Wires      with mixed ones, a message may be copied at any moment between its start and its
#            landing, and a send ends when each of its messages was copied or has landed.
# SPDX-License-Identifier: BSD-3-Clause
from judge import Game, Play


class Walk:
    def __init__(self, play):
        self.p, self.mixed = play, play.wires == "mixed"
        g = play.g
        play.copied_at_start &= not self.mixed
        play.start_memory()
        places = {a.place for a in play.accesses} | set(play.memory) | {p for m in g.messages for p in m.out + m.into}
        for id in range(len(g.steps)):
            places |= set.union(*g.touches(id))
        self.places = sorted(places)
        self.needs = [sum({1 << w for w in waits}) for waits in play.waits]
        self.by_place = {}
        for a in play.accesses:
            begins = sum({1 << w for w in a.begins})
            self.by_place.setdefault(a.place, []).append((a, begins, a.message if self.mixed else None))
        self.by_place = [v for v in self.by_place.values() if len(v) > 1 and any(a.write for a, _, _ in v)]

    def first(self):
        return 0, 0, self.kept(), ()

    def kept(self):
        return tuple(self.p.memory.get(x) for x in self.places)

    def may_be_next(self, done, copied):
        p, n = self.p, 2 * len(self.p.g.steps)
        for e, needs in enumerate(self.needs):
            if done >> e & 1 or needs & ~done:
                continue
            if self.mixed and e < n and e % 2:
                if any(not copied >> m.number & 1 and not done >> p.landing[m.number] & 1
                       for m in p.g.outgoing[e // 2] if p.bytes_of[m.number]):
                    continue
            yield e, None
        for m in p.g.messages if self.mixed else ():
            if done >> 2 * m.send & 1 and not copied >> m.number & 1 and not done >> p.landing[m.number] & 1:
                yield None, m

    def go(self, state, e, m):
        done, copied, memory, copies = state
        p = self.p
        p.memory = {x: v for x, v in zip(self.places, memory) if v is not None}
        p.copies = dict(copies)
        if m:
            p.copies[m.number] = list(p.arriving(m))
            copied |= 1 << m.number
        else:
            p.happen(e)
            done |= 1 << e
        return done, copied, self.kept(), tuple(sorted((k, tuple(v)) for k, v in p.copies.items()))

    def overlap(self, done, copied):
        for accesses in self.by_place:
            now = [a for a, begins, message in accesses if not begins & ~done and not a.over & done
                   and not (message is not None and copied >> message & 1)]
            for i, a in enumerate(now):
                if any((a.write or b.write) and a.step != b.step for b in now[:i]):
                    return True
        return False

    def ends(self, state):
        p = self.p
        if state[0].bit_count() < len(p.waits):
            return "deadlock"
        p.memory = {x: v for x, v in zip(self.places, state[2]) if v is not None}
        return "wrong" if p.wrong() else "right"


def search_one(play, expected, budget):
    """What runs come to: a set of verdicts; None: too large. It may stop where `expected` is a race or a deadlock."""
    walk, found = Walk(play), set()
    seen, stack = {walk.first()}, [walk.first()]
    while stack:
        state = stack.pop()
        if walk.overlap(state[0], state[1]):
            found.add("race")
        nexts = list(walk.may_be_next(state[0], state[1]))
        if not nexts:
            found.add(walk.ends(state))
        if expected in found and expected in ("race", "deadlock"):
            return found
        for e, m in nexts:
            new = walk.go(state, e, m)
            if new not in seen:
                seen.add(new)
                stack.append(new)
        if len(seen) > budget:
            return None
    return found


def agrees(s, wires, verdict, budget):
    """Does every run say so? None: too large. It looks at all sizes up to the one that the verdict is about."""
    g = Game(s)
    for bytes_of, blocks in g.sizes():
        play = Play(g, wires, bytes_of, blocks)
        about = verdict[0] == "right" or (verdict[1].bytes_of, verdict[1].blocks) == (bytes_of, blocks)
        expected = verdict[0] if about else "right"
        found = search_one(play, expected, budget)
        if found is None:
            return None
        if expected == "race" and "race" not in found or expected == "deadlock" and "deadlock" not in found:
            return False
        if expected in ("right", "wrong") and found != {expected}:
            return False
        if verdict[0] != "right" and about:
            return True
    return True
