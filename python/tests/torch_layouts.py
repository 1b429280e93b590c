"""Every collective with tensors in other memory layouts, different on each rank. A part of torch_ranks.py.

Each function returns an error text, or "". SPDX-License-Identifier: BSD-3-Clause
"""
import torch
import torch.distributed as dist

SHAPE = (2, 5, 3, 4)
DTYPES = (torch.float32, torch.int16, torch.complex64)


def sliced(v):
    wide = torch.zeros(v.shape[:-1] + (2 * v.shape[-1],), dtype=v.dtype)
    wide[..., ::2] = v
    return wide[..., ::2]


# Values that are equal along the second dimension, which an expanded tensor stores once.
LAYOUTS = {"contiguous": lambda v: v.clone(memory_format=torch.contiguous_format),
           "transposed": lambda v: v.transpose(0, -1).contiguous().transpose(0, -1),
           "channels_last": lambda v: v.contiguous(memory_format=torch.channels_last),
           "sliced": sliced,
           "expanded": lambda v: v[:, :1].clone(memory_format=torch.contiguous_format).expand_as(v)}


def of_rank(r, dtype):
    return (torch.arange(24).reshape(2, 1, 3, 4).expand(SHAPE) * 10 + r + 1).to(dtype)


class Scene:
    """This rank's data in its layout; `call` runs a collective and waits for it in one of two ways."""

    def __init__(self, make, dtype, by_future):
        self.r, self.P, self.make, self.by_future = dist.get_rank(), dist.get_world_size(), make, by_future
        self.all_of = [of_rank(i, dtype) for i in range(self.P)]
        self.mine = make(self.all_of[self.r])
        self.total = sum(self.all_of[1:], self.all_of[0])

    def empty(self, like=None):
        return self.make(torch.zeros_like(self.all_of[0] if like is None else like))

    def call(self, collective, *arguments, **named):
        work = collective(*arguments, async_op=True, **named)
        if work is not None:  # all_reduce_coalesced returns a future
            (work.get_future() if self.by_future and hasattr(work, "get_future") else work).wait()


def all_reduce(s):
    s.call(dist.all_reduce, s.mine)
    return [(s.mine, s.total)]


def all_reduce_coalesced(s):
    other = s.mine.clone() if s.r else s.make(s.mine)
    s.call(dist.all_reduce_coalesced, [s.mine, other])
    return [(s.mine, s.total), (other, s.total)]


def reduce(s):
    s.call(dist.reduce, s.mine, s.P - 1)
    return [(s.mine, s.total)] if s.r == s.P - 1 else []


def broadcast(s):
    s.call(dist.broadcast, s.mine, s.P - 1)
    return [(s.mine, s.all_of[-1])]


def all_gather(s):
    to = [s.empty() for _ in range(s.P)]
    s.call(dist.all_gather, to, s.mine)
    return list(zip(to, s.all_of)) + [(s.mine, s.all_of[s.r])]


def all_gather_into_tensor(s):
    want = torch.cat(s.all_of)
    to = s.empty(want)
    s.call(dist.all_gather_into_tensor, to, s.mine)
    return [(to, want)]


def all_gather_coalesced(s):
    to = [[s.empty(), s.empty()] for _ in range(s.P)]
    s.call(dist.all_gather_coalesced, to, [s.mine, s.make(s.all_of[s.r] + 1)])
    return [(t, v + i) for of, v in zip(to, s.all_of) for i, t in enumerate(of)]


def gather(s):
    to = [s.empty() for _ in range(s.P)] if s.r == 0 else None
    s.call(dist.gather, s.mine, to)
    return list(zip(to, s.all_of)) if to else []


def scatter(s):
    to = s.empty()
    s.call(dist.scatter, to, [s.make(v) for v in s.all_of] if s.r == 0 else None)
    return [(to, s.all_of[s.r])]


def reduce_scatter(s):
    to = s.empty()
    s.call(dist.reduce_scatter, to, [s.make(v) for v in s.all_of])
    return [(to, s.all_of[s.r] * s.P)]


def reduce_scatter_tensor(s):
    to = s.empty()
    s.call(dist.reduce_scatter_tensor, to, s.make(torch.cat(s.all_of)))
    return [(to, s.all_of[s.r] * s.P)]


def all_to_all(s):
    to = [s.empty() for _ in range(s.P)]
    s.call(dist.all_to_all, to, [s.make(v + s.r) for v in s.all_of])
    return [(t, s.all_of[s.r] + i) for i, t in enumerate(to)]


def all_to_all_single(s):
    want = torch.cat([s.all_of[s.r] + i for i in range(s.P)])
    found = []
    for sizes in (None, [2] * s.P):
        to = s.empty(want)
        s.call(dist.all_to_all_single, to, s.make(torch.cat([v + s.r for v in s.all_of])), sizes, sizes)
        found.append((to, want))
    return found


def messages(s):
    to, left = s.empty(), (s.r - 1) % s.P
    if s.P == 1:
        return []
    ways = dist.isend(s.mine, (s.r + 1) % s.P), dist.irecv(to, left)
    for way in ways:
        way.wait()
    return [(to, s.all_of[left])]


COLLECTIVES = (all_reduce, all_reduce_coalesced, reduce, broadcast, all_gather, all_gather_into_tensor, all_gather_coalesced, gather,
               scatter, reduce_scatter, reduce_scatter_tensor, all_to_all, all_to_all_single, messages)


def every_layout():
    """every collective: contiguous, transposed, channels_last, sliced and expanded tensors, another on each rank"""
    names = list(LAYOUTS)
    for collective in COLLECTIVES:
        for i in range(2 * len(names)):
            name = names[(i + (1 + i // len(names)) * dist.get_rank()) % len(names)]
            for dtype in DTYPES:
                for got, want in collective(Scene(LAYOUTS[name], dtype, i % 2)):
                    if not torch.equal(got, want):
                        return f"{collective.__name__}, {name}, {dtype}: {got} is not {want}"
    return ""


def shared_memory():
    """elements that share memory take one value: a rounded one; if ranks bring others there, a sentence says so"""
    r, P = dist.get_rank(), dist.get_world_size()
    x = torch.full((1,), 0.1 * (r + 1)).expand(100001)
    dist.all_reduce(x)
    if not torch.allclose(x, torch.full((100001,), 0.05 * P * (P + 1))):
        return f"a sum of expanded tensors: {x}"
    windows = torch.arange(6.0).unfold(0, 3, 1)  # overlapping, and the same on all ranks
    dist.all_reduce(windows)
    if not torch.equal(windows, P * torch.arange(6.0).unfold(0, 3, 1)):
        return f"overlapping windows: {windows}"
    why = ""
    x = torch.ones(1).expand(4) if r == 0 else torch.arange(4.0)
    try:
        dist.all_reduce(x)
    except (RuntimeError, ValueError) as e:
        why = str(e)
    if P > 1 and ("all_reduce: elements of the tensor share memory" in why) != (r == 0):
        return f"ranks bring different values: {why}"
    x = torch.ones(1)
    dist.all_reduce(x)
    return "" if x.item() == P else "the group is of no use any more"
