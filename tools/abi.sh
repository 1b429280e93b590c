#!/bin/sh
# abi.sh - has the library's binary interface changed since the last tag? SPDX-License-Identifier: BSD-3-Clause
#
#   BUILD=build tools/abi.sh [TAG]
#
# Builds the tag's library in a separate folder, and compares both libraries with abidiff and the public headers. Before 1.0 a
# new minor version may change the interface, so changes are only shown; docs/versions.md has the rules. Exit status 1 if the
# change is not allowed; 0 if it is, or if the repository has no tag yet.
set -eu
build=${BUILD:-build}
tag=${1:-$(git describe --tags --abbrev=0 --match 'v[0-9]*' HEAD 2>/dev/null || true)}
[ -n "$tag" ] || { echo "abi: no release tag (v0.1.0) exists yet; nothing to compare with"; exit 0; }
version() { awk '/define TUTTI_VERSION_(MAJOR|MINOR|PATCH)/ {printf s $3; s = "."}' "$1/include/tutti.h"; }
old=$(mktemp -d)
trap 'rm -rf "$old"' EXIT
git archive "$tag" | tar -x -C "$old"
env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make -s -C "$old" -j"$(nproc)" BUILD=build DEPS=no build/libtutti.so >/dev/null
before=$(version "$old") now=$(version .)
rc=0
abidiff --headers-dir1 "$old/include" --headers-dir2 include "$old/build/libtutti.so" "$build/libtutti.so" || rc=$?
[ $((rc & 3)) = 0 ] || { echo "abi: abidiff failed (status $rc)" >&2; exit 1; }
# Bits of the exit status: 4: the interface changed; 8: the change breaks programs.
if [ $((rc & 8)) = 0 ]; then
  echo "abi: programs of $tag ($before) run with this library ($now)"
elif [ "${before%.*}" != "${now%.*}" ] && [ "${before%%.*}" = 0 ]; then
  echo "abi: the interface differs from $tag ($before), which $now may do before 1.0"
elif [ "${before%%.*}" != "${now%%.*}" ]; then
  echo "abi: the interface differs from $tag ($before), which a new major version ($now) may do"
else
  echo "abi: programs of $tag ($before) do not run with this library, which is $now: see above, and docs/versions.md" >&2
  exit 1
fi
