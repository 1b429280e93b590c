#!/usr/bin/env bash
# autopkg.sh - debian/tests, run by Debian's autopkgtest in a minimal system: each test has the packages that its Depends
# lists, with tutti's from build/deb. As root.
#
#   tests/package/autopkg.sh build/deb
#
# Variables: see tests/support/bare.bash. SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/bare.bash"
deb=$(readlink -f "$1")
command -v autopkgtest >/dev/null || { echo "ok - autopkgtest # SKIP no autopkgtest here; tools/deps.sh bare installs it" && exit 0; }
bare_begin "${deb%/*}/bare"
# shellcheck disable=SC2046
{ rc=0 && autopkgtest --quiet --timeout-test=1500 --summary-file="$at/summary" $(proxies | sed 's/^/--env=/') \
  "$deb"/tutti_*.changes -- chroot "$at"; } >"$at/log" 2>&1 || rc=$?
sed -nE 's/^(\S+) +PASS.*/ok - autopkgtest: \1/p; s/^(\S+) +(FAIL|SKIP|FLAKY)(.*)/not ok - autopkgtest: \1 (\2\3)/p' "$at/summary" || true
[ $rc = 0 ] || { tail -60 "$at/log" >&2; echo "not ok - autopkgtest ended with status $rc"; exit 1; }
