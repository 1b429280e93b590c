"""on_card.py - arrays on a GPU in every form of the calls, in stream order, and in calls that must be refused. On any number
of ranks; tests/sh/gpu.sh runs it.

SPDX-License-Identifier: BSD-3-Clause
"""
import array
import gc
import sys
import weakref

import tap

import tutti

sys.path.insert(0, __file__.rpartition("/")[0])
import card  # noqa: E402
from card import Bare, Tensor  # noqa: E402

comm = tutti.init()
P, me = comm.size, comm.rank
card.start(me)
TOTAL = P * (P - 1) // 2


class Old(Tensor):
    old = True


class Handle:
    """A stream object of a library. `name` is the attribute that has the driver's handle."""

    def __init__(self, handle, name):
        value = (0, handle) if name == "__cuda_stream__" else handle
        setattr(self, name, value)


def ones(kind, on=None, n=6, form="f"):
    """An array with me + 1 in each element."""
    return kind([me + 1] * n, form, on)


def differ(got, want):
    return "" if list(got) == list(want) else f"{list(got)[:8]}, not {list(want)[:8]}"


def every_collective(kind):
    """Blocking calls with `out`, compared with the same calls on the host."""
    calls = [("allreduce", 6, 6, {}), ("reduce", 6, 6, {"root": P - 1}), ("scan", 6, 6, {}), ("exscan", 6, 6, {}),
             ("reduce_scatter", 6 * P, 6, {}), ("all_gather", 6, 6 * P, {}), ("gather", 6, 6 * P, {"root": 0}),
             ("all_to_all", 6 * P, 6 * P, {}), ("scatter", 6 * P, 6, {"root": P - 1})]
    for name, n, m, more in calls:
        values = [me * 100 + i for i in range(n)]
        host, want = array.array("d", values), array.array("d", [7] * m)
        src, dst = kind(values, "d"), kind([7] * m, "d")
        getattr(comm, name)(host, out=want, **more)
        result = getattr(comm, name)(src, out=dst, **more)
        why = differ(dst.get(), want)
        if why or (result is not None and result is not dst):
            return f"{name}: {why or result}"
    x = kind([me + 5.0] * 3)
    comm.broadcast(x, root=P - 1)
    return differ(x.get(), [P + 4.0] * 3)


def other_forms(kind):
    x, y = ones(kind), ones(kind)
    started = comm.iallreduce(x, out=x)
    if started.wait() is not x or differ(x.get(), [TOTAL + P] * 6):
        return f"started: {x.get()}"
    with comm.allreduce_init(y, "max", y) as step:
        for i in range(3):
            y.put([i + me] * 6)
            step.start().wait()
            if differ(y.get(), [i + P - 1] * 6):
                return f"persistent: {y.get()}"
    many = [ones(kind, n=n) for n in (1, 5, 0, 300)]
    comm.allreduce_many(many, "sum")
    return "; ".join(filter(None, (differ(m.get(), [TOTAL + P] * len(m.host)) for m in many)))


