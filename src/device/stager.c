/* stager.c - keeps the resources of calls on device vectors for later calls, because pinning memory takes a millisecond or
 * more.
 *
 * Idea       A call takes the smallest free buffer that is large enough. The size of a new buffer is a power of two; it
 *            replaces the free buffers that were too small, so growing vectors leave no unused buffers behind.
 * Invariant  A buffer or a lane is used by one call at a time.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "stager.h"

#include <stdlib.h>

enum { LEAST = 64 << 10 };

bool tt_on_device(const void *at, int *number) {
  const tutti_device *d = tt_device();
  tutti_device_place place = {.device = -1};
  const int is = d && at ? d->place(d->self, at, &place) : 1;
  if (number && is <= 0) *number = is < 0 ? -1 : place.device;
  return is <= 0;
}

static tt_sums wish(void) {
  return (tt_sums)(1 + tt_env_word("TUTTI_DEVICE_SUMS",
                                   (const char *const[]){"host", "kernels", NULL}));
}

tt_stager *tt_stager_new(tt_wire *wire) {
  tt_stager *s = calloc(1, sizeof *s);
  if (!s) return NULL;
  s->wire = wire;
  s->wish = wish();
  if (s->wish == TT_SUMS_BY_HOST) s->reach = TT_REACHES_NOT;
  return s;
}

tt_sums tt_stager_wish(const tt_stager *s) {
  return s ? s->wish : wish();
}

tt_reach tt_stager_reach(const tt_stager *s) {
  return s ? s->reach : TT_REACHES_UNKNOWN;
}

int tt_stager_devices(const tt_stager *s) {
  return s ? s->devices : 0;
}

int tt_stager_compiled(const tt_stager *s, tutti_type type, tutti_op op) {
  return op >= TUTTI_OP_COUNT ? -1 : s ? s->sums[type][op] : 0;
}

/* ---- buffers ---- */

static void drop_buffer(tt_stager *s, tt_buffer *b) {
  const tutti_device *d = tt_device();
  if (b->pinned) d->unpin(d->self, b->memory);
  if (b->memory) s->wire->memory->free(s->wire, b->memory);
  free(b);
}

static void drop_smaller(tt_stager *s, size_t bytes) {
  for (tt_buffer **link = &s->buffers; *link;) {
    tt_buffer *b = *link;
    if (b->used || b->bytes >= bytes) {
      link = &b->next;
      continue;
    }
    *link = b->next;
    drop_buffer(s, b);
  }
}

static tutti_status new_buffer(tt_stager *s, size_t bytes, tt_buffer **buffer) {
  const tutti_device *d = tt_device();
  tt_buffer *b = calloc(1, sizeof *b);
  drop_smaller(s, bytes);
  for (size_t size = LEAST; b && b->bytes < bytes; size *= 2) b->bytes = size;
  if (b) b->memory = s->wire->memory->alloc(s->wire, b->bytes);
  if (!b || !b->memory) {
    free(b);
    return tt_fail(TUTTI_ERR_MEMORY,
                   "no memory of the host for device vectors, which go through it: %zu bytes",
                   bytes);
  }
  if (d->pin(d->self, b->memory, b->bytes)) {
    drop_buffer(s, b);
    return tt_fail(TUTTI_ERR_SYSTEM, "%s cannot pin %zu bytes: %.200s", d->name, bytes,
                   d->error(d->self));
  }
  b->pinned = true;
  b->next = s->buffers;
  *buffer = s->buffers = b;
  return TUTTI_OK;
}

/* Returns the smallest free buffer with at least `bytes` bytes, or NULL if all buffers are in use or too small. */
static tt_buffer *free_buffer(const tt_stager *s, size_t bytes) {
  tt_buffer *best = NULL;
  for (tt_buffer *b = s->buffers; b; b = b->next)
    if (!b->used && b->bytes >= bytes && (!best || b->bytes < best->bytes)) best = b;
  return best;
}

tutti_status tt_stager_take(tt_stager *s, size_t bytes, tt_buffer **buffer) {
  tt_buffer *best = free_buffer(s, bytes);
  const tutti_status status = best ? TUTTI_OK : new_buffer(s, bytes, &best);
  if (status) return status;
  best->used = true;
  *buffer = best;
  return TUTTI_OK;
}

void tt_stager_give(tt_buffer *buffer) {
  if (buffer) buffer->used = false;
}

/* ---- lanes ---- */

static tt_lane *free_lane(const tt_stager *s, int number) {
  tt_lane *l = s->lanes;
  while (l && (l->used || l->number != number)) l = l->next;
  return l;
}

bool tt_stager_ready(const tt_stager *s, int number, size_t bytes, int type, int op) {
  return free_buffer(s, bytes) && free_lane(s, number) &&
         (type < 0 || op >= TUTTI_OP_COUNT || s->sums[type][op]);
}

tutti_status tt_stager_take_lane(tt_stager *s, int number, tt_lane **lane) {
  const tutti_device *d = tt_device();
  tt_lane *l = free_lane(s, number);
  if (number < 0)
    return tt_fail(TUTTI_ERR_UNSUPPORTED, "%s cannot use this memory: %.200s", d->name,
                   d->error(d->self));
  if (!l) {
    if (!(l = calloc(1, sizeof *l)))
      return tt_fail(TUTTI_ERR_MEMORY, "out of memory for a call on device memory");
    if (d->open(d->self, number, &l->lane)) {
      free(l);
      return tt_fail(TUTTI_ERR_SYSTEM, "%s has no stream on device %d: %.200s", d->name, number,
                     d->error(d->self));
    }
    l->number = number;
    l->next = s->lanes;
    s->lanes = l;
  }
  l->used = true;
  *lane = l;
  return TUTTI_OK;
}

void tt_stager_give_lane(tt_lane *lane) {
  if (lane) lane->used = false;
}

void tt_stager_free(tt_stager *s) {
  if (!s || s->lost) return; /* closing lanes and unpinning would wait for the device */
  for (tt_lane *l = s->lanes, *next; l; l = next) {
    next = l->next;
    tt_device()->close(l->lane);
    free(l);
  }
  for (tt_foreign *f = s->foreign, *next; f; f = next) {
    next = f->next;
    if (f->pinned) tt_device()->unpin(tt_device()->self, (void *)(uintptr_t)f->memory);
    free(f);
  }
  for (tt_buffer *b = s->buffers, *next; b; b = next) {
    next = b->next;
    drop_buffer(s, b);
  }
  free(s);
}
