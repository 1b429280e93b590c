# tap.bash - for shell tests: TAP lines, a token that marks all processes of a
# test in /proc, and small helpers. Sourced, never run.
# SPDX-License-Identifier: BSD-3-Clause
set -u
BUILD=${BUILD:-build}
TUTTI=${TUTTI:-$BUILD/tutti}
python=/usr/bin/python3
export PYTHONDONTWRITEBYTECODE=1
export TUTTI_CONF=${TUTTI_CONF:-/dev/null} # no configuration file
case $TUTTI in /*) ;; *) TUTTI=$PWD/$TUTTI ;; esac
work=$(mktemp -d) || exit 1
drawn=${TUTTI_TEST_SEED:-$((RANDOM * 32768 + RANDOM))} # for a test's random choices
token="tutti-test-$$-$RANDOM$RANDOM"
trap 'finish' EXIT
trap 'exit 1' INT TERM HUP
bad=0

# The pids of all living processes that carry the token in their environment.
alive() {
  grep -laz "^TOKEN=$token\$" /proc/[0-9]*/environ 2>/dev/null | cut -d/ -f3
}
# Waits up to $1 seconds (20) until no process is left; true if none is.
gone() {
  local end=$((SECONDS + ${1:-20}))
  while [ -n "$(alive)" ]; do
    [ $SECONDS -lt $end ] || { for p in $(alive); do ps_line "$p"; done && return 1; }
    sleep 0.05
  done
}
ps_line() { echo "# left: $1 $(tr '\0' ' ' <"/proc/$1/cmdline" 2>/dev/null)"; }
finish() {
  local p
  for p in $(alive); do kill -9 "$p" 2>/dev/null; done
  rm -rf "$work"
}

# ends WHICH: the last job's first lines and its last, of out or err.
ends() {
  sed "s/^/# $1: /" "$work/$1" 2>/dev/null | cut -c 1-300 |
    awk 'NR <= 8 {print; next} {last[NR % 12] = $0} END {if (NR > 20) print "# [...]"
      for (i = NR > 20 ? NR - 11 : 9; i <= NR; i++) print last[i % 12]}'
}
# ok NAME COMMAND...: prints one TAP line; if not ok, also what was false, and the output of the last job.
ok() {
  local name=$1
  untrue=
  shift
  if "$@"; then
    echo "ok - $name"
  else
    echo "not ok - $name"
    echo "# failed: $* (status was ${rc:-?})${untrue:+; false: $untrue}"
    ends out
    ends err
    bad=1
  fi
}
# skip NAME REASON [N]: one test, or N of them, could not run. tests/plans.tsv counts all N. N is "rest" for all tests
# that have not run; the script then ends.
skip() {
  case ${3:-} in
    rest) echo "ok - $1 # SKIP $2 (the rest)" ;;
    *) echo "ok - $1 # SKIP $2${3:+ ($3 tests)}" ;;
  esac
}

# Sets spent: the CPU time in milliseconds of this shell's children that have ended.
spend() {
  times >"$work/.times" # not in a subshell, which has no children
  spent=$(awk -F'[ms ]+' 'NR == 2 {printf "%d", 60000 * ($1 + $3) + 1000 * ($2 + $4)}' "$work/.times")
}
# job ARGS...: `tutti ARGS`, output in $work/out and err, status in rc, time in ms, and CPU time in
# busy, which does not depend on the load of other programs.
job() {
  local from=${EPOCHREALTIME/./} before
  spend
  before=$spent rc=0
  { TOKEN=$token timeout -k 5 120 "$TUTTI" "$@" >"$work/out" 2>"$work/err" || rc=$?; } 2>/dev/null
  ms=$(((${EPOCHREALTIME/./} - from) / 1000))
  spend
  busy=$((spent - before))
}
# open_mpi_in DIR: Open MPI keeps its files in DIR. Programs of Open MPI that mpirun did not start would all make the
# folder of this user there, and one of them might fail, so it exists, with a file that keeps it.
open_mpi_in() {
  export OMPI_MCA_orte_tmpdir_base=$1
  mkdir -p "$1/ompi.$(hostname).$(id -u)" && : >"$1/ompi.$(hostname).$(id -u)/kept"
}
# background ARGS...: the same in the background, SIGINT and SIGQUIT not ignored;
# pid in $job. wait_job: its status in rc; "hangs" after 30 s.
background() {
  : >"$work/out"
  TOKEN=$token env --default-signal=INT,QUIT "$TUTTI" "$@" >"$work/out" 2>"$work/err" </dev/null &
  job=$!
}
wait_job() {
  local end=$((SECONDS + 30))
  while kill -0 "$job" 2>/dev/null && [ $SECONDS -lt $end ]; do sleep 0.02; done
  rc=0
  kill -0 "$job" 2>/dev/null && { rc=hangs && kill -9 "$job" && return; }
  { wait "$job" || rc=$?; } 2>/dev/null
}
# lines N PATTERN: waits (20 s) until N lines of the output match.
lines() {
  local end=$((SECONDS + 20))
  until [ "$(grep -acE "$2" "$work/out")" -ge "$1" ]; do
    [ $SECONDS -lt $end ] || return 1
    sleep 0.02
  done
}
status() { [ "$rc" = "$1" ]; }
says() { grep -qaE "$1" "$work/err"; }
has() { grep -qaE -e "$1" "$work/out"; }
quiet() { [ ! -s "$work/err" ]; }
one_line() { [ "$(wc -l <"$work/err")" = 1 ]; }
out_is() { [ "$(cat "$work/out")" = "$1" ]; }
# within MS: a limit that only a hang reaches, because other programs may keep the cores busy. A program that
# is expected to end early would otherwise not end at all. works_within MS: a limit of CPU time.
within() { [ "$ms" -lt "$1" ]; }
works_within() { [ "$busy" -lt "$1" ]; }
all() { # all "cmd1" "cmd2" ...: all are true
  local c
  for c in "$@"; do eval "$c" || { untrue=${untrue:-$c} && return 1; }; done
}
# valid_xml FILE: Python parses it; without a Python that can, the test fails.
valid_xml() {
  $python -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' "$1"
}

# Prints a port P such that P and P + 1, which the ranks use to connect, are free. Both are below the range of ephemeral ports,
# so the system does not assign them to another program before the ranks use them.
free_port() {
  $python -c 'import random, socket
while True:
    port = random.randrange(10000, 32000)
    try:
        for p in port, port + 1: socket.socket().bind(("127.0.0.1", p))
    except OSError: continue
    print(port)
    break'
}
# brief: is this the short form (make check)? row VALUE...: one row of a product of cases; in the short form it runs only if one
# of its values has not occurred before.
brief() { [ "${TEST_SHORT:-}" ]; }
declare -A had=()
row() {
  local value old=1
  for value in "$@"; do
    [ "${had[$value]:-}" ] || old=
    had[$value]=1
  done
  ! brief || [ ! "$old" ]
}
