#!/usr/bin/env python3
"""gpu_peers.py - allreduce of vectors on a GPU by PyTorch's gloo and NCCL, and by an MPI; the columns of gpu_allreduce.

Usage      bench/gpu_peers.py --ranks N --way gloo|mpi|nccl --first BYTES --last BYTES [--budget S]
Idea       gloo and an MPI sum host vectors, so each call copies in, sums, and copies out, through pinned memory. The MPI is
           that of mpi4py, started by `mpiexec`. Later versions of NCCL refuse several ranks on one GPU; the output then has
           this reason.
Result     lines like those of gpu_allreduce; or "# WAY: reason", and exit status 77.
SPDX-License-Identifier: BSD-3-Clause"""
import argparse
import os
import socket
import statistics
import subprocess
import sys
import time

MOST_TIMES, TOGETHER = 1000, 8


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Gloo:
    """gloo through torch.distributed, on host vectors. The classes of the other ways have the same functions."""

    name, on_host = "gloo", True

    def __init__(self, torch, ranks, rank, port):
        import torch.distributed
        self.torch, self.dist = torch, torch.distributed
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), NCCL_P2P_DISABLE=os.environ.get("NCCL_P2P_DISABLE", "0"))
        self.dist.init_process_group(self.name, rank=rank, world_size=ranks)

    def sum(self, vector):
        self.dist.all_reduce(vector)

    def barrier(self):
        self.dist.barrier()

    def agree(self, number):
        told = self.torch.tensor([number], device="cpu" if self.on_host else "cuda")
        self.dist.broadcast(told, 0)
        return int(told.item())

    def end(self):
        self.dist.destroy_process_group()


class Nccl(Gloo):
    name, on_host = "nccl", False


class Mpi:
    name, on_host = "mpi", True

    def __init__(self, torch, ranks, rank, port):
        from mpi4py import MPI
        self.MPI, self.world = MPI, MPI.COMM_WORLD
        if rank == 0:
            print("# " + MPI.Get_library_version().split("\n")[0][:80], flush=True)

    def sum(self, vector):
        self.world.Allreduce(self.MPI.IN_PLACE, vector.numpy())

    def barrier(self):
        self.world.Barrier()

    def agree(self, number):
        return self.world.bcast(number, 0)

    def end(self):
        pass


WAYS = {way.name: way for way in (Gloo, Mpi, Nccl)}


def calls(torch, peer, device_vector, host_vector):
    """Make one call, or several calls ordered by a stream."""
    if not peer.on_host:
        for _ in range(TOGETHER):
            peer.sum(device_vector)
    else:
        host_vector.copy_(device_vector, non_blocking=True)
        torch.cuda.synchronize()
        peer.sum(host_vector)
        device_vector.copy_(host_vector, non_blocking=True)
    torch.cuda.synchronize()


def measure(torch, peer, args, rank, size):
    """The median time of a call in seconds, and the number of wrong elements in the first call."""
    count = size // 4
    wanted = sum((torch.arange(count) + r) % 5 for r in range(args.ranks))
    vector = ((torch.arange(count) + rank) % 5).float().cuda()
    host = torch.empty(count, dtype=torch.float32, pin_memory=True)
    if peer.on_host:
        calls(torch, peer, vector, host)
    else:
        peer.sum(vector)
    wrong = int((vector.cpu() != wanted).sum())
    vector.zero_()
    each = 1 if peer.on_host else TOGETHER
    times = []
    until = None
    while until is None or len(times) < until:
        peer.barrier()
        start = time.perf_counter()
        calls(torch, peer, vector, host)
        times.append((time.perf_counter() - start) / each)
        if until is None:
            until = peer.agree(max(3, min(MOST_TIMES, int(args.budget / (times[0] * each)))))
    return statistics.median(times[1:]), wrong


def work(rank, args, port):
    import torch
    torch.cuda.set_device(rank % torch.cuda.device_count())
    peer = WAYS[args.way](torch, args.ranks, rank, port)
    size = args.first
    while size <= args.last:
        took, wrong = measure(torch, peer, args, rank, size)
        if rank == 0:
            rate = size / took / 1e9
            print("%12d %12d %8s %6s %7s %10.1f %8.2f %8.2f %6d" % (
                size, size // 4, "float", "sum", args.way, 1e6 * took, rate, rate * 2 * (args.ranks - 1) / args.ranks, wrong), flush=True)
        size *= 4
    peer.end()


def start_mpi(args):
    """Run this program as the ranks of an MPI."""
    anyone = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    command = ["mpiexec", "-n", str(args.ranks), sys.executable, __file__, "--inside"] + sys.argv[1:]
    try:
        import mpi4py  # noqa: F401
        return subprocess.run(command, env=anyone).returncode and 77
    except (ImportError, OSError) as why:
        print("# mpi: %s" % why)
        return 77


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--way", choices=sorted(WAYS), default="gloo")
    parser.add_argument("--first", type=int, default=1024)
    parser.add_argument("--last", type=int, default=1 << 28)
    parser.add_argument("--budget", type=float, default=0.3)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)  # a rank of an MPI
    args = parser.parse_args()
    try:
        import torch
        import torch.multiprocessing
        available = torch.cuda.is_available()
    except ImportError:
        available = False
    if not available:
        print("# %s: no PyTorch with a GPU" % args.way)
        return 77
    if args.inside:
        from mpi4py import MPI
        work(MPI.COMM_WORLD.rank, args, 0)
        return 0
    print("# %d ranks, %s, PyTorch %s" % (args.ranks, args.way, torch.__version__), flush=True)
    if args.way == "mpi":
        return start_mpi(args)
    try:
        torch.multiprocessing.spawn(work, (args, free_port()), args.ranks)
    except Exception as error:  # after any error the table continues without this peer
        reasons = [line for line in str(error).strip().split("\n") if "rror" in line or "uplicate" in line] or [str(error)]
        print("# %s on %d ranks: %s" % (args.way, args.ranks, reasons[-1].strip()[:200]))
        return 77
    return 0


if __name__ == "__main__":
    sys.exit(main())
