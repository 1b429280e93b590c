# style.gp - how every picture looks that tutti draws: of bench, prices, measurements, simulations.
#
# Idea      gnuplot reads this first. A line or a bar takes a linetype by its number: ten colours
#           that differ on white and on black, then the same dashed. The key stands beside the
#           data, never over it. @BYTES and @TIMES write an axis' units as people say them.
# Dark      `dark = 1` before this; an SVG also adapts itself to a dark page, by style.css in it, which
#           has the same colours.
# SPDX-License-Identifier: BSD-3-Clause
if (!exists("dark")) dark = 0
INK = dark ? "#d5dbe3" : "#1c2733"
FAINT = dark ? "#3a434d" : "#d9dee4"
GREY = "#8a939d"
PAPER = dark ? "#14181d" : "#ffffff"
array COLOUR[10] = ["#2f7fd6", "#e07b00", "#2e9e5b", "#d0418b", "#8a63d2", \
                    "#a9781a", "#17a2b8", "#d64545", "#6b9a00", "#6f7f95"]
do for [i = 1:40] {
  dash = 1 + (i - 1) / 10
  set linetype i lc rgb COLOUR[(i - 1) % 10 + 1] dt dash lw 2 pt 7 ps 0.7
}
set linetype cycle 40
set border 3 lc rgb INK
set tics nomirror out scale 0.6, 0 tc rgb INK
set grid lc rgb FAINT lw 0.8 dt 1
set title tc rgb INK noenhanced font "sans,13"
set xlabel tc rgb INK noenhanced
set ylabel tc rgb INK noenhanced
set key outside right top Left reverse samplen 1.8 spacing 1.15 tc rgb INK noenhanced
set style fill solid 0.9 noborder
set style data linespoints
units = "B KiB MiB GiB TiB PiB"
bytes = ""; near = ""
do for [i = 0:24] { # every other power of 4 has a name
  name = sprintf("%s'%d %s' %.0f", i ? ", " : "", 4**(i % 5), word(units, i / 5 + 1), 4.0**i)
  bytes = bytes . (i % 2 ? name : sprintf("%s'' %.0f 1", i ? ", " : "", 4.0**i))
  near = near . name
}
BYTES = "set xtics (" . bytes . ")"
BYTES_NEAR = "set xtics (" . near . ")" # on an axis of few of them all have
times = ""; near = ""
do for [i = -3:8] { # powers of 10 of a microsecond
  do for [k in "1 2 5"] {
    name = sprintf("%s'%d %s' %se%d", i > -3 || k > 1 ? ", " : "", k * 10**((i + 3) % 3), \
                   word("ns us ms s", (i + 3) / 3 + 1), k, i)
    near = near . name
    if (k == 1) { times = times . name }
  }
}
TIMES = "set ytics (" . times . ")"
TIMES_NEAR = "set ytics (" . near . ")"
