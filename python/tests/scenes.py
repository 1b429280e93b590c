"""scenes.py - the other functions of a communicator: messages, splitting, settings, user-defined ops, shared
memory, threads, plans. On any number of ranks.

SPDX-License-Identifier: BSD-3-Clause
"""
import array
import sys
import threading
import time

import numpy as np
import tap

import tutti

comm = tutti.init()
P, me = comm.size, comm.rank


def messages():
    got = np.zeros(4)
    request = comm.isend(np.full(4, me + 1.0), (me + 1) % P)
    comm.recv(got, (me - 1) % P)
    request.wait()
    if got[0] != (me - 1) % P + 1:
        return f"{got}"
    again = comm.recv_init(got, (me - 1) % P)
    for i in range(3):
        again.start()
        comm.isend(np.full(4, float(i)), (me + 1) % P)  # dropping the request does no harm
        again.wait()
        if got[3] != i:
            return f"{i}: {got}"
    again.free()


def tags():
    right, left, received = (me + 1) % P, (me - 1) % P, tutti.Received()
    sent = [comm.isend(np.arange(tag), right, tag) for tag in (5, 6, 7)]
    for tag in (7, 5):
        got = comm.recv(np.zeros(9, int), left, tag, received=received)
        if (received.source, received.tag, received.count, got[tag - 1]) != (left, tag, tag, tag - 1):
            return f"tag {tag}: {received} {got}"
    never = comm.irecv(np.zeros(1, int), left, 8)
    if not never.cancel() or never.running or comm.recv(np.zeros(9, int), received=received)[5] != 5 or received.tag != 6:
        return f"from any rank: {received}, {never}"
    tutti.wait_all(sent)
    if P > 1 and me < 2:
        thing = comm.send({"from": 0}, 1, 2) if me == 0 else comm.recv(tag=2, received=received)
        if me and (thing != {"from": 0} or (received.source, received.tag) != (0, 2)):
            return f"{thing}, {received}"
    return ""


def barriers():
    comm.barrier()
    comm.ibarrier().wait()
    with comm.barrier_init() as request:
        for _ in range(3):
            request.start().wait()


def groups():
    half = comm.split(me % 2, -me)
    if half.allreduce(np.array([1]))[0] != half.size or half.rank != (P - 1 - me) // 2:
        return f"{half}"
    half.free()
    if comm.split(None) is not None:
        return "split without a color returned a communicator"
    with comm.dup() as other:
        if (other.rank, other.size) != (me, P):
            return f"{other}"
    with comm.shrink() as rest:
        if rest.size != P:
            return f"{rest}"
    return tap.refused(tutti.StateError, "freed before", other.barrier)


def settings():
    with comm.dup() as other:
        other.configure(contract="exact")
        x = np.array([1e16, 1.0, -1e16][me % 3:] + [0.0] * (me % 3))
        other.allreduce(x)
        other.configure(contract="same")
        other.configure(algorithm="doubling")
        if "doubling" not in other.plan(np.zeros(3)) and P > 1:
            return other.plan(np.zeros(3))
        other.configure(algorithm=None)
        other.configure(slices=2)
        other.configure(slices=0)
        if P > 1:
            other.configure(helpers=1)
            got = other.allreduce(np.ones(2))
            if me < P - 1 and got[0] != P - 1 or other.helpers != 1:
                return f"{got}, {other.helpers} helpers"
            joined = other.all_gather(np.array([me]))
            part = other.reduce_scatter(np.full(2 * (P - 1), 1.0))
            if me < P - 1 and (list(joined) != list(range(P - 1)) or list(part) != [P - 1] * 2):
                return f"{joined} and {part} with a helper"
    return (tap.refused(ValueError, "unknown contract 'sam'", lambda: comm.configure(contract="sam")) or
            tap.refused(tutti.ArgumentError, "rnig", lambda: comm.configure(algorithm="fold(rnig)")))


