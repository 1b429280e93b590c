"""Compares what examples/demo_torch.sh ran, and draws the loss curves, and what a step takes (gnuplot).

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
sides = (("gloo", gloo), ("tutti", tutti), ("without sums", without))
share = {name: max(0, 1 - without["ms"] / r["ms"]) for name, r in sides}
for name, r in sides:
    print("%-14s %10.2f %13.0f%% %10.4f %10.4f" % (name, r["ms"], 100 * share[name], r["accuracy"],
                                                  sum(r["losses"][-50:]) / 50))
print("loss curves: apart by a factor of at most %.2g in the first 50 steps" % (1 + apart))
picture = os.path.join(folder, "losses.svg")
script = ["set terminal svg size 1000,420 font 'sans,11' background 'white'", "set output '%s'" % picture,
          "set multiplot layout 1,2 title 'Fashion-MNIST, DistributedDataParallel on %d ranks'" % tutti["ranks"],
          "set grid", "set xlabel 'step'", "set ylabel 'loss'", "set logscale y",
          "plot '-' with lines lw 4 lc rgb '#bbbbbb' title 'gloo', '-' with lines lw 1 lc rgb '#cc3311' title 'tutti'"]
for r in (gloo, tutti):
    script += ["%g" % loss for loss in r["losses"]] + ["e"]
script += ["unset logscale", "unset xlabel", "set ylabel 'ms a step, and how much of it is communication'",
           "set yrange [0:%g]" % (1.4 * max(r["ms"] for _, r in sides)), "set xrange [-0.6:2.6]",
           "set boxwidth 0.6", "set style fill solid", "set key top right",
           "plot '-' using 1:2:xtic(3) with boxes lc rgb '#cc3311' title 'communication', "
           "'-' using 1:2 with boxes lc rgb '#bbbbbb' title 'the rest of the step', "
           "'-' using 1:2:3 with labels offset 0,0.7 notitle"]
for row in ('{at} {ms:g} "{name}"', '{at} {rest:g}', '{at} {ms:g} "{ms:.1f} ms, {share:.0%}"'):
    script += [row.format(at=at, name=name, ms=r["ms"], rest=min(r["ms"], without["ms"]), share=share[name])
               for at, (name, r) in enumerate(sides)] + ["e"]
script.append("unset multiplot")
try:
    subprocess.run(["gnuplot"], input="\n".join(script) + "\n", text=True, timeout=60, check=True)
    print("drawn: %s" % picture)
except (OSError, subprocess.SubprocessError) as e:
    print("no picture: %s" % e)
good = apart < 1e-3 and abs(late[0] - late[1]) < 0.05 and tutti["accuracy"] > 0.8
print("demo-torch: %s" % ("PASS" if good else "FAIL"))
sys.exit(0 if good else 1)
