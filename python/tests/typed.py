"""typed.py - a program that mypy finds right, but for the lines that say what is wrong with them.

SPDX-License-Identifier: BSD-3-Clause
"""
import array
from typing import Optional

import tutti

comm: tutti.Comm = tutti.init()
x = array.array("d", [1.0])
tutti.allreduce(x, op="max", out=x)
comm.reduce_scatter(x, tutti.SUM, counts=[1])
request: tutti.Request = comm.iallreduce(x)
step: tutti.Persistent = tutti.allreduce_init(x, out=x)
part: Optional[tutti.Comm] = comm.split(0)
text: str = tutti.draw(tutti.schedule("doubling", 4), "words")
comm.allreduce(x, oops="max")  # type: ignore[call-arg]
tutti.broadcast(x, root="0")  # type: ignore[arg-type]
comm.ibarrier(1)  # type: ignore[call-arg]
rank: str = comm.rank  # type: ignore[assignment]
comm.split(0).rank  # type: ignore[union-attr]
