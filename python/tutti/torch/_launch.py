"""Sets the variables that init_process_group needs and that torchrun would set, RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and
MASTER_PORT, for ranks that `tutti run`, mpirun or srun started.

These ranks have a communicator already. Their first process group is made from it (`take`), without a rendezvous through
PyTorch's store. A joining rank, which `tutti run --respawn` started, gets its communicator when the other ranks call
`tutti.torch.grow`.
SPDX-License-Identifier: BSD-3-Clause
"""
from __future__ import annotations

import multiprocessing
import os
import socket
import time
from typing import Optional

import tutti

_ready: Optional[tutti.Comm] = None  # the communicator of the next process group
_STARTERS = ("TUTTI_SIZE", "TUTTI_SHM_FD", "TUTTI_ID", "PMIX_RANK")


def prepare() -> None:
    """Set the variables. Collective over the ranks that a launcher started. Does nothing in their child processes, or if the
    variables are set."""
    if "RANK" in os.environ and "WORLD_SIZE" in os.environ or multiprocessing.parent_process() is not None:
        return
    if any(name in os.environ for name in _STARTERS) or _by_srun():
        introduce(tutti.init())


def _by_srun() -> bool:
    """Whether Slurm has started several ranks that may connect: on one host, or with a secret. Without a secret, a program on
    several hosts has to set the variables."""
    env = os.environ
    return (env.get("SLURM_STEP_NUM_TASKS", "1") != "1" and "SLURM_PROCID" in env and
            ("TUTTI_KEY" in env or env.get("SLURM_STEP_NUM_NODES") == "1"))


def introduce(comm: tutti.Comm) -> None:
    """Use `comm` for the next process group, and set the variables. Collective: rank 0 broadcasts the address of its store."""
    global _ready
    here = socket.gethostname().encode()[:64].ljust(64, b"\0")
    hosts = bytearray(64 * comm.size)
    comm.all_gather(here, out=hosts)
    where = bytearray(80)
    if comm.rank == 0:
        alone = hosts == here * comm.size
        where[:] = f"{'127.0.0.1' if alone else here.rstrip(bytes(1)).decode()} {_free_port()}".encode().ljust(80)
    comm.broadcast(where, root=0)
    address, port = where.decode().split()
    before = hosts[:64 * comm.rank]
    os.environ.update(RANK=str(comm.rank), WORLD_SIZE=str(comm.size), MASTER_ADDR=address, MASTER_PORT=port,
                      LOCAL_RANK=str(sum(before[i:i + 64] == here for i in range(0, len(before), 64))))
    _ready = comm


def await_store(rank: int) -> None:
    """Wait until rank 0's store accepts connections. PyTorch itself would pause for a second after each failed attempt."""
    until = time.monotonic() + 10  # after that, PyTorch reports the error
    while rank and time.monotonic() < until:
        try:
            socket.create_connection((os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])), 10).close()
            return
        except OSError:
            time.sleep(0.003)


def take(rank: int, size: int) -> Optional[tutti.Comm]:
    """The communicator for the first process group of these ranks; None: the ranks must connect through the store."""
    global _ready
    comm, _ready = _ready, None
    return comm if comm is not None and comm._handle is not None and (comm.rank, comm.size) == (rank, size) else None


def _free_port() -> int:
    """A port that is free now; PyTorch's store will listen on it."""
    with socket.socket() as s:
        s.bind(("", 0))
        return int(s.getsockname()[1])
