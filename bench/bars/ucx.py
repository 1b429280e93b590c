# ucx.py - the targets of tutti over UCX, on hosts with slow links. Small sizes: compared with the fastest of Open MPI over its
# own TCP, Open MPI over UCX, and gloo. Larger sizes: the targets of hosts.py compared with Open MPI, and never slower than
# gloo, which saturates the links at 1 MiB, from 4 KiB up.
# SPDX-License-Identifier: BSD-3-Clause
import importlib.util
import os

from hosts import LAST, LAYOUTS, Failed, Network, Skipped, layout_of
import meeting
from measure import KI, bytes_name, geomean, median
from verdict import Cannot, at_least, at_most

HERE = os.path.dirname(os.path.abspath(__file__))
spec = importlib.util.spec_from_file_location("bars_hosts", os.path.join(HERE, "hosts.py"))
over_mpi = importlib.util.module_from_spec(spec)
spec.loader.exec_module(over_mpi)

TITLE = "the best of Open MPI (ob1, UCX) and gloo / tutti over UCX, on hosts that are network namespaces (needs root)"
FLAT = ("5x1", "6x1", "7x1", "8x1")


def measured(build, out, layouts, quick):
    """{layout: {size: {rival: rival's time / tutti's}}}, and {layout: the reason if results are missing}"""
    rest = dict(rounds=2 if quick else 7, budget=0.03 if quick else 0.05, last=64 * KI if quick else LAST)
    found, why = {l: {} for l in layouts}, {}
    for pml, sides in (("ob1", ("ucx", "gloo")), ("ucx", ("ucx",))):
        net = Network(build, out, "openmpi", sides=sides, pml=pml, **rest)
        net.possible()
        for layout in layouts:
            got = layout_of(net, layout, lambda line: print(line, flush=True))
            if got.get("failed"):
                why[layout] = "%s: %s" % (net.name, got["failed"])
            for size, r in got["rows"].items():
                found[layout].setdefault(size, {})[net.name] = r["ucx"]["ratio"]
                if "gloo" in r:
                    found[layout][size]["gloo"] = r["ucx"]["to_gloo"]
    return found, why


def least(rows, first, last, without=()):
    """The least ratio to the best rival, and its size; None, None if results of a size or a rival are missing."""
    sizes = [4 << 2 * i for i in range(20) if first <= 4 << 2 * i <= last]
    if not all(len(rows.get(b, {})) >= 2 for b in sizes):
        return None, ""
    rows = {b: {name: r for name, r in rows[b].items() if name not in without} for b in sizes}
    size = min(sizes, key=lambda b: min(rows[b].values()))
    rival = min(rows[size], key=rows[size].get)
    return rows[size][rival], "%s, %s" % (bytes_name(size), rival)


def bars(build, quick):
    out = os.path.join(build, "bench")
    os.makedirs(out, exist_ok=True)
    last = 64 * KI if quick else LAST
    layouts = ["5x1", "3x2"] if quick else LAYOUTS.split(",")
    found, why, reason = {}, {}, "no figures"
    try:
        found, why = measured(build, out, layouts, quick)
    except Skipped as e:
        reason = Cannot(e)
    except Failed as e:
        reason = str(e)

    def one(layout, first, to, want, without=()):
        value, where = least(found.get(layout, {}), first, to, without)
        name = "%s: %s-%s, least%s" % (layout, bytes_name(first), bytes_name(to), " (%s)" % where if where else "")
        return at_least(name, want, value, why.get(layout, Cannot("not measured") if quick else reason))

    for layout in LAYOUTS.split(","):
        yield one(layout, 4, last, 0.95)
    small = [min(r.values()) for l in FLAT for b, r in found.get(l, {}).items() if b <= KI and r]
    yield at_least("4 B to 1 KiB on %s, the mean" % ", ".join(FLAT), 1.1, geomean(small) if small else None, reason)
    for layout, first, to, want in over_mpi.WANTED:
        yield one(layout, first, to, want, ("gloo",))
    for layout in LAYOUTS.split(","):
        rows = found.get(layout, {})
        sizes = [b for b in rows if b >= 4 * KI]
        each = [rows[b].get("gloo") for b in sizes]
        yield at_least("%s: gloo / tutti over UCX, 4 KiB and more, least" % layout, 1, min(each) if each and all(each) else None,
                       why.get(layout, Cannot("not measured") if quick else reason))
    gloo = [r["gloo"] for rows in found.values() for r in rows.values() if r.get("gloo")]
    yield at_least("gloo / tutti over UCX, all sizes and layouts, the mean", 3, geomean(gloo) if gloo else None, reason)
    both, reason = None, "no figures"
    try:
        both = median([r[3] for r in meeting.rows(build, 8, 5 if quick else 15)])
    except Skipped as e:
        reason = Cannot(e)
    except Failed as e:
        reason = str(e)
    yield at_most("8 hosts: meeting and exchange of addresses, ms", 100, both, reason)
