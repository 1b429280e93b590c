"""Compares what examples/demo_torch.sh ran, and draws the loss curves (gnuplot).

SPDX-License-Identifier: BSD-3-Clause
"""
import json
import os
import subprocess
import sys

folder = sys.argv[1]


def last(name):
    with open(os.path.join(folder, name + ".out")) as f:
        return json.loads([line for line in f if line.startswith("{")][-1])


gloo, tutti, without = last("gloo"), last("tutti"), last("without")
# Sums of gradients differ in their last bits, and training makes a little more of that with every step.
apart = max(abs(a - b) / max(abs(a), 1e-3) for a, b in zip(gloo["losses"][:50], tutti["losses"][:50]))
late = [sum(r["losses"][-50:]) / 50 for r in (gloo, tutti)]
print("\n%-14s %10s %14s %10s %10s" % ("", "ms a step", "communication", "accuracy", "last loss"))
for name, r in (("gloo", gloo), ("tutti", tutti), ("without sums", without)):
    print("%-14s %10.2f %13.0f%% %10.4f %10.4f" % (name, r["ms"], 100 * max(0, 1 - without["ms"] / r["ms"]), r["accuracy"],
                                                  sum(r["losses"][-50:]) / 50))
print("loss curves: apart by a factor of at most %.2g in the first 50 steps" % (1 + apart))
picture = os.path.join(folder, "losses.svg")
script = ["set terminal svg size 760,420 font 'sans,11' background 'white'", "set output '%s'" % picture,
          "set xlabel 'step'", "set ylabel 'loss'", "set logscale y", "set grid",
          "set title 'Fashion-MNIST, %d ranks: gloo %.1f ms a step, tutti %.1f, without sums %.1f'" %
          (tutti["ranks"], gloo["ms"], tutti["ms"], without["ms"]),
          "plot '-' with lines lw 4 lc rgb '#bbbbbb' title 'gloo', '-' with lines lw 1 lc rgb '#cc3311' title 'tutti'"]
for r in (gloo, tutti):
    script += ["%g" % loss for loss in r["losses"]] + ["e"]
try:
    subprocess.run(["gnuplot"], input="\n".join(script) + "\n", text=True, timeout=60, check=True)
    print("drawn: %s" % picture)
except (OSError, subprocess.SubprocessError) as e:
    print("no picture: %s" % e)
good = apart < 1e-3 and abs(late[0] - late[1]) < 0.05 and tutti["accuracy"] > 0.8
print("demo-torch: %s" % ("PASS" if good else "FAIL"))
sys.exit(0 if good else 1)
