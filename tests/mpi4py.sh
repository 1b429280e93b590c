#!/usr/bin/env bash
# mpi4py.sh - mpi4py's own tests, all classes, with tutti's library preloaded: on 1, 2, 3 and 5 ranks.
#
# A part of `make check-dropin`; what they found is in `make check`, too (tests/dropin/drop_pending.c).
# They come with mpi4py's sources, not with the package: MPI4PY=FOLDER says where these are, or
# apt-get brings them, if it knows of sources. The test builds the module from these for the MPI
# that the package does not know. A test that lacks something is skipped. SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/tap.bash"
. "${BASH_SOURCE%/*}/mpi.bash"
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
# A copy of the sources, in $sources: the module is built there.
find_sources() {
  sources=$work/sources
  if [ -n "${MPI4PY:-}" ]; then
    cp -r "$MPI4PY" "$sources"
  else
    (cd "$work" && timeout 120 apt-get -qq source mpi4py && mv mpi4py-*/ sources) >"$work/out" 2>"$work/err" </dev/null
  fi
  [ -e "$sources/test/runtests.py" ]
}
# Builds the module for an MPI; its folder in $module.
built() { # MPI
  (cd "$sources" && rm -rf build && timeout 600 /usr/bin/python3 setup.py build "--mpicc=mpicc.${1/ompi/openmpi}") \
    >"$work/out" 2>"$work/err" </dev/null
  module=$(ls -d "$sources"/build/lib* 2>/dev/null)
  [ "$(mpi_of "${module:-/none}")" = "$1" ]
}

# whole MPI RANKS: not those that start processes of their own (MPI_Comm_spawn) or meet by ports.
whole() {
  rc=0
  rm -f "$report"
  { (cd "$sources/test" && PYTHONPATH=$module TOKEN=$token timeout -k 5 "${TEST_RANKS_SECONDS:-2400}" \
    "$TUTTI" mpi "--report=$report" "$(starter "$1")" -n "$2" /usr/bin/python3 runtests.py \
    --no-builddir -q -e spawn -e dynproc >"$work/out" 2>"$work/err" </dev/null) || rc=$?; } 2>/dev/null
  local some
  some=$(sed -n 's/^Ran \([0-9]*\) tests.*/\1/p' "$work/err" | head -1)
  ok "mpi4py's ${some:-?} tests, $1, $2 ranks" all 'status 0' \
    "[ \"\$(grep -c '^OK' \"\$work/err\")\" = $2 ]" "[ $2 = 1 ] || grep -q MPI_Iallgatherv '$report'"
  n=$((n + 1))
}

if ! packaged=$(installed) || [ -z "$packaged" ]; then
  skip "mpi4py's tests" "no mpi4py, or no numpy here"
elif ! find_sources; then
  skip "mpi4py's tests" "no sources of mpi4py here: MPI4PY=FOLDER says where they are"
else
  for mpi in ompi mpich; do
    module=$packaged
    if ! has_starter $mpi; then
      skip "mpi4py's tests, $mpi" "no $(starter $mpi) here"
    elif [ "$(mpi_of "$module") $(version_of "$module")" != "$mpi $(version_of "$sources/src")" ] && ! built $mpi; then
      skip "mpi4py's tests, $mpi" "it could not be built for it"
    else
      for p in 1 2 3 5; do whole $mpi $p; done
      continue
    fi
    n=$((n + 1))
  done
fi
ok "no process is left" gone
echo "1..$((n + 1))"
exit $bad
