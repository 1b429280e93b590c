"""A DDP communication hook, for programs whose default process group has another backend:

    group = dist.new_group(backend="tutti")
    model.register_comm_hook(group, tutti.torch.average_hook)

SPDX-License-Identifier: BSD-3-Clause
"""
import torch
from torch._C._distributed_c10d import GradBucket, ProcessGroup

from ._stubs import AVG, Tensors, all_reduce


def average_hook(state: ProcessGroup, bucket: GradBucket) -> torch.futures.Future[torch.Tensor]:  # PyTorch reads these annotations
    """Average the bucket over the process group `state`, which must have the backend "tutti". The division is part of the
    last addition."""
    work = all_reduce(bucket.buffer(), op=AVG, group=state, async_op=True)
    future: torch.futures.Future[Tensors] = work.get_future()
    return future.then(_only)


def _only(future: torch.futures.Future[Tensors]) -> torch.Tensor:
    return future.value()[0]
