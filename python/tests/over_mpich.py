"""over_mpich.py - simulates an mpi4py built with MPICH, because no package provides one. Only the part that tutti uses is
simulated. Each rank prints "good".

SPDX-License-Identifier: BSD-3-Clause
"""
import array
import ctypes
import os
import sys
import types

mpich = ctypes.CDLL("libmpich.so.12", ctypes.RTLD_GLOBAL)
mpich.MPI_Init(None, None)


class Comm:
    def __init__(self, handle):
        self.handle = ctypes.c_int(handle)


MPI = types.ModuleType("mpi4py.MPI")
MPI.Comm = Comm
MPI.get_vendor = lambda: ("MPICH", (4, 0, 2))
MPI._addressof = lambda comm: ctypes.addressof(comm.handle)
MPI._sizeof = lambda comm: ctypes.sizeof(comm.handle)
sys.modules["mpi4py.MPI"] = MPI

import tutti  # noqa: E402

with tutti.init(Comm(0x44000000)) as world:  # MPI_COMM_WORLD
    assert world.allreduce(array.array("d", [1]))[0] == world.size == int(sys.argv[1])
MPI.get_vendor = lambda: ("NEC MPI", (1, 0))
try:
    tutti.from_mpi(Comm(0x44000000))
    raise AssertionError("an unknown MPI was taken")
except tutti.UnsupportedError as why:
    assert "mpi4py uses NEC MPI; tutti knows Open MPI" in str(why), why
tutti.finalize()
mpich.MPI_Finalize()
os.write(1, b"good\n")  # in one write
