# demo_elastic.gp - the number of ranks, and their steps per second, against time, with the faults.
# Drawn by tools/picture.py for demo_elastic.sh, with the folder as dir.
# SPDX-License-Identifier: BSD-3-Clause
file = dir.'/elastic.pace'
set multiplot layout 2,1
set lmargin 8
set key bottom right
stats file using 1 nooutput
end = STATS_max
set xrange [0:end]
n = 0
stats dir.'/faults' using 1 nooutput
do for [i = 1:STATS_records] {
  at = real(system(sprintf("sed -n %dp '%s/faults' | cut -d' ' -f1", i, dir)))
  what = system(sprintf("sed -n %dp '%s/faults' | cut -d' ' -f2-", i, dir))
  set arrow from first at, graph 0 to first at, graph 1 nohead dt 2 lc rgb GREY
  set label what at first at, graph 0.06 + 0.1 * (i - 1) offset 0.5, 0 tc rgb INK
}
set title 'Four hosts with two ranks: one is killed, one loses its cable for a while'
set ylabel 'ranks'
set yrange [0:9]
set ytics 2
plot file using 1:2 with steps lt 1 lw 2.5 notitle
unset label
unset title
set xlabel 'seconds'
set ylabel 'steps per second'
set yrange [0:*]
set ytics auto
plot file using 1:3 with lines lt 2 lw 1.5 notitle
unset multiplot
