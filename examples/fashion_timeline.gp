# fashion_timeline.gp - each rank's computation, and the sums in flight.
# Drawn by tools/picture.py for demo.sh, with the folder as dir, and the number of ranks.
# SPDX-License-Identifier: BSD-3-Clause
ranks = int(ranks)
file = sprintf('%s/timeline-%d.tsv', dir, ranks)
is(kind) = strcol(2) eq kind ? 1 : NaN
stats file using ($5*is('prepare')) nooutput # the last step is not drawn, but
end = STATS_max                              # ends the sums of the one before
set title "Two training steps: what each rank does (upper bar, with the layer's number), and which sums are under way (thin bars)"
set xlabel 'time (ms)'
set xrange [0:end]
set yrange [ranks:-0.02]
set grid noy
set lmargin 10
set bmargin 8
set rmargin 3
set key below center horizontal maxrows 3 samplen 2
unset ytics
do for [r=0:ranks-1] {
  set label sprintf('rank %d', r) at graph -0.01, first r + 0.22 right tc rgb INK
  set label 'sums' at graph -0.01, first r + 0.68 right font ',10' tc rgb GREY
  if (r > 0) { set arrow from graph 0, first r to graph 1, first r nohead lc rgb GREY lw 0.5 }
}
kinds = 'prepare forward backward update wait progress'
names = '"prepare batch" "forward" "backward" "update weights" "wait for sums" "in start and test: sums advance"'
array line[6] = [10, 3, 1, 5, 8, 2]
array sum_line[3] = [6, 7, 4]
# six thin lanes: layer 3, layer 2, the four pieces of layer 1
lane(layer, piece) = layer == 3 ? 0 : layer == 2 ? 1 : 2 + piece
top(r, layer, piece) = r + 0.46 + 0.08 * lane(layer, piece)
wide(begin, finish) = finish - begin > 0.008 * end && finish < end ? (begin + finish) / 2 : NaN
set style fill solid 1.0 noborder
plot for [k=1:6] file using ($5*is(word(kinds, k))):1:5:6:($1 + 0.04):($1 + 0.40) \
       with boxxyerror lt line[k] title word(names, k), \
     for [l=3:1:-1] file using ($5*is('flight')*($3 == l ? 1 : NaN)):1:5:6:(top($1, $3, $4)):(top($1, $3, $4) + 0.065) \
       with boxxyerror lt sum_line[l] title sprintf('sum of layer %d%s', l, l == 1 ? ' (in 4 pieces)' : ''), \
     for [k=2:3] file using (wide($5, $6)*is(word(kinds, k))):($1 + 0.22):3 \
       with labels font ',10' tc rgb 'white' notitle
