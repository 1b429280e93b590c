"""Tensors whose elements are not in order, as in c10d/layout.cpp: transposed, channels_last, sliced, expanded.

tutti sums element by element, in the order of the indices, so ranks may have different memory layouts. A tensor in that
order is used where it is; any other is copied, and the result is copied back. Several elements of an expanded tensor share
memory: they get the first one's result if the others' results equal it but for rounding.
SPDX-License-Identifier: BSD-3-Clause
"""
from __future__ import annotations

import torch


def room(t: torch.Tensor) -> torch.Tensor:
    """The tensor itself if its elements are in order, else new memory for as many."""
    return t if t.is_contiguous() else torch.empty(t.shape, dtype=t.dtype, device=t.device)


def host_room(t: torch.Tensor) -> torch.Tensor:
    """The same in the memory of the CPU, through which messages go."""
    return room(t) if t.device.type == "cpu" else torch.empty(t.shape, dtype=t.dtype, device="cpu")


def put_back(call: str, to: torch.Tensor, source: torch.Tensor) -> None:
    """Copy elements back into the tensor, unless they are there already."""
    if to.data_ptr() == source.data_ptr():
        return
    to = to.detach()
    every = source.detach().view(to.shape)
    first, place = every, to
    for d in range(to.dim()):
        if to.stride(d) == 0 and to.size(d) > 1:
            first, place = first.narrow(d, 0, 1), place.narrow(d, 0, 1)
    place.copy_(first)
    if _shares(to) and not _alike(to, every.to(to.device)):
        raise ValueError(f"tutti: {call}: elements of the tensor share memory (it is expanded, or its parts overlap), and "
                         "their results differ; call .clone() first, and pass that")


def _shares(t: torch.Tensor) -> bool:
    """May two elements share memory? No, if each dimension's stride exceeds the extent of all smaller ones."""
    last = 0
    for step, extent in sorted((t.stride(d), t.size(d)) for d in range(t.dim()) if t.size(d) > 1):
        if step <= last:
            return True
        last += step * (extent - 1)
    return False


def _alike(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Equal, or as near as sums that were rounded in different orders."""
    if not (a.is_floating_point() or a.is_complex()):
        return bool(torch.equal(a, b))
    wide = torch.complex128 if a.is_complex() else torch.float64
    tolerance = torch.finfo(a.dtype).eps ** 0.5
    return bool(torch.allclose(a.to(wide), b.to(wide), rtol=tolerance, atol=0, equal_nan=True))
