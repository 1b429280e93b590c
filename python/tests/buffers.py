"""buffers.py - accepted and refused buffers, and the error messages. On any number of ranks.

    python3 python/tests/buffers.py [--plain]    --plain: without numpy

SPDX-License-Identifier: BSD-3-Clause
"""
import array
import ctypes
import mmap
import sys
from multiprocessing import shared_memory

PLAIN = "--plain" in sys.argv
if PLAIN:
    sys.modules["numpy"] = None  # so import numpy raises

import tap  # noqa: E402

import tutti  # noqa: E402
from tutti import _dlpack  # noqa: E402

if not PLAIN:
    import numpy as np
comm = tutti.init()
P, me = comm.size, comm.rank


class Lent:
    """An array of another library, with __dlpack__ and without a buffer."""

    def __init__(self, inner, device=(1, 0), why=None):
        self.inner, self.device, self.why = inner, device, why

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, stream=None):
        if self.why:
            raise self.why
        return self.inner.__dlpack__()


class Tensor:
    """An array with __dlpack__ that returns a capsule made by hand, of DLPack 1.x; (kind, bits) as in DLPack."""

    def __init__(self, memory, kind, bits, shape, strides=None, offset=0, flags=0, major=1):
        axes = ctypes.c_int64 * len(shape)
        self.keep = memory, axes(*shape), strides and axes(*strides)
        self.shape, self.strides = (ctypes.cast(k, ctypes.POINTER(ctypes.c_int64)) if k else None for k in self.keep[1:])
        at = ctypes.addressof((ctypes.c_char * 0).from_buffer(memory))
        self.managed = _dlpack._Versioned(major, 0, None, None, flags, _dlpack._Tensor(
            at, 1, 0, len(shape), kind, bits, 1, self.shape, self.strides, offset))

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, max_version=None):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.managed), b"dltensor_versioned", None)


def tensors():
    x = array.array("f", [1, 2, 3, 4])
    comm.allreduce(Tensor(x, 2, 32, (2, 2), (2, 1)), out=Tensor(x, 2, 32, (4,)))
    if list(x) != [P, 2 * P, 3 * P, 4 * P]:
        return f"{x}"
    comm.allreduce(Tensor(x, 2, 32, (1, 2), (7, 1), offset=8), out=Tensor(x, 2, 32, (2,), offset=8))
    if list(x) != [P, 2 * P, 3 * P * P, 4 * P * P]:
        return f"with an offset: {x}"
    bits = array.array("H", [0x3F80] * 3)  # 1.0
    comm.allreduce(Tensor(bits, 4, 16, (3,)), "max", Tensor(bits, 4, 16, (3,)))
    flags = array.array("B", [me == 0, 0])
    comm.allreduce(Tensor(flags, 6, 8, (2,)), "lor", Tensor(flags, 6, 8, (2,)))
    if list(bits) != [0x3F80] * 3 or list(flags) != [1, 0]:
        return f"{bits} {flags}"
    table = [("read-only", (x, "sum", Tensor(x, 2, 32, (4,), flags=1))),
             ("not contiguous", (Tensor(x, 2, 32, (2, 2), (1, 2)), "sum", x)),
             ("DLPack 2.0 is unknown", (Tensor(x, 2, 32, (4,), major=2), "sum", x)),
             ("whole bytes", (Tensor(x, 0, 4, (4,)), "sum", x)),
             ("float128.*cannot compute", (Tensor(array.array("d", [0] * 4), 2, 128, (2,)), "sum", x))]
    for pattern, args in table:
        why = tap.refused(tutti.TuttiError, pattern, comm.allreduce, *args)
        if why:
            return f"{pattern}: {why}"
    return None


def plain_ones():
    """Without numpy: sums of each kind of buffer, in place and into new memory."""
    for kind in "bBhHiIlLqQfd":
        x = array.array(kind, [1, 2, 3])
        y = comm.allreduce(x)
        if type(y) is not array.array or list(y) != [P, 2 * P, 3 * P] or list(x) != [1, 2, 3]:
            return f"{kind}: {y}"
        if comm.allreduce(x, out=x) is not x or x != y:
            return f"{kind}: in place {x}"
    for make in (bytes, bytearray, lambda b: memoryview(bytearray(b))):
        y = comm.allreduce(make(b"\1\2\3"), op="max")
        if bytes(y) != b"\1\2\3":
            return f"{make}: {bytes(y)}"
    x = memoryview(array.array("d", [1, 2])).cast("B").cast("d", (1, 2))
    if comm.allreduce(x, out=array.array("d", [0, 0]))[1] != 2 * P:
        return "a memoryview of two dimensions"
    whole = comm.all_gather(array.array("i", [me, me]))
    if list(whole) != [r for r in range(P) for _ in (0, 1)]:
        return f"{whole}"
    return None


