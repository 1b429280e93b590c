"""Exits and faults of ranks that train with PyTorch; torch.sh has the errors that each rank must get.

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
    sys.stdout.write(f"rank {dist.get_rank()}: {words}\n")  # one write, because the ranks share the terminal
    sys.stdout.flush()


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
        time.sleep(0.3)
        raise ValueError("bad batch")
    begin = time.monotonic()
    heard(loop)
    say(f"heard after {time.monotonic() - begin:.1f} s")


def raises_in_flight():
    """Rank 1 starts a receive of a message that rank 0 does not send, and raises an exception without waiting for it."""
    if dist.get_rank() == 1:
        dist.irecv(torch.ones(3), 0)
    raises()


def dead():
    """Deadlock: the ranks wait in different sums."""
    groups = [dist.new_group(), dist.new_group()]
    mine = groups[dist.get_rank()]
    dist.all_reduce(torch.ones(1), group=dist.group.WORLD)
    os.write(1, f"rank {dist.get_rank()} waits\n".encode())
    dist.all_reduce(torch.ones(1 << 18), group=mine)


def dead_messages():
    """Deadlock: both ranks wait for a message from the other one."""
    dist.barrier()
    os.write(1, f"rank {dist.get_rank()} waits\n".encode())
    dist.recv(torch.ones(1), 1 - dist.get_rank())


def dead_async():
    """Like dead, but the backend's thread advances the operation, and the program cleans up after the exception."""
    groups = [dist.new_group(), dist.new_group()]
    os.write(1, f"rank {dist.get_rank()} waits\n".encode())
    try:
        work = dist.all_reduce(torch.ones(1 << 18), group=groups[dist.get_rank()], async_op=True)
        work.wait(datetime.timedelta(seconds=30))
    finally:
        dist.destroy_process_group()


def dead_meeting():
    """Deadlock: each rank makes a group of both ranks that the other rank does not make."""
    store = dist.distributed_c10d._get_default_store()
    os.write(1, f"rank {dist.get_rank()} waits\n".encode())
    create = tutti.torch._c10d.create
    create(dist.PrefixStore(f"of {dist.get_rank()}", store), dist.get_rank(), 2, datetime.timedelta(seconds=30))


def heard_of(source, group=None):
    """Receive a message, and print the outcome as each function reports it."""
    x = torch.zeros(4)
    heard(lambda: dist.recv(x, source, group))
    of = group or dist.group.WORLD
    work = of.recv_anysource([x], 0) if source is None else of.recv([x], source, 0)
    try:
        work.wait()
    except Exception:
        pass
    say(f"is_success {work.is_success()}, {int(x.sum())} came")


def recv_dead():
    if dist.get_rank() == 1:
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGKILL)
    heard_of(1 if dist.get_rank() == 0 else None)


def recv_silent():
    group = dist.new_group(timeout=datetime.timedelta(seconds=2))
    if dist.get_rank() == 1:
        time.sleep(5)
    else:
        heard_of(1, group)
    os._exit(0)  # no rank waits for it any more


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


class Touches(torch.utils.data.Dataset):
    """A dataset that uses the process group in its worker; its items are the errors."""

    def __len__(self):
        return 2

    def __getitem__(self, i):
        try:
            return f"all_reduce {dist.all_reduce(torch.ones(1))}"
        except RuntimeError as e:
            return str(e)


def workers():
    for number, words in enumerate(torch.utils.data.DataLoader(Touches(), batch_size=None, num_workers=2)):
        say(f"worker {number}: {words}")
    quiet()


def quiet():
    dist.all_reduce(torch.ones(10))


def under_way():
    for n in (10, 1 << 18, 5):
        dist.all_reduce(torch.ones(n), async_op=True)


def from_anyone():
    """Rank 0 receives a message from any source, and leaves. Ranks 1 and 2 continue."""
    x, rank = torch.ones(4), dist.get_rank()
    if rank == 0:
        dist.recv(x)
    elif rank == 1:
        dist.send(x, 0)
    if rank == 0:
        dist.destroy_process_group()
        return print("rank 0: left", flush=True)
    for turn in range(20):
        (dist.send if turn % 2 == rank - 1 else dist.recv)(x, 3 - rank)
        time.sleep(0.05)
    say("went on")


def callback_at_end():
    """While the program exits, a callback destroys a group and makes a new one."""
    other = [dist.new_group()]

    def late(_future):
        time.sleep(0.5)
        dist.destroy_process_group(other.pop())
        x = torch.ones(1)
        dist.all_reduce(x, group=dist.new_group())
        say(f"sum {int(x)}")

    dist.all_reduce(torch.ones(1 << 20), async_op=True).get_future().then(late)


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


def all_started():
    """Rank 0 serves the store. It must not exit before the other ranks have read there that all ranks are ready."""
    store = dist.distributed_c10d._get_default_store()
    store.add("started", 1)
    while dist.get_rank() == 0 and store.add("started", 0) < dist.get_world_size():
        time.sleep(0.01)


dist.init_process_group("tutti", timeout=datetime.timedelta(seconds=40))
all_started()
{f.__name__: f for f in (killed, raises, raises_in_flight, dead, dead_messages, dead_async, dead_meeting, recv_dead,
                             recv_silent, from_anyone, sizes, forks, workers, quiet, under_way,
                             callback_at_end, train)}[sys.argv[1]]()
