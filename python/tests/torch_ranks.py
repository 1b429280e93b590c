"""PyTorch's process groups on "tutti", on any number of ranks; `tutti run -n N python3 torch_ranks.py [TEST...]`.

Tables: every collective with every type and op against the expected result; then messages, futures, groups,
training compared with gloo, and errors. Rank 0 prints TAP. SPDX-License-Identifier: BSD-3-Clause
"""
import copy
import datetime
import os
import sys
import time

import warnings

os.environ.setdefault("GLOG_minloglevel", "2")
warnings.simplefilter("ignore")

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

import tutti.torch
from torch_layouts import every_layout, shared_memory

REAL = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
WHOLE = (torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64)
COMPLEX = (torch.complex64, torch.complex128)
OPS = {"SUM": lambda all_of: sum(all_of[1:], all_of[0].clone()), "PRODUCT": lambda all_of: torch.stack(all_of).prod(0),
       "MIN": lambda all_of: torch.stack(all_of).amin(0), "MAX": lambda all_of: torch.stack(all_of).amax(0),
       "AVG": lambda all_of: sum(all_of[1:], all_of[0].clone()) / len(all_of)}
BITS = {"BAND": lambda a, b: a & b, "BOR": lambda a, b: a | b, "BXOR": lambda a, b: a ^ b}
tests, failed = 0, 0


def report(good, name, why=""):
    global tests, failed
    bad = torch.tensor([0 if good else 1], dtype=torch.int32)
    dist.all_reduce(bad)
    tests += 1
    if bad.item():
        failed += 1
    if not good:
        print(f"# rank {dist.get_rank()}: {name}: {why[:400]}", flush=True)
    if dist.get_rank() == 0:
        print(f"{'not ok' if bad.item() else 'ok'} - {name}", flush=True)


def test(function):
    try:
        why = function()
    except Exception as e:  # reported; the other ranks continue
        why = f"{type(e).__name__}: {e}"
    report(not why, function.__doc__, why)


def vectors(dtype, n=37):
    """The data of each rank: small numbers, whose sums and products are exact."""
    base = torch.arange(n) % 3 + 1
    return [(base + r % 2).to(dtype) for r in range(dist.get_world_size())]


def ops_of(dtype):
    if dtype in COMPLEX:
        return ("SUM",)
    if dtype == torch.bool:
        return ("SUM", "MAX", "MIN", "PRODUCT", "BAND", "BOR", "BXOR")
    return tuple(o for o in OPS if o != "AVG" or dtype in REAL) + (tuple(BITS) if dtype in WHOLE else ())


def expected(op, all_of):
    if all_of[0].dtype == torch.bool:
        stacked = torch.stack(all_of)
        return {"SUM": stacked.any(0), "MAX": stacked.any(0), "BOR": stacked.any(0), "MIN": stacked.all(0),
                "PRODUCT": stacked.all(0), "BAND": stacked.all(0), "BXOR": stacked.sum(0) % 2 == 1}[op]
    if op in BITS:
        found = all_of[0]
        for x in all_of[1:]:
            found = BITS[op](found, x)
        return found
    wide = all_of if all_of[0].dtype in COMPLEX else [x.double() for x in all_of]
    return OPS[op](wide).to(all_of[0].dtype)


TYPES = REAL + WHOLE + COMPLEX + (torch.bool,)


def sums():
    """all_reduce, reduce, reduce_scatter: every type and op"""
    r, P = dist.get_rank(), dist.get_world_size()
    for dtype in TYPES:
        all_of = vectors(dtype) if dtype != torch.bool else [(torch.arange(37) % (i + 2)) == 0 for i in range(P)]
        for op in ops_of(dtype):
            kind = getattr(dist.ReduceOp, op)
            want = expected(op, all_of)
            x = all_of[r].clone()
            dist.all_reduce(x, op=kind)
            if not torch.equal(x, want):
                return f"all_reduce {dtype} {op}: {x} is not {want}"
            x, root = all_of[r].clone(), P - 1
            dist.reduce(x, root, op=kind)
            if r == root and not torch.equal(x, want):
                return f"reduce {dtype} {op}"
            parts = [[v.clone() for v in all_of] for _ in range(P)]
            out = torch.empty_like(x)
            dist.reduce_scatter(out, parts[r], op=kind)  # part i of every rank is rank i's data elsewhere
            if not torch.equal(out, expected(op, [all_of[r]] * P)):
                return f"reduce_scatter {dtype} {op}"
    flat = torch.arange(4.0 * P)
    out = torch.empty(4)
    dist._reduce_scatter_base(out, flat)
    return "" if torch.equal(out, flat[4 * r:4 * r + 4] * P) else f"_reduce_scatter_base: {out}"


