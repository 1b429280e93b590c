"""typed.py - a program that mypy accepts, except for the lines that name their error.

SPDX-License-Identifier: BSD-3-Clause
"""
import array
from typing import Optional

import tutti

comm: tutti.Comm = tutti.init()
x = array.array("d", [1.0])
tutti.allreduce(x, op="max", out=x)
comm.reduce_scatter(x, tutti.SUM, counts=[1])
comm.gather(x, counts=[1])
comm.scatter(x, out=x, counts=[1])
comm.all_to_all(x, counts=[1], recv_counts=[1])
request: tutti.Request = comm.iallreduce(x)
step: tutti.Persistent = tutti.allreduce_init(x, out=x)
part: Optional[tutti.Comm] = comm.split(0)
text: str = tutti.draw(tutti.schedule("doubling", 4), "words")
tutti.allreduce(x, compression="lossless", out=x)
comm.reduce(x, compression="error=1e-2")
comm.allreduce(x, out=x, stream=0)
comm.broadcast(x, stream=None)
comm.stream_wait()
comm.barrier(stream=0)  # type: ignore[call-arg]
comm.allreduce(x, oops="max")  # type: ignore[call-overload]
tutti.broadcast(x, root="0")  # type: ignore[arg-type]
comm.ibarrier(1)  # type: ignore[call-arg]
rank: str = comm.rank  # type: ignore[assignment]
comm.split(0).rank  # type: ignore[union-attr]


def loss_of(part: float) -> float:
    return comm.allreduce(part, op="avg")


def sums(values: "array.array[float]") -> "array.array[float]":
    return tutti.allreduce(values, "max", out=values)


settings: dict[str, int] = comm.broadcast({"layers": 3})
names: list[str] = comm.all_gather("name")
here: Optional[list[str]] = comm.gather("name", root=0)
mine: int = comm.scatter([1, 2] if comm.rank == 0 else None)
swapped: list[float] = comm.all_to_all([0.5, 1.5])
joined: "array.array[float]" = comm.all_gather(x)
at_root: Optional[float] = comm.reduce(1.0)
comm.send(settings, 0)
wrong: str = comm.allreduce(1.0)  # type: ignore[assignment]
comm.allreduce(x, out="max", op=1)  # type: ignore[call-overload]
