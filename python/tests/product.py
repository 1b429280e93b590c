"""product.py - every collective in each form, for every type and each op of that type, compared with numpy.

    tutti run -n 3 python3 python/tests/product.py [COUNT ...]

SPDX-License-Identifier: BSD-3-Clause
"""
import os
import sys

import numpy as np
import tap

import tutti

comm = tutti.init()
P, me = comm.size, comm.rank
COUNTS = [int(n) for n in sys.argv[1:]] or [1, 7]
PAIR = {"float_int": "f4", "double_int": "f8", "long_int": "i8", "int_int": "i4", "short_int": "i2"}
# tutti's name of a type: numpy's name, and the value for dtype=.
TYPES = {name: (name, None) for name in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
                                         "float16", "float32", "float64", "complex64", "complex128", "bool")}
TYPES["bf16"] = ("uint16", "bf16")
FP8 = {"fp8_e4m3": (3, 7, 0x7F), "fp8_e5m2": (2, 15, 0x7C)}  # bits of the fraction, bias, number of finite magnitudes
TYPES.update({name: ("uint8", name) for name in FP8})
TYPES.update({name: (np.dtype([("v", v), ("i", "i4")], align=True), None) for name, v in PAIR.items()})
WHOLE = ("sum", "prod", "min", "max", "avg", "band", "bor", "bxor", "land", "lor", "lxor")
LOGICAL = ("land", "lor", "lxor")
MANNERS = ("blocking", "started", "persistent")


def ops_of(kind):
    if kind in PAIR:
        return ("minloc", "maxloc")
    if kind == "bool":
        return ("prod", "min", "max", "band", "bor", "bxor", "land", "lor", "lxor")
    if "int" in kind:
        return WHOLE
    return WHOLE[:2] + WHOLE[4:5] if "complex" in kind else WHOLE[:5]


# ---- types that numpy lacks: conversion to float, and back with rounding to nearest, ties to even ----


def widen(x, kind):
    if kind == "bf16":
        return (x.astype(np.uint32) << 16).view(np.float32)
    fraction, bias, _ = FP8[kind]
    exponent, bits = (x & 0x7F) >> fraction, x & ((1 << fraction) - 1)
    size = np.where(exponent == 0, bits / 2.0 ** fraction * 2, 1 + bits / 2.0 ** fraction)
    return (np.where(x & 0x80, -1, 1) * size * 2.0 ** (exponent.astype(int) - bias)).astype(np.float32)


def narrow(x, kind):
    if kind in FP8:
        known = widen(np.arange(FP8[kind][2], dtype=np.uint8), kind)
        distance = abs(known[None, :] - abs(x)[:, None])
        even = np.argmin(distance + (np.arange(len(known)) % 2 == 1) * 1e-9, axis=1)  # ties: the even one
        return (even + np.where(x < 0, 0x80, 0)).astype(np.uint8)
    bits = x.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def of(rank, n, kind):
    """The data of a rank: small numbers, whose sums are exact in every order."""
    x = (np.arange(n) * 7 + rank * 3) % 3 + (1 if kind != "bool" else 0)
    if kind in FP8:
        return narrow((x == 2).astype(np.float32), kind)
    if kind == "bf16":
        return narrow(x.astype(np.float32), kind)
    if kind in PAIR:
        both = np.zeros(n, TYPES[kind][0])
        both["v"], both["i"] = x, rank
        return both
    return (x * (1 + 1j) if "complex" in kind else x).astype(TYPES[kind][0])


def pairs(parts, op):
    best = parts[0].copy()
    for x in parts[1:]:
        better = x["v"] < best["v"] if op == "minloc" else x["v"] > best["v"]
        better |= (x["v"] == best["v"]) & (x["i"] < best["i"])
        best[better] = x[better]
    return best