def copies():
    """broadcast, all_gather, gather, scatter, all_to_all: every type"""
    r, P = dist.get_rank(), dist.get_world_size()
    for dtype in TYPES:
        mine = torch.full((5, 2), r % 2 if dtype == torch.bool else r + 1).to(dtype)
        all_of = [torch.full((5, 2), i % 2 if dtype == torch.bool else i + 1).to(dtype) for i in range(P)]
        x = mine.clone()
        dist.broadcast(x, P - 1)
        if not torch.equal(x, all_of[P - 1]):
            return f"broadcast {dtype}"
        apart = [torch.empty_like(mine) for _ in range(P)]
        dist.all_gather(apart, mine)
        whole = torch.empty((5 * P, 2), dtype=dtype)
        dist.all_gather(list(whole.split(5)), mine)
        base = torch.empty((5 * P, 2), dtype=dtype)
        dist._all_gather_base(base, mine)
        if any(not torch.equal(a, b) for a, b in zip(apart, all_of)) or not torch.equal(whole, torch.cat(all_of)) \
                or not torch.equal(base, whole):
            return f"all_gather {dtype}"
        apart = [torch.empty_like(mine) for _ in range(P)] if r == 0 else None
        dist.gather(mine, apart, dst=0)
        if r == 0 and any(not torch.equal(a, b) for a, b in zip(apart, all_of)):
            return f"gather {dtype}"
        x = torch.empty_like(mine)
        dist.scatter(x, all_of if r == P - 1 else None, src=P - 1)
        if not torch.equal(x, mine):
            return f"scatter {dtype}"
        x = torch.empty((P, 2), dtype=dtype)
        dist.all_to_all_single(x, torch.stack([v[r] for v in all_of]))
        if not torch.equal(x, torch.stack([all_of[r][0]] * P)):
            return f"all_to_all_single {dtype}: {x}"
    return ""


