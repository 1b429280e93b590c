#!/bin/sh
# fill_recipes.sh - fills in the recipes for other package managers; recipes/ has their texts with @NAMES@.
#
#   tools/fill_recipes.sh build/dist/tutti-0.1.0.tar.gz build/recipes      (make recipes)
#
# @VERSION@ is that of the tarball, @SHA256@ its checksum; @HOMEPAGE@ and @DOWNLOADS@ come from the environment, or from
# release.conf. VERSION in the name of a file becomes the version. SPDX-License-Identifier: BSD-3-Clause
set -eu
tarball=$1 out=$2
version=$(basename "$tarball" .tar.gz)
version=${version#tutti-}
sum=$(sha256sum "$tarball" | cut -d ' ' -f 1)
set_homepage=${HOMEPAGE:-} set_downloads=${DOWNLOADS:-}
. ./release.conf
HOMEPAGE=${set_homepage:-$HOMEPAGE} DOWNLOADS=${set_downloads:-$DOWNLOADS}
rm -rf "$out"
for file in $(find recipes -type f ! -name Containerfile | sort); do
  to=$out/$(echo "${file#recipes/}" | sed "s/VERSION/$version/")
  mkdir -p "${to%/*}"
  sed -e "s|@VERSION@|$version|g; s|@SHA256@|$sum|g; s|@HOMEPAGE@|$HOMEPAGE|g; s|@DOWNLOADS@|$DOWNLOADS|g" "$file" >"$to"
done
if grep -rnE '@[A-Z0-9]+@' "$out" >&2; then echo "tutti: a recipe has a name that is not filled in; see above" >&2 && exit 1; fi
case "$HOMEPAGE $DOWNLOADS" in
  *example.org*) echo "tutti: $out names no place on the net: release.conf is not set" >&2 ;;
esac
echo "$out"
