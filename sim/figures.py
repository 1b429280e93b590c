# figures.py - the papers' figures again, and what goes beyond them, as SVG; `make figures`.
#
#   figures.py [--build DIR] [--out DIR] [--table FILE] [--only 001-figure-1,...] [--quick]
#              [--simulate [--again]] [--measure]
#
# Lines are prices, computed now. Points are simulated and measured, and stored in
# docs/sim/figures.tsv: --simulate adds the missing ones (sim/smpi.py, minutes;
# --again: all of them), --measure measures again on this machine (two minutes, if it is
# idle). --quick draws a few points per line. Pictures of docs/sim/results.tsv and training.tsv, which `make sim`
# renews, are drawn again, too.
# SPDX-License-Identifier: BSD-3-Clause
import argparse
import os
import sys

import figure_beyond
import figure_measure
import figure_one
import figure_plot
import figure_simulate
import figure_training
import figure_two
import tables
from figure_model import Prices
from figure_table import Table
from results import Results

FIGURES = {**figure_one.FIGURES, **figure_two.FIGURES, **figure_beyond.FIGURES, **figure_training.FIGURES}


def options():
    p = argparse.ArgumentParser()
    p.add_argument("--build", default="build")
    p.add_argument("--out", default="docs/figures")
    p.add_argument("--table", default="docs/sim/figures.tsv")
    p.add_argument("--only", default=",".join(FIGURES))
    p.add_argument("--quick", action="store_true")
    p.add_argument("--simulate", action="store_true")
    p.add_argument("--measure", action="store_true")
    p.add_argument("--again", action="store_true", help="with --simulate: also what the table has")
    return p.parse_args()


def main():
    args = options()
    table = Table(args.table)
    if args.measure:
        figure_measure.measure(table, args.build)
        table.write()
    if args.simulate:
        figure_simulate.fill(table, args.again, args.build)
    prices = Prices(args.build)
    os.makedirs(args.out, exist_ok=True)
    for name in args.only.split(","):
        if name not in FIGURES:
            sys.exit("figures: no figure '%s'; there are %s" % (name, ", ".join(FIGURES)))
        title, note, panels = FIGURES[name](prices, table, args.quick)
        path = os.path.join(args.out, name + ".svg")
        figure_plot.draw(path, title, note, panels)
        print("%s  %s" % (path, title))
    if args.out == tables.PICTURES and not args.quick and args.only == ",".join(FIGURES):
        tables.draw(Results())
    for key in sorted(table.notes):
        print("%s: %s" % (key, table.notes[key]))
    for key, how in (
        ("measured", "make figures MORE=--measure"),
        ("simulated", "make figures MORE=--simulate"),
    ):
        print("again: %s" % how if key in table.notes else "%s: nothing yet; %s" % (key, how))


if __name__ == "__main__":
    main()
