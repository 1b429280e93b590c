/* shm_arena.c - memory that peers read directly, and the progress counters of the ranks.
 *
 * Idea       Memory in the segment has a name, its offset, under which every rank finds it. Private
 *            memory has one if all ranks can read it and that costs less than a copy. Other memory
 *            is copied into its rank's arena: a few slots that the pieces of vectors pass through.
 *            Progress counters count the pieces.
 * Slots      As many as the second level cache holds. A line that a peer still has in its cache
 *            must be taken from it before it is written again, which takes four times as long as
 *            the copy itself; when a slot is reused after that many bytes, its lines have left the
 *            peers' caches. Ranks that share a core share its cache.
 * Invariant  The arena is wire.slots * wire.piece bytes, whatever the vector, allocated at first
 *            use; a progress counter has one writer and only grows.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "remote.h"
#include "shm_wire.h"

static const uint64_t remote = (uint64_t)1 << 63; /* in a name: an address of its rank */

enum { FEWEST = 4, LIVE = 8 }; /* pieces: of src, dst, the arena, and the peers', twice */

/* Size the pieces such that a rank's working set at one time, with the vector's own pieces, fits in
 * half of its core's second level cache. */
void tt_arena_measure(tt_wire *w, size_t l2, double ranks_per_core) {
  const size_t share = l2 / 2 / LIVE, bound = ((size_t)16 << 20) / FEWEST / (size_t)w->ranks;
  w->piece = tt_max((size_t)16 << 10, tt_min(share, bound) / 4096 * 4096);
  w->slots = FEWEST;
  while (w->slots < 2 * LIVE && 2 * w->slots * ranks_per_core <= 2 * LIVE) w->slots *= 2;
}

void *tt_arena_own(tt_wire *w) {
  tt_shm *s = tt_shm_of(w);
  if (!s->arena) s->arena = tt_heap_alloc(s->heap, w->slots * w->piece, 4096);
  return s->arena;
}

static bool cheaper_for_all(const tt_shm *s, size_t n) {
  const tt_head *mine = tt_shm_head(s, s->wire.rank);
  for (int r = 0; r < s->wire.ranks; r++)
    if (r != s->wire.rank && !tt_remote_cheaper(mine, tt_shm_head(s, r), n)) return false;
  return true;
}

uint64_t tt_arena_export(tt_wire *w, const void *bytes, size_t n) {
  tt_shm *s = tt_shm_of(w);
  const uint64_t at = (uint64_t)(uintptr_t)bytes;
  if (tt_shm_shared(s, bytes, n))
    return s->segment->threads ? at : (uint64_t)((const char *)bytes - s->segment->base);
  return at < remote && cheaper_for_all(s, n) ? at | remote : 0;
}

static const char *address_of_name(const tt_shm *s, uint64_t name) {
  return s->segment->threads ? (const char *)(uintptr_t)name : s->segment->base + name;
}

void *tt_arena_writable(tt_wire *w, uint64_t name) {
  const tt_shm *s = tt_shm_of(w);
  if (!name || name & remote) return NULL;
  return s->segment->threads ? (char *)(uintptr_t)name : s->segment->base + name;
}

bool tt_arena_fetch(tt_wire *w, int peer, uint64_t name, size_t from, void *to, size_t n,
                    tutti_status *status) {
  tt_shm *s = tt_shm_of(w);
  if (name & remote)
    *status = tt_remote_read(tt_shm_head(s, peer)->pid, (name & ~remote) + from, to, n);
  else
    memcpy(to, address_of_name(s, name) + from, n);
  return *status == TUTTI_OK;
}

const void *tt_arena_map(tt_wire *w, int peer, uint64_t name, size_t from, size_t *n,
                         tutti_status *status) {
  tt_shm *s = tt_shm_of(w);
  if (!(name & remote)) return address_of_name(s, name) + from;
  if (!s->bounce) s->bounce = calloc((size_t)w->ranks, sizeof *s->bounce);
  if (s->bounce && !s->bounce[peer]) s->bounce[peer] = aligned_alloc(64, s->gulp);
  if (!s->bounce || !s->bounce[peer]) {
    *status = tt_fail(TUTTI_ERR_MEMORY, "no memory to read rank %d's bytes into", peer);
    return NULL;
  }
  *n = tt_min(*n, s->gulp);
  return tt_arena_fetch(w, peer, name, from, s->bounce[peer], *n, status) ? s->bounce[peer] : NULL;
}

void tt_arena_publish(tt_wire *w, tt_counter counter, uint32_t value) {
  tt_shm *s = tt_shm_of(w);
  /* model: arena:told, wake:publish */
  atomic_store(&s->counters[w->rank].of[counter], value);
  /* model: wake:look */
  for (int r = 0; atomic_load(s->sleepers_anywhere) && r < w->ranks; r++)
    if (r != w->rank) tt_shm_wake(s, r);
}

uint32_t tt_arena_published(tt_wire *w, int peer, tt_counter counter) {
  /* model: arena:look, wake:last */
  return atomic_load_explicit(&tt_shm_of(w)->counters[peer].of[counter], memory_order_acquire);
}
