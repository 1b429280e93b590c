#!/usr/bin/env bash
# build.sh - builds Debian's packages the way Debian does: in a minimal system with only the packages in debian/control, as an
# ordinary user, with `dpkg-buildpackage` and lintian (tools/deb.sh). As root.
#
#   tests/package/build.sh build/dist build/deb
#
# Variables: see tests/support/bare.bash. SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/bare.bash"
dist=$(readlink -f "$1") && mkdir -p "$2" && deb=$(readlink -f "$2")
bare_begin "${deb%/*}/bare"
tar -xzf "$dist"/tutti-*.tar.gz -C "$at/tutti" --strip-components=1
mkdir "$at/packages" && cp "$dist"/tutti-*.tar.gz "$at/packages"
silently "$apt build-essential lintian"
silently "apt-get build-dep -qq -y --no-install-recommends ./"
silently "useradd --create-home builder"
rc=0
inside "su builder -c 'DEB_BUILD_PROFILES=\"${DEB_BUILD_PROFILES:-}\" DPKG_JOBS=${DPKG_JOBS:-} tools/deb.sh /packages/*.tar.gz /home/builder/deb'" >"$at/log" 2>&1 || rc=$?
rm -rf "$deb" && cp -r "$at/home/builder/deb" "$deb" && chown -R 0:0 "$deb"
[ $rc = 0 ] || { tail -30 "$at/log" >&2; exit $rc; }
echo "ok - Debian's packages: built in a bare system by an ordinary user, and lintian has neither errors nor warnings"
