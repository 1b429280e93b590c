"""objects.py - collectives of numbers and other objects, short and long; `tutti run -n N python3 objects.py`.

Prints TAP. SPDX-License-Identifier: BSD-3-Clause
"""
import array
import decimal
import fractions
import functools
import operator

import tap
import tutti

comm = tutti.init()
me, P = comm.rank, comm.size
LONG = 1 << 20

# The objects of rank r: of one class on all ranks or of several, short, long, or long on some ranks only.
THINGS = {
    "floats": lambda r: 0.1 + r, "integers": lambda r: r + 1, "integers of any length": lambda r: 10 ** (30 * (r + 1)),
    "floats here and integers there": lambda r: r + 1 if r % 2 else 1.5, "complex numbers": lambda r: complex(r, 1),
    "fractions": lambda r: fractions.Fraction(1, r + 1), "decimals": lambda r: decimal.Decimal(r) / 10,
    "words": lambda r: f"rank {r} ", "long words": lambda r: f"{r}" * LONG, "a long word of one rank": lambda r: "ab" * (LONG * (r == P - 1)),
    "lists": lambda r: [r, {"of": r}], "tuples": lambda r: (r,) * (100 * r),
}
PLAIN = {**THINGS, "dictionaries": lambda r: {"rank": r, "data": bytes(r * 1000)}, "None": lambda r: None, "classes": lambda r: ValueError,
         "arrays in them": lambda r: [array.array("d", [r] * 100)], "nothing but a set": lambda r: {r}}


def copies(bring):
    """Test every collective that only moves data."""
    all_of = [bring(r) for r in range(P)]
    mine, last = all_of[me], P - 1
    found = {
        "broadcast": (comm.broadcast(mine if me == last else None, root=last), all_of[last]),
        "all_gather": (comm.all_gather(mine), all_of),
        "gather": (comm.gather(mine, root=last), all_of if me == last else None),
        "scatter": (comm.scatter(all_of if me == last else None, root=last), mine),
        "all_to_all": (comm.all_to_all([(mine, r) for r in range(P)]), [(x, me) for x in all_of]),
        "the world's": (tutti.all_gather(mine), all_of),
    }
    if P > 1:
        right, left = (me + 1) % P, (me - 1) % P
        if me % 2 == 0:
            comm.send(mine, right)
        got = comm.recv(source=left)
        if me % 2:
            comm.send(mine, right)
        found["send, recv"] = got, all_of[left]
    return "; ".join(f"{name}: {str(got)[:200]}" for name, (got, want) in found.items() if got != want)


def sums(bring):
    all_of = [bring(r) for r in range(P)]
    mine, total = all_of[me], functools.reduce(operator.add, all_of)
    found = {
        "allreduce": (comm.allreduce(mine), total), "by a word": (comm.allreduce(mine, "sum"), total),
        "by an op": (comm.allreduce(mine, op=tutti.SUM), total),
        "reduce": (comm.reduce(mine, root=P - 1), total if me == P - 1 else None),
        "scan": (comm.scan(mine), functools.reduce(operator.add, all_of[:me + 1])),
        "exscan": (comm.exscan(mine), functools.reduce(operator.add, all_of[:me]) if me else None),
        "a user-defined op": (comm.allreduce(mine, op=tutti.op(lambda a, b: b + a, commutative=False)),
                               functools.reduce(lambda a, b: b + a, all_of)),
    }
    return "; ".join(f"{name}: {str(got)[:200]}, not {str(want)[:200]}" for name, (got, want) in found.items() if got != want)


