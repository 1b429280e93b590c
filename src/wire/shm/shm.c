/* shm.c - the shared-memory wire: channels that carry pieces between the heaps of ranks.
 *
 * Idea       A descriptor announces a piece; its flag is the piece's number. Small pieces are stored
 *            in the descriptor. For larger ones it points to bytes in shared memory, or in this
 *            address space if the ranks are threads. Private memory is copied into a block of the
 *            stage or read by the receiver (process_vm_readv), whichever costs less. Blocks are
 *            written with plain or streaming stores (job/stores.h). The reader reports its read
 *            times for both kinds, so that each pair finds the faster one.
 * Invariant  The sender writes descriptors and staged bytes. The reader writes only the count of pieces it has
 *            consumed, and its read times. A slot is reused once its piece has been consumed.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "remote.h"
#include "shm_wire.h"

/* STREAMED: staged with streaming stores. */
typedef enum piece_kind { INLINE, POINTED, STAGED, STREAMED, REMOTE } piece_kind;

typedef struct descriptor {
  alignas(TT_PAIR) atomic_uint
      flag;      /* low 32 bits of the piece's number, written last. The slot's previous number
                    was smaller by TT_DEPTH, so it differs in these bits */
  uint32_t hash; /* of the stamp */
  uint64_t seq;  /* of the stamp */
  uint64_t bytes : 56, kind : 8;
  uint64_t at; /* offset in the segment; an address for threads and for REMOTE */
  alignas(16) char payload[TT_INLINE];
} descriptor;

typedef struct channel {
  descriptor slot[TT_DEPTH];
  alignas(TT_PAIR) atomic_ullong consumed; /* written by the reader: pieces finished */
  atomic_uint read[TT_STORES];             /* written by the reader: ticks to read COSTS staged
                                              bytes, for each kind of store */
} channel;
/* WEIGHED: size, in bytes, of the smallest piece whose cost is measured. Smaller pieces are always copied with plain
 * stores. */
enum { COSTS = 4096, WEIGHED = 4096 };

/* One end of a channel, private to its rank. */
struct tt_end {
  channel *at;
  uint64_t count;        /* pieces sent, or pieces fully read */
  uint64_t known;        /* sender: last known value of consumed */
  uint64_t reclaimed;    /* sender: pieces whose blocks have been reclaimed */
  uint32_t starved;      /* sender: failed attempts to get a block */
  char *block[TT_DEPTH]; /* sender: by slot, the block that its piece was copied into, or NULL */
  tt_end *next_holder;   /* sender: next end with blocks in use; reader: next end with a bounce
                            buffer */
  bool holds;            /* sender: this end is in that list */
  tt_stores stores;      /* sender: cost of staging bytes; reader: cost of reading them */
  uint64_t since;        /* reader: time when the current view was returned */
  tt_spent spent;        /* reader: time spent on the current piece */
  uint64_t used;         /* reader: bytes of the current piece already released */
  char *bounce;          /* reader: bounce buffer for remote bytes */
  uint64_t landed_at, landed; /* the range of the current piece that the bounce buffer holds */
};

static tt_end *out_end(tt_shm *s, int peer, int lane) {
  return &s->out[peer * TT_LANES + lane];
}
static tt_end *in_end(tt_shm *s, int peer, int lane) {
  return &s->in[peer * TT_LANES + lane];
}

/* ---- sending ---- */

/* Returns an array with the offset of each lane's channel from `writer` to `reader`, or NULL if no channel is open. */
static atomic_ullong *channels_of(const tt_shm *s, int writer, int reader) {
  /* model: publish:find */
  const unsigned long long at =
      atomic_load_explicit(&s->ctrls[writer]->directory[reader], memory_order_acquire);
  return at ? (atomic_ullong *)(void *)(s->segment->base + at) : NULL;
}

/* Stores the offset of `memory`, which is in this rank's heap, in *at, where peers look for it. */
static void publish(const tt_shm *s, const char *memory, atomic_ullong *at) {
  /* model: publish:set */
  atomic_store_explicit(at, (unsigned long long)(memory - s->segment->base), memory_order_release);
}

