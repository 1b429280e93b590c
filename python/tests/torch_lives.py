"""Process groups that are made, used and destroyed again and again over one store, as torchrun's store outlives its workers.

    torch_lives.py over RANK RANKS PORT LIVES     over a store of the test's
    torch_lives.py here LIVES                     over torchrun's
    torch_lives.py restarts FILE                  rank 1 of the first life kills itself; torchrun starts all again

PyTorch 1.13 itself cannot make its default group twice over one store, so there only tutti's part of it is done twice.
SPDX-License-Identifier: BSD-3-Clause
"""
import datetime
import os
import signal
import sys

import torch
import torch.distributed as dist

import tutti.torch  # noqa: F401  pylint: disable=unused-import

LIMIT = datetime.timedelta(seconds=60)


def group_over(store, rank, ranks):
    """A process group as init_process_group makes it."""
    if hasattr(dist.ProcessGroup, "_get_backend"):
        dist.init_process_group("tutti", timeout=LIMIT, store=store, rank=rank, world_size=ranks)
        return dist.distributed_c10d._get_default_group()
    return tutti.torch._c10d.create(store, rank, ranks, LIMIT)


def live(group, life):
    """A sum whose result is of this life, and groups, so that descriptors have other numbers in the next one."""
    ranks, x = group.size(), torch.full((1000,), float(group.rank() + life))
    group.allreduce([x]).wait()
    assert x[0] == ranks * (ranks - 1) / 2 + ranks * life, (life, x[0])
    if dist.is_initialized() and life % 3 == 0:
        for k in range(ranks):
            dist.new_group([i for i in range(ranks) if i != k] or [0])


def main(what, *arguments):
    if what == "over":
        rank, ranks, port, lives = map(int, arguments)
        store = dist.TCPStore("127.0.0.1", port, ranks, rank == 0, LIMIT)
        for life in range(lives):
            live(group_over(store, rank, ranks), life)
            if dist.is_initialized():
                dist.destroy_process_group()
        store.add("ended", 1)
        while rank == 0 and store.add("ended", 0) < ranks:  # rank 0 has the store
            pass
    else:
        first = what == "restarts" and not os.path.exists(arguments[0])
        for life in range(int(arguments[0]) if what == "here" else 1):
            dist.init_process_group("tutti", timeout=LIMIT)
            live(dist.distributed_c10d._get_default_group(), life + first)
            dist.barrier()  # rank 0 may have the store
            if first:
                if dist.get_rank() == 1:
                    open(arguments[0], "w").close()
                    os.kill(os.getpid(), signal.SIGKILL)
                signal.pause()  # torchrun ends it
            dist.destroy_process_group()
    print("lived", flush=True)


main(*sys.argv[1:])
