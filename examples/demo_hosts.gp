# demo_hosts.gp - the loss against time, with messages as they are and with lighter ones.
# Drawn by tools/picture.py for demo_hosts.sh: the folder as dir, the code, and what the two logs say.
# SPDX-License-Identifier: BSD-3-Clause
set key top right
set title 'Fashion-MNIST on several hosts: training loss against time'
set xlabel 'seconds'
set ylabel 'loss (cross entropy, nats)'
set logscale y
set yrange [0.07:3.5]
set ytics (0.1, 0.2, 0.3, 0.5, 1, 2, 3)
stats dir.'/none.tsv' using 1 nooutput
steps = STATS_max
array last[40]
sum = 0.; n = 0
mean(x) = (n = n + 1, k = (n - 1) % 40 + 1, sum = sum + x - (n > 40 ? last[k] : 0), \
           last[k] = x, sum / (n > 40 ? 40 : n))
plot dir.'/none.tsv' using ($1 / steps * real(word(plain, 1))):(mean($3)) with lines lt 1 lw 2.5 \
       title 'as they are, mean of 40 steps', \
     (n = 0, sum = 0., NaN) notitle, \
     dir.'/'.code.'.tsv' using ($1 / steps * real(word(coded, 1))):(mean($3)) with lines lt 2 lw 2.5 \
       title code
