# bars.py - measures every performance bar of tutti again; `make bars [ONLY=part]`.
#
#   bars.py [--build DIR] [--only PART] [--quick] [--out DIR]      --out: also stores bars-PART.json
#
# A bar is a performance target. A part is a file of bench/bars/ with a sentence `TITLE` and a generator
# `bars(build, quick)` of Bar (verdict.py); it may leave more tables in STORED. The script prints each bar as soon as
# it is measured. A missed bar is a result, not an error; the exit status is 1 only if a part could not run.
# SPDX-License-Identifier: BSD-3-Clause
import argparse
import importlib.util
import os
import sys
import time
import traceback

import measure
import record

HERE = os.path.dirname(os.path.abspath(__file__))


def parts():
    return sorted(f[:-3] for f in os.listdir(os.path.join(HERE, "bars")) if f.endswith(".py"))


def load(name):
    spec = importlib.util.spec_from_file_location("bars_" + name, os.path.join(HERE, "bars", name + ".py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def word(bar):
    if isinstance(bar.verdict, str):
        return "skipped: %s" % bar.verdict
    return {True: "holds", False: "FALLS SHORT", None: "no bar: a limit"}[bar.verdict] + (bar.why and ": " + bar.why)


def line(bar, width=0):
    return "%-*s  %-12s %-12s %s" % (width, bar.name, bar.wanted, bar.measured, word(bar))


def table(bars):
    width = max(len(b.name) for b in bars)
    print("\n%-*s  %-12s %-12s %s" % (width, "bar", "wanted", "measured", ""))
    for b in bars:
        print(line(b, width))
    held = sum(b.verdict is True for b in bars)
    short = sum(b.verdict is False for b in bars)
    limits = sum(b.verdict is None for b in bars)
    print("%d hold, %d fall short, %d skipped" % (held, short, len(bars) - held - short - limits))
    sys.stdout.flush()


def store(out, name, part, bars):
    """Store the bars, and the tables that the part leaves in STORED: {NAME: (sentence, columns, rows)}."""
    os.makedirs(out, exist_ok=True)
    command = "make bars ONLY=" + name
    record.store(os.path.join(out, "bars-%s.json" % name), record.about(part.TITLE, command),
                 [{"bar": b.name, "wanted": b.wanted, "measured": b.measured, "verdict": word(b)} for b in bars])
    for file, (what, columns, rows) in getattr(part, "STORED", {}).items():
        record.store(os.path.join(out, file + ".json"), dict(record.about(what, command), columns=columns), rows)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", default="build")
    p.add_argument("--only", default="")
    p.add_argument("--out", default="")
    p.add_argument("--quick", action="store_true", help="few sizes, one round: to see that it works")
    args = p.parse_args()
    if args.only and args.only not in parts():
        print("bars.py: no part '%s'; there are: %s" % (args.only, ", ".join(parts())), file=sys.stderr)
        return 2
    m = measure.machine()
    print("%s; %s, %d cores, %s; Open MPI: %s; MPICH: %s" %
          (m["date"], m["processor"], m["cores"], m["caches"], m["Open MPI"], m["MPICH"]))
    broken = False
    for name in [args.only] if args.only else parts():
        part, bars, start = load(name), [], time.monotonic()
        print("\n== %s: %s" % (name, part.TITLE), flush=True)
        try:
            for bar in part.bars(args.build, args.quick):
                bars.append(bar)
                print("= [%4.0f s] %s" % (time.monotonic() - start, line(bar)), flush=True)
        except Exception:
            traceback.print_exc()
            print("part %s could not be carried out" % name)
            broken = True
        if bars:
            table(bars)
        if bars and args.out:
            store(args.out, name, part, bars)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
