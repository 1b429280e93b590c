"""processes.py - ranks started by multiprocessing, forked or spawned, connect by an id that their parent made. The parent
uses tutti, too. The ranks end without finalize, or one of them raises an exception. Prints TAP.

SPDX-License-Identifier: BSD-3-Clause
"""
import array
import multiprocessing
import os
import sys

import tutti


def rank(me, ranks, name, raises):
    comm = tutti.create(name, ranks, me, timeout=30)
    x = array.array("d", [me] * 1000)
    for _ in range(20):
        comm.allreduce(x)
    assert comm.allreduce(x, op=made_before)[0] == 0 + 1 + 2
    if not raises:
        comm.broadcast(x, root=0)
        comm.iallreduce(x)  # ends with the operation in flight
        return
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    try:
        comm.broadcast(x, root=0)  # rank 0 may have left it when it detects the failure, with rank 2 still inside
        if me == 1:
            raise ValueError("one of them")
        comm.allreduce(x)
    except tutti.PeerLostError as why:
        sys.exit(7 if "rank 1 " in str(why) else 8)


made_before = tutti.op(lambda a, b: [p + q for p, q in zip(a, b)])


def pool(names):
    """Workers of a pool become ranks."""
    with multiprocessing.get_context("fork").Pool(2) as workers:
        return workers.starmap(in_pool, [(name, 2, r) for name in names for r in range(2)], chunksize=1)


def in_pool(name, ranks, me):
    with tutti.create(name, ranks, me, timeout=30) as comm:
        return comm.allreduce(array.array("i", [me + 1]))[0]


def main():
    bad = 0
    tutti.info()
    for method in ("fork", "spawn", "forkserver"):
        context = multiprocessing.get_context(method)
        for raises, want in (False, [0, 0, 0]), (True, [7, 1, 7]):
            name = tutti.unique_id()
            processes = [context.Process(target=rank, args=(i, 3, name, raises)) for i in range(3)]
            for p in processes:
                p.start()
            for p in processes:
                p.join()
            ended = [p.exitcode for p in processes]
            bad += ended != want
            print(f"{'ok' if ended == want else 'not ok'} - processes of multiprocessing as ranks, by {method}, "
                  f"{'one raises' if raises else 'to the end'}: they end with {ended}", flush=True)
    sums = pool([tutti.unique_id()])
    print(f"{'ok' if sums == [3, 3] else 'not ok'} - ranks in a pool of forked processes: {sums}", flush=True)
    sys.exit(bad != 0 or sums != [3, 3])


if __name__ == "__main__":
    main()
