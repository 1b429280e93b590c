#!/usr/bin/env bash
# mpi4py.sh - mpi4py's own tests with tutti's library preloaded. WHOLE=1 (as in `make
# check-dropin`): all classes on 1, 2, 3 and 5 ranks of each MPI. Otherwise the nonblocking tests on
# 2 ranks of the MPI of the package.
#
# `make check` also covers the errors that these tests found (tests/dropin/drop_pending.c).
# The tests come with mpi4py's sources, not with the package. MPI4PY=FOLDER names the folder of the
# sources. With WHOLE=1 apt-get fetches them, using separate package lists, so that this machine's lists
# do not change. The test builds the module for the MPI that the package does not support. Tests
# with a missing prerequisite are skipped.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"
. "${BASH_SOURCE%/*}/../support/mpi.bash"
. "${BASH_SOURCE%/*}/../support/sources.bash"
unset TUTTI_REPORT TUTTI_DROPIN TUTTI_LIB LD_PRELOAD
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 TMPDIR=$work
n=0 report=$work/report.json
case $BUILD in /*) ;; *) BUILD=$PWD/$BUILD ;; esac

mpi_of() { # FOLDER of the module: ompi, mpich, or nothing
  case $(ldd "$1"/mpi4py/MPI.*.so 2>/dev/null) in *libmpi.so.40*) echo ompi ;; *libmpich.so.12*) echo mpich ;; esac
}
version_of() { sed -n "s/^__version__ = '\(.*\)'/\1/p" "$1/mpi4py/__init__.py" 2>/dev/null; }
installed() {
  /usr/bin/python3 -c 'import importlib.util as u, numpy; print(u.find_spec("mpi4py").submodule_search_locations[0])' 2>/dev/null | sed 's,/mpi4py$,,'
}
# A copy of the sources in $sources, where the module is built. $why: the reason if they are
# missing.
find_sources() {
  sources=$work/sources why="MPI4PY=FOLDER says where mpi4py's sources are"
  if [ -n "${MPI4PY:-}" ]; then
    cp -r "$MPI4PY" "$sources"
    why="$MPI4PY has no test/runtests.py"
  elif [ -n "${WHOLE:-}" ]; then
    fetched mpi4py || why="$why; MPI4PY=FOLDER says where mpi4py's sources are"
  fi
  [ -e "$sources/test/runtests.py" ]
}
# Builds the module for an MPI; its folder is in $module.
built() { # MPI
  (cd "$sources" && rm -rf build && timeout 600 /usr/bin/python3 setup.py build "--mpicc=mpicc.${1/ompi/openmpi}") \
    >"$work/out" 2>"$work/err" </dev/null
  module=$(ls -d "$sources"/build/lib* 2>/dev/null)
  [ "$(mpi_of "${module:-/none}")" = "$1" ]
}

# play MPI RANKS [OPTIONS]: runs the tests, except those that start processes (MPI_Comm_spawn) or
# connect through ports.
play() {
  local mpi=$1 ranks=$2
  shift 2
  rc=0
  rm -f "$report"
  { (cd "$sources/test" && PYTHONPATH=$module TOKEN=$token LD_PRELOAD=${yields[$mpi]} timeout -k 5 "${TEST_RANKS_SECONDS:-2400}" \
    "$TUTTI" mpi "--report=$report" "$(starter "$mpi")" -n "$ranks" /usr/bin/python3 runtests.py \
    --no-builddir -q "$@" -e spawn -e dynproc >"$work/out" 2>"$work/err" </dev/null) || rc=$?; } 2>/dev/null
  local some
  some=$(sed -n 's/^Ran \([0-9]*\) tests.*/\1/p' "$work/err" | head -1)
  ok "mpi4py's ${some:-?} tests, $mpi, $ranks ranks" all 'status 0' \
    "[ \"\$(grep -o OK \"\$work/err\" | wc -l)\" = $ranks ]" "[ $ranks = 1 ] || grep -q MPI_Iallgatherv '$report'"
  n=$((n + 1))
}

if ! packaged=$(installed) || [ -z "$packaged" ]; then
  skip "mpi4py's tests" "no mpi4py, or no numpy here"
  n=1
elif ! find_sources; then
  skip "mpi4py's tests" "no sources of mpi4py here: $why"
  n=1
elif [ -z "${WHOLE:-}" ]; then
  module=$packaged mpi=$(mpi_of "$packaged")
  if [ -z "$mpi" ] || ! has_starter "$mpi" || [ "$(version_of "$module")" != "$(version_of "$sources/src")" ]; then
    skip "mpi4py's non-blocking tests" "the package and the sources have different versions, or its MPI cannot start programs"
    n=$((n + 1))
  else
    play "$mpi" 2 -i cco_nb_vec -i cco_nb_buf
  fi
else
  for mpi in ompi mpich; do
    module=$packaged
    if ! has_starter $mpi; then
      skip "mpi4py's tests, $mpi" "no $(starter $mpi) here"
    elif [ "$(mpi_of "$module") $(version_of "$module")" != "$mpi $(version_of "$sources/src")" ] && ! built $mpi; then
      skip "mpi4py's tests, $mpi" "it could not be built for it"
    else
      for p in 1 2 3 5; do play $mpi $p; done
      continue
    fi
    n=$((n + 1))
  done
fi
ok "no process is left" gone
echo "1..$((n + 1))"
exit $bad
