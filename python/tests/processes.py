"""processes.py - ranks that multiprocessing has started, forked or not, find each other by an id; they end without
finalize, or one of them raises. Prints TAP.

SPDX-License-Identifier: BSD-3-Clause
"""
import array
import multiprocessing
import os
import sys
import time

import tutti


def serve(names):
    names.put(tutti.unique_id())
    time.sleep(60)


def rank(me, ranks, name, raises):
    comm = tutti.create(name, ranks, me, timeout=30)
    x = array.array("d", [me] * 1000)
    for _ in range(20):
        comm.allreduce(x)
    comm.broadcast(x, root=0)
    if not raises:
        comm.iallreduce(x)  # and ends
        return
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    if me == 1:
        raise ValueError("one of them")
    try:
        comm.allreduce(x)
    except tutti.PeerLost as why:
        sys.exit(7 if "rank 1 " in str(why) else 8)


def main():
    bad = 0
    for method in ("fork", "spawn"):
        context = multiprocessing.get_context(method)
        for raises, want in (False, [0, 0, 0]), (True, [7, 1, 7]):
            names = context.Queue()
            meeting = context.Process(target=serve, args=(names,))
            meeting.start()
            name = names.get()
            processes = [context.Process(target=rank, args=(i, 3, name, raises)) for i in range(3)]
            for p in processes:
                p.start()
            for p in processes:
                p.join()
            meeting.terminate()
            meeting.join()
            ended = [p.exitcode for p in processes]
            bad += ended != want
            print(f"{'ok' if ended == want else 'not ok'} - processes of multiprocessing as ranks, by {method}, "
                  f"{'one raises' if raises else 'to the end'}: they end with {ended}", flush=True)
    sys.exit(bad != 0)


if __name__ == "__main__":
    main()
