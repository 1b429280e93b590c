# programs.py - mpi4py's collectives with numpy: each rank also computes the result itself and
# compares; rank 0 prints it. SPDX-License-Identifier: BSD-3-Clause
import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
me, ranks = world.Get_rank(), world.Get_size()
TYPES = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", "c8", "c16", "longdouble"]
OPS = {"sum": (MPI.SUM, np.add.reduce), "max": (MPI.MAX, np.maximum.reduce), "min": (MPI.MIN, np.minimum.reduce),
       "prod": (MPI.PROD, np.multiply.reduce)}
failed = 0


def of(rank, n, kind):
    return ((np.arange(n) * 7 + rank * 3) % 3 + 1).astype(kind)


def tell(name, good, value=""):
    global failed
    bad = not all(world.allgather(bool(good)))
    failed += bad
    if me == 0:
        print("%s - mpi4py: %s %s" % ("not ok" if bad else "ok", name, value), flush=True)


def reductions(comm, order):
    for kind in TYPES:
        good, last = True, 0
        for name, (op, reduce) in OPS.items():
            if kind in ("c8", "c16") and name in ("max", "min"):
                continue
            for n in (1, 50, 3000):
                want = reduce([of(r, n, kind) for r in order], axis=0, dtype=np.dtype(kind))
                got = np.zeros(n, kind)
                comm.Allreduce(of(me, n, kind), got, op)
                good &= np.array_equal(got, want)
                got = of(me, n, kind)
                comm.Allreduce(MPI.IN_PLACE, got, op)
                good &= np.array_equal(got, want)
                got = np.zeros(n, kind)
                comm.Reduce(of(me, n, kind), got, op, root=comm.size - 1)
                good &= comm.rank != comm.size - 1 or np.array_equal(got, want)
                last = want[-1]
        tell("allreduce, reduce of %s on %d ranks" % (kind, comm.size), good, "%s" % last)


def blocks(comm, order):
    for n in (1, 50, 3000):
        every = np.zeros((comm.size, n), "f8")
        comm.Allgather(of(me, n, "f8"), every)
        good = all(np.array_equal(every[i], of(r, n, "f8")) for i, r in enumerate(order))
        mine = np.zeros(n, "f8")
        comm.Reduce_scatter_block(every, mine)
        good &= np.array_equal(mine, comm.size * of(me, n, "f8"))
        counts = [i + 1 for i in range(comm.size)]
        ragged = np.zeros(sum(counts), "i4")
        comm.Allgatherv(np.full(comm.rank + 1, me, "i4"), (ragged, counts))
        good &= np.array_equal(ragged, np.repeat(order, counts))
        x = of(me, n, "c16")
        comm.Bcast(x, root=comm.size - 1)
        good &= np.array_equal(x, of(order[-1], n, "c16"))
        comm.Barrier()
        tell("allgather, allgatherv, reduce_scatter_block, bcast of %d" % n, good)


def objects(comm):
    good = comm.bcast({"a": [1, 2, 3], "me": me}, root=0) == {"a": [1, 2, 3], "me": 0}
    good &= comm.allreduce(me + 1) == ranks * (ranks + 1) // 2
    good &= comm.allgather((me, "x" * me)) == [(r, "x" * r) for r in range(ranks)]
    good &= comm.allreduce([me], op=MPI.SUM) == list(range(ranks))
    tell("objects", good)


def special(comm):
    op = MPI.Op.Create(lambda a, b, t: np.frombuffer(b, "i4").__iadd__(np.frombuffer(a, "i4")), commute=True)
    x, y = np.full(10, me, "i4"), np.zeros(10, "i4")
    comm.Allreduce(x, y, op)
    op.Free()
    tell("an op in Python", np.all(y == ranks * (ranks - 1) // 2), "%d" % y[0])
    pair, best = np.zeros(1, "f8,i4"), np.zeros(1, "f8,i4")
    pair[0] = (me % 2, me)
    comm.Allreduce([pair, 1, MPI.DOUBLE_INT], [best, 1, MPI.DOUBLE_INT], MPI.MAXLOC)
    tell("maxloc", tuple(best[0]) == (min(1, ranks - 1), min(1, ranks - 1)))
    request = comm.Iallreduce(x, y, MPI.SUM)
    request.Wait()
    tell("iallreduce", np.all(y == ranks * (ranks - 1) // 2))


reductions(world, list(range(ranks)))
blocks(world, list(range(ranks)))
back = world.Split(0, -me)
reductions(back, list(range(ranks))[::-1])
blocks(back, list(range(ranks))[::-1])
back.Free()
objects(world)
special(world)
raise SystemExit(failed > 0)
