/* shm_wire.h - declarations shared by the files of the shared-memory wire.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_SHM_WIRE_H
#define TT_SHM_WIRE_H

#include "lent.h"
#include "shm_ctrl.h"
#include "stores.h"

enum {
  TT_DEPTH = 4,  /* pieces in flight per channel */
  TT_INLINE = 96 /* number of bytes that are stored in the descriptor, next to the flag */
};

typedef struct tt_end tt_end; /* the end of a channel (shm.c) */

typedef struct tt_shm {
  tt_wire wire;
  tt_heap *heap;
  tt_segment *segment;
  tt_head *head, **heads;     /* of this rank's heap, and of each peer's */
  const atomic_bool *revokes; /* true if some memory of the heap has been revoked */
  int *members;
  tt_ctrl **ctrls;
  tt_end *out, *in;      /* [peer * lanes + lane] */
  tt_flag_slot *slots;   /* [slot * ranks + rank]; NULL if each rank's slots are in its own control
                            block */
  tt_counters *counters; /* [rank] */
  atomic_uint *sleepers_anywhere; /* number of sleeping ranks in the whole job; while it is 0, no
                                     rank needs to be woken */
  uint64_t *over; /* for each peer, operations before this one are known to have ended there */
  uint64_t over_everywhere;
  tt_stage stage;           /* blocks for private bytes */
  tt_end *holders;          /* ends that have blocks in use */
  tt_end *bouncers;         /* ends that have bounce buffers */
  bool all_read; /* true once it is known that peers can read all ranks' private memory */
  size_t gulp;   /* size of a bounce buffer */
  tt_store_rule store_rule; /* initial rule of new channels */
  bool copies;              /* do not export memory: copy all of it */
  bool fenced;   /* true if peers that sleep or end the communicator make this rank pass a fence
                    (job/fences.h) */
  char *arena;   /* this rank's arena, in its heap; NULL until first used */
  char **bounce; /* for each peer, the bounce buffer for its private bytes */
} tt_shm;

static inline tt_shm *tt_shm_of(tt_wire *w) {
  return (tt_shm *)w;
}

/* ---- channels (shm.c) ---- */

extern const tt_channel_ops tt_shm_channel_ops;
/* Allocates this rank's ends of the channels to and from all peers. Returns false if out of memory. */
bool tt_shm_ends_new(tt_shm *s);
/* Lists the blocks of this rank's heap that its channels use. They must not be freed while a peer may read them. Returns the
 * number of blocks. `memory` is NULL, or has room for all of them. */
size_t tt_shm_ends_memory(const tt_shm *s, void **memory);
void tt_shm_ends_free(tt_shm *s);

static inline const tt_intro *tt_shm_intro(const tt_shm *s, int peer) {
  return tt_heap_intro(s->segment, s->members[peer]);
}

/* Returns the index of an operation's flag slot in this round. A round's slots are adjacent, ordered by operation. */
static inline uint32_t tt_shm_slot_at(uint64_t seq, uint32_t round) {
  if (round == 0) return (uint32_t)(seq % TT_RECORDS);
  return TT_RECORDS + (round - 1) * TT_REUSED + (uint32_t)(seq % TT_REUSED);
}

static inline tt_flag_slot *tt_shm_slot(const tt_shm *s, int rank, uint64_t seq, uint32_t round) {
  const uint32_t at = tt_shm_slot_at(seq, round);
  if (s->slots) return &s->slots[at * (uint32_t)s->wire.ranks + (uint32_t)rank];
  tt_flag_slot *own = tt_ctrl_at(s->ctrls[rank], s->ctrls[rank]->layout.own);
  return &own[at];
}

static inline tt_counters *tt_shm_counters(const tt_shm *s, int rank) {
  if (s->slots) return &s->counters[rank];
  tt_flag_slot *own = tt_ctrl_at(s->ctrls[rank], s->ctrls[rank]->layout.own);
  return (tt_counters *)(void *)(own + TT_SLOTS);
}

/* Orders an earlier store before a later load. The load checks whether a peer has seen the store. */
static inline void tt_shm_fence(const tt_shm *s) {
  /* order: the compiler's part of a fence that peers make this rank pass */
  atomic_signal_fence(memory_order_seq_cst);
  /* model: wake:own-fence, guard:own-fence */
  if (!s->fenced) atomic_thread_fence(memory_order_seq_cst);
}

/* Returns true if any rank of the job is asleep. The caller has just released a value that peers may be waiting for. */
static inline bool tt_shm_sleepers(const tt_shm *s) {
  tt_shm_fence(s);
  /* model: wake:look */
  return atomic_load_explicit(s->sleepers_anywhere, memory_order_acquire) != 0;
}

static inline void tt_shm_wake_now(tt_shm *s, int peer) {
  tt_futex_wake(s->heads[peer]);
  tt_wake_fd_signal(s->segment, s->heads[peer], s->members[peer]);
}

static inline void tt_shm_wake(tt_shm *s, int peer) {
  if (tt_shm_sleepers(s)) tt_shm_wake_now(s, peer);
}

static inline void tt_shm_wake_all(tt_shm *s) {
  if (!tt_shm_sleepers(s)) return;
  for (int r = 0; r < s->wire.ranks; r++)
    if (r != s->wire.rank) tt_shm_wake_now(s, r);
}

/* Returns the address of these bytes in the memory that all ranks map, or NULL if the bytes are in private memory. */
static inline const char *tt_shm_shown(const tt_shm *s, const void *bytes, size_t n) {
  const char *at = bytes;
  if (s->copies && at != s->arena) return NULL;
  if (s->segment->threads) return at;
  if (at >= s->segment->base && at < s->segment->base + tt_segment_bytes(s->segment))
    return *s->revokes && tt_heap_revoked(s->heap, bytes, n) ? NULL : at;
  /* order: relaxed, memory is registered before the call that uses it, in program order */
  const bool lends = atomic_load_explicit(&s->segment->lent, memory_order_relaxed);
  return lends ? tt_lent_at(s->segment, bytes, n) : NULL;
}

extern const struct tt_shm_agree_ops tt_shm_agree_table; /* shm_agree.c */

/* shm_memory.c */
extern const tt_memory_ops tt_shm_memory_ops;
void tt_shm_record(tt_wire *w, const tt_record *record);
void tt_shm_over(tt_wire *w, uint64_t oldest, bool wakes);
int tt_shm_read_record(tt_wire *w, int peer, uint64_t seq, tt_record *record);
/* Sets the arena's sizes for an L2 cache of `l2` bytes. */
void tt_shm_measure_arena(tt_wire *w, size_t l2);

/* wake.c: entries of the table of peers. */
uint32_t tt_sleep_begin(tt_wire *w);
void tt_sleep(tt_wire *w, uint32_t futex, uint32_t limit_us);
void tt_sleep_end(tt_wire *w);
int tt_sleep_fd_open(tt_wire *w);
void tt_sleep_fd_close(tt_wire *w, int fd);

#endif
