"""Tensors that are not contiguous: transposed, channels_last, sliced, expanded. The same as in c10d/layout.cpp.

tutti sums element by element, in the order of the indices, so ranks may have different memory layouts. Contiguous tensors are
used in place; other tensors are copied, and the result is copied back. If elements of an expanded tensor share memory, they
get the result of the first one; the results of the others must be equal up to rounding.
SPDX-License-Identifier: BSD-3-Clause
"""
from __future__ import annotations

import torch


def room(t: torch.Tensor) -> torch.Tensor:
    """The tensor itself if it is contiguous, otherwise a new tensor of the same shape."""
    return t if t.is_contiguous() else torch.empty(t.shape, dtype=t.dtype, device=t.device)


def host_room(t: torch.Tensor) -> torch.Tensor:
    """The same in CPU memory, which messages need."""
    return room(t) if t.device.type == "cpu" else torch.empty(t.shape, dtype=t.dtype, device="cpu")


def put_back(call: str, to: torch.Tensor, source: torch.Tensor) -> None:
    """Copy the result into the tensor, unless it was computed in place."""
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
    """May two elements share memory? No, if the stride of each dimension exceeds the extent of all dimensions with smaller
    strides."""
    last = 0
    for step, extent in sorted((t.stride(d), t.size(d)) for d in range(t.dim()) if t.size(d) > 1):
        if step <= last:
            return True
        last += step * (extent - 1)
    return False


def _alike(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Are the tensors equal, except for differences that rounding in different orders can cause?"""
    if not (a.is_floating_point() or a.is_complex()):
        return bool(torch.equal(a, b))
    wide = torch.complex128 if a.is_complex() else torch.float64
    tolerance = torch.finfo(a.dtype).eps ** 0.5
    return bool(torch.allclose(a.to(wide), b.to(wide), rtol=tolerance, atol=0, equal_nan=True))
