#!/usr/bin/env python3
"""gpu_peers.py - allreduce of vectors on a GPU by PyTorch: gloo through the host, and NCCL; the columns of gpu_allreduce.

Usage      bench/gpu_peers.py --ranks N --way gloo|nccl --first BYTES --last BYTES [--budget S]
Idea       gloo sums vectors of the host, so each call copies in, sums, and copies out, through pinned memory. NCCL with several
           ranks on one GPU is refused by its later versions; then the line says so.
Result     lines as those of gpu_allreduce, or "# WAY: why not". Then the exit status is 77.
SPDX-License-Identifier: BSD-3-Clause"""
import argparse
import os
import socket
import statistics
import sys
import time

MOST_TIMES, TOGETHER = 1000, 8


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def one_call(dist, torch, way, device_vector, host_vector):
    if way == "gloo":
        host_vector.copy_(device_vector, non_blocking=True)
        torch.cuda.synchronize()
        dist.all_reduce(host_vector)
        device_vector.copy_(host_vector, non_blocking=True)
        torch.cuda.synchronize()
        return
    for _ in range(TOGETHER):
        dist.all_reduce(device_vector)
    torch.cuda.synchronize()


def measure(dist, torch, args, rank, size):
    """The median seconds of a call, and wrong elements of the first one."""
    count = size // 4
    pattern = (torch.arange(count) + rank) % 5
    wanted = sum((torch.arange(count) + r) % 5 for r in range(args.ranks))
    vector = pattern.float().cuda()
    host = torch.empty(count, dtype=torch.float32, pin_memory=True)
    dist.all_reduce(vector) if args.way == "nccl" else one_call(dist, torch, "gloo", vector, host)
    wrong = int((vector.cpu() != wanted).sum())
    vector.zero_()
    calls = TOGETHER if args.way == "nccl" else 1
    times = []
    until = None
    while True:
        dist.barrier()
        start = time.perf_counter()
        one_call(dist, torch, args.way, vector, host)
        times.append((time.perf_counter() - start) / calls)
        if until is None:
            until = max(3, min(MOST_TIMES, int(args.budget / (times[0] * calls))))
            agreed = torch.tensor([until], device="cuda" if args.way == "nccl" else "cpu")
            dist.broadcast(agreed, 0)
            until = int(agreed.item())
        if len(times) >= until:
            return statistics.median(times[1:]), wrong


def work(rank, args, port):
    import torch
    import torch.distributed as dist
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), NCCL_P2P_DISABLE=os.environ.get("NCCL_P2P_DISABLE", "0"))
    torch.cuda.set_device(rank % torch.cuda.device_count())
    dist.init_process_group(args.way, rank=rank, world_size=args.ranks)
    size = args.first
    while size <= args.last:
        took, wrong = measure(dist, torch, args, rank, size)
        if rank == 0:
            rate = size / took / 1e9
            print("%12d %12d %8s %6s %7s %10.1f %8.2f %8.2f %6d" % (
                size, size // 4, "float", "sum", args.way, 1e6 * took, rate, rate * 2 * (args.ranks - 1) / args.ranks, wrong), flush=True)
        size *= 4
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--way", choices=("gloo", "nccl"), default="gloo")
    parser.add_argument("--first", type=int, default=1024)
    parser.add_argument("--last", type=int, default=1 << 28)
    parser.add_argument("--budget", type=float, default=0.3)
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
    print("# %d ranks, %s of PyTorch %s" % (args.ranks, args.way, torch.__version__), flush=True)
    try:
        torch.multiprocessing.spawn(work, (args, free_port()), args.ranks)
    except Exception as error:  # of whatever kind: the table goes on without this peer
        reasons = [line for line in str(error).strip().split("\n") if "rror" in line or "uplicate" in line] or [str(error)]
        print("# %s on %d ranks: %s" % (args.way, args.ranks, reasons[-1].strip()[:200]))
        return 77
    return 0


if __name__ == "__main__":
    sys.exit(main())
