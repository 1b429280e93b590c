# c10d.py - PyTorch's all_reduce and training steps on tutti, compared with gloo and with a backend that
# does nothing. `make bench-torch`; the bars are bench/bars/torch.py.
#
#   c10d.py [--build DIR] [--ranks 2,4] [--last 64M] [--rounds 9] [--models mlp,conv,transformer]
#
# With Debian's OpenBLAS, and with the reference BLAS, whose steps are so slow that the sums take a small share of them. One
# thread per rank. Stores c10d.json, c10d.txt and, with gnuplot, c10d.svg. SPDX-License-Identifier: BSD-3-Clause
import argparse
import glob
import json
import os
import subprocess
import sys

import measure
from measure import Failed, bytes_name, geomean

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import picture  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
BLAS = {"OpenBLAS": "openblas-pthread", "reference BLAS": "blas"}
MODELS = ("mlp", "conv", "transformer")
STEP_ROUNDS = {"OpenBLAS": 32, "reference BLAS": 4}


def blas_folder(name):
    """The folder of a BLAS library; None: not installed."""
    found = glob.glob("/usr/lib/*/%s/libblas.so.3" % BLAS[name])
    return os.path.dirname(found[0]) if found else None


class Bench:
    def __init__(self, build, say=print):
        self.build, self.say = os.path.abspath(build), say
        self.python = os.environ.get("PYTHON3", "/usr/bin/python3")

    def run(self, ranks, arguments, blas, patience):
        """The lines that c10d_ranks.py prints."""
        env = dict(os.environ, LC_ALL="C", TUTTI_PROFILE="none", OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1",
                   NOTHING=os.path.join(self.build, "bench", "nothing.so"),
                   TUTTI_LIBRARY=os.path.join(self.build, "libtutti.so.0"),
                   PYTHONPATH=os.path.join(HERE, "..", "python"))
        if blas_folder(blas):
            env["LD_LIBRARY_PATH"] = blas_folder(blas)
        command = [os.path.join(self.build, "tutti"), "run", "-n", str(ranks), self.python,
                   os.path.join(HERE, "c10d_ranks.py")] + [str(a) for a in arguments]
        with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              start_new_session=True) as p:
            out, err = measure.finish(p, patience)
        if p.returncode:
            raise Failed("%s: %s" % (" ".join(map(str, arguments)), (err.strip() or "failed").splitlines()[-1]))
        return [json.loads(line) for line in out.splitlines() if line.startswith("{")]

    def sums(self, ranks, last, rounds):
        self.say("\nall_reduce of float on %d ranks, us; in Python: the backend for where no compiler is" % ranks)
        self.say("%8s %12s %12s %12s %12s %12s" % ("bytes", "gloo", "tutti", "gloo/tutti", "in Python", "nothing"))
        rows = self.run(ranks, ["sums", 4, last, rounds], "OpenBLAS", 900)
        for r in rows:
            us = r["us"]
            self.say("%8s %12.1f %12.1f %12.2f %12.1f %12.1f" % (bytes_name(r["bytes"]), us["gloo"], us["tutti"],
                                                                 r["gloo_over"]["tutti"], us["in Python"], us["nothing"]))
        return rows

    def steps(self, ranks, model, blas, rounds):
        r = self.run(ranks, ["steps", model, rounds], blas, 900)[0]
        floor = r["us"]["no sum"]
        self.say("%-12s %-15s %5d %9.1f %9.2f %9.2f %9.2f %11.2f %11.2f" % (
            model, blas, ranks, r["bytes"] / 1e6, r["us"]["gloo"] / 1e3, r["us"]["tutti"] / 1e3, floor / 1e3,
            r["exposed"]["gloo"] / 1e3, r["exposed"]["tutti"] / 1e3))
        return r

    def head_of_steps(self):
        self.say("\nstep of DistributedDataParallel, ms; no sum: with a hook that does nothing; exposed: step less that")
        self.say("%-12s %-15s %5s %9s %9s %9s %9s %11s %11s" % ("model", "BLAS", "ranks", "MB", "gloo", "tutti", "no sum",
                                                                 "exp. gloo", "exp. tutti"))


def over_gloo(rows, first, last):
    chosen = [r["gloo_over"]["tutti"] for r in rows if first <= r["bytes"] <= last]
    return geomean(chosen) if chosen else None


def plot(found, path):
    """Draw the curves, with a color per number of ranks and a dash style per backend."""
    s = ["set logscale xy", "@BYTES", "@TIMES", "set xlabel 'tensor'", "set ylabel 'time'",
         "set title 'torch.distributed.all_reduce of float'"]
    lines = []
    for i, (ranks, rows) in enumerate(found.items()):
        for dash, side in enumerate(("tutti", "gloo", "nothing")):
            s += ["$%s%s << E" % (side, ranks)] + ["%d %g" % (r["bytes"], r["us"][side]) for r in rows] + ["E"]
            lines.append("$%s%s lt %d title '%s, %s ranks'" % (side, ranks, 10 * dash + i + 1, side, ranks))
    picture.draw(path, "\n".join(s + ["plot " + ", ".join(lines)]), 900, 500)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", default="build")
    p.add_argument("--out", default=None)
    p.add_argument("--ranks", default="2,4")
    p.add_argument("--last", type=int, default=64 << 20)
    p.add_argument("--rounds", type=int, default=9)
    p.add_argument("--models", default=",".join(MODELS))
    args = p.parse_args()
    out = args.out or os.path.join(args.build, "bench")
    os.makedirs(out, exist_ok=True)
    text = []

    def say(line):
        print(line, flush=True)
        text.append(line)

    bench, m = Bench(args.build, say), measure.machine()
    say("PyTorch on tutti and on gloo, in turn on the same ranks; %s, %d cores, %s" % (m["processor"], m["cores"], m["date"]))
    ranks = [int(n) for n in args.ranks.split(",")]
    sums = {n: bench.sums(n, args.last, args.rounds) for n in ranks}
    bench.head_of_steps()
    steps = []
    for blas in BLAS:
        if not blas_folder(blas):
            say("%s is not installed: left out" % blas)
            continue
        for model in args.models.split(","):
            steps += [dict(bench.steps(n, model, blas, STEP_ROUNDS[blas]), blas=blas, ranks=n) for n in ranks]
    with open(os.path.join(out, "c10d.json"), "w") as f:
        json.dump({"machine": m, "sums": sums, "steps": steps}, f, indent=1)
    with open(os.path.join(out, "c10d.txt"), "w") as f:
        f.write("\n".join(text) + "\n")
    try:
        plot(sums, os.path.join(out, "c10d.svg"))
    except picture.Failed as e:
        say(str(e))
    print("\nstored in %s: c10d.json, c10d.txt, c10d.svg" % out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
