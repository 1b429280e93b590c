"""Features of PyTorch 2 that use process groups: functional collectives, DTensor, tensor parallelism, FSDP, checkpoints,
torch.compile. Rank 0 prints TAP.

    tutti run -n 2 python3 torch_two.py [NAME...]

SPDX-License-Identifier: BSD-3-Clause
"""
import datetime
import functools
import sys
import tempfile
import traceback

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
import torch.distributed.checkpoint as dcp
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe
from torch.distributed.tensor import Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn.parallel import DistributedDataParallel

import tutti.torch

dist.init_process_group("tutti", timeout=datetime.timedelta(seconds=30))
r, P = dist.get_rank(), dist.get_world_size()
GLOO = dist.new_group(backend="gloo")


def same(got, want):
    assert torch.allclose(torch.as_tensor(got).float(), torch.as_tensor(want).float(), atol=1e-5), (got, want)


def refused(words, call):
    try:
        call()
    except (RuntimeError, ValueError, tutti.TuttiError) as why:
        assert words in str(why), why
    else:
        raise AssertionError(f"no error: {words}")


def as_gloo(test):
    """Run a test, which returns numbers, on tutti and on gloo. The numbers must be equal."""
    @functools.wraps(test)
    def both():
        for got, want in zip(test(dist.group.WORLD), test(GLOO), strict=True):
            same(got, want)
    return both


def net():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(8, 4 * P), torch.nn.ReLU(), torch.nn.Linear(4 * P, 4))


def losses(model):
    """The losses of three training steps; they must be those of a single process."""
    def train(trained):
        sgd = torch.optim.SGD(trained.parameters(), lr=0.01)
        for _ in range(3):
            loss = trained(torch.ones(5, 8)).square().sum()
            loss.backward()
            sgd.step()
            sgd.zero_grad()
            yield loss.item()

    got = list(train(model))
    same(got, list(train(net())))
    return got


def mesh(group):
    return DeviceMesh.from_group(group, "cpu")


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


@as_gloo
def functional_ones(group):
    """functional collectives"""
    def ramp(n):
        return torch.arange(float(n)) + r

    leaf = ramp(P).requires_grad_()
    functional.all_gather_tensor_autograd(leaf * leaf, 0, group).sum().backward()
    several = [*functional.all_reduce_coalesced([ramp(3), ramp(4)], "max", group),
               *functional.all_gather_into_tensor_coalesced([ramp(3), ramp(4)], group),
               *functional.reduce_scatter_tensor_coalesced([ramp(P), ramp(2 * P)], "sum", [0, 0], group)]
    return [functional.all_reduce(ramp(3), "sum", group) + 0, functional.all_gather_tensor(ramp(3), 0, group) + 0,
            functional.reduce_scatter_tensor(ramp(3 * P), "sum", 0, group) + 0, functional.broadcast(ramp(3), P - 1, group) + 0,
            functional.all_to_all_single(ramp(P), [1] * P, [1] * P, group) + 0,
            functional.permute_tensor(ramp(3), [(i + 1) % P for i in range(P)], group) + 0, leaf.grad, *(t + 0 for t in several)]


@as_gloo
def compiled(group):
    """torch.compile with collectives, and of DDP"""
    def both(x):
        summed = functional.all_reduce(x * 2, "sum", group) + 1
        return functional.all_gather_tensor(summed, 0, group) * 3

    result = torch.compile(both, backend="aot_eager", fullgraph=True)(torch.full((3,), r + 1.0))
    same(result, torch.full((3 * P,), 3 * (P * (P + 1) + 1)))
    return [result, *losses(torch.compile(DistributedDataParallel(net(), process_group=group), backend="aot_eager"))]


@as_gloo
def tensor_parallelism(group):
    """tensor parallelism"""
    return losses(parallelize_module(net(), mesh(group), {"0": ColwiseParallel(), "2": RowwiseParallel()}))


