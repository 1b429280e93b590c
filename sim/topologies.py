# topologies.py - the networks of SimGrid whose links messages share: tori, fat trees, dragonflies.
#
#   torus:4x4x4            a node has a link to each of its six neighbours; the first dimension is the outermost
#   fat-tree:8x16x8        8 leaf switches with 16 nodes each, and 8 links from each leaf to as many spines
#   dragonfly:4x8x4        4 groups of 8 routers with 4 nodes each; a link between any two routers of a group, and any two groups
#   shuffled-fat-tree:...  the same, with ranks in an order of chance
#
# Idea       a rank is a node. SimGrid routes by its own rules (dimension by dimension; d-mod-k; minimal), so messages share
#            links as they would there. tutti is told the levels and the figures of their links, as docs/scale.md does.
# Source     SimGrid's clusters: https://simgrid.org/doc/latest/Platform_examples.html
# SPDX-License-Identifier: BSD-3-Clause
import json
import os
import random
import re
import subprocess

RATE, WIRE = 12.5e9, 0.5e-6  # B/s of a link, s to cross it: 100 Gbit/s
ADD = 0.0  # s/B that a rank adds: SimGrid's processors take no time
SEED = 37

KINDS = ("torus", "fat-tree", "dragonfly")
CLUSTER = (
    '  <cluster id="net" prefix="h" suffix="" radical="0-%d" speed="1e18f" bw="%rBps" lat="%rs"'
    ' topology="%s" topo_parameters="%s" sharing_policy="SPLITDUPLEX"/>\n'
)


# 64, 125 or 128, 256, 500 and 1,000 ranks of each kind.
NETWORKS = tuple("%s:%s" % (kind, dims) for kind, all_dims in (
    ("torus", ("4x4x4", "5x5x5", "4x8x8", "5x10x10", "10x10x10")),
    ("fat-tree", ("8x8x4", "8x16x8", "16x16x8", "25x20x10", "25x40x20")),
    ("dragonfly", ("4x4x4", "4x8x4", "8x8x4", "5x10x10", "10x10x10"))) for dims in all_dims)
SIZES = (1024, 16 << 10, 256 << 10, 4 << 20)
CANDIDATES = 6  # of the least price, that are simulated beside the choice
MANY = 300  # ranks, from which on few are


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


def levels(network):
    """[(name, count)], outermost first, as tutti is told."""
    kind, n, _ = parse(network)
    if kind == "torus":
        return list(zip("wzyx"[4 - len(n):], n)) + [("node", 1)]
    if kind == "fat-tree":
        return [("leaf", n[0]), ("node", n[1])]
    return [("group", n[0]), ("router", n[1]), ("node", n[2])]


def figures(network):
    """The lines of a profile."""
    kind, n, _ = parse(network)
    beta = 1 / RATE
    lines = ["gamma=%r" % ADD, "alpha=%r" % WIRE, "beta=%r" % beta]
    if kind == "torus":  # a node sends over all its links at once
        return lines + ["torus=1", "apart=1", "hop=%r" % WIRE]
    if kind == "fat-tree":  # two links within a leaf, four between leaves
        return lines + ["node.alpha=%r" % (2 * WIRE), "leaf.alpha=%r" % (4 * WIRE), "leaf.paths=%d" % n[2]]
    # at most: a node's link, one within the group, one to the other group, one within that, a node's
    return lines + ["node.alpha=%r" % (2 * WIRE), "router.alpha=%r" % (3 * WIRE), "router.pairs=1",
                    "group.alpha=%r" % (5 * WIRE), "group.pairs=1"]


def offers(network, size, build="build"):
    """["PLAN@SLICES"] that floats may run, the choice first, then by price."""
    command = [os.path.join(build, "tutti"), "plan", "price", "all", "-P", str(ranks_of(network)), "--size", str(size), "--json"]
    command += ["--topo", " ".join("%s:%d" % level for level in levels(network)), "--net", ",".join(figures(network))]
    said = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True, universal_newlines=True).stdout)
    plans = sorted((p for p in said["plans"] if p["possible"] and p["admissible"]), key=lambda p: p["seconds"])
    chosen = "%s@%d" % (said["chosen"], said["slices"])
    return [chosen] + [x for x in ("%s@%d" % (p["plan"], p["slices"]) for p in plans) if x != chosen]


def jobs(builtin, build):
    """As those of run.py: (heavy, network, mode, ranks, what, type, sizes, more). `choice`: the plan that "tutti" stands for, by
    name, because each rank would make the choice anew."""
    for network in NETWORKS:
        ranks = ranks_of(network)
        many = ranks > MANY
        for size in SIZES:
            plans = offers(network, size, build)
            rest = [] if many else plans[1 : 1 + CANDIDATES]
            yield many, network, "sync", ranks, "tutti", "float", [size], {"choice": plans[0], "limit": 600}
            for plan in rest:
                yield many, network, "sync", ranks, "tutti:" + plan, "float", [size], {}
        for what in builtin:
            yield many, network, "sync", ranks, what, "float", list(SIZES), {"limit": 120 if many else 60}
