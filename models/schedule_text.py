# schedule_text.py - schedules as text (docs/schedules.md), read and written without the library.
#
# Idea       a span is a buffer and the list of its blocks, a peer range the list of its ranks:
#            a program that reads or changes a schedule needs no other form of them.
# SPDX-License-Identifier: BSD-3-Clause
import re

COLLECTIVES = {  # what a rank has of src, what it gets in dst, what is summed
    "allreduce": ("all", "all", "all"), "barrier": ("all", "all", "all"),
    "reduce_scatter": ("all", "own", "all"), "reduce": ("all", "root", "all"),
    "scan": ("all", "all", "upto"), "exscan": ("all", "all", "below"),
    "broadcast": ("root", "all", None), "scatter": ("root", "own", None),
    "allgather": ("own", "all", None), "gather": ("own", "root", None),
    "alltoall": ("all", "all", None)}
ONE_EACH = ("reduce_scatter", "allgather", "gather", "scatter", "alltoall")


class Unreadable(Exception):
    pass


class Span:
    __slots__ = ("buf", "blocks")

    def __init__(self, buf, blocks):
        self.buf, self.blocks = buf, tuple(blocks)

    def __eq__(self, other):
        return isinstance(other, Span) and (self.buf, self.blocks) == (other.buf, other.blocks)

    __hash__ = None


class Step:
    """`operands`: spans in their order; None stands for what comes in."""
    __slots__ = ("kind", "split", "peers", "dst", "operands", "last", "after")

    def __init__(self, kind, split=False, peers=(), dst=None, operands=(), last=False, after=()):
        self.kind, self.split, self.peers, self.dst = kind, split, tuple(peers), dst
        self.operands, self.last, self.after = list(operands), last, list(after)

    def clone(self):
        return Step(self.kind, self.split, self.peers, self.dst, self.operands, self.last, self.after)

    def spans(self):
        return [s for s in [self.dst, *self.operands] if s is not None]


class Rank:
    __slots__ = ("inplace", "tmp", "steps")

    def __init__(self, inplace=False, tmp=0, steps=()):
        self.inplace, self.tmp, self.steps = inplace, tmp, list(steps)


class Schedule:
    def __init__(self, coll, P, B, root=0, data=None, derive=False, name="made"):
        self.coll, self.P, self.B, self.root, self.name = coll, P, B, root, name
        self.data, self.derive = P if data is None else data, derive
        self.ranks = [Rank() for _ in range(P)]

    def clone(self):
        new = Schedule(self.coll, self.P, self.B, self.root, self.data, self.derive, self.name)
        new.ranks = [Rank(r.inplace, r.tmp, [s.clone() for s in r.steps]) for r in self.ranks]
        return new


def part_of(step, entry):
    """Positions of the step's span that belong to an entry of its peers."""
    span = step.operands[0] if step.kind == "send" else step.dst
    if not step.split:
        return range(len(span.blocks))
    each = len(span.blocks) // len(step.peers)
    return range(each * entry, each * (entry + 1))


# ---- reading ----

SPAN = re.compile(r"(src|dst|tmp)\[(\d+)(?:\.\.(\d+))?(?:%(\d+))?(?:\*(\d+))?(?:\+(\d+))? ?(?:x(\d+))?\]\s*")
PEERS = re.compile(r"(\d+)(?:\.\.(\d+)(?::(-?\d+))?)?\s*")
STEP = re.compile(r"(\d+)\s+(send_split|send|recv_split|recv_reduce|recv|copy|reduce)\s+(?:(->|<-)\s*)?")
HEAD = re.compile(r"tutti-schedule 1\s+(\w+)\s+((?:[^\s(]|\([^)]*\)+)+)\s+P=(\d+)((?:\s+\w+(?:=\d+)?)*)\s*$")


def read_span(text):
    m = SPAN.match(text)
    if not m:
        raise Unreadable("a span, not " + text)
    first, last, ring, stride, base, repeat = (int(x) if x else None for x in m.groups()[1:])
    last = first if last is None else last
    ring = max(first, last) + 1 if ring is None else ring
    count = last - first + 1 if last >= first else last + ring - first + 1
    if first >= ring or last >= ring or stride == 0 or repeat == 0:
        raise Unreadable("a span inside its ring, not " + text)
    one = [(first + k) % ring for k in range(count)]
    blocks = [(base or 0) + (stride or 1) * (k + ring * j) for j in range(repeat or 1) for k in one]
    return Span(m[1], blocks), text[m.end():]


