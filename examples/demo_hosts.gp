# demo_hosts.gp - the loss against time, of several ways to sum between hosts.
# Drawn by tools/picture.py for demo_hosts.sh: the folder as dir, the ways, and how many seconds each trained.
# SPDX-License-Identifier: BSD-3-Clause
# before the ranges are set, because stats leaves out values beyond them
stats dir.'/'.word(ways, 1).'.tsv' using 1 nooutput
steps = STATS_max
set key top right
set title 'Fashion-MNIST on several hosts: training loss against time'
set xlabel 'seconds'
set ylabel 'loss (cross entropy, nats)'
set logscale y
set yrange [0.07:3.5]
set ytics (0.1, 0.2, 0.3, 0.5, 1, 2, 3)
array last[40]
sum = 0.; n = 0
# the mean of the last 40 steps; a curve begins at its first step
mean(step, x) = (n = step <= 1 ? 1 : n + 1, sum = step <= 1 ? 0. : sum, k = (n - 1) % 40 + 1, \
                 sum = sum + x - (n > 40 ? last[k] : 0), last[k] = x, sum / (n > 40 ? 40 : n))
plot for [i = 1:words(ways)] dir.'/'.word(ways, i).'.tsv' \
       using ($1 / steps * real(word(seconds, i))):(mean($1, $3)) with lines lt i lw 2.5 title word(ways, i)
