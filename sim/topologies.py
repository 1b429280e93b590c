# topologies.py - the networks of SimGrid whose links messages share: tori, fat trees, dragonflies.
#
#   torus:4x4x4            a node has a link to each of its six neighbours; the first dimension is the outermost
#   fat-tree:8x16x8        8 leaf switches with 16 nodes each, and 8 links from each leaf to as many spines
#   dragonfly:4x8x4        4 groups of 8 routers with 4 nodes each; a link between any two routers of a group, and any two groups
#   shuffled-fat-tree:...  the same, with ranks in an order of chance, and tutti is told that it does not know their places
#
# Idea       a rank is a node. SimGrid routes by its own rules (dimension by dimension; d-mod-k; minimal), so messages share
#            links as they would there. tutti is told the levels and the figures of their links (`tutti info --network`).
# Source     SimGrid's clusters: https://simgrid.org/doc/latest/Platform_examples.html
# SPDX-License-Identifier: BSD-3-Clause
import functools
import json
import os
import random
import re
import subprocess

RATE, WIRE = 12.5e9, 0.5e-6  # B/s of a link, s to cross it: 100 Gbit/s
HEADER = "header=48"  # B added to each message: 16 by SMPI, 32 by tutti
SEED = 37

KINDS = ("torus", "fat-tree", "dragonfly")
CLUSTER = (
    '  <cluster id="net" prefix="h" suffix="" radical="0-%d" speed="1e18f" bw="%rBps" lat="%rs"'
    ' topology="%s" topo_parameters="%s" sharing_policy="SPLITDUPLEX"'
    ' loopback_bw="1e15Bps" loopback_lat="0s"/>\n'  # tutti's ranks send themselves messages (mpi/net.c)
)


# 64, 125 or 128, 256, 500 and 1,000 ranks of each kind.
IN_ORDER = tuple("%s:%s" % (kind, dims) for kind, all_dims in (
    ("torus", ("4x4x4", "5x5x5", "4x8x8", "5x10x10", "10x10x10")),
    ("fat-tree", ("8x8x4", "8x16x8", "16x16x8", "25x20x10", "25x40x20")),
    ("dragonfly", ("4x4x4", "4x8x4", "8x8x4", "5x10x10", "10x10x10"))) for dims in all_dims)
SIZES = (1024, 16 << 10, 256 << 10, 4 << 20)
CANDIDATES, FEWER = 6, 2  # runners-up that are simulated, too; FEWER: on SOME ranks or more, and on shuffled ones
FEW, SOME, MANY = 100, 200, 300  # ranks; on MANY or more no runners-up are simulated, unless ranks are shuffled
UNREAL = 1 << 30  # B of all ranks' vectors, beyond which they are not real, and sums are not checked
# From MANY ranks on, and from FEW if they are shuffled, only these of the built-in algorithms run: on up to 256, the best of them
# takes at most 2 % longer than the best of all.
BEST = ("rdb", "impi", "rab_rdb", "mvapich2_rs", "rab", "rab1", "rab2", "lr")
# On more than FEW ranks, the messages of an all-to-all end at very many instants, and SimGrid computes all rates again at each. Events
# within a thousandth of the estimate are therefore merged into one instant: 16 times faster on 125 ranks, and 0.2 to 0.9 % off. If
# messages are SHORT, or are sent one after another, as built-in algorithms do, the interval must be shorter than a message's latency:
# otherwise links of SimGrid 3.32 carry up to 1.6 times their rate. On MANY ranks or more, a hundredth is enough there.
AT_ONCE = re.compile(r"tutti:(two-shot|one-shot|naive)@|rab[12]$")
INSTANTS, FEWER_INSTANTS, EARLY = 1000, 100, 0.4 * WIRE
SHORT = 4096  # B of a message


def parse(network):
    """(kind, numbers, shuffled); None: no such network."""
    found = re.fullmatch(r"(shuffled-)?(%s):(\d+(?:x\d+)*)" % "|".join(KINDS), network)
    if not found:
        return None
    return found.group(2), [int(n) for n in found.group(3).split("x")], bool(found.group(1))


def ranks_of(network):
    kind, n, _ = parse(network)
    count = 1
    for x in n[:2] if kind == "fat-tree" else n:
        count *= x
    return count


def cluster(network):
    """(XML, hosts in the order of ranks)"""
    kind, n, shuffled = parse(network)
    ranks = ranks_of(network)
    if kind == "torus":
        parameters = ",".join(str(x) for x in reversed(n))  # SimGrid's first dimension is the innermost
    elif kind == "fat-tree":
        parameters = "2;%d,%d;1,%d;1,1" % (n[1], n[0], n[2])
    else:
        parameters = "%d,1;1,1;%d,1;%d" % (n[0], n[1], n[2])
    xml = CLUSTER % (ranks - 1, RATE, WIRE, kind.replace("-", "_").upper(), parameters)
    hosts = ["h%d" % i for i in range(ranks)]
    if shuffled:
        random.Random(SEED).shuffle(hosts)
    return xml, hosts


