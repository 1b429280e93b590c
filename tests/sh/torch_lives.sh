#!/usr/bin/env bash
# torch_lives.sh - PyTorch's process groups over a store that outlives them: groups are made and destroyed repeatedly, and
# torchrun restarts all ranks after a kill and after an exception, 10 times; 50 times in the full test.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"
. "${BASH_SOURCE%/*}/../support/torch.bash"
leave_if_guarded "asan|tsan|ubsan"
prog=python/tests/torch_lives.py
rounds=20 lives=10
[ "${TUTTI_TEST_ALL:-}" ] && rounds=200 lives=50
export LOGLEVEL=ERROR PYTHONUNBUFFERED=1
two_ranks() {
  local pids=()
  rm -f "$work/port"
  rc=0
  for r in 0 1; do
    timeout -k 5 150 $python $prog over $r 2 "$work/port" $rounds >"$work/out.$r" 2>"$work/err.$r" &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid" || rc=$?; done
  cat "$work"/out.? >"$work/out"
  cat "$work"/err.? >"$work/err"
}
# Debian's Python 3.11 and its PyTorch need -r 1 -t 1.
torchrun() { # RANKS SECONDS OPTION... -- ARGUMENT...
  local ranks=$1 seconds=$2 options=()
  shift 2
  while [ "$1" != -- ]; do options+=("$1") && shift; done
  rc=0
  timeout -k 5 "$seconds" $python -m torch.distributed.run --nproc_per_node "$ranks" --monitor_interval 0.1 "${options[@]}" \
    -r 1 -t 1 --log_dir "$work/logs" $prog "${@:2}" >"$work/out" 2>"$work/err" </dev/null || rc=$?
  cat "$work/out" "$work/err" >"$work/both"
}
# The full test uses the command torchrun; otherwise its agent is used, in a process that forks the ranks.
restarts() { # RANKS LIVES kill|raise
  local port=0
  for how in "--standalone" "--master_addr 127.0.0.1 --master_port"; do
    if [ "${TUTTI_TEST_ALL:-}" ]; then
      torchrun "$1" 3000 ${how/%port/port $(free_port)} --max_restarts "$2" -- restarts "$2" "$3"
    else
      rc=0
      TOKEN=$token timeout -k 5 150 $python $prog launch "$1" $port "$2" "$3" >"$work/both" 2>&1 </dev/null || rc=$?
      port=$(free_port)
    fi
    ok "$kind: torchrun ${how%% *}: $1 ranks start again after each $3, $2 of $2 times" all 'status 0' \
      "[ \"\$(grep -c 'lived after $2 restarts\$' '$work/both')\" -ge $1 ]" '! grep -q "Signal 11\|SIGSEGV" "$work/both"'
  done
}
for kind in $kinds; do
  export TUTTI_TORCH=${kind#compiled}
  two_ranks
  ok "$kind: $rounds lives over one store" all 'status 0' 'count "^lived$" 2'
  for end in kill raise; do restarts 2 "$lives" $end; done
  if $python -c 'import sys, torch; sys.exit(torch.__version__ < "2")'; then
    torchrun 4 150 --standalone -- here 6
    ok "$kind: the default group again and again in one process" all 'status 0'
  else
    skip "$kind: the default group again and again in one process" "PyTorch 1.13 itself cannot"
  fi
done
