# fashion_loss.gp - the loss on 4 ranks, and how far one process is from it.
# Called by demo.sh with dir, and the tolerance as argument. SPDX-License-Identifier: BSD-3-Clause
set terminal pngcairo size 1200,900 font 'DejaVu Sans,12'
set output dir.'/loss.png'
set multiplot
set lmargin 12
set rmargin 4
set grid lc rgb '#dddddd'
set border lw 0.8
set style line 1 lc rgb '#b8cfe8' pt 7 ps 0.25
set style line 2 lc rgb '#1f5fa8' lw 2.5
set style line 3 lc rgb '#e07b00' lw 2.5 dt (6,6)
set style line 4 lc rgb '#c02020' lw 1.5 dt 2

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
plot dir.'/loss-4.tsv' using 2:3 with points ls 1 title '4 ranks, every step', \
     dir.'/loss-4.tsv' using 2:(mean($3)) with lines ls 2 title '4 ranks, mean of 20 steps', \
     (n = 0, sum = 0., NaN) notitle, \
     dir.'/loss-1.tsv' using 2:(mean($3)) with lines ls 3 title '1 process, mean of 20 steps'

set title 'The same loss? Distance from one process, step by step'
set origin 0, 0
set size 1, 0.42
set ylabel 'difference of the loss'
set yrange [5e-9:3e-5]
set format y '10^{%T}'
set ytics 10
set ytics add ('equal' 1e-8)
set key center right
floor1(x) = x < 1e-8 ? 1e-8 : x
plot dir.'/difference.tsv' using 1:(floor1($2)) with points lc rgb '#1f5fa8' pt 7 ps 0.5 \
       title '4 ranks against 1 process', \
     dir.'/difference.tsv' using 1:(floor1(column(3))) with points lc rgb '#e07b00' pt 6 ps 0.6 \
       title '1 process, batches back to front', \
     argument with lines ls 4 title 'allowed'
unset multiplot
set print '-'
print dir.'/loss.png'
