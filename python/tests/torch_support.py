"""Calls each operation with each type, and compares the results with docs/reference/torch-support.md.

    tutti run -n 2 python3 torch_support.py docs/reference/torch-support.md [--write]

A cell lists the types of its column for which the result is correct: all of them (yes), none (-), or their names. Rank 0 prints
TAP; with --write it replaces the table in the file.
SPDX-License-Identifier: BSD-3-Clause
"""
import re
import sys

import torch
import torch.distributed as dist

import tutti.torch  # noqa: F401  pylint: disable=unused-import

TYPES = {"float32, float64": "float32 float64", "float16, bfloat16": "float16 bfloat16",
         "8-bit floats": "float8_e4m3fn float8_e5m2", "int8 to int64, uint8": "int8 int16 int32 int64 uint8",
         "uint16, uint32, uint64": "uint16 uint32 uint64", "bool": "bool", "complex": "complex64 complex128"}
BLOCK = re.compile(r"(<!-- written by python/tests/torch_support.py -->\n)(.*?)(<!-- end of it -->\n)", re.S)
# The expected results if all elements on P ranks are one.
REDUCED = {"SUM": lambda P: P, "AVG": lambda P: 1, "PRODUCT": lambda P: 1, "MIN": lambda P: 1, "MAX": lambda P: 1, "BAND": lambda P: 1,
           "BOR": lambda P: 1, "BXOR": lambda P: P % 2}


def ones(n, dtype):
    return torch.ones(n).to(dtype)


def is_all(t, value):
    want = torch.full(t.shape, float(value)).to(t.dtype)
    assert torch.equal(t.contiguous().view(torch.uint8), want.view(torch.uint8)), t


def reduced(call, name):
    """Make a call with this op."""
    def tried(dtype, P):
        op = dist._make_nccl_premul_sum(2.0) if name == "PREMUL_SUM" else getattr(dist.ReduceOp, name)
        whole, part = ones(2 * P, dtype), ones(2, dtype)
        {"all_reduce": lambda: dist.all_reduce(part, op), "reduce": lambda: dist.reduce(part, 0, op),
         "reduce_scatter_tensor": lambda: dist.reduce_scatter_tensor(part, whole, op),
         "reduce_scatter": lambda: dist.reduce_scatter(part, list(whole.split(2)), op)}[call]()
        if call != "reduce" or dist.get_rank() == 0:
            is_all(part, REDUCED[name](P))
    return tried


def copied(call):
    def tried(dtype, P):
        r, part, whole = dist.get_rank(), ones(2, dtype), ones(2 * P, dtype)
        got, gots = torch.zeros(2).to(dtype), torch.zeros(2 * P).to(dtype)
        parts, room, one = list(whole.split(2)), list(gots.split(2)), [got]
        ring = [dist.P2POp(dist.isend, part, (r + 1) % P), dist.P2POp(dist.irecv, got, (r - 1) % P)]
        pair = (lambda: dist.send(part, r + 1)) if r % 2 == 0 else (lambda: dist.recv(got, r - 1))
        {"broadcast": lambda: dist.broadcast(part if r == 0 else got, 0), "all_gather": lambda: dist.all_gather(room, part),
         "all_gather_into_tensor": lambda: dist.all_gather_into_tensor(gots, part),
         "gather": lambda: dist.gather(part, room if r == 0 else None), "scatter": lambda: dist.scatter(got, parts if r == 0 else None),
         "all_to_all": lambda: dist.all_to_all(room, parts), "all_to_all_single": lambda: dist.all_to_all_single(gots, whole),
         "batch_isend_irecv": lambda: [w.wait() for w in dist.batch_isend_irecv(ring)], "send, recv": pair}[call]()
        found = {"broadcast": part if r == 0 else got, "gather": gots if r == 0 else part, "send, recv": got if r % 2 else part,
                 "scatter": one[0], "batch_isend_irecv": got}.get(call, gots)
        is_all(found, 1)
    return tried


SUMS = ("all_reduce", "reduce", "reduce_scatter", "reduce_scatter_tensor")
OPS = ("SUM", "AVG", "PRODUCT", "MIN, MAX", "BAND, BOR, BXOR", "PREMUL_SUM")
COPIES = ("broadcast", "all_gather", "all_gather_into_tensor", "gather", "scatter", "all_to_all", "all_to_all_single", "send, recv",
          "batch_isend_irecv")
ROWS = {f"the four sums: {ops}": [reduced(call, op) for call in SUMS for op in ops.split(", ")] for ops in OPS}
ROWS.update({call: [copied(call)] for call in COPIES})


def works(calls, dtype, P):
    try:
        for call in calls:
            call(dtype, P)
    except (RuntimeError, ValueError, TypeError, tutti.TuttiError) as why:
        print(f"# {why}"[:160] if dist.get_rank() == 0 else "", flush=True)
        return False
    return True


def cell(calls, names, P):
    good = [name for name in names.split() if works(calls, getattr(torch, name), P)]
    return "yes" if good == names.split() else ", ".join(good) or "-"


def main():
    dist.init_process_group("tutti")
    P = dist.get_world_size()
    rows = [[name] + [cell(calls, names, P) for names in TYPES.values()] for name, calls in ROWS.items()]
    if dist.get_rank() == 0:
        lines = [["on the CPU", *TYPES], ["---"] * (len(TYPES) + 1), *rows]
        table = "".join(f"| {' | '.join(line)} |\n" for line in lines)
        with open(sys.argv[1], encoding="utf-8") as f:
            page = f.read()
        new, found = BLOCK.subn(lambda m: m[1] + table + m[3], page)
        if "--write" in sys.argv:
            with open(sys.argv[1], "w", encoding="utf-8") as f:
                f.write(new)
        good = found == 1 and (new == page or "--write" in sys.argv)
        print(f"{'ok' if good else 'not ok'} - the table of supported calls matches the results of the calls")
        if not good:
            print("# this writes it: tutti run -n 2 python3 python/tests/torch_support.py docs/reference/torch-support.md --write")
    dist.destroy_process_group()


main()
