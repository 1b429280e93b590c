"""Process groups that are made, used and destroyed again and again over one store, as torchrun's store outlives its workers.

    torch_lives.py over RANK RANKS FILE LIVES     over a store that the test makes; rank 0 writes its port to the file
    torch_lives.py here LIVES                     over the store of torchrun
    torch_lives.py restarts LIVES kill|raise      rank 1 fails in this way LIVES times; torchrun restarts all ranks each time
    torch_lives.py launch RANKS PORT LIVES kill|raise    the same with torchrun's agent in this process, which forks the ranks.
                                                         PORT 0: the rendezvous of --standalone, otherwise the static one

PyTorch 1.13 cannot make its default group twice over one store. With that version the test only repeats tutti's part.
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
    """Make a process group like init_process_group."""
    if hasattr(dist.ProcessGroup, "_get_backend"):
        dist.init_process_group("tutti", timeout=LIMIT, store=store, rank=rank, world_size=ranks)
        return dist.distributed_c10d._get_default_group()
    return tutti.torch._c10d.create(store, rank, ranks, LIMIT)


def store_of(rank, ranks, file):
    """Make the store on rank 0, on a port that the system chooses; connect to it on the other ranks."""
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
    """Check a sum whose result depends on `life`, and make groups, so that file descriptors differ in the next life."""
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
        while rank == 0 and store.add("ended", 0) < ranks:  # rank 0 serves the store
            pass
    else:
        lives, before = int(arguments[0]), int(os.environ["TORCHELASTIC_RESTART_COUNT"])
        for life in range(lives if what == "here" else 1):
            dist.init_process_group("tutti", timeout=LIMIT)
            live(dist.distributed_c10d._get_default_group(), life + before)
            dist.barrier()  # rank 0 may serve the store
            if what == "restarts" and before < lives:
                end(arguments[1])
            dist.destroy_process_group()
    sys.stdout.write(f"lived after {before} restarts\n" if what == "restarts" else "lived\n")  # one write
    sys.stdout.flush()
    return 0


if __name__ == "__main__":
    main(*sys.argv[1:])