def read_peers(text, P):
    m = PEERS.match(text)
    if not m or int(m[1]) >= P or int(m[2] or 0) >= P:
        raise Unreadable("ranks, not " + text)
    peers, stride = [int(m[1])], int(m[3] or 1)
    while m[2] and peers[-1] != int(m[2]):
        peers.append((peers[-1] + stride) % P)
        if len(peers) > P:
            raise Unreadable("a stride that reaches the end of its range")
    return tuple(peers), text[m.end():]


def read_operands(text):
    operands = []
    while True:
        m = re.match(r"in\b\s*", text)
        span, text = (None, text[m.end():]) if m else read_span(text)
        operands.append(span)
        m = re.match(r"op\b\s*", text)
        if not m:
            return operands, text
        text = text[m.end():]


def read_step(text, P):
    m = STEP.match(text)
    if not m:
        raise Unreadable("a step, not " + text)
    word, rest, step = m[2], text[m.end():], Step(m[2].removesuffix("_split"), m[2].endswith("_split"))
    if word not in ("copy", "reduce"):
        step.peers, rest = read_peers(rest, P)
    span, rest = read_span(rest)
    if step.kind == "send":
        step.operands = [span]
    else:
        step.dst = span
    if rest.startswith("="):
        step.operands, rest = read_operands(rest[1:].lstrip())
    words = rest.split()
    if words[:1] == ["last"]:
        step.last, words = True, words[1:]
    if words[:1] == ["after"]:
        step.after, words = [int(w) for w in words[1:]], []
    if words:
        raise Unreadable("the end of the line, not " + rest)
    return step


def read(text):
    lines = [s for s in (line.split("#")[0].strip() for line in text.splitlines()) if s]
    m = HEAD.match(lines[0]) if lines else None
    if not m or m[1] not in COLLECTIVES:
        raise Unreadable("a header")
    more = dict((w + "=1").split("=")[:2] for w in m[4].split())
    P = int(m[3])
    s = Schedule(m[1], P, int(more.get("blocks", P)), int(more.get("root", 0)),
                 int(more.get("data", P)), "derive" in more, m[2])
    if "root" not in COLLECTIVES[s.coll][:2]:
        s.root = 0
    at = None
    for line in lines[1:]:
        words = line.split()
        if words[0] == "rank":
            at = s.ranks[int(words[1])]
            at.inplace = "inplace" in words
            at.tmp = max([0] + [int(w[4:]) for w in words if w.startswith("tmp=")])
        else:
            at.steps.append(read_step(line, P))
    return s


# ---- writing ----

def span_text(span):
    b, n = span.blocks, len(span.blocks)
    gaps = {y - x for x, y in zip(b, b[1:])}
    if n == 1:
        inside = "%d" % b[0]
    elif gaps == {1}:
        inside = "%d..%d" % (b[0], b[-1])
    elif len(gaps) == 1 and min(gaps) > 0:
        inside = "0..%d%%%d*%d+%d" % (n - 1, n, gaps.pop(), b[0])
    else:
        ring = max(b) + 1
        if any(y != (x + 1) % ring for x, y in zip(b, b[1:])) or n > ring:
            raise Unreadable("blocks without a text: %s" % (b,))
        inside = "%d..%d%%%d" % (b[0], b[-1], ring)
    return "%s[%s]" % (span.buf, inside)


def peers_text(peers, P):
    if len(peers) == 1:
        return "%d" % peers[0]
    stride = (peers[1] - peers[0]) % P
    if stride == 0 or any((x + stride) % P != y for x, y in zip(peers, peers[1:])):
        raise Unreadable("peers without a text: %s" % (peers,))
    return "%d..%d" % (peers[0], peers[-1]) + (":%d" % stride if stride != 1 else "")


def step_text(s, i, step):
    words = ["%d %s%s" % (i, step.kind, "_split" if step.split else "")]
    if step.peers:
        words.append(("->" if step.kind == "send" else "<-") + peers_text(step.peers, s.P))
    if step.dst:
        words.append(span_text(step.dst))
    if step.operands:
        words += ["="] * (step.kind != "send")
        words.append(" op ".join(span_text(o) if o else "in" for o in step.operands))
    if step.last:
        words.append("last")
    if step.after:
        words.append("after " + " ".join(map(str, sorted(set(step.after)))))
    return " ".join(words)


def write(s):
    lines = ["tutti-schedule 1 %s %s P=%d blocks=%d%s%s%s" % (
        s.coll, s.name, s.P, s.B, " root=%d" % s.root if s.root else "",
        " data=%d" % s.data if s.data < s.P else "", " derive" if s.derive else "")]
    for r, rank in enumerate(s.ranks):
        lines.append("rank %d%s%s" % (r, " inplace" if rank.inplace else "", " tmp=%d" % rank.tmp if rank.tmp else ""))
        lines += [" " + step_text(s, i, step) for i, step in enumerate(rank.steps)]
    return "\n".join(lines) + "\n"
