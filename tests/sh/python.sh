#!/usr/bin/env bash
# python.sh - the Python package: its examples, every collective compared with numpy, accepted and refused
# arguments, faults and exits, types. The full test (make check-python) includes mpi4py and installation.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"
. "${BASH_SOURCE%/*}/../support/mpi.bash"
python=${PYTHON3:-/usr/bin/python3}
all=${TUTTI_TEST_ALL:-}
case $BUILD in /*) ;; *) BUILD=$PWD/$BUILD ;; esac
unset PYTHONUNBUFFERED # otherwise lines are written in parts
export TUTTI_LIBRARY=$BUILD/libtutti.so.0 PYTHONPATH=$PWD/python PYTHONDONTWRITEBYTECODE=1 OPENBLAS_NUM_THREADS=1
leave() {
  skip "the Python package" "$1"
  exit 0
}
[ -x "$python" ] || leave "no $python here"
$python -c 'import numpy' 2>/dev/null || leave "no numpy here; make check-python installs it"
nm -D "$TUTTI_LIBRARY" | grep -qE '__(asan|tsan)_init' && leave "the library is built with a sanitizer that a Python without it cannot load"
here=python/tests

version=$(sed -n 's/^VERSION = "\(.*\)"/\1/p' python/tutti/_lib.py)
ok "the package is of the library's version" '[' "tutti $version" = "$("$TUTTI" --version)" ']'

# ---- on several ranks: programs that print TAP themselves ----
program() { # program RANKS FILE ARGS...
  rc=0
  TOKEN=$token timeout -k 5 200 "$TUTTI" run -n "$1" $python "$here/$2" "${@:3}" >"$work/out" 2>"$work/err" || rc=$?
  cat "$work/out"
  sed 's/^/# /' "$work/err" | head -30
  status 0 || { echo "not ok - $2 on $1 ranks ended with status $rc" && bad=1; }
}
program 1 examples.py
for n in $(brief && echo 2 || echo 1 2 3); do
  # shellcheck disable=SC2046
  program $n several.py $here/product.py $([ "$all" ] && echo 1 7 300 || echo 5) -- $here/scenes.py -- $here/buffers.py -- $here/objects.py
  program $n buffers.py --plain # needs a separate interpreter
done
[ -z "$all" ] || TUTTI_PROGRESS_THREAD=1 program 2 scenes.py

program 2 interrupts.py
at_a_terminal() { # NAME PROGRAM ARGS...: two ranks that wait end within 20 s of Ctrl-C
  local name=$1
  shift
  rc=0
  TOKEN=$token timeout -k 5 60 $python "$here/terminal.py" 2 "$TUTTI" run -n 2 $python "$@" >"$work/out" 2>"$work/err" || rc=$?
  ok "$name" all 'status 0' 'grep -qE "^ended 1?[0-9]{1,4} ms after Ctrl-C, status (-2|130)$" "$work/out"' \
    'grep -q "KeyboardInterrupt$" "$work/out"' '! grep -q "Exception ignored" "$work/out"'
}
at_a_terminal "Ctrl-C at a terminal, ranks that wait for each other" "$here/interrupts.py" dead
RAISED=$work/raised HEARD=$work/heard job run --keep-going -n 2 $python "$here/interrupts.py" init
ok "Ctrl-C in init, and the other rank gets the error" all 'status 0' '[ "$(grep -c ": good$" "$work/out")" = 2 ]'
export ENDED="$work/ended"
background run -n 2 $python "$here/interrupts.py" ended
for _ in $(seq 200); do [ "$(grep -c waits "$work/out")" = 2 ] || sleep 0.05; done
kill -TERM "$job"
wait_job
ok "SIGTERM's handler runs in a wait" all '[ "$(grep -c "ended in order$" "$work/err")" = 2 ]'
rc=0
TOKEN=$token timeout -k 5 100 $python "$here/processes.py" >"$work/out" 2>"$work/err" || rc=$?
cat "$work/out"
ok "and nothing else" all 'status 0' quiet

awk '/^```python$/ {in_it = 1; next} /^```$/ && in_it {exit} in_it' README.md >"$work/train.py"
job run -n 4 $python "$work/train.py"
ok "the README's program" all 'status 0' 'out_is "[1.5 1.5 1.5]"' quiet

# ---- faults: the errors of each rank ----
# fault NAME HOW "OPTIONS of run" STATUS PATTERN...: each pattern is on a line of the output;
# !PATTERN: on none.
fault() {
  local name=$1 how=$2 options=$3 want=$4 pattern good=1 before=${EPOCHREALTIME/./}
  shift 4
  # shellcheck disable=SC2086
  job run --keep-going -n 3 $options $python "$here/fault.py" "$how"
  cat "$work/err" >>"$work/out"
  for pattern in "$@"; do
    case $pattern in
      !*) grep -qE "${pattern#!}" "$work/out" && good= && echo "# there is: ${pattern#!}" ;;
      *) grep -qE "$pattern" "$work/out" || { good= && echo "# missing: $pattern"; } ;;
    esac
  done
  ok "$name ($(((${EPOCHREALTIME/./} - before) / 1000)) ms)" all "[ '$good' ]" "status $want"
}
heard() { echo "rank $1: $2 after less than 20 s: $3"; }
crash='!Fatal Python error|Segmentation|SIGSEGV|SIGABRT|core dumped'
abort='rank 1 aborted: it raised ValueError: bad batch$'
fault "a rank raises while the others wait" raises "" 1 "$(heard 0 AbortedError "$abort")" "$(heard 2 AbortedError "$abort")" \
  '^ValueError: bad batch' "$crash"
abort="rank 1 aborted: it raised KeyError: 'epoch'"
fault "a rank raises in a with block and continues" raises_in_block "" 0 "$(heard 0 AbortedError "$abort")" "$(heard 2 AbortedError "$abort")" \
  'rank 1: continues, <tutti.Comm, freed>, <tutti.Request, running>' "$crash"
abort='rank 1 aborted: it raised RuntimeError: while it is in flight'
fault "a rank raises with an operation in flight" raises_in_flight "" 1 "$(heard 0 AbortedError "$abort")" "$(heard 2 AbortedError "$abort")" "$crash"
lost='rank 1 \(pid [0-9]+\) died, it exited with status 3; rank [02] waited for it in allreduce'
fault "a rank exits" exits "" 3 "$(heard 0 PeerLostError "$lost")" "$(heard 2 PeerLostError "$lost")" "$crash"
lost='rank 1 \(pid [0-9]+\) died, killed by SIGKILL; rank [02] waited for it in allreduce'
fault "a rank is killed, and the others continue" killed "" 137 "$(heard 0 PeerLostError "$lost")" "$(heard 2 PeerLostError "$lost")" \
  'rank 0: continues with 2, sum 2' 'rank 2: continues with 2, sum 2' "$crash"
fault "a new rank replaces it" respawned "--respawn 1" 0 "$(heard 0 PeerLostError "$lost")" 'rank 0: continues, 3 ranks, 1 new, sum 3' \
  'a joiner, 3 ranks, 1 new, sum 3' "$crash"
forked='this process was forked from one that uses tutti'
abort='rank 1 aborted: it raised RuntimeError: worker ended with 5'
fault "a forked worker uses the group, and its rank exits" forks "" 1 "$(heard 1 StateError "$forked")" \
  "$(heard 0 AbortedError "$abort")" "$(heard 2 AbortedError "$abort")" "$crash"
export TUTTI_TIMEOUT=0.7
fault "the same, and its rank hangs" worker_hangs "" 0 "$(heard 1 StateError "$forked")" \
  "$(heard 0 WaitTimeoutError '.*rank 1 .*')" "$(heard 2 WaitTimeoutError '.*rank 1 .*')" "$crash"
unset TUTTI_TIMEOUT
both='.*allreduce of (1000|500) double, sum.*allreduce of (1000|500) double, sum.*'
fault "another count" other_call "" 0 "$(heard 0 MismatchError "$both")" "$(heard 1 MismatchError "$both")" "$(heard 2 MismatchError "$both")"
both='.*allreduce of 1000 (double|float), sum.*allreduce of 1000 (double|float), sum.*'
fault "another type" other_type "" 0 "$(heard 0 MismatchError "$both")" "$(heard 1 MismatchError "$both")" "$(heard 2 MismatchError "$both")"
fault "an op raises on one rank" op_raises "" 0 "$(heard 0 AbortedError '.*ZeroDivisionError: of no use')" \
  "$(heard 1 AbortedError '.*ZeroDivisionError: of no use')" "$(heard 2 AbortedError '.*ZeroDivisionError: of no use')" "$crash"
fault "two threads in one communicator" two_threads "" 0 "$(heard 1 StateError 'tutti_allreduce: another thread is inside')"
silent='!.'
fault "an end with all kinds of things in use" forgets "" 0 "$silent"
fault "a child that ends with them" forks_and_ends "" 0 'rank 0: nothing was raised' 'rank 1: nothing' 'rank 2: nothing' '!rror'
fault "an end while a thread waits for ever" daemon "" 0 "$silent"
fault "finalize is the last call" ends_early "" 0 "$(heard 0 StateError '.*finalize was called before')" \
  "$(heard 0 StateError 'this communicator was freed before')"

rc=0 && TUTTI_LIBRARY=/nowhere/libtutti.so.0 $python -c 'import tutti' >"$work/out" 2>"$work/err" || rc=$?
ok "a missing library: an error" says 'ImportError: tutti: the library cannot be loaded \(TUTTI_LIBRARY\).*/nowhere'
rc=0 && TUTTI_ALGO=nonsense $python -c 'import tutti; tutti.init()' >"$work/out" 2>"$work/err" || rc=$?
ok "a warning goes to stderr" says "nonsense"
rc=0 && TUTTI_EXPLAIN=1 $python -c 'import tutti; tutti.allreduce(bytearray(9))' >"$work/out" 2>"$work/err" || rc=$?
ok "TUTTI_EXPLAIN=1 prints the plan to stderr" says '^allreduce of 9 B on 1 rank'
rc=0 && timeout 60 $python "$here/overhead.py" 3000 12 >"$work/out" 2>"$work/err" || rc=$?
ok "a call of 4 bytes costs at most 12 times what C by ctypes does" all 'status 0' '[ "$(grep -c " us  " "$work/out")" -ge 10 ]'
cat "$work/out"

