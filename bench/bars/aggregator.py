# aggregator.py - the targets of in-network reduction. At 64 KiB and above: near the lower bound of the links. Short vectors: at
# least as fast as naive. An aggregator with a slow link gets a share of the vector, instead of all or nothing.
# SPDX-License-Identifier: BSD-3-Clause
import importlib.util
import os

from hosts import hosts_of
from measure import KI, MI, Failed, bytes_name
from verdict import Cannot, at_least, at_most

HERE = os.path.dirname(os.path.abspath(__file__))
spec = importlib.util.spec_from_file_location("bench_aggregator", os.path.join(os.path.dirname(HERE), "aggregator.py"))
bench = importlib.util.module_from_spec(spec)
spec.loader.exec_module(bench)

TITLE = "sums in the network, on hosts that are network namespaces with links of 200 Mbit/s (needs root)"
FLOOR, GAIN = 1.15, 1.6
NARROW = {1: 1.07, 2: 1.14}  # link speed relative to a host's: wanted speedup from a share of the vector, at 4 MiB


def worst(rows, value, first, last, largest):
    """The worst value of the sizes in [first, last], and where; None without them."""
    found = [(value(r), r["bytes"]) for r in rows if first <= r["bytes"] <= last]
    if not found:
        return None, ""
    value, size = max(found) if largest else min(found)
    return value, " (at %s)" % bytes_name(size)


def bars(build, quick):
    out = os.path.join(build, "bench")
    os.makedirs(out, exist_ok=True)
    last = 64 * KI if quick else bench.LAST
    sums = bench.Sums(build, rounds=1 if quick else 5, last=last, tunes=1 if quick else bench.TUNES)
    layouts = ["5x1"] if quick else bench.LAYOUTS.split(",")
    found, why = {}, Cannot("not measured") if quick else "no figures"
    games = [(l, hosts_of(l)[0]) for l in layouts] + [("7x1", k) for k in NARROW if not quick]
    for layout, width in games:
        try:
            found[layout, width] = bench.measured(sums, out, layout, width, lambda line: print(line, flush=True))
        except bench.Skipped as e:
            why = Cannot(e)
            break
        except Failed as e:
            print("  %s: %s" % (layout, e), flush=True)
    for layout in bench.LAYOUTS.split(","):
        rows = found.get((layout, hosts_of(layout)[0]), [])
        value, where = worst(rows, lambda r: r["with"] / r["floor"], 64 * KI, last, True)
        yield at_most("%s: from 64 KiB, time / one vector each way, most%s" % (layout, where), FLOOR, value, why)
        value, where = worst(rows, lambda r: r["to_without"], 64 * KI, last, False)
        yield at_least("%s: from 64 KiB, without / with, least%s" % (layout, where), GAIN, value, why)
        value, where = worst(rows, lambda r: r.get("to_naive", 1), 4, KI, False)
        yield at_least("%s: to 1 KiB, naive / with, least%s" % (layout, where), 0.95, value, why)
    for width in NARROW:
        rows = [r for r in found.get(("7x1", width), []) if r["bytes"] == 4 * MI]
        chosen = sum(r["plan"].startswith("aggregate") for r in rows) if rows else None
        yield at_most("7x1, a link %d times as wide, 4 MiB: chosen alone" % width, 0, chosen, why)
        gain = rows[0]["to_without"] if rows else None
        yield at_least("7x1, a link %d times as wide, 4 MiB: without / with" % width, NARROW[width], gain, why)
