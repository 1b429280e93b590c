# rails.py - the target of several network cards: tutti over UCX on two links of each host, compared with tutti over UCX on one
# of them, alternately in the same processes. Hosts are network namespaces, which need root.
# SPDX-License-Identifier: BSD-3-Clause
import os

from hosts import Failed, Network, Skipped, layout_of
from measure import KI, MI, bytes_name
from verdict import Cannot, at_least

TITLE = "one link / two links of 200 Mbit/s per host, tutti over UCX (needs root)"
LAYOUTS = ("2x1", "4x1")
FIRST, LAST, WANTED, SMALL = MI, 16 * MI, 1.8, 0.95
STORED = {}


def gains(rows):
    """{bytes: one link's time / two links'}"""
    return {size: r["rails"]["ratio"] / r["ucx"]["ratio"] for size, r in rows.items() if "rails" in r and "ucx" in r}


def least(found, first, last):
    sizes = [b for b in found if first <= b <= last]
    worst = min(sizes, key=found.get) if sizes else None
    return (None, "") if worst is None else (found[worst], " (at %s)" % bytes_name(worst))


def bars(build, quick):
    out = os.path.join(build, "bench")
    os.makedirs(out, exist_ok=True)
    layouts, rows, why = LAYOUTS[:1] if quick else LAYOUTS, [], "no figures"
    net = Network(build, out, "openmpi", rounds=2 if quick else 5, budget=0.1, last=4 * MI if quick else LAST,
                  sides=("ucx", "rails"), pml="ob1")
    found = {}
    try:
        net.possible()
        for layout in layouts:
            got = layout_of(net, layout, lambda line: print(line, flush=True))
            found[layout], why = gains(got["rows"]), got.get("failed", why)
            rows += [["%s hosts x ranks, %s" % (layout, bytes_name(size)), "%.2f ms" % (r["ucx"]["us"] / 1e3),
                      "%.2f ms" % (r["rails"]["us"] / 1e3), "%.2f" % found[layout][size]]
                     for size, r in got["rows"].items() if size >= 16 * KI and size in found[layout]]
    except Skipped as e:
        why = Cannot(e)
    except Failed as e:
        why = str(e)
    STORED["rails"] = ("two links of each host simultaneously", ["", "one link", "two links", "ratio"], rows)
    for layout in layouts:
        value, where = least(found.get(layout, {}), FIRST, LAST)
        yield at_least("%s: %s and more, least%s" % (layout, bytes_name(FIRST), where), WANTED, value, why)
        value, where = least(found.get(layout, {}), 4, 256 * KI)
        yield at_least("%s: up to 256K, least%s" % (layout, where), SMALL, value, why)