# ---- mpi4py, under its mpirun and under tutti run ----
with_mpi4py() {
  local mpi
  mpi=$($python -c 'import mpi4py.MPI as m; print({"Open MPI": "ompi"}.get(m.get_vendor()[0], "mpich"))' 2>/dev/null) ||
    { skip "mpi4py" "no mpi4py here; make check-python installs it" 2 && return; }
  has_starter "$mpi" || { skip "mpi4py" "no $(starter "$mpi") here" 2 && return; }
  [ -e "$BUILD/libtutti_mpi_$mpi.so.0" ] || { skip "mpi4py" "no libtutti_mpi_$mpi.so.0; make mpi builds it" 2 && return; }
  rc=0 && TOKEN=$token timeout -k 5 60 "$(starter "$mpi")" -n 3 $python "$here/over_mpi.py" >"$work/out" 2>"$work/err" || rc=$?
  ok "mpi4py's communicators, by $(starter "$mpi")" all 'status 0' '[ "$(grep -c "^good$" "$work/out")" = 3 ]'
  job run -n 3 $python "$here/over_mpi.py"
  ok "the same program by tutti run" all 'status 0' '[ "$(grep -c "^good$" "$work/out")" = 3 ]'
}
with_mpi4py
if has_starter mpich && [ -e "$BUILD/libtutti_mpi_mpich.so.0" ]; then
  rc=0 && TOKEN=$token timeout -k 5 60 mpirun.mpich -n 3 $python "$here/over_mpich.py" 3 >"$work/out" 2>"$work/err" || rc=$?
  ok "as if mpi4py were MPICH's" all 'status 0' '[ "$(grep -c "^good$" "$work/out")" = 3 ]'
