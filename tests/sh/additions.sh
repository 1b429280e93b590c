#!/usr/bin/env bash
# additions.sh - what CONTRIBUTING.md says of additions holds: a family, an operation, a type, a topology, a collective and an
# extension are added to a copy of the tree at the places that it names, the copy is built, and they work. SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"
tar -cf - --exclude=./.git --exclude=./build --exclude='./build-*' --exclude=./dist . | tar -xf - -C "$work"
cd "$work" || exit 1
rc=0
{ $python tests/support/additions.py && env -u MAKEFLAGS -u MAKELEVEL make -s -j2 CFLAGS=-O0 BUILD=b all && cc -Iinclude adds.c b/libtutti.a -pthread -lm -o adds; } >out 2>err || rc=$?
ok "the copy is built, at the places that CONTRIBUTING.md names" all "status 0"
[ $rc = 0 ] || sed 's/^/# /' err | tail -20
TUTTI=$work/b/tutti
for p in 1 2 3 5; do
  TUTTI_ALGO= job run -n $p ./adds
  ok "a type, an operation and a collective, $p ranks" all "status 0" '[ "$(grep -c "^right" out)" = '$p' ]'
done
for p in 1 2 7 33; do
  job plan check row -n $p
  ok "a family is proven, $p ranks" all "status 0"
done
TUTTI_ALGO=row TUTTI_EXPLAIN=1 job run -n 4 ./adds
ok "... runs, and is explained" all "status 0" "grep -q 'row' err"
job plan draw row -n 4
ok "... is drawn" all "status 0" "grep -q . out"
job plan price row -n 64 --size 1MiB --network alpha=1us,beta=1e-9
ok "... and estimated" all "status 0" "grep -q row out"
job plan check 'blueconnect(node:4 core:4,stages=doubling/row)' -n 16
ok "... and is a stage of a composition" all "status 0"
priced() { # PATHS
  job plan price two-level -n 16 --levels 'node:4 core:4' --size 64MiB --network "alpha=1us,beta=1e-9,node.paths=$1" --format csv
}
priced 1 && one=$(tail -n 1 out)
priced 4096
ok "a topology: all domains share a link" all "status 0" '[ "$(tail -n 1 out)" != "$one" ]'
ROWS=1 TUTTI_EXPLAIN=1 job run -n 3 ./adds
ok "an extension plans the calls, and explains it" all "status 0" '[ "$(grep -c "^right" out)" = 3 ]' "grep -q 'rows takes it' err"
TUTTI_EXPLAIN=1 job run -n 3 ./adds
ok "... if it is wanted" all "status 0" "! grep -q 'rows takes it' err"
echo "1..16"
exit $bad