NETWORKS = IN_ORDER + tuple("shuffled-" + network for network in IN_ORDER)


@functools.lru_cache(maxsize=None)
def told(network, build="build"):
    """(levels, lines of a profile), as `tutti info --network` prints them. Shuffled ranks have no levels."""
    kind, n, shuffled = parse(network)
    name = "%s:%s,rate=%gMB/s,latency=%gns,software=0ns" % (kind, "x".join(map(str, n)), RATE / 1e6, WIRE * 1e9)
    name += ",places=unknown" if shuffled else ""
    said = subprocess.run([os.path.join(build, "tutti"), "info", "--network", name], stdout=subprocess.PIPE, check=True, universal_newlines=True)
    head, *lines = said.stdout.splitlines()
    return re.search("'(.*)'", head).group(1), lines + ["gamma = 0", HEADER]  # SimGrid's processors take no time


def levels(network, build="build"):
    """[(name, count)], outermost first, as tutti is told."""
    return [(name, int(n)) for name, n in re.findall(r"(\w+):(\d+)", told(network, build)[0])]


def figures(network, build="build"):
    """The lines of a profile."""
    return told(network, build)[1]


def priced(plan, ranks, size, topo, lines, build="build", kind="float"):
    """What `tutti plan price` says of a plan, or of all, on these levels (or none) with these figures."""
    command = [os.path.join(build, "tutti"), "plan", "price", plan, "-n", str(ranks), "--size", str(size), "--type", kind, "--format", "json"]
    command += (["--levels", topo] if topo else []) + ["--network", ",".join(lines)]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True, universal_newlines=True).stdout)


def cheapest(ranks, size, topo, lines, build="build", kind="float"):
    """{"PLAN@SLICES": s} of plans that may run there, the choice first, then by price."""
    said = priced("all", ranks, size, topo, lines, build, kind)
    plans = sorted((p for p in said["plans"] if p["possible"] and p["admissible"]), key=lambda p: p["seconds"])
    seconds = {"%s@%d" % (p["plan"], p["slices"]): p["seconds"] for p in plans}
    chosen = "%s@%d" % (said["chosen"], said["slices"])
    return dict({chosen: seconds.get(chosen, plans[0]["seconds"])}, **seconds)


def offers(network, size, build="build"):
    """The same for floats on one of the networks here."""
    return cheapest(ranks_of(network), size, *told(network, build), build)


def choice(network, size, build="build"):
    return next(iter(offers(network, size, build)))


def instants(what, size, ranks, price):
    """s; events within this time are merged into one instant."""
    if what.startswith("tutti") and size // ranks >= SHORT:
        return price / INSTANTS
    return min(price / (FEWER_INSTANTS if ranks > MANY else INSTANTS), EARLY)


def jobs(builtin, build, word=""):
    """As those of run.py: (heavy, network, mode, ranks, what, type, sizes, more). `choice`: the plan that "tutti" stands for, by
    name, because each rank would make the choice anew."""
    for network in (n for n in NETWORKS if word in n):
        ranks, mixed = ranks_of(network), parse(network)[2]
        many, few = ranks > MANY, ranks > SOME
        plans = {size: offers(network, size, build) for size in SIZES}

        def at_once(what):
            return ranks > FEW and AT_ONCE.match(what)

        def more(what, size, limit):
            found = {"limit": limit, "shared": True} if ranks * size > UNREAL else {"limit": limit}
            return dict(found, clock=instants(what, size, ranks, next(iter(plans[size].values())))) if at_once(what) else found

        for size in SIZES:
            chosen = next(iter(plans[size]))
            yield many, network, "sync", ranks, "tutti", "float", [size], dict(more("tutti:" + chosen, size, 6000 if many or mixed else 600), choice=chosen)
        for what in BEST if many or mixed and ranks > FEW else builtin:
            if at_once(what):
                for size in SIZES:
                    yield many, network, "sync", ranks, what, "float", [size], more(what, size, 600)
            else:
                yield many, network, "sync", ranks, what, "float", list(SIZES), {"limit": 120 if few else 60}
        beside = FEWER if mixed or few and not many else 0 if many else CANDIDATES
        for size in SIZES:
            for plan in list(plans[size])[1 : 1 + beside]:
                yield many, network, "sync", ranks, "tutti:" + plan, "float", [size], more("tutti:" + plan, size, 600)
