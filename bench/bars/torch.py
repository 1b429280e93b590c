# torch.py - the targets of PyTorch on tutti: all_reduce and training steps compared with gloo.
# SPDX-License-Identifier: BSD-3-Clause
import importlib.util
import os

from verdict import at_least, at_most, limit, skipped

HERE = os.path.dirname(os.path.abspath(__file__))
spec = importlib.util.spec_from_file_location("bench_c10d", os.path.join(HERE, "..", "c10d.py"))
c10d = importlib.util.module_from_spec(spec)
spec.loader.exec_module(c10d)

TITLE = "PyTorch: tutti compared with gloo, and with a backend that does nothing"
MIB = 1 << 20


def sums(bench, quick):
    rows = {n: bench.sums(n, (MIB if quick else 64 * MIB) if n == 2 else MIB, 3 if quick else 9) for n in (2, 4)}
    yield at_least("2 ranks, 4 B to 4 MiB: gloo over tutti, the mean", 10, c10d.over_gloo(rows[2], 4, 4 * MIB))
    yield at_least("2 ranks, 16 to 64 MiB: gloo over tutti, the mean", 5, c10d.over_gloo(rows[2], 16 * MIB, 64 * MIB),
                   "left out")
    yield at_least("4 ranks, 4 B to 1 MiB: gloo over tutti, the mean", 20, c10d.over_gloo(rows[4], 4, MIB))
    first = rows[2][0]["us"]
    yield at_most("2 ranks, 4 B: us more than the backend that does nothing", 5, first["tutti"] - first["nothing"])


def steps(bench, quick):
    bench.head_of_steps()
    for blas in c10d.BLAS:
        for model in c10d.MODELS[:1] if quick else c10d.MODELS:
            name = "%s, %s, 2 ranks" % (model, blas)
            if not c10d.blas_folder(blas):
                yield skipped("%s: gloo's step over tutti's" % name, "%s is not installed" % blas)
                continue
            r = bench.steps(2, model, blas, 2 if quick else c10d.STEP_ROUNDS[blas])
            share = r["exposed"]["tutti"] / r["exposed"]["gloo"] if r["exposed"]["gloo"] > 0 else None
            if blas == "OpenBLAS":
                yield at_least("%s: gloo's step over tutti's" % name, 1, r["gloo_over"]["tutti"])
                yield at_most("%s: exposed communication over gloo's" % name, 1 / 3, share, "gloo's is none")
            else:
                yield limit("%s: gloo's step over tutti's" % name, r["gloo_over"]["tutti"])
                yield limit("%s: exposed communication over gloo's" % name, share)


def bars(build, quick):
    bench = c10d.Bench(build, lambda line: print("# " + line.lstrip("\n"), flush=True))
    if not os.path.exists(os.path.join(build, "bench", "nothing.so")):
        yield skipped("gloo over tutti", "there is no PyTorch here")
        return
    yield from sums(bench, quick)
    yield from steps(bench, quick)
