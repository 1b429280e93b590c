# figure_training.py - steps of training, simulated (training.py): paper 002's Figure 6 (a) and (c) with the sums at the end of a step
# and in buckets, and the time of a step on 4 to 64 hosts.
# SPDX-License-Identifier: BSD-3-Clause
import figure_two as two
import training
from figure_plot import BLUECONNECT, DASHED, GREY, HALVING, RING, TUTTI, TWO_LEVEL, Panel
from training_tables import MODELS, Steps

COLOURS = {"Ring": RING, "GLOO": TWO_LEVEL, "BLC": BLUECONNECT}
TITLES = {"Ring": "one ring", "GLOO": "two levels", "BLC": "BlueConnect"}
GPUS = "(4, 16, 32, 64, 96, 192)"


def figure_papers(prices, table, few):
    steps = Steps(training.store())
    left = Panel("(a) what the sums add to a step of ResNet-50", "GPUs", "overhead (ms)", log="", xrange="0:200", yrange="0:130", units=False, xtics=GPUS)
    right = Panel("(c) throughput of a GPU, relative to one alone", "GPUs", "throughput", log="", xrange="0:200", yrange="0.5:1.05", units=False, xtics=GPUS)
    for scheme, colour in COLOURS.items():
        for way, dashed, words in (("one", 0, ""), ("buckets", DASHED, ", in buckets")):
            over = [(g, steps.of_gpus(g, scheme, way)) for g in two.SIMULATED_GPUS]
            over = [(g, x) for g, x in over if x is not None]
            left.joined(TITLES[scheme] + words, over, colour + dashed)
            right.joined(TITLES[scheme] + words, [(g, two.ALONE / (two.ALONE + x)) for g, x in over], colour + dashed)
    for scheme in ("BLC", "GLOO"):
        left.star("", 192, two.STATED[scheme] - two.JITTER)
        right.star("", 192, two.ALONE / (two.ALONE + two.STATED[scheme] - two.JITTER))
    note = "simulated, without jitter; stars: what the paper states for 192 GPUs, less %.1f ms of jitter" % two.JITTER
    return "Paper 002, Figure 6 again: a whole step of training, on 4 to 192 GPUs", note, [left, right]


LOOKS = (("ring", "one", "ring, at the end", RING), ("ring", "buckets", "ring, in buckets", RING + DASHED), ("halving", "buckets", "fold(halving), in buckets", HALVING + DASHED),
         ("blueconnect", "buckets", "BlueConnect, in buckets", BLUECONNECT + DASHED), ("choice", "one", "tutti's choice, at the end", TUTTI), ("choice", "buckets", "tutti's choice, in buckets", TUTTI + DASHED))  # fmt: skip


def figure_hosts(prices, table, few):
    steps, panels = Steps(training.store()), []
    for model, alone in training.ALONE.items():
        panel = Panel("%s, %.0f ms without sums" % (MODELS[model], 1e3 * alone), "hosts", "step (ms)", log="x", xrange="3.6:71", units=False, xtics="(4, 8, 16, 32, 64)")
        for plan, way, title, colour in LOOKS:
            panel.joined(title, [(n, steps.ms("hosts", training.hosts(n).network, model, plan, way)) for n in training.HOSTS], colour)
        panel.line("without sums", [(n, 1e3 * alone) for n in training.HOSTS], GREY, 1.5)
        panels.append(panel)
    return "A step of training on 4 to 64 hosts", "simulated: 25 Gbit/s, racks that carry a quarter of what their hosts may send", panels


FIGURES = {"training-papers": figure_papers, "training-hosts": figure_hosts}