@as_gloo
def pipelines(group):
    """pipeline parallelism"""
    numbers = []
    for schedule in (ScheduleGPipe, Schedule1F1B):
        torch.manual_seed(r)
        part, found, x = torch.nn.Linear(4, 4), [], torch.arange(4.0 * 8 * P).reshape(8 * P, 4) / (32 * P)
        steps = schedule(PipelineStage(part, r, P, torch.device("cpu"), group=group), 2 * P, loss_fn=torch.nn.functional.mse_loss)
        steps.step(*[x] * (r == 0), **({"target": torch.ones(8 * P, 4), "losses": found} if r == P - 1 else {}))
        assert part.weight.grad.abs().sum() > 0 and len(found) == 2 * P * (r == P - 1)
        numbers += [part.weight.grad, *found]
    return numbers


@as_gloo
def checkpoints(group):
    """DTensor, dcp.save and dcp.load"""
    d, folder = distribute_tensor(torch.arange(4.0 * P), mesh(group), [Shard(0)]), [tempfile.mkdtemp() if r == 0 else ""]
    dist.broadcast_object_list(folder, 0, group=group)
    dcp.save({"d": d}, checkpoint_id=folder[0], process_group=group)
    read = {"d": distribute_tensor(torch.zeros(4 * P), mesh(group), [Shard(0)])}
    dcp.load(read, checkpoint_id=folder[0], process_group=group)
    whole = read["d"].full_tensor()
    same(whole, torch.arange(4 * P))
    return [whole, d.redistribute(placements=[Replicate()]).to_local()]


@as_gloo
def sharded(group):
    """FSDP"""
    return losses(FullyShardedDataParallel(net(), process_group=group, device_id=torch.device("cpu")))


@as_gloo
def sharded_two(group):
    """FSDP2"""
    return losses(fully_shard(net(), mesh=mesh(group)))


def devices():
    """a backend for each device: the other one is made, or says why not"""
    mixed, x = dist.new_group(backend="cpu:tutti,cuda:gloo"), torch.ones(2)
    dist.all_reduce(x, group=mixed)
    same(x, torch.full((2,), P))
    assert {d.type: mixed._get_backend(d).name() for d in mixed._device_types} == {"cpu": "tutti", "cuda": "gloo"}
    if not torch.cuda.is_available():
        refused("at least one CUDA device", lambda: dist.new_group(backend="cpu:tutti,cuda:nccl"))
    dist.destroy_process_group()
    dist.init_process_group("tutti", device_id=torch.device("cpu:0"), timeout=datetime.timedelta(seconds=30))
    whole = init_device_mesh("cpu", (P,))
    dist.all_reduce(x, group=whole.get_group())
    same(x, torch.full((2,), P * P))


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
    """shrink_group: the other ranks continue without the last one (in which PyTorch numbers its groups differently then)"""
    ways = [(flags, dist.new_group(list(range(P)))) for flags in
            (dist.distributed_c10d.SHRINK_DEFAULT, dist.distributed_c10d.SHRINK_ABORT)]
    for flags, group in ways if r < P - 1 else []:
        left, x = dist.shrink_group([P - 1], group, flags), torch.ones(2)
        dist.all_reduce(x, group=left)
        same(x, torch.full((2,), P - 1))
        assert left.size() == P - 1


def missing():
    """a new timeout takes effect, and the error names the rank that did not come"""
    quick, watched = dist.new_group(list(range(P))), dist.new_group(list(range(P)))
    dist.distributed_c10d._set_pg_timeout(datetime.timedelta(seconds=0.5), quick)
    dist.monitored_barrier(watched)
    if r != P - 1 and P > 1:
        refused("the timeout is 0.5 s", lambda: dist.all_reduce(torch.ones(1), group=quick))
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


for test in (one_tensor, coalesced, functional_ones, compiled, tensor_parallelism, pipelines, checkpoints, sharded, sharded_two,
             groups, types, missing, devices, fewer):
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
