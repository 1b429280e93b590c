# c10d_ranks.py - PyTorch on tutti (compiled, and in Python), on gloo and on a backend that does nothing, alternately on
# the same ranks; bench/c10d.py starts it with `tutti run`.
#
#   c10d_ranks.py sums FIRST LAST ROUNDS     torch.distributed.all_reduce of floats
#   c10d_ranks.py steps MODEL ROUNDS         a step of DistributedDataParallel: mlp, conv, transformer
#
# The time of a round is the median of its calls on the slowest rank. Prints medians over the rounds: the time in us, the
# ratios and, for steps, the additional time compared with a step without sums. One line of JSON per size, or a single
# line. SPDX-License-Identifier: BSD-3-Clause
import importlib.util
import json
import os
import statistics
import sys
import time
import warnings

os.environ.setdefault("GLOG_minloglevel", "2")
warnings.simplefilter("ignore")

import torch
import torch.distributed as dist
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel as DDP

import tutti.torch
from tutti.torch import _plain
from tutti.torch._stubs import register_backend

median = statistics.median


def register_nothing():
    path = os.environ["NOTHING"]
    spec = importlib.util.spec_from_file_location("nothing", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    register_backend("nothing", module.create, ["cpu"])


def slowest(times):
    t = torch.tensor(times, dtype=torch.float64)
    dist.all_reduce(t, op=dist.ReduceOp.MAX)
    return t.tolist()


def in_turn(sides, rounds, once):
    """{side: s of each round}; once(side): s"""
    found = {s: [] for s in sides}
    for r in range(rounds + 1):
        order = sides[r % len(sides):] + sides[:r % len(sides)]
        times = {s: once(s) for s in order}
        for s, t in zip(sides, slowest([times[s] for s in sides])):
            if r:  # the first round warms up
                found[s].append(t)
    return found


def in_us(found):
    return {s: 1e6 * median(v) for s, v in found.items()}


def gloo_over(found):
    return {s: median([g / t for g, t in zip(found["gloo"], v)]) for s, v in found.items()}


def sums(groups, first, last, rounds):
    size = first
    while size <= last:
        calls = max(3, min(200, int(2e7 / (size + 1e5))))
        x = torch.zeros(size // 4)

        def once(side):
            times = []
            # with gloo the ranks begin on one core, and the scheduler takes milliseconds to separate them, so fast
            # calls are repeated for that long
            for _ in range(calls if side == "gloo" or size > 1 << 16 else 20 * calls):
                since = time.perf_counter()
                dist.all_reduce(x, group=groups[side])
                times.append(time.perf_counter() - since)
            return median(times)

        found = in_turn(["gloo", "tutti", "in Python", "nothing"], rounds, once)
        if dist.get_rank() == 0:
            print(json.dumps({"bytes": size, "us": in_us(found), "gloo_over": gloo_over(found)}), flush=True)
        size *= 4


class Conv(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Sequential(
            torch.nn.Conv2d(1, 32, 3), torch.nn.ReLU(), torch.nn.Conv2d(32, 64, 3), torch.nn.ReLU(),
            torch.nn.MaxPool2d(2), torch.nn.Flatten(), torch.nn.Linear(64 * 144, 128), torch.nn.ReLU(),
            torch.nn.Linear(128, 10))

    def forward(self, x):
        return self.body(x)


class Transformer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.into = torch.nn.Linear(28, 128)
        layer = torch.nn.TransformerEncoderLayer(128, 4, 512, dropout=0, batch_first=True)
        self.body, self.out = torch.nn.TransformerEncoder(layer, 3), torch.nn.Linear(128, 10)

    def forward(self, x):
        return self.out(self.body(self.into(x)).mean(1))


def mlp():
    wide = 1024
    return torch.nn.Sequential(torch.nn.Linear(784, wide), torch.nn.ReLU(), torch.nn.Linear(wide, wide), torch.nn.ReLU(),
                               torch.nn.Linear(wide, 10))


MODELS = {"mlp": (mlp, (64, 784)), "conv": (Conv, (32, 1, 28, 28)), "transformer": (Transformer, (16, 28, 28))}


def no_sum(_state, bucket):
    future = torch.futures.Future()
    future.set_result(bucket.buffer())
    return future


def steps(groups, name, rounds):
    make, shape = MODELS[name]
    models = {}
    for side in ("gloo", "tutti", "no sum"):
        torch.manual_seed(1)
        model = DDP(make(), process_group=groups["gloo" if side == "no sum" else side])
        if side == "no sum":
            model.register_comm_hook(None, no_sum)
        models[side] = model, torch.optim.SGD(model.parameters(), lr=0.01)
    x, y = torch.randn(shape), torch.randint(10, (shape[0],))

    def once(side):
        model, optimizer = models[side]
        times = []
        for _ in range(4):
            dist.barrier(group=groups["tutti"])
            since = time.perf_counter()
            optimizer.zero_grad(set_to_none=True)
            functional.cross_entropy(model(x), y).backward()
            optimizer.step()
            times.append(time.perf_counter() - since)
        return median(times)

    found = in_turn(list(models), rounds, once)
    exposed = {s: 1e6 * median([t - f for t, f in zip(found[s], found["no sum"])]) for s in ("gloo", "tutti")}
    bytes = sum(4 * p.numel() for p in models["gloo"][0].parameters())
    if dist.get_rank() == 0:
        print(json.dumps({"model": name, "bytes": bytes, "us": in_us(found), "gloo_over": gloo_over(found),
                          "exposed": exposed}), flush=True)


def main():
    torch.set_num_threads(1)
    register_nothing()
    register_backend("tutti_in_python", _plain.create, ["cpu"])
    dist.init_process_group("tutti")
    groups = {"tutti": dist.group.WORLD, "gloo": dist.new_group(backend="gloo"), "nothing": dist.new_group(backend="nothing"),
              "in Python": dist.new_group(backend="tutti_in_python")}
    if sys.argv[1] == "sums":
        sums(groups, int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
    else:
        steps(groups, sys.argv[2], int(sys.argv[3]))
    dist.barrier()
    dist.destroy_process_group()


main()
