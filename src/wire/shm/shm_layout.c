/* shm_layout.c - the layout of a control block.
 *
 * Idea       The rank that allocates a block computes its layout for the number of ranks it is made for, and stores the
 *            layout in the block. All ranks read the offsets from there, so a block that was made for more ranks than its
 *            communicator has in the end keeps its layout.
 * Invariant  The parts are in ascending order, do not overlap, and end within `bytes` (tests/unit/test_layout.c).
 * SPDX-License-Identifier: BSD-3-Clause */
#include "shm_ctrl.h"

enum {
  PAGE = 4096
}; /* a rank's slots do not share a page with another rank's, and are on its NUMA node */

/* Reserves a part of `bytes` bytes, aligned to `align`, after the parts reserved so far. Returns the part's offset. */
static uint64_t place(uint64_t *end, size_t bytes, size_t align) {
  const uint64_t at = tt_round_up(*end, align);
  *end = at + bytes;
  return at;
}

tt_layout tt_shm_layout(int ranks, bool first) {
  const size_t n = (size_t)ranks;
  tt_layout l = {.ranks = (uint32_t)ranks, .later_bytes = (uint32_t)tt_later_bytes(ranks)};
  uint64_t end = sizeof(tt_ctrl) + n * sizeof(atomic_ullong);
  l.vote = place(&end, sizeof(tt_vote), TT_PAIR);
  l.later = place(&end, (size_t)(TT_SLOTS - TT_RECORDS) * l.later_bytes, TT_PAIR);
  l.own = place(&end, TT_SLOTS * sizeof(tt_flag_slot) + sizeof(tt_counters), PAGE);
  if (first) {
    l.slots = place(&end, n * TT_SLOTS * sizeof(tt_flag_slot), PAGE);
    l.counters = place(&end, n * sizeof(tt_counters), TT_PAIR);
  }
  l.bytes = tt_round_up(end, PAGE);
  return l;
}
