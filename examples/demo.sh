#!/bin/sh
# demo.sh - the script of `make demo`: from a proven schedule to a trained network.
#
#   1  trains on 4 ranks, and tests
#   2  trains in one process, and compares the losses step by step
#   3  measures how much communication was hidden, at 2 ranks and at 4
#   4  draws the loss and the time line of every rank
#
# With TUTTI_TRACE=FILE the two ranks of part 4 leave a trace there (docs/trace.md).
# Exit status 0 only if the accuracy, the comparison and the pictures are good.
# SPDX-License-Identifier: BSD-3-Clause
set -eu
LC_ALL=C OPENBLAS_NUM_THREADS=1 # the ranks are the parallelism
export LC_ALL OPENBLAS_NUM_THREADS
trace=${TUTTI_TRACE:-}
case $trace in '' | /*) ;; *) trace=$PWD/$trace ;; esac
unset TUTTI_TRACE
cd "$(dirname "$0")/.."
build=${BUILD:-build}
out=$build/demo
tutti=$build/tutti
fashion=$build/examples/fashion
need=0.87         # test accuracy
# The greatest difference of two losses that counts as rounding. One picture left out
# of one step, of 2350, shows as 0.00008.
tolerance=0.00001
compared=2350     # steps: all ten epochs
controlled=470    # steps of the control, back to front
failed=

title() { printf '\n== %s\n' "$*"; }
clock() { date +%s; }

# Two losses, and that of the same batches back to front, step by step.
compare() {
  paste "$out/loss-4.tsv" "$out/loss-1.tsv" "$out/loss-reversed.tsv" |
    awk -v tolerance=$tolerance -v steps=$compared -v file="$out/difference.tsv" '
      function abs(x) { return x < 0 ? -x : x }
      NR == 1 {
        print "  step   4 ranks      1 process    difference   1 process, batches back to front"
        next
      }
      NF < 6 { next }
      {
        n++; d = abs($3 - $6); c = NF == 9 ? abs($6 - $9) : "-"
        if (d > worst) worst = d
        if (NF == 9 && c > control) control = c
        print $2, d, c >file
        if ($1 == 1 || $1 == 10 || $1 == 50 || $1 % 235 == 0)
          printf "  %4d   %.7f    %.7f    %8.1e     %8s\n", $1, $3, $6, d, NF == 9 ? sprintf("%8.1e", c) : ""
      }
      END {
        good = n == steps && worst <= tolerance
        printf "greatest difference of the loss in %d steps: %.1e (%.1e in the control,\n", n, worst, control
        printf "which only adds in another order): %s, %g is allowed\n", good ? "PASS" : "FAIL", tolerance
        exit !good
      }'
}

# draw FILE WIDTHxHEIGHT WHAT NAME=VALUE...: examples/fashion_WHAT.gp on the files of this run.
draw() {
  file=$1 size=$2 what=$3
  shift 3
  if "${PYTHON3:-/usr/bin/python3}" tools/picture.py "$out/$file" "$size" "examples/fashion_$what.gp" dir="$out" "$@"; then
    echo "$out/$file"
  else
    failed="$failed $file"
  fi
}

begin=$(clock)
mkdir -p "$out"
rm -f "$out"/*

title "1. Fashion-MNIST on 4 ranks: $tutti run -n 4 $fashion"
rc=0
"$tutti" run -t 300 -n 4 "$fashion" --need $need --curve "$out/loss-4.tsv" --timeline "$out/timeline-4.tsv" || rc=$?
case $rc in
  0) ;;
  3) failed="$failed accuracy" ;;
  *) exit $rc ;;
esac

title "2. The same training in one process (and for control its first two epochs with each batch back to front)"
"$fashion" --steps $controlled --reverse --curve "$out/loss-reversed.tsv" >/dev/null &
"$fashion" --steps $compared --curve "$out/loss-1.tsv"
wait $!
compare || failed="$failed comparison"

title "3. How much communication is hidden, and what a naive reducer costs"
"$tutti" run -t 300 -n 2 "$fashion" --measure
"$tutti" run -t 300 -n 4 "$fashion" --measure
cores=$(nproc 2>/dev/null || echo 4)
[ "$cores" -ge 4 ] || cat <<END
(4 ranks on $cores cores: while a rank waits, another one usually computes on the same core; see "no core" and
timeline-4.png. The core is busy either way, so overlapping can hide only little.)
END

title "4. Pictures"
"$tutti" run -t 300 -n 2 ${trace:+-e "TUTTI_TRACE=$trace"} "$fashion" --steps 310 --timeline "$out/timeline-2.tsv" >/dev/null
[ -z "$trace" ] || "$tutti" trace "$trace"
draw loss.png 900x680 loss tolerance="$tolerance"
draw timeline-2.png 1125x440 timeline ranks=2
draw timeline-4.png 1125x730 timeline ranks=4

[ -z "$failed" ] && verdict=PASS || verdict="FAIL:$failed"
printf '\ndemo: %s in %d s\n' "$verdict" $(($(clock) - begin))
[ -z "$failed" ]
