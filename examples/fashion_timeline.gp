# fashion_timeline.gp - what every rank computed, and which sums were under way.
# Called by demo.sh with dir, and the number of ranks as argument. SPDX-License-Identifier: BSD-3-Clause
name = sprintf('%s/timeline-%d', dir, argument)
file = name.'.tsv'
is(kind) = strcol(2) eq kind ? 1 : NaN
stats file using ($5*is('prepare')) nooutput # the last step is not drawn, but
end = STATS_max                              # ends the sums of the one before
ranks = argument

set terminal pngcairo size 1500,(200 + 190 * ranks) font 'DejaVu Sans,12'
set output name.'.png'
set title "Two training steps: what each rank does (upper bar, with the layer's number), and which sums are under way (thin bars)"
set xlabel 'time (ms)'
set xrange [0:end]
set yrange [ranks:-0.02]
set grid x lc rgb '#dddddd'
set border 3 lw 0.8
set tics nomirror out
set lmargin 10
set rmargin 3
set key below horizontal maxrows 3 Left reverse samplen 2 spacing 1.3
unset ytics
do for [r=0:ranks-1] {
  set label sprintf('rank %d', r) at graph -0.01, first r + 0.22 right
  set label 'sums' at graph -0.01, first r + 0.68 right font ',10' tc rgb '#666666'
  if (r > 0) { set arrow from graph 0, first r to graph 1, first r nohead lc rgb '#999999' lw 0.5 }
}
kinds = 'prepare forward backward update wait progress'
names = '"prepare batch" "forward" "backward" "update weights" "wait for sums" "in start and test: sums advance"'
array color[6] = ['#b0b0b0', '#4c9f50', '#3a78b8', '#9467bd', '#d62728', '#e8b500']
array sum_color[3] = ['#8c510a', '#d8892b', '#f0c987']
# six thin lanes: layer 3, layer 2, the four pieces of layer 1
lane(layer, piece) = layer == 3 ? 0 : layer == 2 ? 1 : 2 + piece
top(r, layer, piece) = r + 0.46 + 0.08 * lane(layer, piece)
wide(begin, finish) = finish - begin > 0.008 * end && finish < end ? (begin + finish) / 2 : NaN
set style fill solid 1.0 noborder
plot for [k=1:6] file using ($5*is(word(kinds, k))):1:5:6:($1 + 0.04):($1 + 0.40) \
       with boxxyerror lc rgb color[k] title word(names, k), \
     for [l=3:1:-1] file using ($5*is('flight')*($3 == l ? 1 : NaN)):1:5:6:(top($1, $3, $4)):(top($1, $3, $4) + 0.065) \
       with boxxyerror lc rgb sum_color[l] title sprintf('sum of layer %d%s', l, l == 1 ? ' (in 4 pieces)' : ''), \
     for [k=2:3] file using (wide($5, $6)*is(word(kinds, k))):($1 + 0.22):3 \
       with labels font ',10' tc rgb 'white' notitle
set print '-'
print name.'.png'
