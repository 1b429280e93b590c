#!/usr/bin/env bash
# torch_lives.sh - PyTorch's process groups over a store that outlives them: made and destroyed again and again, and after torchrun
# has started all ranks again.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"
. "${BASH_SOURCE%/*}/../support/torch.bash"
leave_if_guarded "asan|tsan|ubsan"
prog=python/tests/torch_lives.py
rounds=20
[ "${TUTTI_TEST_ALL:-}" ] && rounds=200
export LOGLEVEL=ERROR PYTHONUNBUFFERED=1
free_port() { $python -c 'import socket; s = socket.socket(); s.bind(("", 0)); print(s.getsockname()[1])'; }
two_ranks() {
  local port pids=()
  port=$(free_port)
  rc=0
  for r in 0 1; do
    timeout -k 5 150 $python $prog over $r 2 "$port" $rounds >"$work/out.$r" 2>"$work/err.$r" &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid" || rc=$?; done
  cat "$work"/out.? >"$work/out"
  cat "$work"/err.? >"$work/err"
}
# Debian's Python 3.11 and its PyTorch need -r 1 -t 1.
torchrun() { # OPTION... -- ARGUMENT...
  local options=()
  while [ "$1" != -- ]; do options+=("$1") && shift; done
  rc=0
  timeout -k 5 150 $python -m torch.distributed.run --nproc_per_node 4 "${options[@]}" -r 1 -t 1 --log_dir "$work/logs" \
    $prog "${@:2}" >"$work/out" 2>"$work/err" </dev/null || rc=$?
  cat "$work/out" "$work/err" >"$work/both"
}
for kind in $kinds; do
  export TUTTI_TORCH=${kind#compiled}
  two_ranks
  ok "$kind: $rounds lives over one store" all 'status 0' 'count "^lived$" 2'
  for how in "--standalone" "--master_addr 127.0.0.1 --master_port $(free_port)"; do
    rm -f "$work/killed"
    torchrun $how --max_restarts 1 -- restarts "$work/killed"
    ok "$kind: torchrun ${how%% *}: all ranks start again after a kill" all 'status 0' '[ -e "$work/killed" ]' \
      '[ "$(grep -o "lived" "$work/both" | wc -l)" -ge 4 ]' '! grep -q "Signal 11" "$work/both"'
  done
  if $python -c 'import sys, torch; sys.exit(torch.__version__ < "2")'; then
    torchrun --standalone -- here 6
    ok "$kind: the default group again and again in one process" all 'status 0'
  else
    skip "$kind: the default group again and again in one process" "PyTorch 1.13 itself cannot"
  fi
done
