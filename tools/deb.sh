#!/bin/sh
# deb.sh - builds Debian packages from a source tarball, and checks them with lintian. SPDX-License-Identifier: BSD-3-Clause
#
#   tools/deb.sh build/dist/tutti-0.1.0.tar.gz build/deb
#
# Needs the build dependencies of debian/control (tools/deps.sh package). Errors and warnings of lintian are failures.
set -eu
tarball=$(readlink -f "$1") deb=$2
name=$(basename "$tarball" .tar.gz)
rm -rf "$deb" && mkdir -p "$deb"
tar -xzf "$tarball" -C "$deb"
# Debian's "original sources" do not contain the folder debian/.
tar -C "$deb" --exclude="$name/debian" --sort=name --owner=0 --group=0 --numeric-owner -cf - "$name" | gzip -9n >"$deb/tutti_${name#tutti-}.orig.tar.gz"
cd "$deb/$name"
# Maintainer and home page, from release.conf.
. ./release.conf
sed -i "s/tutti@example.org/$CONTACT/" debian/control debian/changelog
case $HOMEPAGE in *example.org*) ;; *) sed -i "s|^Standards-Version:|Homepage: $HOMEPAGE\n&|" debian/control ;; esac
# Without the settings of the calling make.
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
