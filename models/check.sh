#!/usr/bin/env bash
# check.sh - checks the models of this folder, and that each of their mutants is found; TAP.
#
#   models/check.sh [NAME ...]     (`make models`)
#
# A model is compiled once; its mutants are the numbers of the line "Mutants" of its first
# comment, given as MUTANT. Checks assertions, and that no process waits for ever.
# SPDX-License-Identifier: BSD-3-Clause
set -u
here=$(cd "$(dirname "$0")" && pwd)
command -v spin >/dev/null || {
  echo "1..0 # SKIP spin is not installed"
  exit 77
}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
bad=0
[ $# -gt 0 ] || set -- $(cd "$here" && ls *.pml | sed 's/\.pml$//')

# Does it find something? Prints its states, or what it found.
found() {
  (cd "$work/$1" && MUTANT=$2 timeout 120 ./pan -m200000 -w20 -n -c1 2>&1) >"$work/out"
  grep -qE '^pan:1: (assertion violated|invalid end state)' "$work/out" && return 0
  grep -q 'errors: 0' "$work/out" && ! grep -qE 'max search depth too small|out of memory' "$work/out" && return 1
  return 2
}
states() { sed -n 's/^ *\([0-9]*\) states, stored.*/\1 states/p' "$work/out"; }

for name in "$@"; do
  mkdir -p "$work/$name"
  if ! (cd "$work/$name" && spin -a "$here/$name.pml") >"$work/log" 2>&1 ||
    ! (cd "$work/$name" && ${CC:-cc} -O1 -w -DSAFETY -DVECTORSZ=1024 -DNOCLAIM -o pan pan.c) >>"$work/log" 2>&1; then
    echo "not ok - $name can be compiled"
    sed 's/^/# /' "$work/log"
    bad=1
    continue
  fi
  found "$name" 0
  if [ $? = 1 ]; then
    echo "ok - $name holds, $(states)"
  else
    echo "not ok - $name holds"
    sed 's/^/# /' "$work/out"
    bad=1
  fi
  for n in $(sed -n '/^ \* Mutants/,/SPDX/p' "$here/$name.pml" | grep -oE '(^|[^0-9a-z])[1-9] ' | tr -dc '0-9\n'); do
    if found "$name" "$n"; then
      echo "ok - mutant $n of $name is found: $(grep -m1 -oE 'assertion violated|invalid end state' "$work/out")"
    else
      echo "not ok - mutant $n of $name is found"
      sed 's/^/# /' "$work/out" | head -30
      bad=1
    fi
  done
done
exit $bad
