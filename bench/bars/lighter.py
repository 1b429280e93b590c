# lighter.py - the targets of compressed messages: faster on slow links, never slower than uncompressed messages, the same
# accuracy after a training, and errors within the stated bound. Stores lighter.json in BUILD/bench, like `make bench-lighter`.
# SPDX-License-Identifier: BSD-3-Clause
import importlib.util
import os
import re

import measure
import record
from aggregator import Skipped
from measure import KI, MI, Failed
from verdict import Cannot, at_least, at_most

HERE = os.path.dirname(os.path.abspath(__file__))
spec = importlib.util.spec_from_file_location("bench_lighter", os.path.join(HERE, "..", "lighter.py"))
lighter = importlib.util.module_from_spec(spec)
spec.loader.exec_module(lighter)

TITLE = "Compressed messages of real gradients compared with plain ones, over links of 200 Mbit/s and 1 Gbit/s (needs root)"
RATES = (200, 1000)
LARGE = 256 * KI
FASTER = {"lossless": 1.1, "error": 3.0}


def ratios(rows, way, **of):
    return [r[way + "_ratio"] for r in rows if way + "_ratio" in r and all(r[k] == v for k, v in of.items())]


def faster(rows, layout, why):
    """For each kind of gradient, the least ratio of large vectors on the slowest links."""
    large = [r for r in rows if r["kind"] == "sum" and r["layout"] == layout and r["rate"] == RATES[0] and r["bytes"] >= LARGE]
    for way, want in FASTER.items():
        for net in lighter.NETS:
            for kind in ("float", "bf16") if way == "lossless" else ("float",):
                each = ratios(large, way, gradient=net, type=kind)
                left = [r[way + "_left"] for r in large if r["gradient"] == net and r["type"] == kind]
                name = "%s, %s, %s of %s, 256 KiB and more, least%s" % (
                    layout, way, kind, net, " (%.3f of the bytes are left)" % max(left) if left else "")
                yield at_least(name, want, min(each, default=None), why)


def never_slower(rows, way, why, measured=False):
    """The least ratio of the calls with compression. Other calls run the same plan on both sides, so their ratios are noise."""
    asked = [r for r in rows if way + "_ratio" in r]
    coded = [r[way + "_ratio"] for r in asked if r[way + "_plan"] != r["plain_plan"]]
    name = "%s, %s: the least ratio of coded calls (%d of %d are)" % (
        way, "by TUTTI_MEASURE=1, on most hosts" if measured else "any size and link", len(coded), len(asked))
    return at_least(name, 0.97, min(coded, default=1 if asked else None), why)


def bound(build, quick):
    """The result of test_code on 10^7 vectors, or 10^6 if quick."""
    try:
        out = measure.run([os.path.join(build, "tests", "test_code")], 900, {} if quick else {"TUTTI_TEST_ALL": "1"})[0]
    except Failed as e:
        out = str(e)
    met = [(code, float(x)) for code, x in re.findall(r"(\w+): ([0-9.]+) of the bound is met", out)]
    for code in ("int8", "fp8_e4m3", "fp8_e5m2"):
        value = dict(met).get(code)
        yield at_most("%s: the largest error of %s vectors over the stated bound" % (code, "10^6" if quick else "10^7"), 1, value, out)
        yield at_least("%s: ... and the bound is at most 4 times that" % code, 0.25, value, out)


def accuracy(bench, layout, rate, profile, steps, why, rows):
    found = {}
    try:
        for r in bench.training(layout, rate, profile, steps) if profile else ():
            rows.append(r)
            found[r["net"], r["way"]] = r["accuracy"]
    except Failed as e:
        why = str(e)
    for net in lighter.NETS:
        for way in lighter.WAYS:
            pair = found.get((net, "plain")), found.get((net, way))
            value = None if None in pair else 100 * (pair[0] - pair[1])
            yield at_most("%s, %s, after %d steps: %% of accuracy less than plain" % (net, way, steps), 0.3, value, why)


def bars(build, quick):
    out = os.path.join(build, "bench")
    os.makedirs(out, exist_ok=True)
    bench = lighter.Lighter(build, out, rounds=3 if quick else 7, budget=0.05, last=MI if quick else lighter.LAST,
                            tunes=1 if quick else lighter.TUNES)
    layouts = lighter.LAYOUTS.split(",")[:1 if quick else None]
    rows, timed, profiles, why = [], [], {}, "no figures"
    about = lighter.about_lighter("make bars ONLY=lighter")
    try:
        bench.gradients()
        lighter.coders_of(bench, about, rows)
        for layout in layouts:
            for rate in RATES:
                profiles[layout, rate], figures = bench.profile(layout, rate)
                print(lighter.head(layout, rate, figures), flush=True)
                for r in bench.sums(layout, rate, profiles[layout, rate]):
                    rows.append(r)
                    print(lighter.show(r), flush=True)
        for rate in RATES:
            print("\nTUTTI_MEASURE=1:" + lighter.head(layouts[-1], rate, figures), flush=True)
            for r in bench.sums(layouts[-1], rate, profiles[layouts[-1], rate], True):
                timed.append(r)
                print(lighter.show(r), flush=True)
    except Skipped as e:
        why = Cannot(e)
    except Failed as e:
        why = str(e)
    for layout in layouts:
        yield from faster(rows, layout, why)
    for way in lighter.WAYS:
        yield never_slower(rows, way, why)
        yield never_slower(timed, way, why, True)
    first = layouts[0], RATES[0]
    yield from accuracy(bench, *first, profiles.get(first), 10 if quick else lighter.STEPS, why, rows)
    record.store(os.path.join(out, "lighter.json"), about, rows)
    yield from bound(build, quick)
