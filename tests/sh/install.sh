# install.sh - `make install`, and the use of the installation: the README's program
# compiled with pkg-config, shared and static, and with CMake; and the MPI example
# in the same ways for each installed MPI.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"
CC=${CC:-gcc}
dest=$work/dest prefix=/opt/tutti
there=$dest$prefix
# make ARGS...: quiet, and independent of the make that runs this test.
quiet_make() { env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make -s BUILD="$BUILD" CC="$CC" "$@" >"$work/out" 2>"$work/err"; }
config() { PKG_CONFIG_PATH=$there/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$dest pkg-config "$@"; }

ok "make install" quiet_make install PREFIX=$prefix DESTDIR="$dest"
files="bin/tutti include/tutti.h include/tutti_bucket.h include/tutti_fault.h include/tutti_interrupt.h include/tutti_message.h
  include/tutti_device.h include/tutti_mpi.h include/tutti_net.h include/tutti_plan.h include/tutti_call.h lib/libtutti.a lib/libtutti.so lib/libtutti_tcp.so.0 lib/pkgconfig/tutti.pc
  lib/cmake/tutti/tutti-config.cmake lib/cmake/tutti/tutti-config-version.cmake
  share/man/man1/tutti.1 share/man/man3/tutti.3
  share/tutti/profiles/infiniband.profile share/tutti/profiles/leaf-spine.profile share/tutti/profiles/slingshot.profile"
for f in $files; do [ -e "$there/$f" ] || echo "$f"; done >"$work/missing"
ok "all files are installed" '[' ! -s "$work/missing" ']'
ok "PyTorch finds the backend by its entry point" eval 'grep -qx "tutti = tutti.torch:register" \
  "$there"/lib/python3*/*-packages/tutti-*.dist-info/entry_points.txt'
version=$("$there/bin/tutti" --version | sed 's/tutti //')
ok "the installed command runs" '[' -n "$version" ']'
soname=$(objdump -p "$there/lib/libtutti.so" | awk '/SONAME/ {print $2}')
ok "the SONAME is a link to the library" '[' -e "$there/lib/$soname" ']'
ok "pkg-config knows the version" '[' "$(config --modversion tutti)" = "$version" ']'

awk '/^```c$/ {in_it = 1; next} /^```$/ && in_it {exit} in_it' README.md >"$work/sum.c"
lines=$(grep -c . "$work/sum.c")
ok "the README has a program of about 15 lines" '[' "$lines" -ge 10 -a "$lines" -le 16 ']'
want="4 ranks; their numbers add up to 6"
run_sum() { # run_sum NAME: the program prints what the README shows
  rc=0
  TOKEN=$token LD_LIBRARY_PATH=$there/lib timeout 30 "$there/bin/tutti" run -n 4 "$work/$1" \
    >"$work/out" 2>"$work/err" || rc=$?
  status 0 && out_is "$want"
}
compile() { "$@" >"$work/out" 2>"$work/err"; }
# shellcheck disable=SC2046
ok "it compiles with pkg-config" compile "$CC" -Wall -Wextra -Werror "$work/sum.c" \
  $(config --cflags --libs tutti) -o "$work/shared"
ok "and says what the README says" run_sum shared
ok "and is linked to the shared library" eval 'objdump -p "$work/shared" | grep -q "NEEDED.*$soname"'
# shellcheck disable=SC2046
ok "it compiles with the static library" compile "$CC" "$work/sum.c" $(config --cflags tutti) \
  "$there/lib/libtutti.a" -pthread -o "$work/static"
ok "and says the same" run_sum static
ok "the README says what it prints" grep -qF "$want" README.md

if command -v cmake >/dev/null; then
  mkdir "$work/cmake" && cp "$work/sum.c" "$work/cmake"
  cat >"$work/cmake/CMakeLists.txt" <<EOC
