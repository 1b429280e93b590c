# shuffled.py - paper 001's cluster: 8 hosts of 20 cores, whose ranks were shuffled.
#
#   node:8 core:20            ranks in order, and tutti knows the hosts
#   shuffled-node:8 core:20   ranks in an order of chance; tutti knows each rank's host
#   untold-node:8 core:20     the same places, but tutti is told only the paper's Table 2, as if all ranks were equally near
#   unplaced-node:8 core:20   the same; tutti is told that the ranks are somewhere on 8 hosts, but not where
#
# Idea       the paper shuffled its ranks, so that the cluster would look like a network where all are equally near, for which its
#            algorithm is made. Here one sees what the shuffling costs each algorithm, and what it is worth to know the hosts.
# Figures    a host's link: 10 Gbit/s, and 30 us between two hosts (Table 2). Within a host: 0.5 us and 5 GB/s a core, assumed.
# Source     Kolmakov and Zhang, section 10 and Table 2.
# SPDX-License-Identifier: BSD-3-Clause
import math
import os
import random
import re

import topologies

HOSTS, CORES, SEED = 8, 20, 37
RANKS = HOSTS * CORES
IN_ORDER = "node:%d core:%d" % (HOSTS, CORES)
NETWORKS = IN_ORDER, "shuffled-" + IN_ORDER, "untold-" + IN_ORDER, "unplaced-" + IN_ORDER
SIZES = 428, 9 << 10, 100 << 10, 1 << 20
LINKS = {"node": (14.75e-6, 1.25e9), "core": (0.25e-6, 5e9)}  # s, B/s of the link that leaves a domain
FLAT = ["alpha=3e-05", "beta=1e-08", "gamma=0", topologies.HEADER]
# If each rank has a message on its way to anywhere, a host's link carries those of its cores that leave the host, in and out; and the
# busiest of these links has more by chance (cli/topology.c).
MEAN = CORES * (RANKS - CORES) / (RANKS - 1)
EXCESS = math.sqrt(0.7 * (1.25 * math.log2(2 * HOSTS) - 2) * MEAN)
UNPLACED = ["alpha=3e-05", "beta=%r" % (1 / LINKS["node"][1]), "gamma=0", topologies.HEADER, "contention.mean=%r" % MEAN, "contention.excess=%r" % EXCESS]
CANDIDATES = 3  # runners-up that are simulated in addition to the choice


def parse(network):
    """Are ranks in an order of chance?"""
    return re.match("(shuffled|untold|unplaced)-node:", network) is not None


def untold(network):
    """The figures, if tutti is told no hosts; else None."""
    return {"untold-": FLAT, "unplaced-": UNPLACED}.get(network.partition("node:")[0])


def places(ranks):
    """The place of each rank, counted from the first core of the first host on."""
    order = list(range(ranks))
    random.Random(SEED).shuffle(order)
    return order


def order(network, hosts):
    """Cores in the order of ranks."""
    return [hosts[i] for i in places(len(hosts))] if parse(network) else hosts


def told(network, folder):
    """What the environment says of the ranks' hosts. A file of one rack holds them, because simulated ranks are alone on theirs."""
    if untold(network):
        return {}
    hosts, cores = (int(n) for n in re.findall(r":(\d+)", network))
    racks = os.path.join(folder, "racks")
    with open(racks, "w") as out:
        out.write("all: n[0-%d]\n" % (hosts - 1))
    return {"TUTTI_TOPO": racks, "TUTTI_NODES": ",".join(str(i // cores) for i in places(hosts * cores))}


def builtins_of(network):
    """Where SMPI's own algorithms run: what tutti is told makes no difference to them."""
    return re.sub("^(untold|unplaced)-", "shuffled-", network)


def jobs(builtin, build, word=""):
    """As those of topologies.py."""
    import smpi
    links = {name: smpi.Level(*link) for name, link in LINKS.items()}
    more = {"links": links, "limit": 900}
    networks = [n for n in NETWORKS if word in n]
    plans = {}
    for kind in ("float", "int32"):
        for network in networks:
            for size in SIZES:
                figures, topo = smpi.figures(network, links), "" if untold(network) else IN_ORDER
                plans[network, size, kind] = list(topologies.cheapest(RANKS, size, topo, figures, build, kind))
    for (network, size, kind), found in plans.items():
        if kind == "float" or network != "unplaced-" + IN_ORDER:  # there the choice is the same, and takes minutes
            yield False, network, "sync", RANKS, "tutti", kind, [size], dict(more, choice=found[0])
    for network in networks:
        for what in builtin if not untold(network) else ():
            yield False, network, "sync", RANKS, what, "float", list(SIZES), dict(more, limit=60)
    for (network, size, kind), found in plans.items():
        for plan in found[1 : 1 + CANDIDATES] if kind == "float" and untold(network) is not UNPLACED else ():
            yield False, network, "sync", RANKS, "tutti:" + plan, kind, [size], more
