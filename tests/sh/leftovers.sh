#!/usr/bin/env bash
# leftovers.sh - a job leaves no process, memory or file, however it ends. The table has programs and the ways to end them, also
# with wrappers.
#
# Memory     is a memfd, which is freed with the last process; the test looks for processes that have it open.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"
prog=$BUILD/tests/mp_grow
export TMPDIR=$work/tmp
mkdir "$TMPDIR"
tests=0

# Everything that a job could leave: names in shared memory (other tests check those of MPIs), in /tmp,
# sockets; and processes that have its memory open.
things() {
  ls -d /dev/shm/* /tmp/*tutti* /tmp/job-keeper* "$TMPDIR"/* 2>/dev/null | grep -v -e vader_segment -e mpich
  awk 'NR > 1 && tolower($8) ~ /tutti/ {print "socket " $8}' /proc/net/unix
}
# Anything that did not exist before disappears within 20 s; it may belong to another job on this machine.
nothing_stays() {
  local end=$((SECONDS + 20)) new
  new=$(comm -13 <(sort <<<"$before") <(things | sort))
  while [ -n "$(comm -12 <(sort <<<"$new") <(things | sort))" ]; do
    [ $SECONDS -lt $end ] || { echo "# left: $new" && return 1; }
    sleep 0.1
  done
}
holders() { # processes with the token that have a memfd of tutti open
  local p
  for p in $(alive); do ls -l /proc/"$p"/fd 2>/dev/null | grep -q 'memfd:tutti' && echo "$p"; done
}
parent() { sed 's/.*) . \([0-9]*\) .*/\1/' "/proc/$1/stat" 2>/dev/null; }
child_of() {
  local p
  for p in $(alive); do [ "$(parent "$p")" = "$1" ] && echo "$p"; done
}
named() {
  local p
  for p in $(alive); do grep -q "$1" "/proc/$p/comm" 2>/dev/null && echo "$p"; done
}

# ---- which processes are killed simultaneously ----
victims() {
  local front=$job keeper guard
  keeper=$(child_of "$front")
  guard=$(child_of "${keeper:-0}")
  case $1 in
    front) echo "$front" ;;
    keeper) echo "$keeper" ;;
    guard) echo "$guard" ;;
    front+keeper) echo "$front $keeper" ;;
    front+guard) echo "$front $guard" ;;
    keeper+guard) echo "$keeper $guard" ;;
    launcher) echo "$front $keeper $guard" ;;
    launcher+wrappers) comm -23 <(alive | sort) <(named '^mp_grow' | sort) ;;
    by-name) named '^tutti' ;;
    ranks) child_of "$guard" ;;
    front+ranks) echo "$front $(child_of "$guard")" ;;
    programs) named '^mp_grow' ;;
    all) alive ;;
  esac
}

# ---- programs: how many are ready, and how they are started ----
start() {
  case $1 in
    plain) background run -n 3 "$prog" for-ever ;;
    labelled) background run -l -n 3 "$prog" for-ever ;;
    wrapped) background run -n 3 sh -c '"$0" for-ever; :' "$prog" ;;
    deep) background run -n 3 sh -c 'bash -c "\"\$0\" for-ever; :" "$0"; :' "$prog" ;;
    respawned) background run -r 1 -n 3 sh -c '"$0" again; exit $?' "$prog" ;;
    sleepers) background run -n 3 sh -c 'echo ready; sleep 987; :' ;;
  esac
  lines 3 ready
}

before=$(things)
for program in plain labelled wrapped deep respawned sleepers; do
  for end in front keeper guard front+keeper front+guard keeper+guard launcher launcher+wrappers by-name ranks front+ranks programs all; do
    case $program:$end in
      sleepers:programs | sleepers:launcher*) continue ;; # not killed, because these processes would stay: docs/reliability.md
    esac
    if [ "${TUTTI_TEST_ALL:-}" != 1 ]; then
      case $program:$end in
        plain:all | wrapped:front+guard | wrapped:launcher | wrapped:front+ranks | deep:launcher*) ;;
        respawned:front+guard | respawned:programs | sleepers:by-name | sleepers:keeper+guard) ;;
        *) continue ;;
      esac
    fi
    start $program
    seen=$(holders | wc -l)
    { kill -9 $(victims $end) && sleep 0.05; } 2>/dev/null
    ok "$program, kill -9 of $end" all gone "[ $program = sleepers -o $seen -ge 3 ]" nothing_stays
    tests=$((tests + 1))
    wait_job 2>/dev/null
  done
done
echo 1..$tests
exit $bad
