#!/usr/bin/env bash
# bare.sh - what `make dist wheel deb` wrote, installed in a bare Debian: the wheel and the tarball by pip, then the packages by
# `apt install ./*.deb`, and the README's examples on them. As root.
#
#   tests/package/bare.sh build/dist build/deb
#
# BARE=FILE.tar   a bare system to start from; made by mmdebstrap, if it is not there (SUITE=bookworm)
# KEEP=1          the system stays, and its folder is printed
# Its packages come from where this machine's come. SPDX-License-Identifier: BSD-3-Clause
set -eu
[ "$(id -u)" = 0 ] || { echo "tutti: a bare system needs root" >&2; exit 1; }
if [ -z "${ALONE:-}" ]; then # other processes do not see these mounts, and the mounts end with this script
  export ALONE=1
  exec unshare --mount --propagation private "$0" "$@"
fi
dist=$(readlink -f "$1") deb=$(readlink -f "$2")
bare=${BARE:-${deb%/*}/bare.tar}
[ -e "$bare" ] || mmdebstrap --variant=minbase --include=ca-certificates "${SUITE:-bookworm}" "$bare"
at=$(mktemp -d -p "${TMPDIR:-/var/tmp}")
if [ -n "${KEEP:-}" ]; then echo "bare: $at"; else trap 'umount -R "$at/dev" "$at/proc" "$at/sys" && rm -rf --one-file-system "$at"' EXIT; fi
chmod 755 "$at" && tar -C "$at" -xf "$bare"
rm -f "$at"/etc/apt/sources.list
for file in /etc/apt/sources.list* /etc/apt/apt.conf.d /etc/apt/auth.conf* /etc/resolv.conf /etc/hosts /etc/ssl/certs/ca-certificates.crt \
  /usr/share/keyrings /usr/local/share/ca-certificates; do
  [ ! -e "$file" ] || { mkdir -p "$at${file%/*}" && cp -rL --remove-destination "$file" "$at${file%/*}"; }
done
mount -t proc proc "$at/proc" && mount -t sysfs sys "$at/sys" && mount --rbind /dev "$at/dev"
mkdir -p "$at/packages" "$at/tutti"
cp "$dist"/* "$deb"/*.deb "$at/packages"
tar -xzf "$dist"/tutti-*.tar.gz -C "$at/tutti" --strip-components=1
inside() {
  chroot "$at" env -i HOME=/root LANG=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    DEBIAN_FRONTEND=noninteractive DIST=/packages $(env | grep -iE '^(https?|no|all)_proxy=' || true) bash -c "cd /tutti && $*"
}
apt="apt-get install -qq -y --no-install-recommends"
silently() { inside "$@" >"$at/log" 2>&1 </dev/null || { tail -30 "$at/log" >&2; echo "tutti: failed in the bare system: $*" >&2; exit 1; }; }
rc=0
silently "apt-get update -qq && $apt python3 python3-venv python3-numpy"
silently "$apt gcc libc6-dev make binutils"
inside "tests/run tests/package/pip.sh" || rc=1
silently "$apt /packages/*.deb"
# What the examples need beside tutti's own packages.
silently "$apt $(sed -n 's/^Depends://p' debian/tests/control | tr ', ' '\n\n' | grep -vE '^((lib|python3-)?tutti|$)' | sort -u | tr '\n' ' ')"
inside "tests/run tests/package/readme.sh" || rc=1
exit $rc
