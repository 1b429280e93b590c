"""What init_process_group wants to know where torchrun has not said it: RANK, WORLD_SIZE, LOCAL_RANK,
MASTER_ADDR and MASTER_PORT, for ranks that `tutti run` or mpirun has started.

SPDX-License-Identifier: BSD-3-Clause
"""
from __future__ import annotations

import multiprocessing
import os
import socket

import tutti

_STARTERS = ("TUTTI_SIZE", "TUTTI_SHM_FD", "TUTTI_ID", "PMIX_RANK")


def prepare() -> None:
    """Collective over the ranks that a launcher has started. Does nothing in their children, or if the variables are
    set."""
    if "RANK" in os.environ and "WORLD_SIZE" in os.environ or multiprocessing.parent_process() is not None:
        return
    if not any(name in os.environ for name in _STARTERS):
        return
    comm = tutti.init()
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


def _free_port() -> int:
    """A free port; PyTorch's store takes it a moment later."""
    with socket.socket() as s:
        s.bind(("", 0))
        return int(s.getsockname()[1])