def new_results():
    """A new result has the class of the array, and is on the GPU."""
    x = Tensor([me + 1] * (2 * P), shape=(2 * P, 1))
    y = comm.allreduce(x)
    if type(y) is not Tensor or differ(y.get(), [TOTAL + P] * 2 * P):
        return f"allreduce: {y}"
    part, joined = comm.reduce_scatter(x), comm.all_gather(x)
    if part.shape != (2, 1) or joined.shape != (2 * P * P, 1):
        return f"shapes {part.shape} {joined.shape}"
    before = comm.exscan(x)
    return differ(before.get(), [me * (me + 1) // 2] * 2 * P)


def types():
    """The element types of the array interface and of DLPack."""
    for form, op in (("i", "bxor"), ("B", "max"), ("d", "min")):
        for kind in (Tensor, Bare):
            host, x = array.array(form, [me + 3] * 5), kind([me + 3] * 5, form)
            comm.allreduce(host, op, host)
            comm.allreduce(x, op, x)
            if differ(x.get(), host):
                return f"{form} {op} {kind.__name__}: {x.get()}"
    return ""


def blocking_on_a_stream_of_its_own(kind):
    """A blocking call is ordered after the work on the array's own stream."""
    on = card.stream()
    x = ones(kind, on)
    for i in range(5):
        x.put([me + i] * 6)
        comm.allreduce(x, out=x)
        if differ(x.get(on), [TOTAL + P * i] * 6):
            return f"{i}: {x.get(on)}"
    if kind is Tensor and set(x.asked) != {1}:
        return f"it was asked for the streams {x.asked}"
    return ""


def in_order_of_a_stream(kind):
    """20 calls in flight that return immediately; the program drops its references to the arrays."""
    on = card.stream()
    results = []
    handles = [on, Handle(on, "cuda_stream"), Handle(on, "ptr"), Handle(on, "__cuda_stream__")]
    for i in range(20):
        x, y = ones(kind, on), kind([0] * 6, "f", on)
        x.put([me + i] * 6)
        if comm.allreduce(x, out=y, stream=handles[i % 4]) is not y:
            return "another result"
        if kind is Tensor and x.asked != [on]:
            return f"it was asked for the streams {x.asked}"
        results.append(y)
    for i, y in enumerate(results):
        if differ(y.get(on), [TOTAL + P * i] * 6):
            return f"{i}: {y.get(on)}"
    comm.stream_wait()
    x = ones(kind, on)
    seen = weakref.ref(x)
    comm.allreduce(x, out=x, stream=on)
    del x
    kept = seen() is not None
    comm.stream_wait()
    gc.collect()
    return "" if kept and seen() is None else f"the array was {'kept' if kept else 'freed'} meanwhile, and {seen()} after"


def every_collective_on_a_stream():
    on = card.stream()
    x, y, z = Tensor([me + 1] * P, "d", on), Tensor([0] * P, "d", on), Tensor([0], "d", on)
    same = {"stream": on}
    comm.reduce(x, root=0, out=y if me == 0 else None, **same)
    comm.broadcast(y, root=0, **same)
    comm.scan(y, out=y, **same)
    comm.reduce_scatter(y, out=z, **same)
    comm.all_gather(z, out=y, **same)
    comm.exscan(y, "max", out=x, **same)
    comm.all_to_all(y, out=x, **same)
    comm.gather(z, root=P - 1, out=y if me == P - 1 else None, **same)
    comm.scatter(y, root=P - 1, out=z, **same)
    comm.reduce_scatter(x, out=z, counts=[1] * P, **same)
    comm.all_gather(z, out=y, counts=[1] * P, **same)
    tutti.stream_wait()
    return differ(y.get(), [P * (TOTAL + P) ** 2] * P)


def refusals():
    on, x = card.stream(), ones(Bare)
    host = array.array("f", [1] * 6)

    class Masked(Bare):
        pass

    table = [("mask", x, {"mask": 3}, {}), ("not contiguous", x, {"strides": (8,)}, {}), ("its stream is 0", x, {"stream": 0}, {}),
             ("tutti cannot make an array of class Bare", x, {}, {"out": None}),
             ("stream is of class str", x, {}, {"stream": "fast"}), ("stream is of class bool", x, {}, {"stream": True}),
             ("stream is of class int", x, {}, {"stream": -1}),
             ("does not go with", x, {}, {"stream": on, "compression": "lossless"}),
             ("streams do not order", host, None, {"stream": on}), ("orders arrays", 3.0, None, {"stream": on, "out": None})]
    for pattern, what, said, more in table:
        if said is not None:
            what.said = said
        why = tap.refused(tutti.ArgumentError, pattern, comm.allreduce, what, **{"out": what, **more})
        if why:
            return f"{pattern}: {why}"
    if me:  # only rank 0 gets zeros
        comm.exscan(_Maker([1.0]))
        return ""
    comm.exscan(Tensor([1.0]))
    return tap.refused(tutti.ArgumentError, "cannot write zeros to an array of class Bare", comm.exscan, _Maker([1.0]))


class _Maker(Bare):
    """An array whose new_empty makes an array that cannot be filled with zeros."""

    def new_empty(self, _):
        return Bare([0.0] * len(self.host))

    def numel(self):
        return len(self.host)


def without_effect():
    """stream=None means the blocking call. Nonblocking calls, and collectives without a stream form, refuse stream=."""
    x = ones(Tensor)
    comm.allreduce(x, out=x, stream=None)
    for call, arguments in ((comm.iallreduce, (x,)), (comm.barrier, ()), (comm.allreduce_many, ([x],))):
        why = tap.refused(TypeError, "stream", call, *arguments, stream=1)
        if why:
            return why
    return differ(x.get(), [TOTAL + P] * 6)


if not tutti._card.present():
    print("1..0 # SKIP the library has found no device")
    sys.exit(77)
for kind in (Tensor, Bare, Old):
    tap.run(f"every collective, {kind.__name__}", every_collective, kind)
    tap.run(f"started, persistent, in a list, {kind.__name__}", other_forms, kind)
    tap.run(f"after the work of the array's own stream, {kind.__name__}", blocking_on_a_stream_of_its_own, kind)
    tap.run(f"in the order of a stream, {kind.__name__}", in_order_of_a_stream, kind)
tap.run("new results lie on the card", new_results)
tap.run("types", types)
tap.run("every collective in the order of a stream", every_collective_on_a_stream)
tap.run("refusals", refusals)
tap.run("calls without a stream", without_effect)
tap.end()
