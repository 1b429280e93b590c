/* position.h - locates the bytes of a span's blocks, in one slice of a run.
 *
 * Idea       A span names blocks. A cursor walks over their bytes, one contiguous piece of memory at a time.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_POSITION_H
#define TT_POSITION_H

#include "engine.h"

/* Returns the size, in bytes, of the blocks at positions lo to hi - 1 of a span. */
static inline uint64_t tt_run_span_bytes(const tt_run *r, const tt_span *span, uint32_t lo,
                                         uint32_t hi) {
  const tt_partition *blocks = &r->partition[span->buf];
  uint64_t elements = 0;
  uint32_t B = r->program->sched->blocks;
  for (uint32_t i = lo; i < hi;) {
    uint32_t block = tt_span_block(span, i) % B;
    uint32_t n = (uint32_t)tt_min(tt_span_run(span, i, hi), B - block);
    elements += tt_partition_at(blocks, block + n) - tt_partition_at(blocks, block);
    i += n;
  }
  return elements * r->o->reducer.element;
}

/* Returns how many contiguous bytes start at a cursor, and sets *address. At the end, returns 0 and sets *address to NULL. */
static inline uint64_t tt_contiguous(const tt_run *r, const tt_span *span, tt_cursor *c,
                                     char **address) {
  const uint32_t B = r->program->sched->blocks;
  const tt_partition *blocks = &r->partition[span->buf];
  const size_t element = r->o->reducer.element;
  while (c->at < c->end) {
    uint32_t whole = tt_span_block(span, c->at), block = whole % B;
    /* each block is compressed separately */
    uint32_t n =
        r->o->coding.code ? 1 : (uint32_t)tt_min(tt_span_run(span, c->at, c->end), B - block);
    uint64_t from = tt_partition_at(blocks, block) * element;
    uint64_t bytes = tt_partition_at(blocks, block + n) * element - from;
    if (c->used < bytes) {
      *address = (char *)(r->base[span->buf] + whole / B * r->layer + from + c->used);
      return bytes - c->used;
    }
    c->at += n;
    c->used = 0;
  }
  *address = NULL;
  return 0;
}

/* Returns the rounding errors that are kept for the numbers at a cursor, or NULL if the call keeps none. */
static inline float *tt_owed_at(const tt_run *r, const tt_span *span, const tt_cursor *c) {
  if (!r->fresh) return NULL;
  const uint32_t block = tt_span_block(span, c->at) % r->program->sched->blocks;
  return r->o->call.owed + tt_slice_at(r->o, (uint32_t)r->slice) +
         tt_partition_at(&r->partition[span->buf], block) + c->used / sizeof(float);
}

static inline tt_cursor tt_whole_span(const tt_span *span) {
  return (tt_cursor){0, tt_span_size(span), 0};
}

#endif
