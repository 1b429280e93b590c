"""The backend in Python: a barrier that names the ranks that are missing, as c10d/world.cpp.

Each rank sends rank 0 an empty message, and rank 0 answers with a byte for each rank: 1 if it is missing. Messages have tags
that programs do not use, one for each barrier, so a rank that comes too late disturbs no later one.
SPDX-License-Identifier: BSD-3-Clause
"""
from __future__ import annotations

import datetime
import time
from typing import Any

import torch

GRACE = 5.0  # s more, for rank 0's answer


def monitored_barrier(group: Any, limit: float, all_of_them: bool, tag: int) -> None:
    """Raises a RuntimeError on all ranks that have come if some have not within `limit` seconds."""
    until = time.monotonic() + limit
    missing = torch.zeros(group.comm.size, dtype=torch.uint8)

    def comes(work: Any, more: float) -> bool:
        left = max(until - time.monotonic(), 0.001) + more
        try:
            work.wait(datetime.timedelta(seconds=left))
        except RuntimeError:
            group.mail.withdraw(work)
        return bool(work.is_success())

    def nothing() -> list[torch.Tensor]:
        return [torch.empty(0, dtype=torch.uint8)]

    if group.comm.rank:
        group.send(nothing(), 0, tag)
        if not comes(group.recv([missing], 0, tag), limit + GRACE):
            missing.zero_()
            missing[0] = 1
    else:
        peers = range(1, group.comm.size)
        arrivals = [group.recv(nothing(), r, tag) for r in peers]
        for r, arrival in zip(peers, arrivals):
            missing[r] = not comes(arrival, 0) and (all_of_them or not missing.any())
        for r, arrival in zip(peers, arrivals):
            if arrival.is_success():
                group.send([missing], r, tag)
    ranks = missing.nonzero().flatten().tolist()
    if ranks:
        # On the other ranks than 0 in gloo's words, too, which programs may look for.
        come = (f"Rank {group.comm.rank} successfully reached monitoredBarrier, but received errors while waiting for send/recv from rank 0: "
                if group.comm.rank else "")
        raise RuntimeError(f"tutti: monitored_barrier: {come}Rank{'s' if len(ranks) > 1 else ''} {', '.join(map(str, ranks))} failed to "
                           f"pass monitoredBarrier in {limit * 1e3:.0f} ms")