def calls_as_one():
    """A group: temporary arrays live until its end; objects and requests are refused in it."""
    big, to_left = np.full(20000, float(me)), np.zeros(3)
    with comm.group():
        sums = [comm.allreduce(np.full(n, float(me + n))) for n in (1, 3, 500)]
        comm.allreduce(big, out=big)
        comm.send(np.full(3, float(me)), (me - 1) % P)
        comm.recv(to_left, (me + 1) % P)
        whose = comm.broadcast(np.array([me]), root=P - 1)
        said = (tap.refused(tutti.StateError, "in a group calls take arrays only", comm.allreduce, {"an": "object"}) or
                tap.refused(tutti.StateError, "in a group", comm.iallreduce, big))
    all_of = P * (P - 1) / 2
    for n, got in zip((1, 3, 500), sums):
        if not (got == all_of + n * P).all():
            return f"{n}: {got}"
    if big[-1] != all_of or to_left[2] != (me + 1) % P or whose[0] != P - 1:
        return f"{big[-1]}, {to_left}, {whose}"
    with comm.dup() as other:
        other.configure(name="loss", timeout=7, algorithm="ring")
        if (other.config["name"], other.config["timeout"], other.config["algorithm"]) != ("loss", 7, "fold(ring)"):
            return f"{other.config}"
        other.async_error()
        said = said or tap.refused(TypeError, "unexpected keyword argument 'algo'", lambda: other.configure(algo="ring"))
    got = comm.allreduce(np.ones(9), algorithm="^naive")
    return said or (None if got[8] == P else f"{got}")


def codes():
    """compression= of a call: the sum is the same where no message is compressed; wrong and differing values are refused."""
    x = np.arange(4.0 * P, dtype=np.float32)
    for coded in (None, "none", "lossless", "error=1e-2"):
        got = [comm.allreduce(x, compression=coded), comm.iallreduce(x, "sum", compression=coded).wait()]
        with comm.allreduce_init(x, compression=coded) as again:
            got.append(again.start().wait())
        if any((g != P * x).any() for g in got):
            return f"{coded}: {got}"
        part, root = comm.reduce_scatter(x, compression=coded), comm.reduce(x, compression=coded)
        if part[0] != 4.0 * me * P or (me == 0 and root[1] != P) or comm.all_gather(x, compression=coded).size != P * x.size:
            return f"{coded}: {part}, {root}"
    wrong = {"expected a number": dict(compression="error=x"), "expected 'lossless'": dict(compression="zip")}
    for words, named in wrong.items():
        said = tap.refused(tutti.ArgumentError, words, comm.allreduce, x, **named)
        if said:
            return said
    said = tap.refused(tutti.ArgumentError, "parts of equal length", comm.all_gather, x, counts=[x.size] * P, compression="lossless")
    if said or P == 1:
        return said
    with comm.dup() as other:
        return tap.refused(tutti.MismatchError, "", other.allreduce, x, compression="lossless" if me else "error=1e-2")


def own_ops():
    longer = tutti.op(np.hypot)
    if abs(comm.allreduce(np.array([3.0]), op=longer)[0] - 3 * P**0.5) > 1e-12:
        return "hypot"
    left = tutti.op(lambda a, b: a, commutative=False)
    if comm.allreduce(np.array([me + 5]), op=left)[0] != 5:
        return "the operands are not in rank order"
    got = comm.allreduce(np.ones(3, "f4"), op=tutti.scaled(me + 1))
    if got[0] != P * (P + 1) / 2:
        return f"scaled: {got}"
    for i in range(1100):  # at most 1000 ops can exist simultaneously
        tutti.scaled(i)
    comm.iallreduce(np.ones(3), op=tutti.op(np.add)).wait()  # no other reference exists
    longer.free()
    return tap.refused(tutti.StateError, "freed before", comm.allreduce, np.ones(1), op=longer)


def op_that_raises():
    def wrong(a, b):
        if me == P - 1:
            raise ZeroDivisionError("of no use")
        return a + b

    if P == 1:
        return None
    with comm.dup() as other:
        try:
            for _ in range(2):  # a rank that did not call the op gets the error in its next call
                other.allreduce(np.ones(P * 4), op=tutti.op(wrong))
        except tutti.AbortedError as why:
            if "ZeroDivisionError: of no use" not in str(why):
                return f"{why}"
            cause = why.__cause__
            return "" if cause is None or isinstance(cause, ZeroDivisionError) else f"{cause!r}"
    return "no rank got the error"


def shared_memory():
    other = comm.dup()
    x = other.empty((3, 5), "f4")
    if x.any() or x.shape != (3, 5) or not in_segment(x) or not in_segment(tutti.empty(3)):
        return f"{x}, {in_segment(x)}"
    x[:] = me
    other.allreduce(x, out=x)
    rows = x[1]
    del x
    other.free()  # the memory stays as long as an object refers to it
    if rows[0] != sum(range(P)):
        return f"{rows}"
    rows[:] = 7
    lone = tutti.from_threads(1)[0]
    kept = lone.empty(1 << 18)
    lone.free()
    kept[:] = 5
    for _ in range(100):  # memory without references is freed
        comm.empty(1 << 20)
    memory = comm.alloc(64)
    memory[:8] = np.float64(1).tobytes()
    comm.allreduce(memory, out=memory, dtype="float64")
    return "" if memory[:8] == np.float64(P).tobytes() else f"{bytes(memory[:8])}"


