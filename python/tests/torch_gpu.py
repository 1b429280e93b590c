"""PyTorch's process groups on "tutti" with tensors on a GPU, on any number of ranks; `tutti run -n N python3 torch_gpu.py`.

Runs the tables of torch_ranks.py with every tensor on the GPU (torch.set_default_device), then tests streams, and training
compared with one process. Rank 0 prints TAP. Needs a GPU that tutti can use, and a PyTorch 2 for it; several ranks may share
the GPU. Otherwise the exit status is 77. SPDX-License-Identifier: BSD-3-Clause
"""
import datetime
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

import tutti.torch
import torch_ranks
from tutti import _card
from torch_layouts import every_layout
from torch_ranks import copies, futures, messages, sums, test, uneven


def into_tensor():
    """reduce_scatter_tensor, all_gather_into_tensor, all_to_all_single: short and long vectors"""
    r, P = dist.get_rank(), dist.get_world_size()
    for n in (1, 1000, 1 << 18):
        for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.int32):
            ramp = (torch.arange(n * P) % 7).to(dtype)
            part, whole, swapped = torch.empty(n, dtype=dtype), torch.empty(n * P, dtype=dtype), torch.empty(n * P, dtype=dtype)
            dist.reduce_scatter_tensor(part, ramp + r % 2)
            want = ramp[n * r:n * r + n] * P + P // 2
            if not torch.equal(part, want):
                return f"reduce_scatter_tensor of {n} {dtype}: {part}, not {want}"
            dist.all_gather_into_tensor(whole, torch.full((n,), r + 1).to(dtype))
            if not torch.equal(whole, (torch.arange(n * P) // n + 1).to(dtype)):
                return f"all_gather_into_tensor of {n} {dtype}: {whole}"
            dist.all_to_all_single(swapped, ramp + r % 2)
            want = torch.cat([ramp[n * r:n * r + n] + i % 2 for i in range(P)])
            if not torch.equal(swapped, want):
                return f"all_to_all_single of {n} {dtype}: {swapped}"
    return ""


def eight_bits():
    """all_reduce of floats of 8 bits"""
    P = dist.get_world_size()
    for name in ("float8_e4m3fn", "float8_e5m2"):
        x = torch.ones(100).to(getattr(torch, name))
        dist.all_reduce(x)
        if not torch.equal(x.float(), torch.full((100,), float(P))):
            return f"{name}: {x.float()}"
    return ""


def late_data():
    """the data come late, on the current stream and on another one; other streams use the results"""
    r, P = dist.get_rank(), dist.get_world_size()
    streams = [torch.cuda.current_stream(), torch.cuda.Stream(), torch.cuda.Stream()]
    total = P * (P - 1) // 2
    for i in range(30):
        mine, other = streams[i % 3], streams[(i + 1) % 3]
        with torch.cuda.stream(mine):
            x = torch.zeros(3000 if i % 2 else 1 << 18)
            torch.cuda._sleep(3000000)
            x += r + i
            work = dist.all_reduce(x, async_op=True)
        with torch.cuda.stream(other):
            torch.cuda._sleep(100000)
            work.wait()
            found = (x.double() + 1).sum().item()
        if found != (total + P * i + 1) * x.numel():
            return f"round {i}: {found / x.numel() - 1}, not {total + P * i}"
    return ""


def many_under_way():
    """20 operations under way, whose tensors the program forgets"""
    r, P = dist.get_rank(), dist.get_world_size()
    works, results = [], []
    for i in range(20):
        x = torch.full((10000 + i,), float(r + i))
        works.append(dist.all_reduce(x, async_op=True))
        results.append(x if i % 2 else None)
        del x
        torch.full((10000 + i,), -1.0)  # would reuse memory if it had been freed
    for work in works:
        work.wait()
    for i, x in enumerate(results):
        if x is not None and not torch.equal(x, torch.full_like(x, P * (P - 1) / 2 + P * i)):
            return f"{i}: {x}"
    return ""


def no_waiting():
    """an operation does not wait for what the stream gets later"""
    for warm in (True, False):
        x = torch.ones(1 << 18)
        torch.cuda.synchronize()
        dist.barrier()
        work = dist.all_reduce(x, async_op=True)
        end = torch.cuda.Event()
        if not warm:
            torch.cuda._sleep(1 << 31)  # more than a second
        end.record()
        work.wait()
        early = not end.query()
        torch.cuda.synchronize()
        if not warm and not early:
            return "it ended after what the stream got later"
    return ""


def two_devices():
    """tensors on two devices are refused, and nothing is lost"""
    try:
        dist.all_gather_into_tensor(torch.empty(2 * dist.get_world_size(), device="cpu"), torch.ones(2))
        return "nothing was said"
    except Exception as why:  # PyTorch or tutti refuses it
        if "device" not in str(why):
            return f"{why}"
    x = torch.ones(3)
    dist.all_reduce(x)
    return "" if x[0].item() == dist.get_world_size() else f"{x}"


def cpu_too():
    """tensors on the CPU, between those on the GPU"""
    P = dist.get_world_size()
    for i in range(10):
        x = torch.full((1000,), 1.0, device="cpu" if i % 2 else "cuda")
        dist.all_reduce(x)
        if x[7].item() != P:
            return f"{x}"
    return ""


def step_by_step(model, optimizer, data, labels):
    for x, y in zip(data, labels):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()


def training():
    """20 steps of DistributedDataParallel give the weights of the same model on one process"""
    r, P = dist.get_rank(), dist.get_world_size()

    def model():
        torch.manual_seed(3)
        return torch.nn.Sequential(torch.nn.Linear(32, 300), torch.nn.Tanh(), torch.nn.Linear(300, 300), torch.nn.Tanh(),
                                   torch.nn.Linear(300, 5)).double()

    torch.manual_seed(4)
    data, labels = torch.randn(20, 8 * P, 32, dtype=torch.float64), torch.randn(20, 8 * P, 5, dtype=torch.float64)
    alone = model()
    step_by_step(alone, torch.optim.SGD(alone.parameters(), lr=0.05, momentum=0.9), data, labels)
    for options in ({}, {"bucket_cap_mb": 0.1}, {"gradient_as_bucket_view": True}):
        apart = DDP(model(), **options)
        step_by_step(apart, torch.optim.SGD(apart.parameters(), lr=0.05, momentum=0.9), data[:, 8 * r:8 * r + 8],
                     labels[:, 8 * r:8 * r + 8])
        for a, b in zip(alone.parameters(), apart.parameters()):
            if not torch.allclose(a, b, rtol=1e-9, atol=1e-12):
                return f"{options}: parameters differ by {(a - b).abs().max().item()}"
    return ""


def main():
    if not torch.cuda.is_available() or not _card.present() or not hasattr(torch, "set_default_device"):
        print("1..0 # SKIP no PyTorch 2 with a GPU that tutti uses")
        return 77
    import tutti
    torch.cuda.set_device(tutti.rank() % torch.cuda.device_count())
    torch.set_default_device("cuda")
    dist.init_process_group("tutti", timeout=datetime.timedelta(seconds=60))
    compiled = tutti.torch.COMPILED
    begin = time.perf_counter()
    if dist.get_rank() == 0:
        print(f"# PyTorch {torch.__version__}, {'compiled' if compiled else 'in Python: ' + tutti.torch.WHY_PLAIN}", flush=True)
    tests = [sums, copies, every_layout, uneven, messages, futures, into_tensor, eight_bits, late_data, many_under_way, cpu_too,
             training] + ([no_waiting, two_devices] if compiled else [])
    for function in tests:
        if function.__name__ in sys.argv[1:] or not sys.argv[1:]:
            test(function)
    if dist.get_rank() == 0:
        print(f"1..{torch_ranks.tests}\n# {time.perf_counter() - begin:.0f} s")
    dist.destroy_process_group()
    return 1 if torch_ranks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