else
  skip "as if mpi4py were MPICH's" "no mpirun.mpich or no libtutti_mpi_mpich.so.0 here"
fi

# ---- types, and installation ----
quiet_make() { env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make -s BUILD="${BUILD#"$PWD"/}" "$@" >"$work/out" 2>"$work/err"; }
plainly() { (cd / && env -u TUTTI_LIBRARY -u PYTHONPATH -u PYTHONDONTWRITEBYTECODE "$@") >"$work/out" 2>"$work/err"; }
sums='import tutti, numpy; print(tutti.allreduce(numpy.ones(2), op="max"), tutti.size(), tutti.__file__)'
# by_pip NAME ARGS...: installs into an environment with nothing but pip, checks the package and the
# command, and removes them.
by_pip() {
  local name=$1 venv=$work/bare
  shift
  rm -rf "$venv"
  plainly $python -m venv "$venv" || { ok "a bare virtual environment" false && return; }
  rc=0 && "$venv/bin/pip" install --no-index "$@" >"$work/out" 2>"$work/err" || rc=$?
  ok "$name" status 0
  plainly "$venv/bin/tutti" run -n 2 "$venv/bin/python3" -c 'import tutti; print(tutti.allreduce(2.5), tutti.size())'
  ok "$name: the package, by the command" all '[ "$(grep -cx "5.0 2" "$work/out")" = 2 ]' quiet
  plainly "$venv/bin/python3" -m tutti --version
  ok "$name: python3 -m tutti" all 'out_is "tutti $version"' quiet
  ok "$name: and it goes" all '"$venv/bin/pip" uninstall -qy tutti >"$work/out" 2>&1' '! [ -e "$venv/bin/tutti" ]' \
    '[ -z "$(find "$venv" -name "*tutti*")" ]'
}
# requires WORD...: what a build requires whose parent's command has these words.
requires() {
  "$work/bare/bin/python3" -c 'import subprocess, sys
subprocess.run([sys.executable, "-c", "import backend; print(backend.get_requires_for_build_wheel())"], cwd="python")' "$@"
}
installed() {
  local dest=$work/dest prefix=/opt/tutti folder venv=$work/venv
  ok "make install" quiet_make install PREFIX=$prefix DESTDIR="$dest"
  folder=$(dirname "$(find "$dest" -path '*/tutti/py.typed' -printf '%h\n')")
  ok "the package finds the library of its installation" \
    plainly env PYTHONPATH="$folder" "$dest$prefix/bin/tutti" run -n 2 $python -c "$sums"
  ok "and it is that one" all '[ "$(grep -cF "2 $folder/tutti/__init__.py" "$work/out")" = 2 ]' quiet
  quiet_make uninstall PREFIX=$prefix DESTDIR="$dest"
  ok "make uninstall leaves nothing" '[' -z "$(find "$dest" ! -type d)" ']'
  if ! $python -c 'import venv, ensurepip' 2>/dev/null; then
    skip "pip install" "no python3-venv here"
    return
  fi
  by_pip "pip install ." .
  by_pip "pip install --no-build-isolation ." --no-build-isolation .
  by_pip "pip install -e ." -e .
  { requires install torch==9.9 . && requires install torch . && requires install torchvision . && TORCH=no requires torch .; } >"$work/out"
  ok "the build requires the PyTorch that pip's command names" out_is "['torch==9.9']"$'\n'"['torch']"$'\n[]\n[]'
  rc=0
  (cd python && $python -c 'import backend, sys; backend.build_sdist(sys.argv[1])' "$work") >"$work/out" 2>"$work/err" || rc=$?
  tar -xzf "$work/tutti-$version.tar.gz" -C "$work" 2>>"$work/err"
  ok "a source package has all that git has, but research" all 'status 0' \
    '[ ! -e "$work/tutti-$version/research" ]' \
    '[ -z "$(git ls-files | grep -vE "^(research/|mk/research.mk$)" | while read -r f; do [ -e "$work/tutti-$version/$f" ] || echo "$f"; done)" ]'
  ok "a virtual environment that sees the system's packages" plainly $python -m venv --system-site-packages "$venv"
  ok "pip install --no-build-isolation ." eval \
    '"$venv/bin/pip" install --no-index --no-build-isolation . >"$work/out" 2>"$work/err"'
  ok "python3 of the venv imports it, with the library of the package" plainly "$TUTTI" run -n 2 "$venv/bin/python3" -c "$sums"
  ok "and it is that one, too" all '[ "$(grep -cE "2 $venv/.*/site-packages/tutti/__init__.py" "$work/out")" = 2 ]' quiet
  if ls "$BUILD"/c10d/_c10d*.so >/dev/null 2>&1; then
    ok "and the backend of PyTorch that was built" plainly "$venv/bin/python3" -c \
      'import tutti.torch as t; assert t.COMPILED and "venv" in t._c10d.__file__, t.WHY_PLAIN'
  else
    skip "and the backend of PyTorch that was built" "none was; make torch builds it"
  fi
  ok "the tree is as it was" '[' -z "$(git status --porcelain -- . 2>/dev/null | grep -E 'egg-info|__pycache__')" ']'
}
typed() {
  $python -m mypy --version >/dev/null 2>&1 || { skip "types" "no mypy here" && return; }
  ok "mypy accepts the package, and finds the errors of a wrong program" eval \
    '$python -m mypy --strict --cache-dir "$work/mypy" python/tutti python/backend.py python/sources.py $here/typed.py >"$work/out" 2>"$work/err"'
}
typed
[ -z "$all" ] || installed
ok "no process is left" gone
exit $bad
