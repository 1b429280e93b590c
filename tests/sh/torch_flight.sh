#!/usr/bin/env bash
# torch_flight.sh - the flight records of PyTorch's process groups: each operation, its sizes and its completion; and the files
# that are written after a failure, for PyTorch's analyzer.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"
. "${BASH_SOURCE%/*}/../support/torch.bash"
leave_if_guarded "asan|tsan|ubsan"
export STATE=$work/every_
prog=python/tests/torch_flight.py
read_files() { $python python/tests/flight_files.py "$work/$1" >"$work/read" 2>&1 && grep -q "$2" "$work/read" || { sed 's/^/# /' "$work/read"; false; }; }
all="all_reduce allreduce_coalesced reduce broadcast all_gather all_gather gather scatter reduce_scatter reduce_scatter \
all_to_all all_to_all all_reduce_barrier"

for kind in $kinds; do
  export TUTTI_TORCH=${kind#compiled}
  forked 3 STATE=$STATE $prog every
  ok "$kind: one of each operation" all 'status 0' "count '^rank 0: $all all_reduce send 0->1 all_reduce_barrier\$' 1" \
    "count '^rank 1: $all all_reduce recv 1<-0 all_reduce_barrier\$' 1" "count '^rank 2: $all all_reduce_barrier\$' 1" \
    "read_files every_ '^15 collectives, .*: completed, completed, completed\$'"
  rm -f "$work"/rank_* "$work"/words_*
  forked 3 TORCH_FR_DUMP_TEMP_FILE="$work/rank_" TUTTI_TORCH_DUMP="$work/words_" \
    TORCH_NCCL_DEBUG_INFO_TEMP_FILE="$work/no/rank_" $prog late
  ok "$kind: a timeout: each rank writes its last operations" all 'status 0' 'count "waited 2.* s for rank 1" 3' \
    "read_files rank_ '^4 collectives, .*: started, started, started\$'" \
    "grep -q '\"profiling_name\": \"nccl:all_reduce\"' '$work/words_0.json'" '[ -s "$work/words_1.json" ] && [ -s "$work/words_2.json" ]'
  ok "$kind: a missing folder" grep -q 'TORCH_NCCL_DEBUG_INFO_TEMP_FILE: the flight record is not written' "$work/err"
  [ "$kind" = "${kinds%% *}" ] || [ "${TUTTI_TEST_ALL:-}" = 1 ] || continue # only the full test runs each kind
  forked 1 TORCH_FR_BUFFER_SIZE=4 $prog ring
  ok "$kind: as many as TORCH_FR_BUFFER_SIZE says" all 'status 0' 'count "^kept .7, 8, 9, 10.$" 1'
  forked 1 TORCH_FR_BUFFER_SIZE=0 $prog ring
  ok "$kind: or none" all 'status 0' 'count "^kept ..$" 1'
done