static bool open_channel(tt_shm *s, tt_end *e, int peer, int lane) {
  const int rank = s->wire.rank;
  atomic_ullong *all = channels_of(s, rank, peer);
  if (!all) {
    char *memory = tt_heap_alloc(s->heap, TT_LANES * sizeof *all, TT_PAIR);
    if (memory) publish(s, memory, &s->ctrls[rank]->directory[peer]);
    all = (atomic_ullong *)(void *)memory;
  }
  char *memory = all ? tt_heap_alloc(s->heap, sizeof *e->at, TT_PAIR) : NULL;
  if (!memory) return false;
  e->at = (channel *)(void *)memory;
  e->count = e->known = e->reclaimed = s->wire.first;
  /* order: before the channel is published */
  atomic_store_explicit(&e->at->consumed, s->wire.first, memory_order_relaxed);
  publish(s, memory, &all[lane]);
  tt_stores_begin(&e->stores, 1, s->store_rule);
  return true;
}

static uint64_t consumed_count(const tt_end *e) {
  /* model: channel:reclaim, wake:last */
  return atomic_load_explicit(&e->at->consumed, memory_order_acquire);
}

/* Reclaims the blocks of pieces that the reader has consumed. */
static void reclaim(tt_shm *s, tt_end *e) {
  e->known = consumed_count(e);
  for (; e->reclaimed != e->known; e->reclaimed++) {
    char **block = &e->block[e->reclaimed % TT_DEPTH];
    if (*block) tt_stage_give(&s->stage, *block);
    *block = NULL;
  }
}

static void reclaim_all(tt_shm *s) {
  for (tt_end **link = &s->holders; *link;) {
    tt_end *e = *link;
    reclaim(s, e);
    if (e->reclaimed == e->count) {
      *link = e->next_holder;
      e->holds = false;
    } else {
      link = &e->next_holder;
    }
  }
}

static char *take_stage_block(tt_shm *s, tt_end *e) {
  if (!s->stage.spares) reclaim_all(s);
  char *block = tt_stage_take(&s->stage);
  if (block && !e->holds) {
    e->holds = true;
    e->next_holder = s->holders;
    s->holders = e;
  }
  return block;
}

static void put_inline(descriptor *d, const void *bytes, size_t n) {
  d->kind = INLINE;
  memcpy(d->payload, bytes, n);
}

/* Copies n bytes into a block. Uses plain or streaming stores, whichever is faster for this pair of ranks. */
static piece_kind stage(tt_end *e, char *block, const void *bytes, size_t n) {
  const tt_store kind = n < WEIGHED ? TT_PLAIN : tt_store_kind(e->stores.rule, (uint32_t)e->count);
  tt_spent wrote[TT_STORES] = {{0}}, read[TT_STORES] = {{0}};
  const uint64_t since = tt_store_ticks();
  tt_store_copy(kind, block, bytes, n);
  tt_store_fence(kind);
  const uint64_t cost = atomic_load_explicit(&e->at->read[kind], memory_order_relaxed);
  if (n >= WEIGHED && tt_store_counts(e->stores.rule, (uint32_t)e->count)) {
    tt_spend(&wrote[kind], since, n);
    if (cost) tt_spend_more(&read[kind], cost * n / COSTS, n);
    tt_stores_learn(&e->stores, wrote, read);
  }
  return kind == TT_STREAMING ? STREAMED : STAGED;
}

/* Copies bytes into a free block. If no block is free, the readers may be waiting for exactly these bytes, so after a few
 * attempts the bytes are sent inline in small pieces. Returns the number of bytes taken; 0 if that is not possible now, or if
 * *status is set. */
static size_t fill_staged(tt_shm *s, tt_end *e, descriptor *d, int peer, const void *bytes,
                          size_t n, tutti_status *status) {
  enum { LOOKS = 256 };
  if (!s->stage.memory && !tt_stage_open(&s->stage, s->heap, s->wire.ranks)) {
    *status = tt_fail(TUTTI_ERR_MEMORY, "no shared memory left for messages to rank %d", peer);
    return 0;
  }
  char *block = take_stage_block(s, e);
  if (!block && ++e->starved < LOOKS) return 0;
  if (!block) {
    put_inline(d, bytes, TT_INLINE);
    return TT_INLINE;
  }
  e->starved = 0;
  n = tt_min(n, s->stage.block);
  d->kind = stage(e, block, bytes, n);
  e->block[e->count % TT_DEPTH] = block;
  d->at = (uint64_t)(block - s->segment->base);
  return n;
}

