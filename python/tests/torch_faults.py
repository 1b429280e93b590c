"""Ends and faults of ranks that train with PyTorch; torch.sh says what each rank must hear.

SPDX-License-Identifier: BSD-3-Clause
"""
import datetime
import os
import signal
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

import tutti.torch


def say(words):
    print(f"rank {dist.get_rank()}: {words}", flush=True)


def heard(call):
    try:
        call()
        say("heard nothing")
    except Exception as e:
        say(e)


def loop():
    x = torch.ones(1000)
    while True:
        dist.all_reduce(x)


def killed():
    if dist.get_rank() == 1:
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGKILL)
    heard(loop)


def raises():
    if dist.get_rank() == 1:
        raise ValueError("bad batch")
    heard(loop)


def sizes():
    heard(lambda: dist.all_reduce(torch.ones(1000 if dist.get_rank() == 1 else 500)))


def forks():
    if dist.get_rank() == 1:
        child = os.fork()
        if child == 0:
            try:
                dist.all_reduce(torch.ones(1))
            except Exception as e:
                print(f"rank 1: worker: {e}", flush=True)
            os._exit(0)
        os.waitpid(child, 0)
    x = torch.ones(1)
    dist.all_reduce(x)
    say(int(x.item()))


def quiet():
    dist.all_reduce(torch.ones(10))


def under_way():
    for n in (10, 1 << 18, 5):
        dist.all_reduce(torch.ones(n), async_op=True)


def train():
    torch.manual_seed(1)
    model = DDP(torch.nn.Linear(30, 4))
    step = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        step.zero_grad()
        model(torch.randn(8, 30)).square().sum().backward()
        step.step()
    weights = [torch.empty_like(model.module.weight) for _ in range(dist.get_world_size())]
    dist.all_gather(weights, model.module.weight.detach())
    assert all(torch.equal(w, weights[0]) for w in weights)
    print(f"trained on {dist.get_backend()}, {dist.get_world_size()} ranks", flush=True)
    dist.destroy_process_group()


dist.init_process_group("tutti", timeout=datetime.timedelta(seconds=40))
{f.__name__: f for f in (killed, raises, sizes, forks, quiet, under_way, train)}[sys.argv[1]]()
