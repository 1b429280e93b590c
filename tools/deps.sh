#!/bin/sh
# deps.sh - installs the Debian packages that are missing, by name.
#
#   tools/deps.sh GROUP ...      groups: build check full python torch demo hosts bench sim soak stress arm fuzz models programs slurm search site browser wheel package bare abi
#
# If no package is missing, it does nothing and prints nothing. Works as root or with sudo. With DEPS=no, or during a
# package build (dpkg, rpm, nix), it installs nothing and prints the missing packages.
# On systems other than Debian and its derivatives it only checks that the needed
# commands exist. SPDX-License-Identifier: BSD-3-Clause
set -eu

packages() {
  case $1 in
    build) echo "gcc libc6-dev make binutils" ;;
    check) echo "gcc g++ libc6-dev make binutils pkg-config libcmocka-dev libopenmpi-dev openmpi-bin libpmix-dev libucx-dev libssl-dev python3 python3-numpy iproute2 util-linux" ;;
    full) echo "$(packages check) libmpich-dev mpich spin gfortran python3-mpi4py cmake gnuplot-nox libsimgrid-dev time mypy" ;;
    python) echo "gcc libc6-dev make binutils python3 python3-numpy python3-mpi4py libopenmpi-dev openmpi-bin python3-venv python3-pip mypy" ;;
    torch) echo "g++ python3 python3-dev python3-torch libtorch-dev pybind11-dev python3-numpy libopenblas0-pthread libucx-dev" ;;
    demo) echo "gcc libc6-dev make binutils dataset-fashion-mnist libopenblas-dev zlib1g-dev python3 gnuplot-nox" ;;
    hosts) echo "libucx-dev libssl-dev iproute2 util-linux" ;;
    bench) echo "g++ libopenmpi-dev openmpi-bin libmpich-dev mpich libgloo-dev libucx-dev libssl-dev python3 gnuplot-nox iproute2" ;;
    sim) echo "gcc g++ libc6-dev make binutils libsimgrid-dev python3 gnuplot-nox time" ;;
    programs) echo "libopenmpi-dev openmpi-bin libmpich-dev mpich python3 lammps hpcc python3-mpi4py python3-numpy mumps-test scalapack-mpi-test cython3 python3-dev dpkg-dev" ;;
    applications) echo "libopenmpi-dev openmpi-bin python3 python3-mpi4py quantum-espresso quantum-espresso-data scalapack-mpi-test" ;;
    soak) echo "libopenmpi-dev openmpi-bin libmpich-dev mpich python3" ;;
    stress) echo "stress-ng" ;;
    fuzz) echo "clang libclang-rt-dev make binutils" ;;
    models) echo "gcc libc6-dev spin" ;;
    slurm) echo "slurmctld slurmd slurm-client slurm-wlm-basic-plugins iproute2 util-linux python3 python3-numpy" ;;
    search) echo "cadical python3" ;;
    arm) echo "gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user" ;;
    site) echo "python3 mkdocs mkdocs-material python3-pymdownx doxygen" ;;
    browser) echo "chromium chromium-driver" ;;
    wheel) echo "gcc libc6-dev make binutils python3 libssl-dev" ;;
    package) echo "build-essential debhelper dh-python dpkg-dev lintian libcmocka-dev libmpich-dev mpich libopenmpi-dev openmpi-bin libpmix-dev libucx-dev libssl-dev pkg-config g++ python3-dev python3-torch libtorch-dev pybind11-dev" ;;
    bare) echo "mmdebstrap util-linux autopkgtest dpkg-dev" ;;
    abi) echo "abigail-tools git" ;;
    *)
      echo "deps.sh: no group '$1'; there are build, check, full, python, torch, demo, hosts, bench, sim, soak, stress, arm, fuzz, models, programs, applications, slurm, search, site, browser, wheel, package, bare and abi" >&2
      exit 2
      ;;
  esac
}

commands() {
  case $1 in
    check) echo "cc c++ make nm pkg-config python3 ip unshare" ;;
    full) echo "$(commands check) cmake gnuplot smpicc" ;;
    python) echo "cc make nm python3 mpirun.openmpi" ;;
    torch) echo "c++ python3 python3-config" ;;
    hosts) echo "ip tc unshare" ;;
    bench) echo "c++ mpicc.openmpi mpicc.mpich python3 ip" ;;
    sim) echo "cc make smpicc smpirun python3 gnuplot" ;;
    programs) echo "mpirun.openmpi mpirun.mpich python3 lmp hpcc" ;;
    soak) echo "cc make python3" ;;
    stress) echo "stress-ng" ;;
    fuzz) echo "clang make ar" ;;
    models) echo "cc spin" ;;
    slurm) echo "slurmctld slurmd srun ip unshare" ;;
    search) echo "cadical python3" ;;
    site) echo "python3 mkdocs doxygen" ;;
    browser) echo "chromium chromium-driver" ;;
    wheel) echo "cc make objdump python3" ;;
    package) echo "dpkg-buildpackage dh lintian" ;;
    bare) echo "mmdebstrap unshare" ;;
    abi) echo "abidiff git" ;;
    arm) echo "aarch64-linux-gnu-gcc aarch64-linux-gnu-ar qemu-aarch64" ;;
    *) echo "cc make ar" ;;
  esac
}

# An alternative package counts as well (pkgconf replaces pkg-config).
installed() {
  case $1 in pkg-config) set -- pkg-config pkgconf ;; esac
  for name in "$@"; do
    case $(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null) in installed) return 0 ;; esac
  done
  return 1
}

want= missing=
for group in "$@"; do want="$want $(packages "$group")"; done

if ! command -v dpkg-query >/dev/null; then
  for group in "$@"; do
    for c in $(commands "$group"); do
      command -v "$c" >/dev/null || missing="$missing $c"
    done
  done
  [ -z "$missing" ] && exit 0
  echo "tutti: these commands are missing:$missing" >&2
  echo "tutti: please install them, and what Debian calls:$want" >&2
  exit 1
fi

for p in $want; do
  installed "$p" || case " $missing " in *" $p "*) ;; *) missing="$missing $p" ;; esac
done
[ -z "$missing" ] && exit 0

# A package build has its own way to install dependencies.
for sign in "${DEPS-}" ${DEB_HOST_ARCH+no} ${RPM_BUILD_ROOT+no} ${NIX_BUILD_TOP+no}; do
  [ "$sign" = no ] || continue
  echo "tutti: continuing without these packages:$missing" >&2
  exit 0
done

if [ "$(id -u)" = 0 ]; then
  root=
elif command -v sudo >/dev/null; then
  root=sudo
else
  echo "tutti: packages are missing, and there is neither root nor sudo. As root, run" >&2
  echo "  apt-get install$missing" >&2
  exit 1
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
install() {
  $root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing \
    >"$log" 2>&1
}
echo "tutti: installing$missing"
if ! install; then
  # the package lists are missing or old
  if ! $root apt-get update >"$log" 2>&1 || ! install; then
    cat "$log" >&2
    echo "tutti: could not install$missing (see above); please install by hand" >&2
    exit 1
  fi
fi
