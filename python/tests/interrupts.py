"""interrupts.py - rank 1 of two waits for rank 0 in each of the blocking calls, and gets a SIGINT. It must raise
KeyboardInterrupt promptly, rank 0 must not hang, and waits that can be resumed must still work. Prints TAP;
`tutti run -n 2 python3 interrupts.py`.

    interrupts.py NAME    runs this test only, without TAP: for waits that need a separate job, or a terminal

SPDX-License-Identifier: BSD-3-Clause
"""
import array
import os
import signal
import subprocess
import sys
import threading
import time

import tutti
from tutti import _signals

PROMPT, AFTER = 20, 0.2  # s; on idle cores a wait ends within 0.1 s of the signal, on busy ones within seconds
x = array.array("d", [1.0] * 3)
long = array.array("d", bytes(1 << 23))


def soon(to=signal.SIGINT, after=AFTER):
    """Make another process send a signal while this one is in C."""
    subprocess.Popen(["sh", "-c", f"sleep {after}; kill -{int(to)} {os.getpid()}"])


def raised_at_once(wait, kind=KeyboardInterrupt):
    soon()
    begin = time.monotonic()
    try:
        wait()
    except kind:
        took = time.monotonic() - begin - AFTER
        return "" if took < PROMPT else f"{kind.__name__} after {took:.2f} s"
    return "nothing was raised"


def hears(call, words):
    try:
        call()
    except tutti.TuttiError as why:
        return "" if isinstance(why, tutti.AbortedError) and words in str(why) else f"{type(why).__name__}: {why}"
    return "nothing was raised"


def until_raised(comm):
    """Wait on rank 0 until rank 1 reports that it has raised its exception."""
    comm.recv(x[:], 1)


# ---- calls that cannot be resumed: the communicator is aborted ----

WAITS = {
    "recv": (lambda c: c.recv(x, 0), "in recv"),
    "send": (lambda c: c.send(long, 0), "in send"),
    "allreduce": (lambda c: c.allreduce(x), "in allreduce"),
    "a long allreduce": (lambda c: c.allreduce(long), "in allreduce"),
    "allreduce_many": (lambda c: c.allreduce_many([x[:], x[:]]), "in allreduce"),
    "barrier": (lambda c: c.barrier(), "in barrier"),
    "reduce": (lambda c: c.reduce(long, root=1), "in reduce"),
    "broadcast": (lambda c: c.broadcast(x[:], root=0), "in broadcast"),
    "all_to_all": (lambda c: c.all_to_all(x[:2]), "in alltoall"),
    "an exact sum": (lambda c: (c.configure(contract="exact"), c.allreduce(x)), "in allreduce"),
    "split": (lambda c: c.split(0), "in allgather"),
    "dup": (lambda c: c.dup(), "in allgather"),
    "shrink": (lambda c: c.shrink(), "was interrupted"),
    "measure": (lambda c: c.measure(x), "in "),
}


def of_a_call(comm, wait, words):
    with comm.dup() as c:
        if comm.rank:
            why = raised_at_once(lambda: wait(c))
            comm.send(x, 0)
            return why or (hears(lambda: c.barrier(), "rank 1 aborted") if words[:3] == "in " else "")
        until_raised(comm)
        return hears((lambda: wait(c)) if words[:3] != "in " else c.barrier, words)


# ---- waits that can be resumed ----


def a_request(comm):
    if comm.rank:
        request = comm.iallreduce(x)
        why = raised_at_once(request.wait)
        comm.send(x, 0)
        return why or ("" if request.running and request.wait()[0] == 2 else "it is not as it was")
    until_raised(comm)
    return "" if comm.iallreduce(x).wait()[0] == 2 else "another sum"


def a_persistent_request(comm):
    with comm.allreduce_init(x) as step:
        if comm.rank == 0:
            until_raised(comm)
        step.start()
        why = raised_at_once(step.wait) if comm.rank else ""
        if comm.rank:
            comm.send(x, 0)
        sums = [step.wait()[0], step.start().wait()[0]]
    return why or ("" if sums == [2, 2] else f"other sums: {sums}")


def buckets(comm):
    layers = [array.array("d", [comm.rank] * n) for n in (3, 5, 70000)]
    with tutti.Buckets(comm, layers, "sum", bytes=64) as b:
        if comm.rank == 0:
            until_raised(comm)
        for i in range(3):
            b.ready(i)
        why = raised_at_once(b.wait) if comm.rank else ""
        if comm.rank:
            comm.send(x, 0)
        b.wait()
        return why or ("" if all(layer[-1] == 1 for layer in layers) else "another sum")


# ---- communicators that are never made; threads; handlers; callbacks ----


def a_rendezvous(comm):
    return raised_at_once(lambda: tutti.create(tutti.unique_id(), 2, 0)) if comm.rank else ""


def no_rendezvous(comm):
    nowhere = "127.0.0.1:1:" + tutti.unique_id().rpartition(":")[2]
    return raised_at_once(lambda: tutti.create(nowhere, 2, 1)) if comm.rank else ""


