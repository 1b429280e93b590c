# in_background.bash - runs parts of a shell test that mostly sleep as background jobs. SPDX-License-Identifier: BSD-3-Clause
#
# in_background COMMAND...  starts it with a separate $work
# told               waits for all of them, prints their results, and counts them in $n
sleepers=0
in_background() {
  sleepers=$((sleepers + 1))
  mkdir "$work/$sleepers"
  (work=$work/$sleepers && open_mpi_in "$work" && "$@" >"$work/said") &
}
told() {
  local i
  wait
  for ((i = 1; i <= sleepers; i++)); do
    cat "$work/$i/said"
    grep -q '^ok' "$work/$i/said" || bad=1
    n=$((n + 1))
    rm -rf "${work:?}/$i"
  done
  sleepers=0
}
