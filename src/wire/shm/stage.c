/* stage.c - the blocks into which private bytes are copied for sending.
 *
 * Idea       A rank has a few blocks per communicator. A block becomes free when its reader has acknowledged the piece. The
 *            block that has been free for the longest time is used next, because it is the least likely to be still in its
 *            reader's cache, which would delay a store to it.
 * Invariant  The blocks take at most tt_stage_bytes of memory for any number of peers. A sender without a free block waits,
 *            or sends as many bytes as fit in a descriptor.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "huge.h"
#include "shm_ctrl.h"

enum { KIB = 1024 };

/* Large enough to stream, and small enough for many peers. */
static size_t block_for(int ranks) {
  return tt_max(4 * KIB, tt_min(64 * KIB, (size_t)(1024 * KIB) / (size_t)ranks / 4096 * 4096));
}

size_t tt_stage_bytes(int ranks) {
  size_t all = (size_t)(32 * KIB) * KIB / (size_t)ranks;
  return tt_max(128 * KIB, tt_min(2048 * KIB, all)) / block_for(ranks) * block_for(ranks);
}

bool tt_stage_open(tt_stage *s, tt_heap *heap, int ranks) {
  s->block = block_for(ranks);
  size_t n = tt_stage_bytes(ranks) / s->block;
  const size_t bytes = n * s->block;
  s->memory = tt_heap_alloc(heap, bytes, bytes < TT_HUGE ? 4096 : TT_HUGE);
  s->spare = malloc(n * sizeof *s->spare);
  if (!s->memory || !s->spare) {
    if (s->memory) tt_heap_free(heap, s->memory);
    free(s->spare);
    *s = (tt_stage){0};
    return false;
  }
  s->blocks = (uint32_t)n;
  while (s->spares < n) tt_stage_give(s, s->memory + s->spares * s->block);
  return true;
}
