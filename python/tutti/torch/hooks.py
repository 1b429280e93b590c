"""A DDP communication hook, for those who keep another backend for the rest:

    group = dist.new_group(backend="tutti")
    model.register_comm_hook(group, tutti.torch.average_hook)

SPDX-License-Identifier: BSD-3-Clause
"""
# mypy: disable-error-code="attr-defined"
# PyTorch's stubs lack some of what it has.
import torch
import torch.distributed as dist


def average_hook(state: dist.ProcessGroup, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:  # PyTorch reads these annotations
    """The bucket's average over the process group `state`, of backend "tutti"; the division is part of the
    last addition."""
    work = dist.all_reduce(bucket.buffer(), op=dist.ReduceOp.AVG, group=state, async_op=True)
    return work.get_future().then(_only)


def _only(future: torch.futures.Future) -> torch.Tensor:
    return future.value()[0]
