"""Process groups that are made, used and destroyed again and again over one store, as torchrun's store outlives its workers.

    torch_lives.py over RANK RANKS FILE LIVES     over a store of the test's; the file will have its port
    torch_lives.py here LIVES                     over torchrun's
    torch_lives.py restarts LIVES kill|raise      in each of so many lives rank 1 ends so; torchrun starts all again
    torch_lives.py launch RANKS PORT LIVES kill|raise    the same on torchrun's agent in this process, which forks the ranks; PORT 0:
                                                         its rendezvous is that of --standalone, otherwise the static one

PyTorch 1.13 itself cannot make its default group twice over one store, so there only tutti's part of it is done twice.
SPDX-License-Identifier: BSD-3-Clause
"""
import datetime
import os
import signal
import sys
import time

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


def store_of(rank, ranks, file):
    """Its port is one that the system gave."""
    if rank == 0:
        store = dist.TCPStore("127.0.0.1", 0, ranks, True, LIMIT, False)
        with open(file + ".new", "w") as f:
            f.write(str(store.port))
        os.rename(file + ".new", file)
        return store
    until = time.monotonic() + LIMIT.total_seconds()
    while not os.path.exists(file) and time.monotonic() < until:
        os.sched_yield()
    with open(file) as f:
        return dist.TCPStore("127.0.0.1", int(f.read()), ranks, False, LIMIT, False)


def live(group, life):
    """A sum whose result is of this life, and groups, so that descriptors have other numbers in the next one."""
    ranks, x = group.size(), torch.full((1000,), float(group.rank() + life))
    group.allreduce([x]).wait()
    assert x[0] == ranks * (ranks - 1) / 2 + ranks * life, (life, x[0])
    if dist.is_initialized() and life % 3 == 0:
        for k in range(ranks):
            dist.new_group([i for i in range(ranks) if i != k] or [0])


def end(how):
    if dist.get_rank() != 1:
        signal.pause()  # torchrun ends it
    if how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    raise RuntimeError("rank 1 ends")


def launch(ranks, port, lives, how):
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch
    elastic_launch(LaunchConfig(min_nodes=1, max_nodes=1, nproc_per_node=int(ranks), run_id="lives", max_restarts=int(lives),
                                rdzv_backend="static" if int(port) else "c10d", rdzv_endpoint=f"127.0.0.1:{port}",
                                rdzv_configs={"rank": 0, "timeout": 60}, monitor_interval=0.02, start_method="fork"),
                   main)("restarts", lives, how)


def main(what, *arguments):
    if what == "launch":
        return launch(*arguments)
    if what == "over":
        file = arguments[2]
        rank, ranks, lives = (int(arguments[i]) for i in (0, 1, 3))
        store = store_of(rank, ranks, file)
        for life in range(lives):
            live(group_over(store, rank, ranks), life)
            if dist.is_initialized():
                dist.destroy_process_group()
        store.add("ended", 1)
        while rank == 0 and store.add("ended", 0) < ranks:  # rank 0 has the store
            pass
    else:
        lives, before = int(arguments[0]), int(os.environ["TORCHELASTIC_RESTART_COUNT"])
        for life in range(lives if what == "here" else 1):
            dist.init_process_group("tutti", timeout=LIMIT)
            live(dist.distributed_c10d._get_default_group(), life + before)
            dist.barrier()  # rank 0 may have the store
            if what == "restarts" and before < lives:
                end(arguments[1])
            dist.destroy_process_group()
    sys.stdout.write(f"lived after {before} restarts\n" if what == "restarts" else "lived\n")  # at once: ranks share it
    sys.stdout.flush()
    return 0


if __name__ == "__main__":
    main(*sys.argv[1:])
