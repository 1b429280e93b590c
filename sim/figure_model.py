# figure_model.py - the two models behind the papers' figures: the papers' own formulas, and
# tutti's price of the plans (`tutti plan price`), which simulates their schedules.
#
# Source     001: Kolmakov and Zhang, equations 15, 25, 36, 37, 44, Table 2.
#            002: Cho, Finkler, Kung, Hunter (BlueConnect), equations 1 to 9.
# SPDX-License-Identifier: BSD-3-Clause
import json
import math
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor

# Table 2 of paper 001: seconds a message, seconds a byte sent, seconds a byte added.
ALPHA, BETA, GAMMA = 3e-5, 1e-8, 2e-10
CLUSTER = "alpha=30us,beta=1e-8,gamma=2e-10"


def log2_up(p):
    return (p - 1).bit_length()


def log2_down(p):
    return p.bit_length() - 1


def cost(messages, sent, added):
    return messages * ALPHA + sent * BETA + added * GAMMA


# ---- paper 001 ----


def tau_ring(p, m):
    """Equation 15, which also holds for the ring."""
    return cost(2 * (p - 1), 2 * (p - 1) * m / p, (p - 1) * m / p)


def tau_optimal_bytes(p, m):
    """Equation 25."""
    return cost(2 * log2_up(p), 2 * (p - 1) * m / p, (p - 1) * m / p)


def tau_fewer_steps(p, m, r):
    """Equation 36: r steps fewer; it is a bound."""
    u, n = m / p, log2_up(p)
    more = 2**r - 1
    return cost(2 * n - r, (2 * (p - 1) + more * (n - 1)) * u, (p - 1 + more * (2 * n - 2)) * u)


def tau_fewest_steps(p, m):
    """Equation 44."""
    n = log2_up(p)
    return cost(n, n * m, (2 * n - 2) * m)


def tau_proposed(p, m):
    return min([tau_fewest_steps(p, m)] + [tau_fewer_steps(p, m, r) for r in range(log2_up(p))])


def tau_doubling(p, m):
    """Recursive doubling; ranks above a power of two send their data and get the result (section 3)."""
    n, rest = log2_down(p), 0 if p & (p - 1) == 0 else 1
    return cost(n + 2 * rest, (n + 2 * rest) * m, (n + rest) * m)


def tau_halving(p, m):
    """Recursive halving, likewise: 2m more are sent, as section 3 says."""
    n, rest = log2_down(p), 0 if p & (p - 1) == 0 else 1
    q = 1 << n
    part = (q - 1) * m / q
    return cost(2 * (n + rest), 2 * (part + rest * m), part + rest * m)


def tau_best(p, m):
    """The best of the algorithms that Figure 1 compares with."""
    return min(tau_ring(p, m), tau_doubling(p, m), tau_halving(p, m))


def steps_removed(p, m):
    """Equation 37, rounded to a possible number: 0 ... ceil(log2 P)."""
    if p < 4:
        return 0
    r = math.log2(ALPHA / (m * (BETA + 2 * GAMMA))) + math.log2(p / ((math.log2(p) - 1) * math.log(2)))
    return min(max(round(r), 0), log2_up(p))


def proposed_plan(p, r):
    """tutti's name for the paper's algorithm with r steps fewer."""
    if r == 0:
        return "fold(halving)"
    return "generalized(latency)" if r >= log2_up(p) else "generalized(r=%d)" % r


# ---- paper 002 ----


def t_ring(p, n, alpha, width):
    """Equation 1."""
    return (p - 1) * alpha + (p - 1) * n / p / width


def t_either(p, n, alpha, width):
    """Equation 3: halving where p is a power of two, else a ring."""
    if p & (p - 1):
        return t_ring(p, n, alpha, width)
    return log2_down(p) * alpha + (p - 1) * n / p / width


def t_one_level(sizes, n, alpha, widths):
    """Equation 6: one ring through everything. Innermost level first, here and below."""
    return 2 * t_ring(math.prod(sizes), n, alpha, min(widths))


def t_two_level(sizes, n, alpha, widths):
    """Equation 7: masters of the nodes; within, equation 4."""
    inner, outer = sizes[0], math.prod(sizes[1:])
    local = (
        log2_down(inner) * alpha + (inner - 1) * n / inner / widths[0]
        if inner & (inner - 1) == 0
        else t_ring(inner, n, alpha, widths[0])
    )
    local += t_ring(inner, n, alpha, widths[0])
    return 2 * local + (2 * t_either(outer, n, alpha, min(widths)) if outer > 1 else 0)


def t_blueconnect(sizes, n, alpha, widths):
    """Equation 9."""
    total, below, least = 0, 1, math.inf
    for size, width in zip(sizes, widths):
        least = min(least, width / below)
        total += 2 * t_either(size, n / below, alpha, least)
        below *= size
    return total


# ---- tutti's price ----


class Prices:
    """Runs several `tutti plan price` in parallel; caches the answers."""

    def __init__(self, build):
        self.tutti = os.path.join(build, "tutti")
        self.known = {}

    def ask(self, words):
        if words not in self.known:
            done = subprocess.run([self.tutti] + list(words), capture_output=True, text=True, timeout=120)
            if done.returncode:
                raise SystemExit("figures: tutti %s: %s" % (" ".join(words), done.stderr.strip()))
            self.known[words] = json.loads(done.stdout)
        return self.known[words]

    def plan(self, name, ranks, size, net=CLUSTER, topo=None):
        """Seconds of a plan that is not sliced, like the papers' plans."""
        words = ("plan", "price", name, "-n", str(ranks), "--size", str(int(size)), "--network", net, "--format", "json")
        told = self.ask(words + (("--levels", topo) if topo else ()))
        return next(o["seconds"] for o in told["plans"] if o["slices"] == 1)

    def sliced(self, name, ranks, size, net, topo):
        """Seconds in the best number of slices, so that the levels overlap."""
        return min(
            o["seconds"]
            for o in self.ask(
                (
                    "plan",
                    "price",
                    name,
                    "-n",
                    str(ranks),
                    "--size",
                    str(int(size)),
                    "--network",
                    net,
                    "--format", "json",
                    "--levels",
                    topo,
                )
            )["plans"]
        )

    def choice(self, ranks, size, kind="float", net=CLUSTER):
        """(seconds, plan) of the plan that tutti would run."""
        told = self.ask(
            ("explain", "-n", str(ranks), "--size", str(int(size)), "--network", net, "--type", kind, "--format", "json")
        )
        return told["seconds"], told["plan"]

    def proposed(self, ranks, size):
        """The best of the paper's algorithm, over its number of steps."""
        near = steps_removed(ranks, size)
        tried = {0, log2_up(ranks)} | set(range(max(0, near - 1), min(log2_up(ranks), near + 1) + 1))
        return min(self.plan(proposed_plan(ranks, r), ranks, size) for r in tried)

    def best(self, ranks, size):
        return min(self.plan(n, ranks, size) for n in ("fold(ring)", "doubling", "rabenseifner"))


def curve(f, xs):
    """[(x, f(x))], computed in parallel."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(zip(xs, pool.map(f, xs)))


def sizes(first, last, per_octave=4):
    """Whole floats, evenly on a logarithmic axis."""
    n = round(per_octave * math.log2(last / first))
    return sorted({4 * max(1, round(first * (last / first) ** (i / n) / 4)) for i in range(n + 1)})
