/* staged_fetch.c - a device fetches results from the staging memory of other ranks.
 *
 * Idea       A peer's sums lie in its staging memory, which is also mapped in this process. Once that memory is pinned here,
 *            the device copies from it, and no core has to write the same sums for every rank.
 * Invariant  Nothing is pinned while a stream waits for tutti. Pinned memory stays pinned until the communicator ends; a
 *            peer that replaces its buffer publishes the name of the new one.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "staged.h"

const void *tt_staged_memory(const tt_staged *s, size_t *bytes) {
  *bytes = s->buffer->bytes;
  return s->buffer->memory;
}

/* Unpins all memory that overlaps this address range, and forgets it. */
static void forget_overlaps(tt_stager *s, const char *memory, size_t bytes) {
  const tutti_device *d = tt_device();
  for (tt_foreign **link = &s->foreign; *link;) {
    tt_foreign *f = *link;
    const char *at = f->memory;
    if (at + f->bytes <= memory || memory + bytes <= at) {
      link = &f->next;
      continue;
    }
    *link = f->next;
    if (f->pinned) d->unpin(d->self, (void *)(uintptr_t)f->memory);
    free(f);
  }
}

bool tt_staged_reads(tt_staged *staged, const void *memory, size_t bytes) {
  tt_stager *s = staged->stager;
  const tutti_device *d = tt_device();
  const tt_foreign *known = s->foreign;
  while (known && (known->memory != memory || known->bytes != bytes)) known = known->next;
  if (known) return known->pinned;
  if (tt_device_holds()) return false;
  tt_foreign *f = malloc(sizeof *f);
  if (!f) return false;
  forget_overlaps(s, memory, bytes);
  *f = (tt_foreign){memory, bytes, !d->pin(d->self, (void *)(uintptr_t)memory, bytes), s->foreign};
  s->foreign = f;
  return f->pinned;
}

tutti_status tt_staged_fetch(tt_staged *s, const void *from, size_t at, size_t n) {
  const tutti_device *d = tt_device();
  char *to = (char *)s->part[1].out + at;
  s->fetched = true;
  return d->copy(s->lane->lane, TUTTI_DEVICE_OUT, to, from, n)
             ? tt_staged_refused("a copy to the device")
             : TUTTI_OK;
}

tutti_status tt_staged_batch(tt_staged *s) {
  const tutti_device *d = tt_device();
  const unsigned k = (s->first_batch + s->nbatches++) % TT_FETCHES;
  return d->mark(s->lane->lane, TUTTI_DEVICE_OUT, &s->batches[k])
             ? tt_staged_refused("a copy to the device")
             : TUTTI_OK;
}

bool tt_staged_batch_came(tt_staged *s, tutti_status *status) {
  if (!s->nbatches) return false;
  const int reached =
      tt_device()->reached(s->lane->lane, TUTTI_DEVICE_OUT, s->batches[s->first_batch]);
  if (reached < 0) *status = tt_staged_refused("a copy to the device");
  if (reached <= 0) return false;
  s->first_batch = (s->first_batch + 1) % TT_FETCHES;
  s->nbatches--;
  return true;
}
