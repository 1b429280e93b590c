"""Compares the runs of examples/demo_torch.sh, and draws the loss curves and the step times (gnuplot).

SPDX-License-Identifier: BSD-3-Clause
"""
import json
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import picture  # noqa: E402

folder = sys.argv[1]


def last(name):
    with open(os.path.join(folder, name + ".out")) as f:
        return json.loads([line for line in f if line.startswith("{")][-1])


gloo, tutti, without = last("gloo"), last("tutti"), last("without")
# Sums of gradients differ in their last bits, and training amplifies that a little with every step.
apart = max(abs(a - b) / max(abs(a), 1e-3) for a, b in zip(gloo["losses"][:50], tutti["losses"][:50]))
late = [sum(r["losses"][-50:]) / 50 for r in (gloo, tutti)]
print("\n%-14s %10s %14s %10s %10s" % ("", "ms a step", "communication", "accuracy", "last loss"))
sides = (("gloo", gloo), ("tutti", tutti), ("without sums", without))
share = {name: max(0, 1 - without["ms"] / r["ms"]) for name, r in sides}
for name, r in sides:
    print("%-14s %10.2f %13.0f%% %10.4f %10.4f" % (name, r["ms"], 100 * share[name], r["accuracy"],
                                                  sum(r["losses"][-50:]) / 50))
print("loss curves: apart by a factor of at most %.2g in the first 50 steps" % (1 + apart))
drawing = os.path.join(folder, "losses.svg")


def data(name, rows):
    return ["$%s << EOD" % name] + rows + ["EOD"]


losses = data("gloo", ["%g" % loss for loss in gloo["losses"]]) + data("tutti", ["%g" % loss for loss in tutti["losses"]]) + [
    "set xlabel 'step'", "set ylabel 'loss'", "set logscale y",
    "plot $gloo with lines lc rgb FAINT lw 7, $tutti with lines %s lw 1.2" % picture.line("tutti")]
steps = []
for row in ('whole {at} {ms:g} "{name}"', "rest {at} {rest:g}", 'words {at} {ms:g} "{ms:.1f} ms, {share:.0%}"'):
    steps += data(row.split()[0], [row.split(" ", 1)[1].format(at=at, name=name, ms=r["ms"], rest=min(r["ms"], without["ms"]),
                                                               share=share[name]) for at, (name, r) in enumerate(sides)])
steps += ["set ylabel 'ms a step, with the share of communication'", "set yrange [0:%g]" % (1.15 * max(r["ms"] for _, r in sides)),
          "set xrange [-0.6:2.6]", "set boxwidth 0.6", "set grid nox",
          "plot $whole using 1:2:xtic(3) with boxes lt 2, $rest using 1:2 with boxes lc rgb GREY, "
          "$words using 1:2:3 with labels offset 0,0.7 tc rgb INK noenhanced"]
entries = [("lines lc rgb FAINT lw 7", "loss on gloo"), ("lines %s lw 1.2" % picture.line("tutti"), "loss on tutti"),
           ("boxes lt 2", "communication"), ("boxes lc rgb GREY", "the rest of the step")]
try:
    picture.page(drawing, "Fashion-MNIST, DistributedDataParallel on %d ranks" % tutti["ranks"], [losses, steps], 2, 500, 400, entries)
    print("drawn: %s" % drawing)
except picture.Failed as e:
    print(e)
good = apart < 1e-3 and abs(late[0] - late[1]) < 0.05 and tutti["accuracy"] > 0.8
print("demo-torch: %s" % ("PASS" if good else "FAIL"))
sys.exit(0 if good else 1)