/* Fills in descriptor d for up to n bytes. Returns the number filled in; 0 if that is not possible now, or if *status is
 * set. */
static size_t fill(tt_shm *s, tt_end *e, descriptor *d, int peer, const void *bytes, size_t n,
                   tutti_status *status) {
  if (n <= TT_INLINE) {
    put_inline(d, bytes, n);
    return n;
  }
  const char *shown = tt_shm_shown(s, bytes, n);
  if (shown) {
    d->kind = POINTED;
    d->at = s->segment->threads ? (uint64_t)(uintptr_t)bytes : (uint64_t)(shown - s->segment->base);
    return n;
  }
  if (tt_remote_reads(s->heads[peer]) && tt_remote_cheaper(s->head, n)) {
    d->kind = REMOTE;
    d->at = (uint64_t)(uintptr_t)bytes;
    return n;
  }
  return fill_staged(s, e, d, peer, bytes, n, status);
}

static size_t shm_push(tt_wire *w, int peer, int lane, tt_stamp stamp, const void *bytes, size_t n,
                       size_t left, uint64_t *ticket, tutti_status *status) {
  (void)left;
  tt_shm *s = tt_shm_of(w);
  tt_end *e = out_end(s, peer, lane);
  if (!e->at && !open_channel(s, e, peer, lane)) {
    *status = tt_fail(TUTTI_ERR_MEMORY, "no shared memory left for a channel to rank %d", peer);
    return 0;
  }
  if (e->count - e->reclaimed == TT_DEPTH) {
    reclaim(s, e);
    if (e->count - e->reclaimed == TT_DEPTH) return 0;
  }
  descriptor *d = &e->at->slot[e->count % TT_DEPTH];
  size_t taken = fill(s, e, d, peer, bytes, n, status);
  if (!taken) return 0;
  d->seq = stamp.seq;
  d->hash = stamp.hash;
  d->bytes = taken & (UINT64_MAX >> 8);
  e->count++;
  /* model: channel:flag, wake:publish */
  atomic_store_explicit(&d->flag, (uint32_t)e->count, memory_order_release);
  tt_shm_wake(s, peer);
  *ticket = d->kind == POINTED || d->kind == REMOTE ? e->count : 0;
  return taken;
}

static bool shm_consumed(tt_wire *w, int peer, int lane, uint64_t ticket) {
  tt_end *e = out_end(tt_shm_of(w), peer, lane);
  if (e->known < ticket) e->known = consumed_count(e);
  return e->known >= ticket;
}

/* ---- receiving ---- */

static bool find_channel(tt_shm *s, tt_end *e, int peer, int lane) {
  const atomic_ullong *all = channels_of(s, peer, s->wire.rank);
  /* model: publish:find */
  const unsigned long long at = all ? atomic_load_explicit(&all[lane], memory_order_acquire) : 0;
  if (!at) return false;
  e->at = (channel *)(void *)(s->segment->base + at);
  e->count = s->wire.first;
  return true;
}

static const descriptor *current(const tt_end *e) {
  return &e->at->slot[e->count % TT_DEPTH];
}

static size_t shm_head(tt_wire *w, int peer, int lane, tt_stamp *stamp) {
  tt_shm *s = tt_shm_of(w);
  tt_end *e = in_end(s, peer, lane);
  if (!e->at && !find_channel(s, e, peer, lane)) return 0;
  const descriptor *d = current(e);
  /* model: channel:look, wake:last */
  if (atomic_load_explicit(&d->flag, memory_order_acquire) != (uint32_t)(e->count + 1)) return 0;
  *stamp = (tt_stamp){d->seq, d->hash};
  return (size_t)(d->bytes - e->used);
}

/* Returns the address of a piece's bytes. The piece must be in memory that this process maps. */
static const char *piece_address(const tt_shm *s, const descriptor *d) {
  if (d->kind == INLINE) return d->payload;
  if (d->kind == POINTED && s->segment->threads) return (const char *)(uintptr_t)d->at;
  return s->segment->base + d->at;
}