cmake_minimum_required(VERSION 3.13)
project(sum C)
find_package(tutti ${version%.*} REQUIRED)
add_executable(sum_shared sum.c)
target_link_libraries(sum_shared tutti::tutti)
add_executable(sum_static sum.c)
target_link_libraries(sum_static tutti::static)
EOC
  ok "CMake finds it and builds" eval '(cd "$work/cmake" && env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS sh -c \
    "cmake -DCMAKE_PREFIX_PATH=\"$there\" . && make") >"$work/out" 2>"$work/err"'
  ok "shared, with CMake" run_sum cmake/sum_shared
  ok "static, with CMake" run_sum cmake/sum_static
  sed -i "s/tutti ${version%.*}/tutti 7.0/" "$work/cmake/CMakeLists.txt"
  ok "CMake refuses a version that is not installed" eval \
    '! cmake -DCMAKE_PREFIX_PATH="$there" -S "$work/cmake" -B "$work/cmake2" >/dev/null 2>"$work/err"'
else
  skip "CMake" "no cmake here" 4
fi
# Over MPI: hello_mpi.c, compiled with each MPI's mpicc, started by its mpirun and by `tutti run`.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
open_mpi_in "$work"
said() { # said COMMAND ...: two ranks run, and each prints the sum
  TOKEN=$token LD_LIBRARY_PATH=$there/lib timeout 60 "$@" >"$work/out" 2>"$work/err" &&
    [ "$(grep -cE "^rank [01] of 2 on .*: the ranks' sum is 1, by " "$work/out")" = 2 ]
}
over() { # over MPI NAME: Debian's name of the MPI, and tutti's
  local mpi=$1 tag=$2 lib=$there/lib/libtutti_mpi_$2 f
  if ! command -v "mpicc.$mpi" >/dev/null || ! command -v "mpirun.$mpi" >/dev/null; then
    skip "over $mpi" "no mpicc.$mpi or no mpirun.$mpi here" 9
    return
  fi
  for f in "$lib.so" "$lib.so.0" "$lib.a" "$there/lib/pkgconfig/tutti-$tag.pc" "$there/lib/libtutti_pmpi_$tag.so"; do
    [ -e "$f" ] || echo "$f"
  done >"$work/missing"
  ok "$mpi: its libraries are installed" '[' ! -s "$work/missing" ']'
  # shellcheck disable=SC2046
  ok "$mpi: the example compiles with pkg-config" compile "mpicc.$mpi" -Wall -Wextra examples/hello_mpi.c \
    $(config --cflags --libs "tutti-$tag") -o "$work/$tag"
  ok "$mpi: and is linked to the shared library for it" eval \
    'objdump -p "$work/$tag" | grep -q "NEEDED.*libtutti_mpi_$tag.so.0"'
  ok "$mpi: mpirun starts it" said "mpirun.$mpi" -n 2 "$work/$tag"
  ok "$mpi: tutti run starts the same program" said "$there/bin/tutti" run -n 2 "$work/$tag"
  # shellcheck disable=SC2046
  ok "$mpi: it compiles with the static libraries" compile "mpicc.$mpi" examples/hello_mpi.c \
    $(config --cflags tutti) "$lib.a" "$there/lib/libtutti.a" \
    $(config --static --libs-only-l "tutti-$tag" | tr ' ' '\n' | grep -v tutti) -pthread -o "$work/$tag"
  ok "$mpi: and runs" said "mpirun.$mpi" -n 2 "$work/$tag"
  command -v cmake >/dev/null || { skip "$mpi: CMake" "no cmake here" 2; return; }
  local folder=$work/cmake_$tag
  mkdir "$folder" && cp examples/hello_mpi.c "$folder"
  cat >"$folder/CMakeLists.txt" <<EOC
cmake_minimum_required(VERSION 3.13)
project(hello C)
find_package(tutti REQUIRED)
add_executable(hello hello_mpi.c)
target_link_libraries(hello tutti::mpi_$tag)
EOC
  ok "$mpi: CMake finds it and builds" eval '(cd "$folder" && env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS sh -c \
    "cmake -DCMAKE_PREFIX_PATH=\"$there\" -DCMAKE_C_COMPILER=mpicc.$mpi . && make") >"$work/out" 2>"$work/err"'
  ok "$mpi: and it runs" said "mpirun.$mpi" -n 2 "$folder/hello"
}
over openmpi ompi
over mpich mpich
# For the standard ABI of MPI: with the header and the MPI of tests/abi.
for f in libtutti_mpi_abi.so libtutti_mpi_abi.so.0 libtutti_mpi_abi.a pkgconfig/tutti-abi.pc libtutti_pmpi_abi.so; do
  [ -e "$there/lib/$f" ] || echo "$f"
done >"$work/missing"
ok "the standard ABI: its libraries are installed" '[' ! -s "$work/missing" ']'
mpi_abi=$(realpath -m "$BUILD/tests/abi/libmpi_abi.so.0")
if [ -e "$mpi_abi" ]; then
  # shellcheck disable=SC2046
  ok "the standard ABI: the example compiles with pkg-config" compile "$CC" -Wall -Wextra -Impi/abi examples/hello_mpi.c \
    $(config --cflags --libs tutti-abi) "$mpi_abi" -Wl,-rpath,"${mpi_abi%/*}" -o "$work/abi"
  ok "the standard ABI: an mpirun starts it" said mpirun.mpich -n 2 "$work/abi"
else
  skip "the standard ABI: a program" "the tests were built without MPICH" 2
fi

ok "make uninstall" quiet_make uninstall PREFIX=$prefix DESTDIR="$dest"
ok "leaves no file" '[' -z "$(find "$dest" ! -type d)" ']'

# As in a distribution: custom folders, explicit switches, nothing installed on this system.
where="PREFIX=/usr LIBDIR=/usr/lib/x86_64-linux-gnu INCDIR=/usr/include/tutti-0"
# shellcheck disable=SC2086
ok "a distribution has its own folders" quiet_make install $where DESTDIR="$dest"
lib=$dest/usr/lib/x86_64-linux-gnu
ok "pkg-config gives them" all '[ "$(pkg-config --variable=libdir "$lib/pkgconfig/tutti.pc")" = /usr/lib/x86_64-linux-gnu ]' \
  'pkg-config --cflags "$lib/pkgconfig/tutti.pc" | grep -qF -- -I/usr/include/tutti-0'
if command -v cmake >/dev/null; then
  mkdir "$work/folders" && cp "$work/sum.c" "$work/folders"
  sed 's/find_package.*/find_package(tutti REQUIRED)/' "$work/cmake/CMakeLists.txt" >"$work/folders/CMakeLists.txt"
  ok "CMake finds them, and builds" eval '(cd "$work/folders" && env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS sh -c \
    "cmake -Dtutti_DIR=\"$lib/cmake/tutti\" . && make") >"$work/out" 2>"$work/err"'
else
  skip "CMake with other folders" "no cmake here"
fi
# shellcheck disable=SC2086
ok "and takes all of it away" all 'quiet_make uninstall $where DESTDIR="$dest"' '[ -z "$(find "$dest" ! -type d)" ]'
for l in $(cd "$BUILD" && ls libtutti_*.so.0); do
  ok "make install builds $l where it is missing" all 'quiet_make -n install BUILD="$work/none"' "grep -qF -- '-o $work/none/$l' '$work/out'"
done
ok "OMPI=no MPICH=no UCX=no PMIX=no TLS=no TORCH=no CUDA=no leave them out" all \
  'quiet_make -n install OMPI=no MPICH=no UCX=no PMIX=no TLS=no TORCH=no CUDA=no PREFIX=$prefix' \
  '! grep -qE "libtutti_(mpi_|pmpi_)?(ompi|mpich|ucx|pmix|tls|cuda)|for l in tcp +[a-z]|for m in (ompi|mpich)|_c10d\.|_c10d/" "$work/out"'
ok "UCX=yes without UCX is an error that says so" all '! quiet_make -n UCX=yes UCX_HEADER=/no/such/ucp.h' \
  'grep -q "UCX=yes, but libucx-dev is not installed" "$work/err"'
mkdir "$work/bin" && printf '#!/bin/sh\n' >"$work/bin/dpkg-query" && printf '#!/bin/sh\ntouch "%s"\n' "$work/asked" >"$work/bin/apt-get"
chmod +x "$work/bin/dpkg-query" "$work/bin/apt-get"
for how in DEPS=no DEB_HOST_ARCH=amd64 RPM_BUILD_ROOT=/tmp NIX_BUILD_TOP=/tmp; do
  ok "$how: nothing is installed, and the missing packages are named" all \
    'env "$how" PATH="$work/bin:$PATH" tools/deps.sh models >"$work/out" 2>"$work/err"' \
    'grep -q "continuing without these packages:.* spin" "$work/err"' '[ ! -e "$work/asked" ]'
done
exit $bad