def mapped():
    with mmap.mmap(-1, 64) as memory:
        memory[:4] = b"\1\0\0\0"
        comm.allreduce(memory, out=memory, dtype="int32")
        if memory[0] != P:
            return f"mmap: {memory[:4]!r}"
    block = shared_memory.SharedMemory(create=True, size=16)
    try:
        block.buf[:] = bytes(16)
        block.buf[0] = 1
        comm.allreduce(block.buf, out=block.buf)
        return "" if block.buf[0] == P else "SharedMemory"
    finally:
        block.close()
        block.unlink()


def own_op_plainly():
    op = tutti.op(lambda a, b: [x * y for x, y in zip(a, b)])
    x = comm.allreduce(array.array("i", [2, 3]), op=op)
    return "" if list(x) == [2**P, 3**P] else f"{x}"


def locked():
    """A buffer in flight cannot be resized."""
    x = bytearray(8)
    request = comm.iallreduce(x, out=x)
    try:
        x.extend(b"more")
        return "it could be resized"
    except BufferError:
        request.wait()
    x.extend(b"now")
    return None


def numpy_ones():
    frozen = np.ones(3)
    frozen.flags.writeable = False
    good = {
        "read-only": frozen, "a scalar": np.float32(1), "no dimension": np.ones(()), "empty": np.ones((0, 3)),
        "a slice of rows": np.ones((4, 3))[1:3], "one column": np.ones((5, 1))[:, 0:1], "bool": np.ones(3, bool),
        "a field of one": np.ones(3, "f4,i4").view("f4,i4")["f0"][:1],
    }
    for name, x in good.items():
        y = comm.allreduce(x, op="max")
        if y.shape != np.shape(x) or not (y == x).all():
            return f"{name}: {y}"
    moved = {"dates": np.array(["2020-01-01"], "M8[D]"), "text": np.array(["abc"]), "long double": np.ones(2, "g"),
             "records": np.ones(2, "f4,i8,u1"), "big-endian": np.ones(2, ">f4")}
    for name, x in moved.items():
        if not (comm.all_gather(x)[-len(x):] == x).all() or not (comm.broadcast(x.copy()) == x).all():
            return name
    shapes = {comm.all_gather: (2 * P, 3), comm.reduce_scatter: (2, 3), comm.all_to_all: (2 * P, 3)}
    for call, want in shapes.items():
        got = call(np.ones((2, 3) if call == comm.all_gather else (2 * P, 3))).shape
        if got != want:
            return f"{call.__name__}: {got}, not {want}"
    return None


def lent_ones():
    x = np.ones((2, 3), "f4")
    comm.allreduce(Lent(x), out=Lent(x))
    if x[1, 2] != P:
        return f"{x}"
    return tap.refused(tutti.ArgumentError, r"contiguous.*\(2, 2\).*x.contiguous", comm.allreduce, Lent(np.ones((2, 3))[:, :2]),
                       out=np.ones(4))


def bfloats():
    try:
        import ml_dtypes
    except ImportError:
        bits = comm.allreduce(np.full(3, 0x3F80, "u2"), dtype="bf16")  # 1.0
        more = comm.allreduce(np.full(3, 0x38, "u1"), op="max", dtype="float8_e4m3fn")  # 1.0
        return "" if bits[0] == np.array([P], "f4").view("u4")[0] >> 16 and more[0] == 0x38 else f"{bits}, {more}"
    for kind in ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2:
        x = np.ones(3, kind)
        y = comm.allreduce(x)
        if y.dtype != x.dtype or float(y[0]) != P:
            return f"{y}"
    return ""


