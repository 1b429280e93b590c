# fashion_loss.gp - the loss on 4 ranks, and its difference from one process.
# Drawn by tools/picture.py for demo.sh, with the folder as dir, and the tolerance.
# SPDX-License-Identifier: BSD-3-Clause
set multiplot
set lmargin 12
set rmargin 4
set key tmargin center horizontal

# a running mean over 20 steps
array last[20]
sum = 0.; n = 0
mean(x) = (n = n + 1, k = (n - 1) % 20 + 1, sum = sum + x - (n > 20 ? last[k] : 0), \
           last[k] = x, sum / (n > 20 ? 20 : n))

set title 'Fashion-MNIST, 784-256-128-10: training loss'
set origin 0, 0.42
set size 1, 0.58
set xlabel 'epoch'
set ylabel 'loss (cross entropy, nats)'
set logscale y
set yrange [0.07:3.5]
set ytics (0.1, 0.2, 0.3, 0.5, 1, 2, 3)
plot dir.'/loss-4.tsv' using 2:3 with points lt 10 ps 0.25 title '4 ranks, every step', \
     dir.'/loss-4.tsv' using 2:(mean($3)) with lines lt 1 lw 2.5 title '4 ranks, mean of 20 steps', \
     (n = 0, sum = 0., NaN) notitle, \
     dir.'/loss-1.tsv' using 2:(mean($3)) with lines lt 12 lw 2.5 title '1 process, mean of 20 steps'

set title 'The same loss? Distance from one process, step by step'
set origin 0, 0
set size 1, 0.42
set ylabel 'difference of the loss'
set yrange [5e-9:3e-5]
set format y '10^{%T}'
set ytics 10
set ytics add ('equal' 1e-8)
floor1(x) = x < 1e-8 ? 1e-8 : x
plot dir.'/difference.tsv' using 1:(floor1($2)) with points lt 1 ps 0.5 \
       title '4 ranks against 1 process', \
     dir.'/difference.tsv' using 1:(floor1(column(3))) with points lt 2 pt 6 ps 0.6 \
       title '1 process, batches back to front', \
     real(tolerance) with lines lt 18 title 'allowed'
unset multiplot
