# torch.bash - for shell tests of tutti.torch: PyTorch's Python, and which backends there are. Ends the test with a skip if
# PyTorch is missing. Sourced after tap.bash, never run.
# SPDX-License-Identifier: BSD-3-Clause
python=${PYTHON3:-/usr/bin/python3}
case $BUILD in /*) ;; *) BUILD=$PWD/$BUILD ;; esac
export TUTTI_LIBRARY=$BUILD/libtutti.so.0 PYTHONPATH=$PWD/python PYTHONDONTWRITEBYTECODE=1 OPENBLAS_NUM_THREADS=1 \
  OMP_NUM_THREADS=1 GLOG_minloglevel=2 PYTHONWARNINGS=ignore
leave() {
  echo "1..0 # SKIP $1"
  exit 77
}
[ -x "$python" ] || leave "no $python here"
$python -c 'import torch' 2>/dev/null || leave "no PyTorch here; make check-torch installs it"
if ls "$BUILD/c10d/_c10d_$($python -c 'import torch; print("_".join(torch.__version__.split(".")[:2]))')".*so >/dev/null 2>&1; then kinds="compiled python"; else kinds=python; fi

# Ends the test if the library has one of these sanitizers: asan|tsan|ubsan.
leave_if_guarded() {
  ! nm -D "$TUTTI_LIBRARY" | grep -qE "__($1)_" || leave "the library is built with a sanitizer that a Python without it cannot load"
}
# count PATTERN N: does the output have N lines with it?
count() { [ "$(grep -c "$1" "$work/out")" = "$2" ] || { sed 's/^/# /' "$work/out"; false; }; }

# forked RANKS [VARIABLE=VALUE...] SCRIPT [ARGUMENT...]: as `job`, on ranks that a single Python process forks for all jobs,
# without a launcher, which is cheaper. SCRIPT is a program in Python.
forked() {
  [ "${FORKED_PID:-}" ] || coproc FORKED { TOKEN=$token exec $python python/tests/forked.py "$work"; }
  echo "$1 TUTTI_TORCH=${TUTTI_TORCH:-} ${*:2}" >&"${FORKED[1]}"
  read -r rc <&"${FORKED[0]}" || rc=1
}
# It exits at the end of its input.
trap '[ -z "${FORKED_PID:-}" ] || { exec {FORKED[1]}>&- && wait "$FORKED_PID"; }; finish' EXIT