def refusals():
    frozen = np.ones(3)
    frozen.flags.writeable = False
    x, three = np.ones(3), np.ones(3)
    reduce, gather, bad = comm.allreduce, comm.all_gather, tutti.ArgumentError
    table = [
        (bad, "^allreduce: array is not contiguous.*ascontiguousarray", reduce, (np.ones((4, 4))[:, ::2],)),
        (bad, "not contiguous", reduce, (np.ones((4, 4)).T,)),
        (bad, "not contiguous", reduce, (np.broadcast_to(np.ones(1), (4,)),)),
        (bad, "out is not contiguous", reduce, (x, "sum", np.ones(6)[::2])),
        (bad, "^allreduce: out is read-only", reduce, (x, "sum", frozen)),
        (bad, "is read-only", reduce, (frozen, "sum", frozen)),
        (bad, "is read-only", reduce, (b"abc", "sum", b"abc")),
        (bad, "is read-only", reduce, (np.float64(1), "sum", np.float64(1))),
        (bad, "^allreduce: array is of class list.*neither a buffer nor __dlpack__.*out= is for arrays", reduce, ([1, 2],), {"out": x}),
        (bad, "out is of class float", reduce, (x, "sum", 1.5)),
        (bad, "class NoneType", comm.reduce_scatter, (None,)),
        (bad, "out has 4 elements; it needs 3", reduce, (x, "sum", np.ones(4))),
        (tutti.DtypeError, "out is of type float, not double", reduce, (x, "sum", x.astype("f4"))),
        (tutti.DtypeError, "Python objects", reduce, (np.array([None]),)),
        (tutti.DtypeError, "Python objects", gather, (np.array([None]),)),
        (tutti.DtypeError, "type datetime64.*cannot compute", reduce, (np.array(["2020"], "M8[Y]"),)),
        (tutti.DtypeError, "float128|longdouble", reduce, (np.ones(2, "g"),)),
        (tutti.DtypeError, ">f4", reduce, (np.ones(2, ">f4"),)),
        (tutti.OpError, "unknown op 'add'; expected sum", reduce, (x, "add")),
        (tutti.OpError, "type double has no op band", reduce, (x, "band")),
        (tutti.OpError, "bools have no sum.*'lor'", reduce, (x > 0,)),
        (tutti.OverlapError, "overlap", reduce, (np.ones(6)[:3], "sum", None), "overlap"),
        (bad, "elements cannot be cut in", comm.reduce_scatter, (np.ones(3 * P + 1),)) if P > 1 else None,
        (bad, "root 7 is not a rank of", comm.broadcast, (x, 7)),
        (bad, "to -1 is not a rank of", comm.send, (x, -1)),
        (bad, "on CUDA device 1,.*CPU", reduce, (Lent(three, (2, 1)),)),
        (bad, "does not hand out its memory: it needs a gradient", reduce, (Lent(three, why=RuntimeError("it needs a gradient")),)),
        (bad, "does not hand out its memory", reduce, (Lent(frozen),)),
        (TypeError, "unexpected keyword", reduce, (x,), {"nothing": 1}),
        (tutti.DtypeError, "unknown type 'f8'; expected", reduce, (x,), {"dtype": "f8"}),
        (bad, "not a multiple of the element size", reduce, (bytearray(7),), {"dtype": "int32"}),
        (bad, "counts must have", gather, (x,), {"counts": [1] * (P + 1)}),
        (bad, r"array has 3 elements; counts\[\d\] is 2", gather, (x,), {"counts": [2] * P}),
        (bad, "counts add up to", comm.reduce_scatter, (x,), {"counts": [5] * P}),
        (bad, "2 arrays and 1 outs", comm.allreduce_many, ([x, three], "sum", [x])),
        (tutti.DtypeError, "array 1 is of type float, and those before it of double", comm.allreduce_many, ([x, x.astype("f4")],)),
        (tutti.OverlapError, "a dst overlaps another buffer", comm.allreduce_many, ([x, x],)),
        (bad, "color -3", comm.split, (-3,)),
        (bad, "not a rank of", comm.reduce, (x, "sum", P)),
    ]
    for row in filter(None, table):
        kind, pattern, call, args, *more = row
        more = more[0] if more else {}
        if more == "overlap":
            whole = np.ones(6)
            args, more = (whole[:3], "sum", whole[2:5]), {}
        why = tap.refused(kind, pattern, call, *args, **more)
        if why:
            return f"{call.__name__}{args} {more}: {why}"
    if comm.allreduce(x)[0] != P:  # and the communicator still works
        return "after that"
    return None


for test in (plain_ones, mapped, own_op_plainly, locked, tensors) + (() if PLAIN else (numpy_ones, lent_ones, bfloats, refusals)):
    tap.run(f"{test.__name__.replace('_', ' ')}, {P} ranks" + (", no numpy" if PLAIN else ""), test)
tap.end()