def mean(total, kind, n):
    if "int" in kind:
        return (np.sign(total.astype(object)) * (abs(total.astype(object)) // n)).astype(total.dtype)
    if kind == "complex64":
        return (total.real / np.float32(n) + 1j * (total.imag / np.float32(n))).astype(total.dtype)
    if kind == "float16":
        return (total.astype(np.float32) / np.float32(n)).astype(total.dtype)
    return (total / total.real.dtype.type(n)).astype(total.dtype)


def combined(parts, kind, op):
    """The op over the ranks' parts, computed with numpy."""
    if len(parts) == 1:
        return (parts[0] != 0).astype(parts[0].dtype) if op in LOGICAL else parts[0]
    if kind in PAIR:
        return pairs(parts, op)
    if kind == "bf16" or kind in FP8:
        return narrow(combined([widen(x, kind) for x in parts], "float32", op), kind)
    stack = np.stack(parts)
    plain = {"sum": np.add, "avg": np.add, "prod": np.multiply, "min": np.minimum, "max": np.maximum,
             "band": np.bitwise_and, "bor": np.bitwise_or, "bxor": np.bitwise_xor, "land": np.logical_and,
             "lor": np.logical_or, "lxor": np.logical_xor}[op]
    got = plain.reduce(stack, axis=0).astype(stack.dtype)
    if op == "sum" or op == "avg":
        got = np.add.reduce(stack, axis=0, dtype=stack.dtype)
    return mean(got, kind, len(parts)) if op == "avg" else got


# ---- the collectives: (arguments, the expected result) ----


def everybody(n, kind):
    return [of(r, n, kind) for r in range(P)]


def allreduce(n, kind, op):
    yield (of(me, n, kind), op), combined(everybody(n, kind), kind, op)
    x = of(me, n, kind)
    yield (x, op, x), combined(everybody(n, kind), kind, op)


def allreduce_many(n, kind, op):
    lists = [of(me, n, kind), of(me, n + 2, kind)]
    yield (lists, op), [combined(everybody(m, kind), kind, op) for m in (n, n + 2)]
    outs = [np.zeros_like(x) for x in lists]
    yield ([of(me, n, kind), of(me, n + 2, kind)], op, outs), [combined(everybody(m, kind), kind, op)
                                                               for m in (n, n + 2)]


def reduce(n, kind, op):
    want = combined(everybody(n, kind), kind, op)
    yield (of(me, n, kind), op, P - 1), want if me == P - 1 else None
    x = of(me, n, kind)
    yield (x, op, 0, x if me == 0 else None), want if me == 0 else None


def scan(n, kind, op):
    if op != "avg":
        yield (of(me, n, kind), op), combined(everybody(n, kind)[:me + 1], kind, op)


def exscan(n, kind, op):
    if op != "avg":
        before = everybody(n, kind)[:me]
        yield (of(me, n, kind), op), combined(before, kind, op) if before else np.zeros_like(of(0, n, kind))


def reduce_scatter(n, kind, op):
    whole = combined(everybody(n * P, kind), kind, op)
    yield (of(me, n * P, kind), op), whole[me * n:(me + 1) * n]
    counts = [n + r for r in range(P)]
    whole, at = combined(everybody(sum(counts), kind), kind, op), sum(counts[:me])
    yield (of(me, sum(counts), kind), op, None, {"counts": counts}), whole[at:at + counts[me]]
    x = of(me, n * P, kind)
    whole = combined(everybody(n * P, kind), kind, op)
    yield (x, op, x[me * n:(me + 1) * n]), whole[me * n:(me + 1) * n]


def all_gather(n, kind):
    yield (of(me, n, kind),), np.concatenate(everybody(n, kind))
    counts = [r + 1 for r in range(P)]
    yield (of(me, me + 1, kind), None, {"counts": counts}), np.concatenate([of(r, r + 1, kind) for r in range(P)])
    whole = np.zeros(n * P, of(0, 1, kind).dtype)
    whole[me * n:(me + 1) * n] = of(me, n, kind)
    yield (whole[me * n:(me + 1) * n], whole), np.concatenate(everybody(n, kind))


def broadcast(n, kind):
    for root in (0, P - 1):
        yield (of(me, n, kind), root), of(root, n, kind)


def gather(n, kind):
    yield (of(me, n, kind), P - 1), np.concatenate(everybody(n, kind)) if me == P - 1 else None
    counts = [n * (r % 2) + r for r in range(P)]
    want = np.concatenate([of(r, counts[r], kind) for r in range(P)])
    yield (of(me, counts[me], kind), 0, None, {"counts": counts}), want if me == 0 else None


def scatter(n, kind):
    out = np.zeros(n, of(0, 1, kind).dtype)
    yield (of(0, n * P, kind) if me == 0 else None, 0, out), of(0, n * P, kind)[me * n:(me + 1) * n]
    counts, root = [n * (r % 2) + r for r in range(P)], P - 1
    out, at = np.zeros(counts[me], of(0, 1, kind).dtype), sum(counts[:me])
    whole = of(0, sum(counts), kind)
    yield (whole if me == root else None, root, out, {"counts": counts}), whole[at:at + counts[me]]


def all_to_all(n, kind):
    want = np.concatenate([of(r, n * P, kind)[me * n:(me + 1) * n] for r in range(P)])
    yield (of(me, n * P, kind),), want
    x = of(me, n * P, kind)
    yield (x, x), want
    counts = [[n * (a % 2) + b for b in range(P)] for a in range(P)]  # counts[a][b]: from a to b
    parts = [of(r, sum(counts[r]), kind)[sum(counts[r][:me]):sum(counts[r][:me + 1])] for r in range(P)]
    own = {"counts": counts[me], "recv_counts": [counts[r][me] for r in range(P)]}
    yield (of(me, sum(counts[me]), kind), None, own), np.concatenate(parts)


def called(name, manner, args, kind):
    """The result of a call in one of the forms. A persistent request runs twice with the same data."""
    *args, more = (*args, {}) if not isinstance(args[-1], dict) else args
    more = dict(more, dtype=TYPES[kind][1])
    if manner == "blocking":
        return getattr(comm, name)(*args, **more)
    if manner == "started":
        return getattr(comm, "i" + name)(*args, **more).wait()
    first = [a.copy() if isinstance(a, np.ndarray) else [x.copy() for x in a] if isinstance(a, list) else None
             for a in args[:1]][0]
    with getattr(comm, name + "_init")(*args, **more) as request:
        for _ in range(2):
            for a, b in zip(args[0] if isinstance(args[0], list) else args[:1],
                            first if isinstance(first, list) else [first]):
                if b is not None:
                    a[...] = b
            request.start()
            while not request.test():
                os.sched_yield()
        return request.wait()


def equal(got, want):
    if isinstance(want, list):
        return len(got) == len(want) and all(equal(a, b) for a, b in zip(got, want))
    if want is None or got is None:
        return got is None and want is None
    if got.dtype != want.dtype or got.shape != want.shape:
        return False
    return (got == want).all() if want.dtype.names else got.tobytes() == want.tobytes()


def all_of(function, manner):
    """Check all cases; returns a description of the first wrong result."""
    name, reduces = function.__name__, "op" in function.__code__.co_varnames[:3]
    for kind in TYPES:
        for n in COUNTS:
            for op in ops_of(kind) if reduces else (None,):
                for args, want in function(n, kind, op) if reduces else function(n, kind):
                    got = called(name, manner, args, kind)
                    if not equal(got, want):
                        return f"{kind} {op} {n} elements: {got!r}, not {want!r}"
    return None


for function in (allreduce, allreduce_many, reduce, scan, exscan, reduce_scatter, all_gather, broadcast, gather,
                 scatter, all_to_all):
    for manner in MANNERS:
        tap.run(f"{function.__name__}, {manner}, {P} ranks: as numpy says, in every type and op", all_of, function,
                manner)
tap.end()
