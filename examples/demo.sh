#!/bin/sh
# demo.sh - what `make demo` runs: from a proven schedule to a trained network.
#
#   1  trains on 4 ranks, and tests
#   2  trains in one process, and compares the losses step by step
#   3  measures how much communication was hidden, at 2 ranks and at 4
#   4  draws the loss and the time line of every rank
#
# Exit status 0 only if the accuracy, the comparison and the pictures are good.
# SPDX-License-Identifier: BSD-3-Clause
set -eu
LC_ALL=C OPENBLAS_NUM_THREADS=1 # the ranks are the parallelism
export LC_ALL OPENBLAS_NUM_THREADS
cd "$(dirname "$0")/.."
build=${BUILD:-build}
out=$build/demo
tutti=$build/tutti
fashion=$build/examples/fashion
need=0.87       # test accuracy
tolerance=0.00001 # greatest difference of two losses that counts as rounding
compared=2350     # steps: all ten epochs
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
      NF < 9 { next }
      {
        n++; d = abs($3 - $6); c = abs($6 - $9)
        if (d > worst) worst = d
        if (c > control) control = c
        print $2, d, c >file
        if ($1 == 1 || $1 == 10 || $1 == 50 || $1 % 235 == 0)
          printf "  %4d   %.7f    %.7f    %8.1e     %8.1e\n", $1, $3, $6, d, c
      }
      END {
        good = n == steps && worst <= tolerance
        printf "greatest difference of the loss in %d steps: %.1e (%.1e between two runs in one\n", n, worst, control
        printf "process that only add in another order): %s, %g is allowed\n", good ? "PASS" : "FAIL", tolerance
        exit !good
      }'
}

begin=$(clock)
mkdir -p "$out"
rm -f "$out"/*

title "1. Fashion-MNIST on 4 ranks: $tutti run -n 4 $fashion"
rc=0
"$tutti" run -t 300 -n 4 "$fashion" --need $need --curve "$out/loss-4.tsv" --timeline "$out/timeline.tsv" || rc=$?
case $rc in
  0) ;;
  3) failed="$failed accuracy" ;;
  *) exit $rc ;;
esac

title "2. The same training in one process (and beside it, once more with each batch back to front)"
"$fashion" --steps $compared --reverse --curve "$out/loss-reversed.tsv" >/dev/null &
"$fashion" --steps $compared --curve "$out/loss-1.tsv"
wait $!
compare || failed="$failed comparison"

title "3. How much communication is hidden, and what a naive reducer costs"
"$tutti" run -t 300 -n 2 "$fashion" --measure
"$tutti" run -t 300 -n 4 "$fashion" --measure
cores=$(nproc 2>/dev/null || echo "some")
echo "($cores cores here; where there are fewer than ranks, a rank also waits for its turn on a core)"

title "4. Pictures"
for picture in loss timeline; do
  if gnuplot -e "dir='$out'; tolerance=$tolerance" "examples/fashion_$picture.gp"; then
    echo "$out/$picture.png"
  else
    failed="$failed $picture.png"
  fi
done

[ -z "$failed" ] && verdict=PASS || verdict="FAIL:$failed"
printf '\ndemo: %s in %d s\n' "$verdict" $(($(clock) - begin))
[ -z "$failed" ]
