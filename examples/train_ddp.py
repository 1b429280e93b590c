"""An ordinary DistributedDataParallel script: Fashion-MNIST on any backend.

    tutti run -n 2 python3 train_ddp.py --backend tutti

Nothing in it is about tutti but the import, which makes the backend known. Rank 0 prints a line of JSON at the end:
losses, step times, accuracy. SPDX-License-Identifier: BSD-3-Clause
"""
import argparse
import gzip
import json
import statistics
import time

import torch
import torch.distributed as dist
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

import tutti.torch  # makes "tutti" known

DATA = "/usr/share/datasets/fashion-mnist"


def read(name, head):
    with gzip.open(f"{DATA}/{name}-ubyte.gz") as f:
        return torch.frombuffer(bytearray(f.read()[head:]), dtype=torch.uint8)


def images(name):
    return read(name + "-images-idx3", 16).view(-1, 784).float() / 255


def labels(name):
    return read(name + "-labels-idx1", 8).long()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--backend", default="tutti")
    p.add_argument("--steps", type=int, default=300)
    p.add_argument("--batch", type=int, default=64, help="of each rank")
    p.add_argument("--no-sums", action="store_true", help="gradients stay each rank's own: what a step costs without")
    args = p.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group(args.backend)
    rank, ranks = dist.get_rank(), dist.get_world_size()
    x, y = images("train"), labels("train")
    torch.manual_seed(1)
    model = DistributedDataParallel(torch.nn.Sequential(
        torch.nn.Linear(784, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 10)))
    if args.no_sums:
        model.register_comm_hook(None, no_sum)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(2))
    losses, times = [], []
    for step in range(args.steps):
        at = (step * ranks + rank) * args.batch % (len(x) - args.batch)
        mine = order[at:at + args.batch]
        since = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        loss = functional.cross_entropy(model(x[mine]), y[mine])
        loss.backward()
        optimizer.step()
        times.append(time.perf_counter() - since)
        losses.append(loss.detach())
        if rank == 0 and (step + 1) % 50 == 0 and not args.no_sums:
            print(f"{args.backend:>6} step {step + 1:4d} of {args.steps}: loss {loss.item():.4f}, "
                  f"{1e3 * statistics.median(times[-50:]):.1f} ms a step", flush=True)
    curve = torch.stack(losses)
    dist.all_reduce(curve)
    test_x, test_y = images("t10k"), labels("t10k")
    with torch.no_grad():
        right = (model.module(test_x).argmax(1) == test_y).float().mean().item()
    if rank == 0:
        print(json.dumps({"backend": args.backend, "ranks": ranks, "accuracy": right, "ms": 1e3 * statistics.median(times),
                          "losses": (curve / ranks).tolist()}), flush=True)
    dist.destroy_process_group()


def no_sum(_state, bucket):
    future = torch.futures.Future()
    future.set_result(bucket.buffer())
    return future


main()
