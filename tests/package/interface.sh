#!/usr/bin/env bash
# interface.sh - tools/abi.sh on a small library with tags: the changes that it allows and those that it refuses.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"
command -v abidiff >/dev/null || { skip "the binary interface" "no abidiff here; make check-abi installs it" 6 && exit 0; }
tool=$(readlink -f tools/abi.sh)
mkdir -p "$work/tree/include" && cd "$work/tree" || exit 1
# lib VERSION DECLARATIONS CODE: the tree has this library, and its build
lib() {
  IFS=. read -r major minor patch <<<"$1"
  printf '#define TUTTI_VERSION_MAJOR %s\n#define TUTTI_VERSION_MINOR %s\n#define TUTTI_VERSION_PATCH %s\n%s\n' \
    "$major" "$minor" "$patch" "$2" >include/tutti.h
  printf '#include "tutti.h"\n%s\n' "$3" >lib.c
  make -s build/libtutti.so
}
printf 'build/libtutti.so: lib.c include/tutti.h\n\tmkdir -p build && gcc -g -shared -fPIC -Iinclude lib.c -Wl,-soname,libtutti.so.0 -o $@\n' >Makefile
git init -q . && git config user.email a@example.org && git config user.name a
compares() { rc=0 && "$tool" >"$work/out" 2>"$work/err" || rc=$?; }

lib 0.1.0 'int tutti_sum(int a);' 'int tutti_sum(int a) { return a; }'
compares
ok "no tag: nothing to compare with" all 'status 0' 'has "no release tag"'
git add Makefile lib.c include && git commit -qm one && git tag v0.1.0
lib 0.1.1 'int tutti_sum(int a);' 'int tutti_sum(int a) { return a + 0; }'
compares
ok "the same interface" all 'status 0' 'has "programs of v0.1.0 .0.1.0. run with this library .0.1.1."'
lib 0.1.1 'int tutti_sum(int a); int tutti_more(void);' 'int tutti_sum(int a) { return a; } int tutti_more(void) { return 1; }'
compares
ok "a new function" all 'status 0' 'has "run with this library"'
lib 0.1.1 'int tutti_more(void);' 'int tutti_more(void) { return 1; }'
compares
ok "a function that is gone, in a new patch" all 'status 1' 'says "do not run with this library, which is 0.1.1"'
lib 0.2.0 'int tutti_more(void);' 'int tutti_more(void) { return 1; }'
compares
ok "a new minor version may do that before 1.0" all 'status 0' 'has "may do before 1.0"'
git add -A include lib.c && git commit -qm two && git tag v1.1.0
lib 1.1.0 'int tutti_more(void);' 'int tutti_more(void) { return 1; }' && git commit -qam three && git tag -f v1.1.0 >/dev/null
lib 1.2.0 'int tutti_other(void);' 'int tutti_other(void) { return 1; }'
compares
ok "and not after it" all 'status 1' 'says "programs of v1.1.0"'
exit $bad