def uneven():
    """all_to_all, all_gather, reduce_scatter with parts of several sizes, coalesced lists, objects"""
    r, P = dist.get_rank(), dist.get_world_size()
    for size in (lambda i: 3 * i + 2, lambda i: 5 * (i == P - 1)):  # some have no elements
        of_all = [torch.full((size(i), 1), i + 1.0) for i in range(P)]
        found, mine = [torch.empty_like(t) for t in of_all], torch.empty_like(of_all[r])
        dist.all_gather(found, of_all[r])
        dist.reduce_scatter(mine, [(t + r).transpose(0, 1) for t in of_all])
        if any(not torch.equal(t, want) for t, want in zip(found, of_all)):
            return f"all_gather: {found}"
        if not torch.equal(mine, of_all[r] * P + P * (P - 1) // 2):
            return f"reduce_scatter: {mine}"
    source = [torch.full((r + i,), 10.0 * r + i) for i in range(P)]
    to = [torch.empty(i + r) for i in range(P)]
    dist.all_to_all(to, source)
    if any(not torch.equal(t, torch.full((i + r,), 10.0 * i + r)) for i, t in enumerate(to)):
        return f"all_to_all: {to}"
    out = torch.empty(sum(i + r for i in range(P)))
    dist.all_to_all_single(out, torch.cat(source), [i + r for i in range(P)], [r + i for i in range(P)])
    if not torch.equal(out, torch.cat(to)):
        return "all_to_all_single"
    many = [torch.full((n,), r + 1.0) for n in (1, 1000, 3)]
    dist.all_reduce_coalesced(many)
    if any(not torch.equal(t, torch.full_like(t, P * (P + 1) / 2)) for t in many):
        return "all_reduce_coalesced"
    things = [None] * P
    dist.all_gather_object(things, {"rank": r})
    word = ["from the last" if r == P - 1 else None]
    dist.broadcast_object_list(word, P - 1)
    return "" if things == [{"rank": i} for i in range(P)] and word == ["from the last"] else f"{things} {word}"


# For a backend in Python, PyTorch 2 forwards only wait() and get_future() of an operation.
SEES_ALL = tutti.torch.COMPILED or not hasattr(dist.ProcessGroup, "_get_backend")


def messages():
    """send, recv, tags, from any rank, both ways simultaneously"""
    r, P = dist.get_rank(), dist.get_world_size()
    if P == 1:
        return ""
    right, left = (r + 1) % P, (r - 1) % P
    for n in (0, 1, 3000, 1 << 18):
        got = torch.empty(n)
        for w in dist.batch_isend_irecv([dist.P2POp(dist.irecv, got, left),
                                         dist.P2POp(dist.isend, torch.full((n,), float(r)), right)]):
            w.wait()
        if not torch.equal(got, torch.full((n,), float(left))):
            return f"{n} in a circle"
    ways = [dist.isend(torch.tensor([float(tag)]), right, tag=tag) for tag in (7, 8)]
    for tag in (8, 7):
        x = torch.empty(1)
        dist.recv(x, left, tag=tag)
        if x.item() != tag:
            return f"tag {tag}: {x}"
    for w in ways:
        w.wait()
    if r == 0 and SEES_ALL:
        seen = set()
        for _ in range(P - 1):
            x = torch.empty(2)
            seen.add(dist.recv(x))
            if x[1] != x[0] + 1:
                return f"from anyone: {x}"
        return "" if seen == set(range(1, P)) else f"from {seen}"
    if SEES_ALL:
        dist.send(torch.tensor([float(r), r + 1.0]), 0)
    return ""


def futures():
    """async_op, results without a reference, then() that calls again, several groups"""
    r, P = dist.get_rank(), dist.get_world_size()
    works = [dist.all_reduce(torch.ones(n), async_op=True) for n in (1, 1 << 16, 3, 1 << 20)]
    del works[0], works[0]
    if any(not w.wait() or SEES_ALL and not w.is_completed() for w in works):
        return "a work that was waited for is not complete"
    x = torch.full((1 << 16,), r + 1.0)
    f = dist.all_reduce(x, async_op=True).get_future()
    g = f.then(lambda f: f.value()[0] / P)
    if not torch.equal(g.wait(), torch.full((1 << 16,), (P + 1) / 2)):
        return "then()"
    pairs = [dist.new_group([i for i in range(P) if i % 2 == k]) for k in range(min(2, P))]
    mine = pairs[r % 2] if P > 1 else pairs[0]
    x = torch.ones(1)
    dist.all_reduce(x, group=mine)
    fellows = len([i for i in range(P) if i % 2 == r % 2])
    dist.barrier(group=mine)
    return "" if x.item() == fellows else f"a group of {fellows}: {x}"


def profiled():
    """the profiler's record of an operation ends with the operation, before a waiting thread returns"""
    r, why = dist.get_rank(), ""
    for i in range(24 if tutti.torch.COMPILED and dist.get_world_size() > 1 else 0):
        dist.barrier()
        with torch.autograd.profiler.profile() as p:
            if r == 0:
                time.sleep(5e-3)
            before = time.monotonic()
            work = dist.all_reduce(torch.ones(1 << 16), async_op=True)
            after = time.monotonic()
            work.wait(datetime.timedelta(seconds=30 * (i % 2)))  # advanced by the group's thread, or by this one
        called = torch.tensor([before], dtype=torch.float64)  # the time of rank 0's call; no operation can end earlier
        dist.broadcast(called, 0)
        seen = [e for e in p.function_events if e.name == "tutti:all_reduce"]
        if len(seen) != 1 or not seen[0].is_async:
            why = f"operation {i}: {[e.name for e in p.function_events]}"
        elif seen[0].time_range.elapsed_us() < 1e6 * (called.item() - after) - 1:
            why = f"operation {i}: {seen[0].time_range.elapsed_us()} us, waited {1e6 * (called.item() - after)}"
    return why


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.n = torch.nn.Linear(20, 64), torch.nn.Linear(64, 5), torch.nn.BatchNorm1d(64)

    def forward(self, x):
        return self.b(torch.relu(self.n(self.a(x))))


def train(group, dress=lambda model: None, **options):
    torch.manual_seed(5)
    model = DDP(Net(), process_group=group, **options)
    dress(model)
    adam = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(dist.get_rank())
    for _ in range(8):
        adam.zero_grad()
        torch.nn.functional.cross_entropy(model(torch.randn(16, 20)), torch.randint(5, (16,))).backward()
        adam.step()
    return [p.detach().clone() for p in model.parameters()]


def training():
    """DistributedDataParallel compared with gloo: plain, small buckets, unused parameters, static graph, hooks"""
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
    gloo = dist.new_group(backend="gloo")
    want = train(gloo)
    ours = dist.group.WORLD
    ways = {"plain": {}, "small buckets": dict(bucket_cap_mb=0.001), "unused": dict(find_unused_parameters=True),
            "bucket views": dict(gradient_as_bucket_view=True), "static": dict(static_graph=True)}
    for name, options in ways.items():
        got = train(ours, **options)
        if any(not torch.allclose(a, b, rtol=1e-5, atol=1e-6) for a, b in zip(want, got)):
            return f"{name}: other parameters than with gloo"
    hooks = {"allreduce_hook": (ours, default_hooks.allreduce_hook), "our hook": (ours, tutti.torch.average_hook)}
    for name, (state, hook) in hooks.items():
        got = train(ours, lambda m: m.register_comm_hook(state, hook))
        if any(not torch.allclose(a, b, rtol=1e-5, atol=1e-6) for a, b in zip(want, got)):
            return f"{name}: other parameters than with gloo"
    got = train(gloo, lambda m: m.register_comm_hook(ours, tutti.torch.average_hook))
    if any(not torch.allclose(a, b, rtol=1e-5, atol=1e-6) for a, b in zip(want, got)):
        return "our hook under gloo: other parameters"
    train(ours, lambda m: m.register_comm_hook(ours, default_hooks.fp16_compress_hook))
    powers = powerSGD_hook.PowerSGDState(ours, matrix_approximation_rank=1, start_powerSGD_iter=2)
    train(ours, lambda m: m.register_comm_hook(powers, powerSGD_hook.powerSGD_hook))
    return ""


def in_segment(tensor):
    """Is the tensor in the memory that the ranks of this machine share?"""
    with open("/proc/self/maps") as maps:
        for line in maps:
            lo, hi = (int(word, 16) for word in line.split()[0].split("-"))
            if lo <= tensor.data_ptr() < hi:
                return "memfd:tutti" in line
    return False


def in_the_heap():
    """DDP's buckets, and gradients that are views of them, lie in the shared heap; those of gloo do not"""
    for name, group in (("gloo", dist.new_group(backend="gloo")), ("tutti", dist.new_group())):
        seen, ours = [], name == "tutti" and tutti.torch.COMPILED
        torch.manual_seed(5)
        model = DDP(Net(), process_group=group, gradient_as_bucket_view=True)

        def look(state, bucket):
            seen.append(in_segment(bucket.buffer()))
            return dist.all_reduce(bucket.buffer(), group=group, async_op=True).get_future().then(lambda f: f.value()[0])

        model.register_comm_hook(None, look)
        for _ in range(3):  # the second step rebuilds the buckets
            model(torch.ones(16, 20)).sum().backward()
        if seen != [ours] * 3 or in_segment(model.module.a.weight.grad) != ours or in_segment(torch.empty(10000)):
            return f"{name}: {seen}, {in_segment(model.module.a.weight.grad)}"
        kept, sums = model.module.a.weight.grad, [p.grad.clone() for p in model.parameters()]
        if name == "gloo":
            want = sums
        elif any(not torch.allclose(a, b, rtol=1e-4) for a, b in zip(want, sums)):
            return "other gradients than with gloo"
        dist.destroy_process_group(group)
        del group, model, look
        if not torch.equal(kept, sums[0]):
            return "a gradient did not outlive its process group"
        kept.zero_()
    return ""


def optimizer():
    """ZeroRedundancyOptimizer: as the optimizer alone"""
    from torch.distributed.optim import ZeroRedundancyOptimizer
    torch.manual_seed(3)
    alone = torch.nn.Linear(30, 30)
    apart = copy.deepcopy(alone)
    one = torch.optim.Adam(alone.parameters())
    zero = ZeroRedundancyOptimizer(apart.parameters(), torch.optim.Adam)
    for _ in range(3):
        x = torch.randn(4, 30)
        for model, o in ((alone, one), (apart, zero)):
            o.zero_grad()
            model(x).sum().backward()
            o.step()
    same = all(torch.allclose(a, b) for a, b in zip(alone.parameters(), apart.parameters()))
    return "" if same else "other parameters"


def short(n=1):
    return [torch.ones(2)] * (dist.get_world_size() + n)


# The expected errors, and the software that raises each: some calls never reach a backend.
WRONG = {"another sign|resolve_conj": lambda: dist.all_reduce(torch.ones(3, dtype=torch.complex64).conj()),
         "no average|has no such op": lambda: dist.all_reduce(torch.ones(3, dtype=torch.bool), op=dist.ReduceOp.AVG),
         "one size": lambda: dist.all_gather([torch.ones(2)] * dist.get_world_size(), torch.ones(3)),
         "one tensor per rank": lambda: dist.all_to_all(short(), short()),
         "tensors are wanted, one per rank": lambda: dist.all_gather(short(), torch.ones(2)),
         "must be one per rank": lambda: dist.all_to_all_single(torch.ones(2), torch.ones(2), [1, 1, 1, 1, 1], [2]),
         "in its input and its output": lambda: dist.all_to_all(short(0), [torch.ones(3)] * dist.get_world_size()),
         "itself|same as the rank": lambda: dist.send(torch.ones(1), dist.get_rank()),
         "from itself|same as the rank": lambda: dist.recv(torch.ones(1), dist.get_rank()),
         "Sparse|sparse": lambda: dist.all_reduce(torch.eye(3).to_sparse()),
         "no tensors of type|not supported by dlpack|QuantizedCPU": lambda: dist.all_reduce(torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8)),
         "Meta|on meta": lambda: dist.all_reduce(torch.ones(3, device="meta"))}
