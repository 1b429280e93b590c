"""What PyTorch 2 builds on process groups: functional collectives, DTensor, tensor parallelism, FSDP, checkpoints, torch.compile.
Rank 0 prints TAP.

    tutti run -n 2 python3 torch_two.py [NAME...]

SPDX-License-Identifier: BSD-3-Clause
"""
import datetime
import sys
import tempfile
import traceback

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
import torch.distributed.checkpoint as dcp
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torch.distributed.tensor import Shard, distribute_tensor
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

import tutti.torch

dist.init_process_group("tutti", timeout=datetime.timedelta(seconds=30))
r, P = dist.get_rank(), dist.get_world_size()


def same(got, want):
    assert torch.allclose(torch.as_tensor(got).float(), torch.as_tensor(want).float(), atol=1e-5), (got, want)


def refused(words, call):
    try:
        call()
    except (RuntimeError, ValueError, tutti.TuttiError) as why:
        assert words in str(why), why
    else:
        raise AssertionError(f"no error: {words}")


def net():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(8, 4 * P), torch.nn.ReLU(), torch.nn.Linear(4 * P, 4))


def mesh():
    return init_device_mesh("cpu", (P,))


def one_tensor():
    """the forms with one tensor"""
    all_of, mine, swapped = torch.empty(2 * P), torch.empty(2), torch.empty(P)
    dist.all_gather_into_tensor(all_of, torch.full((2,), float(r)))
    dist.reduce_scatter_tensor(mine, torch.arange(2.0 * P))
    dist.all_to_all_single(swapped, torch.full((P,), float(r)))
    same(all_of, torch.arange(P).repeat_interleave(2))
    same(mine, torch.arange(2 * r, 2 * r + 2) * P)
    same(swapped, torch.arange(P))


def coalesced():
    """the coalescing manager"""
    sums, gathered, mine = [[torch.empty(n) for _ in range(3)] for n in (3, 2 * P, 2)]
    for t in sums:
        t.fill_(1)
    for call in (lambda i: dist.all_reduce(sums[i]),
                 lambda i: dist.all_gather_into_tensor(gathered[i], torch.full((2,), float(r + i))),
                 lambda i: dist.reduce_scatter_tensor(mine[i], torch.full((2 * P,), float(i)))):
        with dist.distributed_c10d._coalescing_manager(async_ops=True) as manager:
            for i in range(3):
                call(i)
        manager.wait()
    for i in range(3):
        same(sums[i], torch.full((3,), P))
        same(gathered[i], torch.arange(P).repeat_interleave(2) + i)
        same(mine[i], torch.full((2,), i * P))


def functional_ones():
    """functional collectives, and torch.compile with them"""
    same(functional.all_reduce(torch.ones(3), "sum", dist.group.WORLD) + 0, torch.full((3,), P))
    same(functional.all_gather_tensor(torch.ones(3), 0, dist.group.WORLD) + 0, torch.ones(3 * P))
    compiled = torch.compile(lambda x: functional.all_reduce(x * 2, "sum", dist.group.WORLD) + 1, backend="aot_eager")
    same(compiled(torch.ones(3)), torch.full((3,), 2 * P + 1))


def dtensors():
    """DTensor, tensor parallelism, a checkpoint"""
    d = distribute_tensor(torch.arange(4.0 * P), mesh(), [Shard(0)])
    same(d.full_tensor(), torch.arange(4 * P))
    x, whole = torch.ones(5, 8), net()
    want = whole(x)
    same(parallelize_module(whole, mesh(), {"0": ColwiseParallel(), "2": RowwiseParallel()})(x), want)
    folder = [tempfile.mkdtemp() if r == 0 else ""]
    dist.broadcast_object_list(folder, 0)
    dcp.save({"d": d}, checkpoint_id=folder[0])
    read = {"d": distribute_tensor(torch.zeros(4 * P), mesh(), [Shard(0)])}
    dcp.load(read, checkpoint_id=folder[0])
    same(read["d"].full_tensor(), torch.arange(4 * P))


def sharded():
    """FSDP and FSDP2 train as one process does"""
    alone, ways = net(), [fully_shard(net(), mesh=mesh()), FullyShardedDataParallel(net(), device_id=torch.device("cpu"))]
    losses = []
    for model in [alone] + ways:
        sgd = torch.optim.SGD(model.parameters(), lr=0.01)
        for _ in range(3):
            loss = model(torch.ones(5, 8)).square().sum()
            loss.backward()
            sgd.step()
            sgd.zero_grad()
        losses.append(loss.item())
    same(losses[1:], [losses[0]] * 2)


def groups():
    """parts of the world: made, split, destroyed one by one"""
    group = dist.new_group(list(range(P)))
    half = dist.split_group(split_ranks=[[i] for i in range(P)])
    for g, want in ((group, P), (half, 1)):
        x = torch.ones(2)
        dist.all_reduce(x, group=g)
        same(x, torch.full((2,), want))
        dist.destroy_process_group(g)
    gathered = [None] * P
    dist.all_gather_object(gathered, {"rank": r})
    assert gathered == [{"rank": i} for i in range(P)]


def fewer():
    """shrink_group: the ranks that are left go on without the last one (whose PyTorch then names its groups otherwise)"""
    ways = [(flags, dist.new_group(list(range(P)))) for flags in
            (dist.distributed_c10d.SHRINK_DEFAULT, dist.distributed_c10d.SHRINK_ABORT)]
    for flags, group in ways if r < P - 1 else []:
        left, x = dist.shrink_group([P - 1], group, flags), torch.ones(2)
        dist.all_reduce(x, group=left)
        same(x, torch.full((2,), P - 1))
        assert left.size() == P - 1


def missing():
    """a new timeout is heeded, and who is missing is named"""
    quick, watched = dist.new_group(list(range(P))), dist.new_group(list(range(P)))
    dist.distributed_c10d._set_pg_timeout(datetime.timedelta(seconds=0.5), quick)
    dist.monitored_barrier(watched)
    if r != P - 1 and P > 1:
        refused("the limit is 0.5 s", lambda: dist.all_reduce(torch.ones(1), group=quick))
        refused(f"Rank {P - 1} failed to pass monitoredBarrier in 500 ms",
                lambda: dist.monitored_barrier(watched, datetime.timedelta(seconds=0.5), wait_all_ranks=True))
    dist.barrier()


def types():
    """unsigned types, and what is refused with the way around"""
    for dtype in (torch.uint16, torch.uint32, torch.uint64):
        x = torch.ones(3, dtype=dtype)
        dist.all_reduce(x)
        assert x.tolist() == [P] * 3
    refused("to_dense", lambda: dist.all_reduce(torch.eye(3).to_sparse()))
    refused("multiply the tensor by the factor", lambda: dist.all_reduce(torch.ones(3), dist._make_nccl_premul_sum(2.0)))


for test in (one_tensor, coalesced, functional_ones, dtensors, sharded, groups, types, missing, fewer):
    if sys.argv[1:] and test.__name__ not in sys.argv[1:]:
        continue
    bad = torch.zeros(1)
    try:
        test()
    except Exception:  # pylint: disable=broad-except
        traceback.print_exc()
        bad[0] = 1
    dist.all_reduce(bad)
    if r == 0:
        print(f"{'not ok' if bad.item() else 'ok'} - {test.__doc__}", flush=True)
dist.destroy_process_group()
