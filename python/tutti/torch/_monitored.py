"""monitored_barrier for the backend in Python: a barrier that names the missing ranks. The same as in c10d/world.cpp.

Each rank sends an empty message to rank 0, which replies with one byte per rank: 1 if that rank is missing. Each barrier uses
its own tag, one of the highest, so a message that arrives too late does not disturb a later barrier.
SPDX-License-Identifier: BSD-3-Clause
"""
from __future__ import annotations

import datetime
import time
from typing import Any

import torch

GRACE = 5.0  # additional time for rank 0's reply, in seconds


def monitored_barrier(group: Any, limit: float, all_of_them: bool, tag: int) -> None:
    """Raise a RuntimeError, on all ranks that have arrived, if other ranks have not arrived within `limit` seconds."""
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
        # On ranks other than 0 the message also has gloo's words, because programs may look for them.
        come = (f"Rank {group.comm.rank} successfully reached monitoredBarrier, but received errors while waiting for send/recv from rank 0: "
                if group.comm.rank else "")
        raise RuntimeError(f"tutti: monitored_barrier: {come}Rank{'s' if len(ranks) > 1 else ''} {', '.join(map(str, ranks))} failed to "
                           f"pass monitoredBarrier in {limit * 1e3:.0f} ms")