static bool read_remote(tt_shm *s, int peer, const descriptor *d, uint64_t from, void *to, size_t n,
                        tutti_status *status) {
  *status = tt_remote_read(tt_shm_intro(s, peer)->pid, d->at + from, to, n);
  return *status == TUTTI_OK;
}

/* Updates the estimated cost of reading a staged piece, and publishes the estimate for the sender. */
static void tell_cost(tt_end *e, const descriptor *d) {
  if (d->bytes >= WEIGHED && (d->kind == STAGED || d->kind == STREAMED)) {
    const tt_store kind = d->kind == STREAMED ? TT_STREAMING : TT_PLAIN;
    const float cost = tt_store_estimate(&e->stores.read[kind], &e->spent);
    atomic_store_explicit(&e->at->read[kind], (unsigned)(COSTS * cost), memory_order_relaxed);
  }
  e->spent = (tt_spent){0};
}

static const void *shm_view(tt_wire *w, int peer, int lane, size_t *n, tutti_status *status) {
  tt_shm *s = tt_shm_of(w);
  tt_end *e = in_end(s, peer, lane);
  const descriptor *d = current(e);
  e->since = tt_store_ticks();
  if (d->kind != REMOTE) return piece_address(s, d) + e->used;
  if (e->landed == 0 || e->used >= e->landed_at + e->landed) {
    if (!e->bounce && (e->bounce = aligned_alloc(64, s->gulp))) {
      e->next_holder = s->bouncers;
      s->bouncers = e;
    }
    if (!e->bounce) {
      *status = tt_fail(TUTTI_ERR_MEMORY, "no memory to read rank %d's bytes into", peer);
      return NULL;
    }
    size_t size = tt_min(s->gulp, (size_t)(d->bytes - e->used));
    if (!read_remote(s, peer, d, e->used, e->bounce, size, status)) return NULL;
    e->landed_at = e->used;
    e->landed = size;
  }
  *n = tt_min(*n, (size_t)(e->landed_at + e->landed - e->used));
  return e->bounce + (e->used - e->landed_at);
}

static void shm_release(tt_wire *w, int peer, int lane, size_t n) {
  tt_shm *s = tt_shm_of(w);
  tt_end *e = in_end(s, peer, lane);
  e->used += n;
  tt_spend(&e->spent, e->since, n);
  if (e->used < current(e)->bytes) return;
  tell_cost(e, current(e));
  e->used = e->landed = 0;
  e->count++;
  /* model: channel:consumed, wake:publish */
  atomic_store_explicit(&e->at->consumed, e->count, memory_order_release);
  tt_shm_wake(s, peer);
}

static bool shm_pull(tt_wire *w, int peer, int lane, void *to, size_t n, tutti_status *status) {
  tt_shm *s = tt_shm_of(w);
  tt_end *e = in_end(s, peer, lane);
  const descriptor *d = current(e);
  e->since = tt_store_ticks();
  if (d->kind != REMOTE)
    tt_memcpy(to, piece_address(s, d) + e->used, n);
  else if (!read_remote(s, peer, d, e->used, to, n, status))
    return false;
  shm_release(w, peer, lane, n);
  return true;
}

/* ---- the ends of all channels ---- */

bool tt_shm_ends_new(tt_shm *s) {
  const size_t ends = (size_t)s->wire.ranks * TT_LANES;
  s->out = calloc(2 * ends, sizeof *s->out);
  s->in = s->out + ends;
  return s->out;
}

size_t tt_shm_ends_memory(const tt_shm *s, void **memory) {
  size_t n = 0;
  for (int peer = 0; peer < s->wire.ranks; peer++) {
    void *all = channels_of(s, s->wire.rank, peer);
    for (int lane = 0; all && lane < TT_LANES; lane++) {
      channel *c = s->out[peer * TT_LANES + lane].at;
      if (c && memory) memory[n] = c;
      n += c != NULL;
    }
    if (all && memory) memory[n] = all;
    n += all != NULL;
  }
  return n;
}

void tt_shm_ends_free(tt_shm *s) {
  for (const tt_end *e = s->bouncers; e; e = e->next_holder) free(e->bounce);
  free(s->out);
}

const tt_channel_ops tt_shm_channel_ops = {
    .push = shm_push,
    .consumed = shm_consumed,
    .head = shm_head,
    .view = shm_view,
    .release = shm_release,
    .pull = shm_pull,
};
