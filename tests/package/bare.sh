#!/usr/bin/env bash
# bare.sh - installs the output of `make dist wheel deb` in a minimal Debian: the wheel and the tarball with pip, then the
# packages with `apt install ./*.deb`, and runs the README's examples on them. As root.
#
#   tests/package/bare.sh build/dist build/deb
#
# Variables: see tests/support/bare.bash. SPDX-License-Identifier: BSD-3-Clause
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
# The packages that the examples need, except tutti's own.
silently "$apt $(sed -n 's/^Depends://p' debian/tests/control | tr ', ' '\n\n' | grep -vE '^((lib|python3-)?tutti|$)' | sort -u | tr '\n' ' ')"
inside "tests/run tests/package/readme.sh" || rc=1
exit $rc
