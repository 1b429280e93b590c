/* shm_wire.h - inside the shared-memory wire: what its files share.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_SHM_WIRE_H
#define TT_SHM_WIRE_H

#include "shm_room.h"

typedef struct tt_end tt_end; /* of a channel (shm.c) */

typedef struct tt_shm {
  tt_wire wire;
  tt_heap *heap;
  tt_segment *segment;
  int *members;
  tt_room **rooms;
  tt_end *out, *in;    /* [peer * lanes + lane] */
  tt_post *posts;      /* [place * ranks + rank] */
  tt_tallies *tallies; /* [rank] */
  atomic_uint *dozing; /* of the whole job: nobody is rung for while it is 0 */
  uint32_t *over;      /* per peer: operations before this are over there, as far as known */
  uint32_t over_everywhere;
  tt_stage stage;  /* blocks for private bytes */
  tt_end *lenders; /* ends that have blocks out */
  size_t gulp;     /* bytes of a landing place */
  bool copies;     /* no memory is lent: all of it is copied */
  char *arena;     /* of this rank (heap); NULL until it is used */
  char **landing;  /* per peer: where its private bytes are put to be looked at */
} tt_shm;

static inline tt_shm *tt_shm_of(tt_wire *w) {
  return (tt_shm *)w;
}

static inline tt_head *tt_shm_head(const tt_shm *s, int peer) {
  return tt_heap_head(s->segment, s->members[peer]);
}

/* To be called after a sequentially consistent store of what the peer waits for. */
static inline void tt_shm_wake(tt_shm *s, int peer) {
  /* model: doze:look */
  if (!atomic_load(s->dozing)) return;
  tt_ring(tt_shm_head(s, peer));
  tt_door_knock(s->segment, s->members[peer]);
}

/* May every rank address these bytes? */
static inline bool tt_shm_shared(const tt_shm *s, const void *bytes, size_t n) {
  const char *at = bytes;
  if (s->copies && at != s->arena) return false;
  return s->segment->threads ||
         (at >= s->segment->base &&
          at < s->segment->base + s->segment->stride * (size_t)s->segment->ranks &&
          !tt_heap_withdrawn(s->heap, bytes, n));
}

/* shm_board.c, shm_arena.c, shm_guard.c: parts of the wire's table. */
void *tt_board_slot(tt_wire *w, uint32_t seq, size_t n);
void tt_board_post(tt_wire *w, tt_stamp stamp, uint32_t oldest);
const void *tt_board_posted(tt_wire *w, int peer, uint32_t seq, size_t n, uint32_t *hash);
void tt_arena_measure(tt_wire *w, size_t l2, double crowd); /* ranks per core */
void *tt_arena_own(tt_wire *w);
uint64_t tt_arena_lend(tt_wire *w, const void *bytes, size_t n);
const void *tt_arena_reach(tt_wire *w, int peer, uint64_t name, size_t from, size_t *n,
                           tutti_status *status);
bool tt_arena_fetch(tt_wire *w, int peer, uint64_t name, size_t from, void *to, size_t n,
                    tutti_status *status);
void *tt_arena_writable(tt_wire *w, uint64_t name);
void tt_arena_tell(tt_wire *w, tt_tally tally, uint32_t value);
uint32_t tt_arena_told(tt_wire *w, int peer, tt_tally tally);
bool tt_guard_enter(tt_wire *w);
void tt_guard_leave(tt_wire *w);
bool tt_guard_settle(tt_wire *w);
void tt_guard_withdraw(tt_wire *w, void *memory, size_t bytes);

#endif
