# prices.py - today's estimates for the plans of stored simulations: `run.py --prices`, which simulates nothing.
#
# Idea       the simulated time of a named plan does not depend on its estimate, so a better model needs no new simulation.
# Invariant  a row keeps its plan and its time. It also keeps its estimate if `tutti plan price` would cut the vector into a different
#            number of slices. The row of the choice keeps the estimate of the plan that ran, even if tutti would now choose another plan.
# SPDX-License-Identifier: BSD-3-Clause
import re
import subprocess

import shuffled
import smpi
import topologies

LINKS = {name: smpi.Level(*link) for name, link in shuffled.LINKS.items()}


def told(network, build):
    """(levels, figures) that tutti is told of a network; None: the ranks of this part choose themselves."""
    if topologies.parse(network):
        return topologies.told(network, build)
    if network in shuffled.NETWORKS:
        return "" if shuffled.untold(network) else shuffled.IN_ORDER, smpi.figures(network, LINKS)
    return None


def price(plan, key, build):
    """(seconds, slices) of the plan; None: it has no price."""
    network, _, ranks, _, kind, size = key
    topo, lines = told(network, build)
    try:
        found = topologies.priced(plan, ranks, size, topo, lines, build, kind)["plans"][0]
    except subprocess.CalledProcessError:  # a plan that this version has no more
        return None
    return found["seconds"], found["slices"]


def renew(results, build, word=""):
    """Puts today's prices into the table. Returns how many rows have one."""
    done = 0
    for key, run in results.of.items():
        if not key[3].startswith("tutti") or not run.predicted or word not in key[0] or not told(key[0], build):
            continue
        plan, _, slices = re.sub(", proven by its form$", "", run.plan).partition(" in ")
        found = price(plan, key, build)
        if found and found[1] == int(slices.split()[0] if slices else 1):
            results.of[key] = run._replace(predicted=found[0])
            done += 1
    return done
