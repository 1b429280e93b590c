"""Ranks that train with PyTorch fail. The other ranks continue, without them or with joining ranks. torch_elastic.sh has the
expected output.

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

import tutti
import tutti.torch

STEPS = 40
FAILURES = (RuntimeError, tutti.TuttiError)


def say(words):
    sys.stdout.write(f"{words}\n")  # one write, because the ranks share the terminal
    sys.stdout.flush()


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def data(step):
    """The data are the same on all ranks and in all jobs, so a run with failures must reach the same loss."""
    g = torch.Generator().manual_seed(step)
    x = torch.randn(64, 20, generator=g)
    return x, (x @ torch.arange(20.0).reshape(20, 1)).tanh()


class Training:
    """A model. After each change of the world all ranks take over the state of rank 0."""

    def __init__(self):
        torch.manual_seed(3)
        self.module = torch.nn.Sequential(torch.nn.Linear(20, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
        self.step = 0
        self.meet()

    def meet(self):
        """Take over rank 0's step number and optimizer state; DistributedDataParallel broadcasts the parameters."""
        state = [self.step, self.sgd.state_dict() if self.step else None]
        dist.broadcast_object_list(state, 0)
        self.model = DDP(self.module)
        self.sgd = torch.optim.SGD(self.module.parameters(), lr=0.05, momentum=0.9)
        self.step = state[0]
        if state[1]:
            self.sgd.load_state_dict(state[1])

    def one_step(self):
        x, y = data(self.step)
        mine = slice(dist.get_rank(), None, dist.get_world_size())
        n = len(x[mine]) * dist.get_world_size() / len(x)  # DDP takes the mean over ranks
        loss = torch.nn.functional.mse_loss(self.model(x[mine]), y[mine]) * n
        self.sgd.zero_grad()
        loss.backward()
        self.sgd.step()
        self.step += 1

    def loss(self):
        x, y = data(0)
        return torch.nn.functional.mse_loss(self.module(x), y).item()


def train(change, dies, waits=lambda step: None):
    """change(): called by the surviving ranks. dies(step): does this rank die now? A joiner does not. waits(step): before the step."""
    t = Training()
    while t.step < STEPS:
        try:
            if dies(t.step) and not tutti.torch.newcomer():
                die()
            waits(t.step)
            t.one_step()
        except FAILURES as why:
            begin, step = time.monotonic(), t.step
            change()
            t.meet()
            say(f"now rank {dist.get_rank()} of {dist.get_world_size()}, {1e3 * (time.monotonic() - begin):.0f} ms: {why}")
            assert abs(step - t.step) < 2
    group = dist.new_group(range(dist.get_world_size()))  # through the store of the new world
    x = torch.ones(3)
    dist.all_reduce(x, group=group)
    say(f"fine: {int(x[0])} ranks, loss {t.loss():.4f}")


def everybody_is_done():
    """Wait until every rank is done: the first rank that calls shrink makes the pending operations of slower ranks fail."""
    store = dist.distributed_c10d._get_default_store()
    store.add("done", 1)
    while store.add("done", 0) < dist.get_world_size():
        time.sleep(0.01)


def undisturbed():
    """No rank fails: training, a new default group made by shrink, and calls without a process group of tutti."""
    train(None, lambda step: False)
    dist.new_group([0])
    everybody_is_done()
    tutti.torch.shrink(timeout=datetime.timedelta(seconds=20))
    x = torch.ones(1)
    dist.all_reduce(x)
    say(f"new world: {int(x)} ranks")
    rank, size = dist.get_rank(), dist.get_world_size()
    dist.barrier()  # rank 0 serves the store
    dist.destroy_process_group()
    for call in (tutti.torch.shrink, tutti.torch.grow):
        try:
            call()
        except RuntimeError as why:
            say(why)
    dist.init_process_group("gloo", init_method="file://" + os.environ["STATE"], rank=rank, world_size=size)
    try:
        tutti.torch.shrink()
    except ValueError as why:
        say(why)
    dist.barrier()


def shrinks():
    """No new ranks are started. When rank 1 fails, the last rank is waiting for live ranks in a group without rank 1."""
    first, other = dist.get_rank(), dist.new_group([0, 2, 3])

    def change():
        try:
            tutti.torch.grow(1)
        except FAILURES as why:
            say(f"grow: {why}")
        tutti.torch.shrink()

    def waits(step):
        if step == 10 and first == 3 and dist.get_world_size() == 4:
            dist.all_reduce(torch.ones(1), group=other)

    train(change, lambda step: (step, first) in ((10, 1), (25, 0)), waits)


def grows():
    first = dist.get_rank()
    train(lambda: tutti.torch.grow(1), lambda step: (step, first) in ((10, 1), (25, 0)))


def without_aggregator():
    """Rank 0 kills the aggregator that sums the gradients."""
    aggregators = [int(os.environ["AGGREGATOR"])] if dist.get_rank() == 0 else []

    def kills(step):
        if step == 10 and aggregators:
            os.kill(aggregators.pop(), signal.SIGKILL)

    train(tutti.torch.shrink, lambda step: False, kills)


def restarted():
    """torchrun starts all ranks again. They continue from the file that rank 0 wrote."""
    path, again = os.environ["STATE"], int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    t = Training()
    if again:
        t.module.load_state_dict(torch.load(path))
        t.step = STEPS // 2
        t.meet()
    while t.step < STEPS:
        t.one_step()
        if t.step == STEPS // 2 and dist.get_rank() == 0:
            torch.save(t.module.state_dict(), path)
        if t.step == STEPS // 2 + 1 and dist.get_rank() == 1 and not again:
            die()
    say(f"fine: {dist.get_world_size()} ranks, start {again}")


if __name__ == "__main__":
    dist.init_process_group("tutti", timeout=datetime.timedelta(seconds=30))
    {f.__name__: f for f in (undisturbed, shrinks, grows, without_aggregator, restarted)}[sys.argv[1]]()
