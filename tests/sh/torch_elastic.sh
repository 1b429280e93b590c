#!/usr/bin/env bash
# torch_elastic.sh - training with PyTorch while ranks fail: the other ranks continue, alone or with joining ranks
# (tutti.torch.shrink and grow), on one host and on several; and torchrun restarts all ranks.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"
. "${BASH_SOURCE%/*}/../support/torch.bash"
leave_if_guarded "asan|tsan|ubsan"
export STATE=$work/state
prog=python/tests/torch_elastic.py
# The final loss is the same as without failures, to four digits.
loss=
same_loss() { count "^fine: $1 ranks, loss $loss\$" "$2"; }

for kind in $kinds; do
  export TUTTI_TORCH=${kind#compiled}
  # Only TUTTI_TEST_ALL=1 runs everything for each kind, because the kinds differ only in how they make groups.
  if [ "$kind" = "${kinds%% *}" ] || [ "${TUTTI_TEST_ALL:-}" = 1 ]; then
    rm -f "$STATE"
    job run -n 2 $python $prog undisturbed
    loss=$(sed -n 's/^fine: 2 ranks, loss //p' "$work/out" | head -1)
    ok "$kind: a run without failures, then a new world" all 'status 0' "[ '$loss' ]" "same_loss 2 2" 'count "^new world: 2 ranks" 2'
    ok "$kind: without a group of tutti's" all \
      'count "^tutti: shrink: there is no default process group; call init_process_group(\"tutti\") first" 2' \
      'count "^tutti: grow: there is no default process group" 2' "count \"^tutti: shrink: the default process group is gloo's\" 2"
    job run --keep-going -n 4 $python $prog shrinks
    ok "$kind: two of four ranks die, rank 0 among them: the others train to the same loss" all 'status 137' "same_loss 2 2" \
      'count "^now rank . of 3" 3' 'count "^now rank . of 2.*rank 0 .*died, killed by SIGKILL" 2' gone
    # One of the other two ranks detects the failure. The second one detects it, too, or is aborted by the call of the first
    # one.
    ok "$kind: a rank that waits in a group without the dead one hears of it by the call of the others" all \
      'has "^now rank 2 of 3.*aborted: the ranks that are left call tutti.torch.grow"' 'has "^now rank [01] of 3.*rank 1 .*died"' \
      'count "^now rank . of 3.*\(ranks that are left call tutti.torch.grow\|rank 1 .*died\)" 3'
    ok "$kind: grow where no launcher starts joiners" \
      count "^grow: tutti_comm_grow: this job takes in no joiners: it was started without tutti run --respawn" 5
  fi
  job run --respawn 2 -n 3 $python $prog grows
  ok "$kind: joiners take the places of dead ranks" all 'status 0' "same_loss 3 3" 'count "^now rank . of 3" 4' gone
done
unset TUTTI_TORCH

if [ -e "$BUILD/libtutti_ucx.so.0" ]; then
  UCX_TLS=tcp,self TUTTI_NODES=0,1 job run --hosts localhost:1,localhost:1 -r 2 --env PYTHONPATH="$PYTHONPATH" \
    --env TUTTI_LIBRARY="$TUTTI_LIBRARY" $python $prog grows
  ok "two hosts, over UCX: joiners take the places of dead ranks" all 'status 0' "same_loss 2 2" 'count "^now rank . of 2" 2' gone
  for kind in $kinds; do
    TOKEN=$token "$TUTTI" aggregator -p 0 >"$work/aggregator.$kind" 2>"$work/err" </dev/null &
    daemon=$!
    end=$((SECONDS + 20))
    until port=$(sed -n "s/.*on port //p" "$work/aggregator.$kind" 2>/dev/null) && [ -n "$port" ] || [ $SECONDS -gt $end ]; do sleep 0.02; done
    TUTTI_TORCH=${kind#compiled} TUTTI_ALGO=aggregate TUTTI_AGGREGATOR=127.0.0.1:$port AGGREGATOR=$daemon UCX_TLS=tcp,self TUTTI_NODES=0,1,2 \
      job run --keep-going --hosts localhost:1,localhost:1,localhost:1 --env PYTHONPATH="$PYTHONPATH" --env TUTTI_LIBRARY="$TUTTI_LIBRARY" \
      $python $prog without_aggregator
    { wait "$daemon"; } 2>/dev/null
    advice="tutti.torch.shrink() gives the same ranks without it"
    ok "$kind: the aggregator is lost: DDP's error says so, and what to do; all ranks train on, to the same loss" all 'status 0' \
      "same_loss 3 3" "count \"^now rank . of 3, .*: the aggregator at 127.0.0.1:$port is lost: .* in allreduce, operation [0-9]*. $advice\" 3"
  done
else
  skip "several hosts, over UCX" "there is no libtutti_ucx.so" $((1 + $(wc -w <<<"$kinds")))
fi

# Debian's Python 3.11 and its PyTorch need -r 1 -t 1.
rm -f "$STATE"
rc=0
TOKEN=$token timeout -k 5 120 $python -m torch.distributed.run --nproc_per_node 2 --standalone --max_restarts 1 -r 1 -t 1 \
  --log_dir "$work/logs" $prog restarted >"$work/out" 2>"$work/err" </dev/null || rc=$?
cat "$work"/logs/*/*/*/stdout.log >>"$work/out" 2>/dev/null
ok "torchrun starts all ranks again after one has died" all 'status 0' 'grep -q "fine: 2 ranks, start 1" "$work/out"' \
  '! grep -q "start 0" "$work/out"'