def a_store(comm):
    return raised_at_once(lambda: tutti.from_store(lambda k, v: None, lambda k, s: time.sleep(9), 2, 0)) if comm.rank else ""


def between_threads(comm):
    mine, other = tutti.from_threads(2)
    told = []
    thread = threading.Thread(target=lambda: told.append(hears(lambda: other.recv(x[:], 0), "in recv")), daemon=True)
    thread.start()
    why = raised_at_once(lambda: mine.recv(x[:], 1))
    thread.join()
    return why or told[0]


def in_a_thread(comm):
    """A second thread waits in the call, and the main thread waits for that thread. The main thread gets the signal."""
    with comm.dup() as c:
        if comm.rank == 0:
            until_raised(comm)
            return "" if c.allreduce(x)[0] == 2 else "another sum"
        got, done = [], threading.Event()
        threading.Thread(target=lambda: (got.append(c.allreduce(x)), done.set()), daemon=True).start()
        why = raised_at_once(done.wait)
        comm.send(x, 0)
        done.wait()
        return why or ("" if got[0][0] == 2 else "another sum")


class Late(Exception):
    pass


def a_handler(comm):
    """A handler that returns does not end the wait; the exception of a handler that raises is passed on."""
    def late(_number, _frame):
        raise Late

    runs = []
    before = signal.signal(signal.SIGUSR1, lambda number, frame: runs.append(number)), signal.signal(signal.SIGALRM, late)
    with comm.dup() as c:
        if comm.rank:
            soon(signal.SIGUSR1, 0.1)
            soon(signal.SIGALRM)
            begin = time.monotonic()
            try:
                c.recv(x[:], 0)
                why = "nothing was raised"
            except Late:
                took = time.monotonic() - begin - AFTER
                why = "" if runs == [signal.SIGUSR1] and took < PROMPT else f"{runs} after {took:.2f} s"
        else:
            why = hears(c.barrier, "in recv")
    signal.signal(signal.SIGUSR1, before[0])
    signal.signal(signal.SIGALRM, before[1])
    return why


def a_callback(comm):
    """The handler raises at a callback's first instruction. The op completes, and the exception is raised later."""
    calls = []

    def add(a, b):
        calls.append(1)
        return [p + q for p, q in zip(a, b)] if not hasattr(a, "dtype") else a + b

    op = tutti.op(add)
    if comm.rank == 0:
        time.sleep(2 * AFTER)  # by then the signal has arrived
        return "" if comm.allreduce(x, op=op)[0] == 2 else "another sum"
    _signals.unwatch()  # so that the handler does not run before the callback
    soon()
    got, why = x[:], "nothing was raised"
    try:
        comm.allreduce(x, op=op, out=got)
        time.sleep(0.1)
    except KeyboardInterrupt:
        why = "" if calls and got[0] == 2 else f"{len(calls)} calls, {got}"
    _signals.watch()
    return why


OTHERS = {"waiting for a request continues after it": a_request, "a persistent request's": a_persistent_request,
          "buckets' wait": buckets, "create, no other rank comes": a_rendezvous, "create, no rendezvous answers": no_rendezvous,
          "from_store": a_store, "ranks that are threads": between_threads, "a wait in another thread": in_a_thread,
          "other handlers": a_handler, "a callback loses nothing": a_callback}


# ---- tests that need a separate job ----


def dead():
    """Both ranks wait for each other; Ctrl-C at a terminal ends them."""
    comm = tutti.init()
    os.write(1, f"rank {comm.rank} waits\n".encode())
    comm.recv(x, 1 - comm.rank)


def ended():
    """The same, ended by SIGTERM. A rank that ends also ends its peer, so each handler first waits until both handlers
    run. ENDED is the prefix of the files by which they know."""
    def handler(number, frame):
        file = os.environ["ENDED"] + "."
        open(file + str(comm.rank), "w").close()
        until_there(file + str(1 - comm.rank))
        sys.exit(f"rank {comm.rank}: ended in order")

    signal.signal(signal.SIGTERM, handler)
    comm = tutti.init()
    os.write(1, f"rank {comm.rank} waits\n".encode())
    comm.recv(x, 1 - comm.rank)


def until_there(file):
    until = time.monotonic() + 2 * PROMPT
    while not os.path.exists(file) and time.monotonic() < until:
        time.sleep(0.01)


def init():
    """Rank 0 calls init after rank 1 has left it; the files RAISED and HEARD signal this."""
    if os.environ["TUTTI_RANK"] == "1":
        print("rank 1:", raised_at_once(tutti.init) or "good", flush=True)
        open(os.environ["RAISED"], "w").close()
        until_there(os.environ["HEARD"])
    else:
        until_there(os.environ["RAISED"])
        print("rank 0:", hears(tutti.init, "was interrupted") or "good", flush=True)
        open(os.environ["HEARD"], "w").close()


if len(sys.argv) > 1:
    globals()[sys.argv[1]]()
else:
    import tap

    world = tutti.init()
    for title, (wait, words) in WAITS.items():
        tap.run(f"Ctrl-C in {title}", of_a_call, world, wait, words)
    for title, test in OTHERS.items():
        tap.run(f"Ctrl-C: {title}", test, world)
    tap.end()
