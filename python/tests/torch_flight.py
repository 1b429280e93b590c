"""Flight records: the entries of each operation, and the records after a failure. torch_flight.sh runs it.

SPDX-License-Identifier: BSD-3-Clause
"""
import datetime
import json
import os
import pickle
import sys
import time

import torch
import torch.distributed as dist

import tutti
import tutti.torch

FAILURES = (RuntimeError, tutti.TuttiError)


def late():
    """In a group with a timeout of 2 s, rank 1 starts the fourth sum after it has timed out on the other ranks."""
    store, n = dist.distributed_c10d._get_default_store(), dist.get_world_size()

    def come(ranks):
        while store.add("given up", 0) < ranks:
            time.sleep(0.01)

    impatient = dist.new_group(timeout=datetime.timedelta(seconds=2))
    for step in range(6):
        if step == 3 and dist.get_rank() == 1:
            come(n - 1)
        try:
            dist.all_reduce(torch.ones(2, 3), group=impatient)
        except FAILURES as why:
            sys.stdout.write(f"{why}\n")
            break
    store.add("given up", 1)
    come(n)  # the other ranks stay alive until rank 1 has tried


def every():
    """One operation of each kind, without a failure."""
    r, n = dist.get_rank(), dist.get_world_size()
    x, many = torch.ones(4), [torch.ones(4) for _ in range(n)]
    sub = dist.new_group([0, 1])
    dist.all_reduce(x)
    dist.all_reduce_coalesced([torch.ones(3), torch.ones(2)])
    dist.reduce(x, 0)
    dist.broadcast(x, 1)
    dist.all_gather(many, x)
    dist._all_gather_base(torch.empty(4 * n), x)
    dist.gather(x, many if r == 0 else None, 0)
    dist.scatter(x, many if r == 0 else None, 0)
    dist.reduce_scatter(x, many)
    dist._reduce_scatter_base(x, torch.ones(4 * n))
    dist.all_to_all_single(torch.empty(2 * n), torch.ones(2 * n))
    dist.all_to_all(many, [torch.ones(4) for _ in range(n)])
    dist.barrier()
    if r < 2:
        dist.all_reduce(x.half(), group=sub)
        dist.send(x, 1) if r == 0 else dist.recv(x, 0)
    dist.barrier()
    record = tutti.torch.flight_record()
    json.dumps(record)
    with open(f"{os.environ['STATE']}{r}", "wb") as file:
        pickle.dump(record, file)
    entries = record["entries"]
    assert all(e["state"] == "completed" for e in entries), [e["profiling_name"] for e in entries if e["state"] != "completed"]
    assert all(e["time_created_ns"] <= e["time_discovered_started_ns"] <= e["time_discovered_completed_ns"] for e in entries)
    names = " ".join(e["profiling_name"][5:] for e in entries)
    sys.stdout.write(f"rank {r}: {names}\n")


def ring():
    """Only the last operations are kept."""
    for i in range(10):
        dist.all_reduce(torch.ones(i + 1))
    record = tutti.torch.flight_record()
    sys.stdout.write(f"kept {[e['input_sizes'][0][0] for e in record['entries']]}\n")


if __name__ == "__main__":
    dist.init_process_group("tutti", timeout=datetime.timedelta(seconds=60))
    {f.__name__: f for f in (late, every, ring)}[sys.argv[1]]()
    dist.barrier() if sys.argv[1] != "late" else None
