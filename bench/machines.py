#!/usr/bin/env python3
"""machines.py - predicted times of an allreduce on commercial networks: a table of docs/bench/tables.md.

  machines.py --build build [--out docs/bench]          (make bench-machines)

Idea       `tutti info --network MACHINE -n N` prints the levels and model parameters, and build/bench/scale computes the times
           of a plan for all sizes; each command is printed before it runs. `tutti plan price PLAN --network MACHINE` predicts
           the same times; tests/sh/scale.sh compares them. A ring of more than MANY ranks has too many messages for this; its
           time is taken as 2(P-1) times that of its slowest hop (scale.py compares this formula with predictions).
SPDX-License-Identifier: BSD-3-Clause"""
import argparse
import os
import re
import shlex
import subprocess
import sys

import record
import scale
from scale import short, size, time

SIZES = [8, 64 << 10, 1 << 20, 64 << 20, 1 << 30]
RANKS = {"slingshot": (1024, 10240, 99840), "infiniband": (1024, 10240, 100352), "leaf-spine": (960, 9600, 99840)}
PER_SWITCH = {"slingshot": 16, "infiniband": 32, "leaf-spine": 48}
MANY = 2000  # with more ranks than this, rings use the formula, and the leaders of switches use halving
OTHERS = ("doubling", "fold(ring)", "rabenseifner", "two-level")


def said(command):
    """The lines that the command prints. Prints the command itself as a user would type it."""
    print(shlex.join(command), flush=True)
    return subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout.splitlines()


def network(build, machine, ranks):
    """The levels, and the model parameters in the form of --network."""
    lines = said([os.path.join(build, "tutti"), "info", "--network", machine, "-n", str(ranks)])
    return re.search("'(.*)'", lines[0])[1], ",".join(x.replace(" ", "") for x in lines if not x.startswith("#"))


def prices(build, net, ranks, plan):
    """By size: (seconds, plan, slices); the plan `all` is the choice."""
    command = [os.path.join(build, "bench/scale"), "prices", str(ranks), *net, "float", plan]
    return {m: found[:3] for m, found in scale.read_prices(said(command + [str(m) for m in SIZES]))[0].items()}


def ring(figures, ranks, m):
    """The time of a ring in seconds. The longest chain of messages stays on the slowest hop, unless additions take more than
    the additional time of that hop."""
    alphas = [1e-9 * float(x) for x in re.findall(r"\.alpha=([0-9.]+)ns", figures)]
    beta = 8e-9 / float(re.search(r"(?:^|,)beta=([0-9.]+)Gbit/s", figures)[1])
    u, gamma = m / ranks, 5e-11
    slow, fast = max(alphas) + u * beta, min(alphas) + u * (beta + gamma)
    return (ranks - 1) * slow + u * gamma + (ranks - 1) * max(slow, fast)


def rows(build):
    for machine, counts in RANKS.items():
        for ranks in counts:
            net = network(build, machine, ranks)
            chosen = prices(build, net, ranks, "all")
            yield [machine, f"{ranks:,}", "**tutti's choice**"] + [f"**{time(s)}**<br>{short(plan, k)}" for s, plan, k in map(chosen.get, SIZES)]
            for plan in OTHERS:
                name = plan if plan != "two-level" else "two-level(node=%d,%s)" % (
                    PER_SWITCH[machine], "halving" if ranks > MANY else "ring")
                if plan == "fold(ring)" and ranks > MANY:
                    each = {m: (ring(net[1], ranks, m),) for m in SIZES}
                else:
                    each = prices(build, net, ranks, name)
                yield ["", "", f"`{name}`"] + [time(each[m][0]) for m in SIZES]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", default="build")
    p.add_argument("--out", default="docs/bench")
    args = p.parse_args()
    about = dict(record.about("predicted times on commercial networks, which docs/scale.md describes", "make bench-machines"),
                 columns=["machine", "P", "plan"] + [size(m) for m in SIZES])
    record.store(os.path.join(args.out, "machines.json"), about, list(rows(args.build)))
    print("%s/machines.json; make tables puts it into docs/bench/tables.md" % args.out, file=sys.stderr)


if __name__ == "__main__":
    main()
