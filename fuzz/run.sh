#!/usr/bin/env bash
# run.sh - runs fuzzers, two at a time, with a line of progress each; `make fuzz` calls it.
#
#   TIME=600 KEEP= fuzz/run.sh BUILD/fuzz NAME ...
#
# Each fuzzer runs for TIME seconds (60). It starts from fuzz/corpus/NAME.tar and from inputs that earlier
# runs left in BUILD/fuzz/NAME.more. A finding (a sanitizer's report, an input that takes 5 s or 1 GiB
# of memory) ends it, and is stored in BUILD/fuzz/NAME.found. A slow input runs once more, measured by
# processor time: if it is fast then, the machine was busy, and the fuzzer continues. At the end KEEP=1
# adds to the corpus the smallest inputs that reach new code, if they have at most 2000 bytes.
# SPDX-License-Identifier: BSD-3-Clause
set -u
seconds=${TIME:-60} at=$1 bad=0
shift

# Runs the fuzzer for this many seconds.
fuzz_for() {
  local name=$1 rc=0
  nice "$at/fuzz_$name" -max_total_time="$2" -timeout=5 -rss_limit_mb=1024 -max_len=65536 \
    -dict="fuzz/dict/$name.dict" -artifact_prefix="$at/$name.found/" -reload=0 \
    "$at/$name.more" "$at/corpus/$name" >>"$at/$name.log" 2>&1 || rc=$?
  return $rc
}

# False: one of the slow inputs is slow again.
were_quick() {
  local f
  for f in "$at/$1.found"/*; do
    case ${f##*/} in timeout-*) ;; *) return 1 ;; esac
    (ulimit -t 5 && exec "$at/fuzz_$1" -timeout=300 -rss_limit_mb=1024 "$f") >/dev/null 2>&1 || return 1
    rm "$f"
  done
}

fuzz() {
  local name=$1 until=$((SECONDS + seconds)) rc=0
  rm -rf "$at/corpus/$name"
  mkdir -p "$at/$name.more" "$at/$name.found" "$at/corpus/$name"
  tar -xf "fuzz/corpus/$name.tar" -C "$at/corpus/$name"
  : >"$at/$name.log"
  fuzz_for "$name" "$seconds" || rc=$?
  while [ $rc != 0 ] && were_quick "$name"; do
    rc=0
    [ $((until - SECONDS)) -gt 0 ] || break
    fuzz_for "$name" $((until - SECONDS)) || rc=$?
  done
  return $rc
}

# Prints a line every ten seconds, from the fuzzer's own.
watch() {
  local name=$1 pid=$2 from=$SECONDS line
  while kill -0 "$pid" 2>/dev/null; do
    sleep 1
    [ $(((SECONDS - from) % 10)) = 0 ] || continue
    line=$(grep -aE '^#[0-9]+' "$at/$name.log" | tail -1 | tr -s '\t ' ' ')
    printf '%-9s %4d of %s s  %s\n' "$name" $((SECONDS - from)) "$seconds" "$line"
  done
}

one() {
  local name=$1 rc=0
  fuzz "$name" &
  watch "$name" $!
  wait $! || rc=$?
  if [ $rc != 0 ] && ls "$at/$name.found"/* >/dev/null 2>&1; then
    tail -n 60 "$at/$name.log"
    echo "$name: FOUND something: $(ls "$at/$name.found"/*)"
  elif [ $rc != 0 ]; then
    tail -n 20 "$at/$name.log"
    echo "$name: ended with status $rc"
  else
    echo "$name: no finding; $(grep -a '^Done' "$at/$name.log" | tail -1)"
  fi
  return $rc
}

# Keeps the smallest inputs that reach code that the corpus does not.
keep() {
  local name=$1 f
  "$at/fuzz_$name" -merge=1 -max_len=2000 -use_counters=0 "$at/corpus/$name" "$at/$name.more" \
    >"$at/$name.merge" 2>&1
  for f in "$at/corpus/$name"/????????????????????????????????????????; do
    [ -e "$f" ] && mv "$f" "${f:0:$((${#f} - 28))}"
  done
  fuzz/pack.sh "$at/corpus/$name" "fuzz/corpus/$name.tar"
}

pids=()
for name in "$@"; do
  while [ "$(jobs -rp | wc -l)" -ge 2 ]; do sleep 1; done
  one "$name" &
  pids+=($!)
done
for pid in "${pids[@]}"; do wait "$pid" || bad=1; done
[ -z "${KEEP:-}" ] || for name in "$@"; do keep "$name"; done
exit $bad