def ops():
    r = range(1, P + 1)
    found = {
        "prod": (comm.allreduce(me + 1, "prod"), functools.reduce(operator.mul, r)), "min": (comm.allreduce(me, "min"), 0),
        "max": (comm.allreduce(f"{me}", tutti.MAX), f"{P - 1}"), "avg": (comm.allreduce(me, "avg"), (P - 1) / 2),
        "band": (comm.allreduce(me | 8, "band"), functools.reduce(operator.and_, (i | 8 for i in range(P)))),
        "bor": (comm.allreduce({me}, "bor"), set(range(P))),
        "bxor": (comm.allreduce(1 << me, "bxor"), (1 << P) - 1), "land": (comm.allreduce(me, "land"), False),
        "lor": (comm.allreduce(me, "lor"), P > 1), "lxor": (comm.allreduce(True, "lxor"), bool(P % 2)),
        "minloc": (comm.allreduce((2.5, me), "minloc"), (2.5, 0)),
        "maxloc": (comm.allreduce((me // 2, me), tutti.MAXLOC), ((P - 1) // 2, (P - 1) // 2 * 2)),
        "a sum of bools": (comm.allreduce(True), P if P > 1 else True),
    }
    return "; ".join(f"{name}: {got}, not {want}" for name, (got, want) in found.items()
                     if got != want or type(got) is not type(want))



REFUSED = {
    "array is of class float.*out= is for arrays": lambda: comm.allreduce(1.5, out=array.array("d", [0])),
    "dtype= is for arrays": lambda: comm.broadcast("x", dtype="double"),
    "counts= is for arrays": lambda: comm.all_gather("x", counts=[1] * P),
    "out is of class float": lambda: comm.allreduce(array.array("d", [1]), out=2.0),
    "objects have the blocking form only": lambda: comm.iallreduce(1.5),
    "blocking form only": lambda: comm.allreduce_init({}),
    f"a list of {P} objects, one per rank, not {P + 1} of them": lambda: comm.all_to_all([0] * (P + 1)),
    "one per rank, not dict": lambda: comm.all_to_all({}),
    "unknown op 'nonsense'": lambda: comm.allreduce(1, "nonsense"),
    "is for arrays of numbers": lambda: comm.allreduce(1, tutti.scaled(2)),
    "avg over some of the ranks is not supported": lambda: comm.scan(1, "avg"),
    "array 0 is of class int|out is of class int": lambda: comm.allreduce_many([1]),
    "reduce_scatter: array is of class list": lambda: comm.reduce_scatter([1]),
    "root 7000 is not a rank": lambda: comm.broadcast(1, root=7000),
    "source -2 is not a rank": lambda: comm.recv(source=-2),
}


def refused():
    for words, call in REFUSED.items():
        kind = tutti.OpError if "op " in words or "avg" in words or "numbers" in words else tutti.ArgumentError
        why = tap.refused(kind, words, call)
        if why:
            return f"{words}: {why}"
    return ""


def fails():
    """If Python raises an exception in a sum, all ranks raise it and can continue."""
    try:
        comm.allreduce("a" if me == 0 else 1 if P > 1 else "a")
        why = "" if P == 1 else "nothing was raised"
    except TypeError:
        why = ""
    return why or ("" if comm.allreduce(1) == P else "the communicator is of no use any more")


def unpicklable():
    """One rank's object cannot be pickled: the call fails on all ranks that would get it, and the next call is the next one."""
    last = P - 1
    mine = (lambda: 0) if me == last else me
    lists = [mine] * P
    calls = {
        "broadcast": lambda: comm.broadcast(mine, root=last), "all_gather": lambda: comm.all_gather(mine),
        "gather": lambda: comm.gather(mine, root=0), "all_to_all": lambda: comm.all_to_all(lists),
        "scatter": lambda: comm.scatter(lists if me == last else None, root=last), "allreduce": lambda: comm.allreduce(mine),
        "too few": lambda: comm.scatter([1] * (P + 1) if me == last else None, root=last),
        "too many": lambda: comm.all_to_all([1] * (P + (me == last))),
    }
    for name, call in calls.items():
        try:
            call()
            return f"{name}: nothing was raised"
        except Exception as why:  # on the last rank what pickle raises
            if me != last and not (isinstance(why, tutti.ArgumentError) and f"rank {last} brought nothing" in str(why)):
                return f"{name}: {why!r}"
        if comm.allreduce(1) != P:
            return f"{name}: the next call met another one"
    return ""


def mixed():
    """Some ranks pass an array and others an object: all ranks get an error."""
    if P == 1:
        return ""
    with comm.dup() as other:
        return tap.refused((tutti.MismatchError, tutti.ArgumentError), ".", other.all_gather, 1.5 if me else array.array("d", [1.5]))


for name, bring in PLAIN.items():
    tap.run(f"objects, {P} ranks: {name} are moved", copies, bring)
for name, bring in THINGS.items():
    tap.run(f"objects, {P} ranks: {name} are summed", sums, bring)
for test in ops, refused, fails, unpicklable, mixed:
    tap.run(f"objects, {P} ranks: {test.__name__}", test)
tap.end()