if torch.__version__ >= "2":
    del WRONG["Meta|on meta"]  # PyTorch 2 handles this call itself, without an error


def wrong():
    """errors are reported, and no operation is lost"""
    for what, call in WRONG.items():
        try:
            call()
            return f"{what}: nothing was said"
        except Exception as e:
            if not any(words in str(e) for words in what.split("|")):
                return f"{what}: {e}"
    x = torch.ones(3)
    dist.all_reduce(x)
    return "" if x[0] == dist.get_world_size() else "the group is of no use any more"


def wrong_tag():
    """a send that cannot start leaves the pending receive as it is"""
    size, rank = dist.get_world_size(), dist.get_rank()
    if size == 1:
        return ""
    x = torch.zeros(1)
    receive = dist.irecv(x, (rank - 1) % size)
    try:
        dist.send(torch.ones(1), (rank + 1) % size, tag=-1)
        return "nothing was said"
    except Exception as e:
        if "tag" not in str(e):
            return str(e)
    send = dist.isend(torch.tensor([rank + 1.0]), (rank + 1) % size)
    receive.wait()
    send.wait()
    return "" if x[0] == (rank - 1) % size + 1 else f"received {x[0]}"


def given_back():
    """a group that is destroyed ends its threads"""
    size, rank = dist.get_world_size(), dist.get_rank()
    if not tutti.torch.COMPILED or size == 1:
        return ""
    before = len(os.listdir("/proc/self/task"))
    group = dist.new_group()
    works = [dist.all_reduce(torch.ones(1 << 18), group=group, async_op=True) for _ in range(4)]
    works += [dist.irecv(torch.ones(3), (rank - 1) % size, group=group), dist.isend(torch.ones(3), (rank + 1) % size, group=group)]
    for work in works:
        work.wait()
    during = len(os.listdir("/proc/self/task"))
    dist.destroy_process_group(group)
    del group, works, work
    after = len(os.listdir("/proc/self/task"))
    return "" if before == after < during else f"{before} threads before, {during} during, {after} after"


def words():
    """explain says which plan runs, and why"""
    text = tutti.torch.explain(1 << 20)
    return "" if "allreduce" in text or dist.get_world_size() == 1 else text


def main():
    dist.init_process_group("tutti", timeout=datetime.timedelta(seconds=60))
    if dist.get_rank() == 0:
        print(f"# {'compiled' if tutti.torch.COMPILED else 'in Python: ' + tutti.torch.WHY_PLAIN}", flush=True)
    for function in (sums, copies, every_layout, shared_memory, uneven, messages, futures, profiled, training, in_the_heap,
                     optimizer, wrong, wrong_tag, given_back, words):
        if function.__name__ in sys.argv[1:] or not sys.argv[1:]:
            test(function)
    if dist.get_rank() == 0:
        print(f"1..{tests}")
    dist.destroy_process_group()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
