"""over_mpi.py - communicators made from mpi4py's: from COMM_WORLD, from a part of it, and errors. Each rank prints "good".

SPDX-License-Identifier: BSD-3-Clause
"""
import os

import numpy as np
from mpi4py import MPI

import tutti

world = tutti.init(MPI.COMM_WORLD)
P, me = world.size, world.rank
x = np.full(1000, me + 1, "f4")
want = P * (P + 1) // 2
assert (tutti.allreduce(x) == want).all()
assert (tutti.iallreduce(x, out=x).wait() == want).all()
assert world.broadcast(np.full(3, me), root=P - 1)[0] == P - 1
if MPI.COMM_WORLD.size > 1:  # started by mpirun
    assert (me, P) == (MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size)
    half = MPI.COMM_WORLD.Split(me % 2, -me)
    with tutti.from_mpi(half) as part:
        assert (part.rank, part.size) == (half.rank, half.size)
        assert part.allreduce(np.array([1]))[0] == half.Get_size()
    half.Free()
    try:
        tutti.from_mpi(MPI.COMM_NULL)
        raise AssertionError("COMM_NULL was taken")
    except tutti.ArgumentError:
        pass
try:
    tutti.from_mpi("MPI_COMM_WORLD")
    raise AssertionError("a text was taken")
except tutti.ArgumentError as why:
    assert "takes a communicator of mpi4py, not a str" in str(why), why
os.write(1, b"good\n")  # in one write
