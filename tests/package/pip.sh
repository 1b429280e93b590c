#!/usr/bin/env bash
# pip.sh - installs the wheel and the source tarball with pip into separate environments, without a network.
#
#   DIST=build/dist tests/package/pip.sh
#
# Needs python3-venv; numpy for the README's program; a C compiler and make for the tarball.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"
unset TUTTI_LIBRARY PYTHONPATH PYTHONDONTWRITEBYTECODE LD_LIBRARY_PATH
dist=$(readlink -f "${DIST:-$BUILD/dist}")
version=$(awk '/define TUTTI_VERSION_(MAJOR|MINOR|PATCH)/ {printf s $3; s = "."}' include/tutti.h)
awk '/^```python$/ {in_it = 1; next} /^```$/ && in_it {exit} in_it' README.md >"$work/train.py"
runs() { rc=0 && (cd "$work" && TOKEN=$token timeout -k 5 600 "$@") >"$work/out" 2>"$work/err" || rc=$?; }

# installs NAME FILE: into an environment that has only pip, and into one that sees the system's numpy.
installs() {
  local name=$1 file=$2 venv
  [ -e "$file" ] || { ok "$name is there" false && return; }
  venv=$work/bare
  rm -rf "$work/bare" "$work/numpy" "$work/wheel"
  runs $python -m venv "$venv"
  runs "$venv/bin/pip" wheel --no-index -w "$work/wheel" "$file" # compiled once
  file=$(echo "$work"/wheel/*.whl)
  runs "$venv/bin/pip" install --no-index "$file"
  ok "$name: pip installs it into a bare environment" status 0
  runs "$venv/bin/tutti" run -n 2 "$venv/bin/python3" -c 'import tutti; print(tutti.allreduce(2.5), tutti.__file__)'
  ok "$name: ranks sum there, without another package" all 'status 0' \
    '[ "$(grep -c "^5.0 $venv/" "$work/out")" = 2 ]' quiet
  runs "$venv/bin/python3" -m tutti --version
  ok "$name: the command" all 'status 0' 'out_is "tutti $version"'
  for family in ompi mpich abi; do
    runs "$venv/bin/tutti" mpi --family $family true
    ok "$name: the drop-in for $family is found, and loaded without an MPI" all 'status 0' quiet
  done
  TUTTI_NODES=0,1 runs "$venv/bin/tutti" run --hosts localhost:1,localhost:1 "$venv/bin/python3" -c 'import tutti; print(tutti.allreduce(1))'
  ok "$name: ranks without common memory sum over TCP" all 'status 0' '[ "$(grep -cx 2 "$work/out")" = 2 ]' quiet
  runs cat "$venv"/lib/python3*/site-packages/tutti/torch/left_out.txt
  ok "$name: one line says why PyTorch's compiled backend is left out" all 'status 0' '[ "$(wc -l <"$work/out")" = 1 ]'
  runs "$venv/bin/pip" uninstall -qy tutti
  ok "$name: and pip takes all of it away" all 'status 0' '[ -z "$(find "$venv" -name "*tutti*")" ]'
  $python -c 'import numpy' 2>/dev/null || { skip "$name: the README's program" "no numpy here" && return; }
  venv=$work/numpy
  runs $python -m venv --system-site-packages "$venv"
  runs "$venv/bin/pip" install --no-index "$file"
  runs "$venv/bin/tutti" run -n 4 "$venv/bin/python3" train.py
  ok "$name: the README's program" all 'status 0' 'out_is "[1.5 1.5 1.5]"' quiet
}
installs "the wheel" "$(echo "$dist/tutti-$version"-py3-none-manylinux_2_28_*.whl)"
if command -v make >/dev/null && command -v gcc >/dev/null; then
  TORCH=no installs "the tarball" "$dist/tutti-$version.tar.gz"
else
  skip "the tarball" "no make or no gcc here" 10
fi
ok "the wheel keeps what its name promises" all \
  '$python tools/check_wheel.py "$dist/tutti-$version"-py3-none-manylinux_2_28_*.whl >"$work/out"'
# With a fixed SOURCE_DATE_EPOCH, the same tree gives the same bytes.
export SOURCE_DATE_EPOCH=1700000000
for copy in one two; do mkdir "$work/$copy" && $python python/backend.py "$work/$copy" >/dev/null; done
ok "make dist writes the same bytes twice" cmp "$work/one/tutti-$version.tar.gz" "$work/two/tutti-$version.tar.gz"
mkdir "$work/again" && tar -xzf "$work/one/tutti-$version.tar.gz" -C "$work/again"
$python "$work/again/tutti-$version/python/backend.py" "$work/again" >/dev/null
ok "the unpacked tree gives the same archive, without git" cmp "$work/one/tutti-$version.tar.gz" "$work/again/tutti-$version.tar.gz"
sed -i 's|^HOMEPAGE=.*|HOMEPAGE=https://tutti.example|; s|^CONTACT=.*|CONTACT=a@tutti.example|' "$work/again/tutti-$version/release.conf"
$python "$work/again/tutti-$version/python/backend.py" "$work/again" >/dev/null
tar -xzOf "$work/again/tutti-$version.tar.gz" "tutti-$version/PKG-INFO" >"$work/out"
ok "the metadata name the homepage that release.conf sets" all 'has "^Project-URL: Homepage, https://tutti.example$"' \
  'has "^Maintainer-email: a@tutti.example$"'
exit $bad
