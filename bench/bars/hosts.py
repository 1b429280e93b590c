# hosts.py - the targets of several hosts: tutti compared with Open MPI's own allreduce on slow
# links, for numbers of hosts that are not powers of two, and with ranks that share a link.
# SPDX-License-Identifier: BSD-3-Clause
import os

from hosts import LAST, LAYOUTS, Failed, Network, Skipped, layout_of
from measure import KI, MI, bytes_name
from verdict import Cannot, at_least

TITLE = "Open MPI / tutti on hosts that are network namespaces with links of 200 Mbit/s (needs root)"
# layout, first and last size, the required ratio in between
WANTED = [(l, *w) for l in ("5x1", "6x1", "7x1")
          for w in ((4 * KI, 4 * KI, 1.5), (16 * KI, 256 * KI, 1.7), (MI, 4 * MI, 2.4))]
WANTED += [("8x1", 4 * MI, 4 * MI, 1.5), ("4x3", 16 * KI, 256 * KI, 2), ("4x3", MI, 4 * MI, 3)]
EVERYWHERE = 0.95


def least(found, first, last, side):
    """The least ratio and its size; None if results are missing for a size."""
    sizes = [4 << 2 * i for i in range(20) if first <= 4 << 2 * i <= last]
    if not all(b in found["rows"] for b in sizes):
        return None, None
    worst = min(sizes, key=lambda b: found["rows"][b][side]["ratio"])
    return found["rows"][worst][side]["ratio"], worst


def bar(layout, found, first, last, want, why, side):
    value, where = least(found, first, last, side)
    name = "%s%s: %s" % (layout, "" if side == "mpi" else ", the drop-in", bytes_name(first))
    if first != last:
        name += "-%s, least%s" % (bytes_name(last), " (at %s)" % bytes_name(where) if where else "")
    return at_least(name, want, value, why)


def bars(build, quick):
    out = os.path.join(build, "bench")
    os.makedirs(out, exist_ok=True)
    last = 64 * KI if quick else LAST
    net = Network(build, out, "openmpi", rounds=2 if quick else 7, budget=0.03 if quick else 0.05, last=last,
                  sides=("mpi", "shim"))
    layouts, found, why = LAYOUTS.split(","), {}, "no figures"
    try:
        net.possible()
        for layout in layouts[:1] + layouts[-1:] if quick else layouts:
            found[layout] = layout_of(net, layout, lambda line: print(line, flush=True))
    except Skipped as e:
        why = Cannot(e)
    except Failed as e:
        why = str(e)
    nothing = {"rows": {}, "failed": Cannot("not measured") if quick and found else why}
    for side in net.sides:
        for layout in layouts:
            got = found.get(layout, nothing)
            yield bar(layout, got, 4, last, EVERYWHERE, got.get("failed", "no figures"), side)
        for layout, first, to, want in WANTED:
            got = found.get(layout, nothing)
            yield bar(layout, got, first, to, want, got.get("failed", Cannot("sizes to %s only" % bytes_name(last))), side)
