# gradients.py - writes gradients of two small nets on Fashion-MNIST to files, for the benchmarks of compression; and trains the
# nets with compressed sums, to check the accuracy. Needs PyTorch and dataset-fashion-mnist.
#
#   gradients.py --dump DIR [--ranks 8] [--after 100]
#       DIR/demo.f32, DIR/conv.f32: the gradients of one step, rank after rank; each rank has a different part of the batch
#   tutti run ... gradients.py --train demo|conv [--steps 400] [--code error=1e-2]
#       rank 0 prints a line of JSON: the accuracy, and a hash of the weights, which are the same on all ranks
#
# demo       the net of `make demo`: 784-256-128-10; its smooth relu leaves no gradient at 0
# conv       two convolutions and two layers, 218 000 weights; its relu sets many gradients to 0
# SPDX-License-Identifier: BSD-3-Clause
import argparse
import gzip
import json
import os
import sys
import zlib

import torch
from torch.nn import functional

DATA = "/usr/share/datasets/fashion-mnist"
MEAN, SPREAD = 0.286, 0.353
BATCH, PEAK = 32, 0.05


def read(name, head):
    with gzip.open(os.path.join(DATA, name + "-ubyte.gz")) as f:
        return torch.frombuffer(bytearray(f.read()[head:]), dtype=torch.uint8)


def images(name):
    return (read(name + "-images-idx3", 16).view(-1, 784).float() / 255 - MEAN) / SPREAD


def labels(name):
    return read(name + "-labels-idx1", 8).long()


class Bend(torch.nn.Module):
    """The smooth relu of examples/fashion_net.c."""

    def forward(self, z):
        return (z + (z * z + 1).sqrt()) / 2


def net(name):
    torch.manual_seed(1)
    nn = torch.nn
    if name == "demo":
        return nn.Sequential(nn.Linear(784, 256), Bend(), nn.Linear(256, 128), Bend(), nn.Linear(128, 10))
    return nn.Sequential(nn.Unflatten(1, (1, 28, 28)), nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(1568, 128),
                         nn.ReLU(), nn.Linear(128, 10))


class Part:
    """The part of the data for one rank: its share of the pictures in every batch."""

    def __init__(self, ranks):
        self.x, self.y, self.ranks = images("train"), labels("train"), ranks
        self.order = torch.randperm(len(self.x), generator=torch.Generator().manual_seed(2))

    def gradient(self, model, step, rank):
        at = (step * self.ranks + rank) * BATCH % (len(self.x) - BATCH)
        mine = self.order[at:at + BATCH]
        model.zero_grad(set_to_none=True)
        loss = functional.cross_entropy(model(self.x[mine]), self.y[mine])
        loss.backward()
        return torch.cat([p.grad.reshape(-1) for p in model.parameters()])


def put(model, gradient):
    at = 0
    for p in model.parameters():
        p.grad = gradient[at:at + p.numel()].view_as(p).clone()
        at += p.numel()


def dump(folder, ranks, after):
    os.makedirs(folder, exist_ok=True)
    part = Part(ranks)
    for name in ("demo", "conv"):
        model = net(name)
        optimizer = torch.optim.SGD(model.parameters(), lr=PEAK, momentum=0.9)
        for step in range(after):
            put(model, sum(part.gradient(model, step, r) for r in range(ranks)) / ranks)
            optimizer.step()
        rows = [part.gradient(model, after, r) for r in range(ranks)]
        path = os.path.join(folder, name + ".f32")
        with open(path, "wb") as f:
            for row in rows:
                f.write(row.numpy().tobytes())
        zeros = sum((row == 0).float().mean().item() for row in rows) / ranks
        print("%s: %d ranks x %d floats, %.1f %% of them 0" % (path, ranks, len(rows[0]), 100 * zeros))


def train(name, steps, code):
    import tutti

    comm = tutti.init()
    part, model = Part(comm.size), net(name)
    optimizer = torch.optim.SGD(model.parameters(), lr=PEAK, momentum=0.9)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    mean = torch.zeros(sum(p.numel() for p in model.parameters()))
    with tutti.Buckets(comm, [mean], code=code, bytes=1 << 30) as sums:
        for step in range(steps):
            mean[:] = part.gradient(model, step, comm.rank)
            sums.ready(0)
            sums.wait()
            put(model, mean)
            optimizer.step()
            schedule.step()
    with torch.no_grad():
        right = (model(images("t10k")).argmax(1) == labels("t10k")).float().mean().item()
    weights = zlib.crc32(torch.cat([p.detach().reshape(-1) for p in model.parameters()]).numpy().tobytes())
    same = comm.allreduce(weights, "min") == comm.allreduce(weights, "max")
    if comm.rank == 0:
        comm.configure(compression=code)
        print(json.dumps({"net": name, "ranks": comm.size, "steps": steps, "code": code or "none", "accuracy": right,
                          "same_weights": same, "plan": comm.plan(mean)}), flush=True)
    return 0 if same else 1


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--dump", metavar="DIR")
    p.add_argument("--train", choices=("demo", "conv"))
    p.add_argument("--ranks", type=int, default=8)
    p.add_argument("--after", type=int, default=100)
    p.add_argument("--steps", type=int, default=400)
    p.add_argument("--code", default=None)
    args = p.parse_args()
    torch.set_num_threads(1)
    if args.dump:
        return dump(args.dump, args.ranks, args.after)
    if args.train:
        return train(args.train, args.steps, args.code)
    p.error("say --dump or --train")


if __name__ == "__main__":
    sys.exit(main())
