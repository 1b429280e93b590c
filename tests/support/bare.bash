# bare.bash - a minimal Debian in a folder, for the tests of tutti's packages. Sourced, as root, by a script that uses it.
#
#   bare_begin FOLDER      $at becomes a minimal system; FOLDER caches bare.tar and Debian's packages for later runs
#   inside COMMANDS        runs them there, in /tutti, with the proxy settings of this machine's environment only
#   silently COMMANDS      the same; shows the end of the output and ends the script, if they fail
#
# BARE=FILE.tar   the minimal system to start from; made by mmdebstrap if the file does not exist (SUITE=bookworm)
# KEEP=1          keeps the system, and prints its folder
# Its packages come from the same sources as this machine's. SPDX-License-Identifier: BSD-3-Clause
set -eu
[ "$(id -u)" = 0 ] || { echo "tutti: a bare system needs root" >&2; exit 1; }
if [ -z "${ALONE:-}" ]; then # other processes do not see these mounts, and the mounts end with this script
  export ALONE=1
  exec unshare --mount --propagation private "$0" "$@"
fi
apt="apt-get install -qq -y --no-install-recommends"

bare_begin() {
  local bare file
  mkdir -p "$1/archives"
  bare=${BARE:-$1/bare.tar}
  [ -e "$bare" ] || mmdebstrap --variant=minbase --include=ca-certificates "${SUITE:-bookworm}" "$bare"
  at=$(mktemp -d -p "${TMPDIR:-/var/tmp}")
  if [ -n "${KEEP:-}" ]; then echo "bare: $at"; else trap bare_end EXIT; fi
  chmod 755 "$at" && tar -C "$at" -xf "$bare"
  rm -f "$at"/etc/apt/sources.list
  for file in /etc/apt/sources.list* /etc/apt/apt.conf.d /etc/apt/auth.conf* /etc/resolv.conf /etc/hosts /etc/ssl/certs/ca-certificates.crt \
    /usr/share/keyrings /usr/local/share/ca-certificates; do
    [ ! -e "$file" ] || { mkdir -p "$at${file%/*}" && cp -rL --remove-destination "$file" "$at${file%/*}"; }
  done
  mount -t proc proc "$at/proc" && mount -t sysfs sys "$at/sys" && mount --rbind /dev "$at/dev"
  mount --bind "$1/archives" "$at/var/cache/apt/archives"
  mkdir "$at/tutti"
  silently "apt-get update -qq"
}
bare_end() {
  umount -R "$at/dev" "$at/proc" "$at/sys" "$at/var/cache/apt/archives" && rm -rf --one-file-system "$at"
}
inside() {
  # shellcheck disable=SC2046
  chroot "$at" env -i HOME=/root LANG=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    DEBIAN_FRONTEND=noninteractive DIST=/packages $(proxies) bash -c "cd /tutti && $*"
}
proxies() { env | grep -iE '^(https?|no|all)_proxy=' || true; }
silently() {
  inside "$@" >"$at/log" 2>&1 </dev/null || { tail -30 "$at/log" >&2; echo "tutti: failed in the bare system: $*" >&2; exit 1; }
}
