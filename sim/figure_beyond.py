# figure_beyond.py - the schedules beyond the papers: the time of tutti's choice over the lower bound, before and after,
# from docs/bench/frontier.json (frontier.py).
# SPDX-License-Identifier: BSD-3-Clause
import json
import os

from figure_plot import Panel
from picture import LINES

STORED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "docs", "bench", "frontier.json")
NOTE = "Prices of float sums on paper 001's machine. Bound: ceil(log2 P) messages, 2(P-1)/P vectors sent, (P-1)/P added."


def frontier(prices, table, few):
    with open(STORED) as f:
        rows = json.load(f)["rows"]
    ranks = sorted({r["ranks"] for r in rows})
    panels = []
    for key, title in (("before", "the papers' schedules"), ("now", "with lanes, windows, and circles of two")):
        panel = Panel(title, "vector", "time over the bound", log="x", xrange="256:65536", yrange="0.95:2")
        for p, colour in zip(ranks, LINES.values()):
            panel.line("%d ranks" % p, [(r["bytes"], r[key] / r["bound"]) for r in rows if r["ranks"] == p], colour)
        panels.append(panel)
    return "Beyond the papers: floats, the same bits on all ranks", NOTE, panels


FIGURES = {"beyond-frontier": frontier}