def registered():
    """Arrays of the program that peers read in place: their numbers stay, and sums are right; then they are private again."""
    with comm.dup() as other:
        for n in (3, 1000, 1 << 18):
            x = np.arange(n, dtype="f8") + me
            other.register(x)
            if not (x == np.arange(n) + me).all():
                return f"{n}: {x}"
            other.allreduce(x[n // 3:], out=x[n // 3:])
            want = np.arange(n) * P + sum(range(P))
            if not (x[n // 3:] == want[n // 3:]).all() or not (x[:n // 3] == np.arange(n // 3) + me).all():
                return f"{n}: {x}"
            if n != 1000:
                other.deregister(x)
            said = tap.refused(tutti.ArgumentError, "is not from tutti_comm_register", other.deregister, x) if n == 3 and P > 1 else ""
            if said:
                return said
        kept = x
        other.register(kept)
    kept[:] = 1  # freeing the communicator has ended its registrations
    with open("/proc/self/maps") as maps:
        line = next(line for line in maps if int(line.split("-")[1].split()[0], 16) > kept.ctypes.data)
    return "" if line.split()[1] == "rw-p" else line


def in_threads():
    sums = [0] * 4

    def work(mine):
        x = np.full(50000, mine.rank, "i8")
        for _ in range(20):
            y = mine.allreduce(x)
        sums[mine.rank] = int(y[-1])

    threads = [threading.Thread(target=work, args=(c,)) for c in tutti.from_threads(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return "" if sums == [6] * 4 else f"{sums}"


def others_run():
    """While ranks wait for rank 0, their other threads keep running."""
    ticks, over = [0], threading.Event()

    def tick():
        while not over.is_set():
            ticks[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    if me == 0:
        time.sleep(0.3)
    before = ticks[0]
    comm.barrier()
    waited = ticks[0] - before
    over.set()
    thread.join()
    return "" if me == 0 or waited > 20 else f"{waited} ticks during a call of 0.3 s"


def explained():
    text, data = tutti.explain(np.zeros(100000, "f4")), tutti.explain("1MiB", "reduce_scatter", as_dict=True)
    if P > 1 and not text.startswith("allreduce of 391 KiB"):
        return text
    if data["bytes"] != (1 << 20) // 4 // P * P * 4 or data["collective"] != "reduce_scatter":
        return f"{data}"
    here = tutti.prices("1MiB", ranks=4, shm=1, only="fold(ring)")
    if [o["plan"] for o in here][:1] != ["fold(ring)"]:
        return f"{here}"
    if not tutti.prove(tutti.schedule("fold(ring)", 5))["proven"]:
        return "the ring is not proven"
    report = tutti.doctor(as_dict=True)
    if len(report["jobs"][0]["ranks"]) < P:
        return f"{report}"
    measured = comm.measure("4KiB")
    if P > 1 and not measured["plan"]:
        return f"{measured}"
    return (tap.refused(tutti.ArgumentError, "not a size", tutti.explain, "1 furlong", ranks=4) or
            tap.refused(tutti.ArgumentError, "unknown collective", tutti.explain, "1k", "alreduce", ranks=4))


def functions():
    """The functions of the module do the same as the methods, on the communicator of init."""
    x = array.array("f", [1, 2])
    request = tutti.iallreduce(x, out=x)
    request.wait()
    if list(x) != [P, 2 * P] or not request.test() or request.wait() is not x:
        return f"{x}"
    tutti.barrier()
    kept = comm
    with comm.dup() as other:
        tutti.init(other)
        if tutti.init() is not other:
            return "init(comm) does not stay"
        tutti.init(kept)
    return tap.refused(tutti.StateError, "freed", tutti.init, other)


def of_other_processes():
    """Communicators made with an id, a store and a gather; existing communicators exchange the data."""
    n = 512
    text = np.zeros(n, "u1")
    if me == 0:
        name = tutti.unique_id().encode()
        text[:len(name)] = np.frombuffer(name, "u1")
    comm.broadcast(text)
    with tutti.create(text.tobytes().rstrip(b"\0").decode(), P, me, timeout=30) as other:
        if other.allreduce(np.array([1]))[0] != P:
            return "create"
    with tutti.from_gather(lambda mine: comm.all_gather(mine), P, me, timeout=30) as other:
        if other.allreduce(np.array([1]))[0] != P:
            return "from_gather"

    def broken(mine):
        raise KeyError("no such host")

    try:
        tutti.from_gather(broken, P, me, timeout=5)
    except tutti.TuttiError as why:
        return "" if isinstance(why.__cause__, KeyError) else f"{why!r} from {why.__cause__!r}"
    return "a gather that raises made a communicator"


def buckets():
    """Buckets: arrays ready in a different order on each rank, two types, bf16, both kinds of memory, refused calls."""
    shapes, types = [3, (700, 100), 0, 5, (30, 30)], ["f4", "f4", "f4", "f8", "f4"]
    own = [np.zeros(n, t) for n, t in zip(shapes, types)]
    ways = [(op, bf16, form) for op, bf16 in (("avg", False), ("sum", False), ("avg", True))
            for form in ({"arrays": own}, {"arrays": shapes, "dtype": types})]
    for op, bf16, form in ways:
        with tutti.Buckets(comm, op=op, bf16=bf16, learn=True, **form) as sums:
            arrays = sums.arrays
            if [x.shape for x in arrays] != [x.shape for x in own] or ("dtype" in form) != in_segment(arrays[1]):
                return f"{form}: {[x.shape for x in arrays]}, {in_segment(arrays[1])}"
            for step in range(4):
                for k in range(len(arrays)):
                    i = (k + me) % len(arrays)
                    arrays[i][:] = 2 * me * (i + step)
                    sums.ready(i)
                sums.wait(1)
                sums.wait()
                mean = (P - 1) * (P if op == "sum" else 1)
                for i, x in enumerate(arrays):
                    if not np.allclose(x, mean * (i + step), rtol=0.01 if bf16 else 0) or not sums.test(i):
                        return f"{op}, step {step}: {x}"
            if not 2 <= len(sums) <= len(arrays):
                return f"{len(sums)} buckets"
            said = tap.refused(tutti.ArgumentError, "tensor 5 does not exist", sums.ready, 5)
            if said:
                return said
    if P > 1:
        said = tap.refused(tutti.MismatchError, "registers", tutti.Buckets, comm, arrays[:1 + (me == 0)])
        if said:
            return said
    return tap.refused(tutti.StateError, "freed", sums.wait)


def in_segment(array):
    """Is the array in the memory that the ranks share?"""
    with open("/proc/self/maps") as maps:
        for line in maps:
            lo, hi = (int(word, 16) for word in line.split()[0].split("-"))
            if lo <= array.ctypes.data < hi:
                return "memfd:tutti" in line
    return False


def kept_gradients():
    """Arrays of freed buckets stay valid while an object refers to them. Then their memory is freed."""
    wrong = {"is a shape|leave it out": ([np.ones(3)], "f4"), "2 types for 1 shapes": ([3], ["f4", "f8"]),
             "axes must be": ([(3, -1)], "f4"), "cannot sum": ([3], "M8[s]")}
    for words, (arrays, dtype) in wrong.items():
        said = tap.refused((tutti.ArgumentError, tutti.DtypeError), words, tutti.Buckets, comm, arrays, dtype=dtype)
        if said:
            return said
    for _ in range(3):
        sums = tutti.Buckets(comm, [(10, 1 << 12), 5], "sum", dtype="f8", bytes=1 << 40)
        row = sums.arrays[0][3]
        row[:8], sums.arrays[1][:] = me, 1
        sums.ready(0)
        said = tap.refused(tutti.StateError, "a step is not over", sums.free)
        sums.ready(1)
        sums.wait()
        sums.free()
        if said or row[7] != sum(range(P)):
            return said or f"{row[:8]}"
        row[:] = 1
        there = sums._closing is not None
        del row
        if not there or sums._closing is not None:
            return f"the memory was {'not freed' if there else 'freed too early'}"
    return ""


for scene in (messages, tags, barriers, groups, settings, calls_as_one, codes, own_ops, op_that_raises, shared_memory, registered, in_threads, others_run, buckets,
              kept_gradients, explained, functions, of_other_processes):
    tap.run(f"{scene.__name__.replace('_', ' ')}, {P} ranks", scene)
if "--end" in sys.argv:
    tutti.finalize()
    sys.exit(tap.refused(tutti.StateError, "freed before|finalize", comm.barrier) != "")
tap.end()
