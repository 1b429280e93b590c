"""fault.py - rank 1 makes a mistake or fails; each rank prints the error that it gets on a line.

    tutti run --keep-going -n 3 python3 python/tests/fault.py HOW

SPDX-License-Identifier: BSD-3-Clause
"""
import array
import multiprocessing
import os
import signal
import sys
import threading
import time

import tutti

HOW = sys.argv[1]
new = tutti.newcomer()
comm = tutti.init()
me, P = comm.rank, comm.size
x = array.array("d", [1.0] * 1000)


def say(text):
    """Print a line with a single write."""
    sys.stdout.write(f"rank {me}: {text}\n")
    sys.stdout.flush()


def told(function, *args, **kwargs):
    """Call the function, and print the exception that it raises on a line."""
    begin = time.monotonic()
    try:
        function(*args, **kwargs)
        say("nothing was raised")
    except tutti.TuttiError as why:
        after = time.monotonic() - begin
        say(f"{type(why).__name__} after {'less' if after < 20 else 'more'} than 20 s: {why}")


def others_wait():
    if me != 1:
        told(comm.allreduce, x)


def raises():
    if me == 1:
        raise ValueError("bad batch\nof many")
    others_wait()


def raises_in_block():
    other = comm.dup()
    if me != 1:
        others_wait()
        return
    try:
        time.sleep(0.3)  # by then every rank has it
        with comm:
            request = other.iallreduce(x)  # the other ranks do not call it on this communicator
            raise KeyError("epoch")
    except KeyError:
        say(f"continues, {comm!r}, {request!r}")


def raises_in_flight():
    """Rank 1 raises while an operation is in flight."""
    request = comm.iallreduce(x)
    if me == 1:
        raise RuntimeError("while it is in flight")
    told(lambda: (request.wait(), comm.allreduce(x)))  # either call may be the first to fail


def exits():
    if me == 1:
        sys.exit(3)
    others_wait()


def killed():
    global comm
    if me == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    others_wait()
    told(comm.barrier)  # later calls return the same error
    with comm.shrink() as rest:
        say(f"continues with {rest.size}, sum {rest.allreduce(x)[0]:g}")


def respawned():
    """A new rank replaces the failed one (--respawn)."""
    global comm
    if not new:
        if me == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        others_wait()
        comm = tutti.init(comm.grow(1))
    say(f"{'a joiner' if new else 'continues'}, {comm.size} ranks, {comm.newcomers} new, sum {tutti.allreduce(x)[0]:g}")


def forks():
    """A forked worker uses the group and fails, then its rank exits."""
    if me == 1:
        child = os.fork()
        if child == 0:
            told(comm.allreduce, x)
            told(tutti.from_env)
            sys.exit(5)  # runs all exit handlers
        _, status = os.waitpid(child, 0)
        raise RuntimeError(f"worker ended with {os.waitstatus_to_exitcode(status)}")
    others_wait()


def worker_hangs():
    """A forked worker uses the group while its rank waits outside tutti."""
    if me == 1:
        worker = multiprocessing.get_context("fork").Process(target=told, args=(comm.allreduce, x))
        worker.start()
        worker.join()
        time.sleep(3)
        os._exit(0)
    others_wait()


def other_call():
    told(comm.allreduce, x[:500] if me == 1 else x)


def other_type():
    told(comm.allreduce, array.array("f", [1.0] * 1000) if me == 1 else x)


def two_threads():
    """Two threads use one communicator simultaneously."""
    other = comm.dup()
    if me == 1:
        begins = threading.Event()
        request = threading.Thread(target=lambda: (begins.set(), comm.barrier()))
        request.start()
        begins.wait()
        time.sleep(0.5)
        told(comm.allreduce, x)
    other.barrier()
    if me != 1:
        comm.barrier()


def forgets():
    """Exit without finalize, with objects of all kinds in use."""
    global kept
    kept = [comm.iallreduce(x), comm.allreduce_init(x), comm.dup(), comm.split(0), tutti.scaled(2), comm.alloc(100),
            tutti.op(lambda a, b: a), comm.isend(x, (me + 1) % P), comm.irecv(x[:], (me - 1) % P)]
    kept[1].start()
    kept.append(kept)
    if "numpy" in sys.modules:
        kept.append(comm.empty(10))


def forks_and_ends():
    """A forked child that inherits all objects exits normally and without a message; its parent continues."""
    forgets()
    child = os.fork()
    if child == 0:
        sys.exit(0)
    assert os.waitpid(child, 0)[1] == 0
    told(comm.allreduce, x)


def daemon():
    """Exit while a thread waits in a call that never ends."""
    waits = tutti.from_threads(2)[0]
    threading.Thread(target=waits.allreduce, args=(x,), daemon=True).start()
    time.sleep(0.2)


def ends_early():
    """finalize is the last call."""
    tutti.allreduce(x)
    tutti.finalize()
    tutti.finalize()
    told(tutti.from_env)
    told(comm.allreduce, x)


def op_raises():
    def wrong(a, b):
        if me == 1:
            raise ZeroDivisionError("of no use")
        return [p + q for p, q in zip(a, b)]

    def twice():
        for _ in range(2):
            comm.allreduce(x, op=tutti.op(wrong))

    told(twice)


globals()[HOW]()
