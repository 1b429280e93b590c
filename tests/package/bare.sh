#!/usr/bin/env bash
# bare.sh - what `make dist wheel deb` wrote, installed in a bare Debian: the wheel and the tarball by pip, then the packages by
# `apt install ./*.deb`, and the README's examples on them. As root.
#
#   tests/package/bare.sh build/dist build/deb
#
# tests/support/bare.bash has the variables. SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/bare.bash"
dist=$(readlink -f "$1") deb=$(readlink -f "$2")
bare_begin "${deb%/*}/bare"
mkdir "$at/packages" && cp "$dist"/* "$deb"/*.deb "$at/packages"
tar -xzf "$dist"/tutti-*.tar.gz -C "$at/tutti" --strip-components=1
rc=0
silently "$apt python3 python3-venv python3-numpy"
silently "$apt gcc libc6-dev make binutils"
inside "tests/run tests/package/pip.sh" || rc=1
silently "$apt /packages/*.deb"
# What the examples need beside tutti's own packages.
silently "$apt $(sed -n 's/^Depends://p' debian/tests/control | tr ', ' '\n\n' | grep -vE '^((lib|python3-)?tutti|$)' | sort -u | tr '\n' ' ')"
inside "tests/run tests/package/readme.sh" || rc=1
exit $rc
