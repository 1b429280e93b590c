#!/bin/sh
# deb.sh - makes Debian's packages of a tarball of the sources, and lets lintian judge them. SPDX-License-Identifier: BSD-3-Clause
#
#   tools/deb.sh build/dist/tutti-0.1.0.tar.gz build/deb
#
# Needs what debian/control names (tools/deps.sh package). Errors and warnings of lintian are failures.
set -eu
tarball=$(readlink -f "$1") deb=$2
name=$(basename "$tarball" .tar.gz)
rm -rf "$deb" && mkdir -p "$deb"
tar -xzf "$tarball" -C "$deb"
# The folder debian/ is no part of what Debian calls the original sources.
tar -C "$deb" --exclude="$name/debian" --sort=name --owner=0 --group=0 --numeric-owner -cf - "$name" | gzip -9n >"$deb/tutti_${name#tutti-}.orig.tar.gz"
cd "$deb/$name"
# Whom to write to, and where it is: from release.conf.
. ./release.conf
sed -i "s/tutti@example.org/$CONTACT/" debian/control debian/changelog
case $HOMEPAGE in *example.org*) ;; *) sed -i "s|^Standards-Version:|Homepage: $HOMEPAGE\n&|" debian/control ;; esac
# Nothing of this make's, nor of its caller's settings.
env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS -u BUILD -u CFLAGS -u LDFLAGS -u CPPFLAGS \
  dpkg-buildpackage --no-sign --build=full ${DPKG_JOBS:+-j$DPKG_JOBS} >../build.log 2>&1 || {
  tail -30 ../build.log >&2
  echo "tutti: dpkg-buildpackage failed; $deb/build.log says where" >&2
  exit 1
}
cd ..
if [ "$(id -u)" = 0 ]; then as_root=--allow-root; else as_root=; fi
lintian $as_root --fail-on error,warning --display-level '>=warning' ./*.changes
ls ./*.deb
