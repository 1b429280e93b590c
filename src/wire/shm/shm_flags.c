/* shm_flags.c - what a rank publishes of an operation: the record of its call, and its flag slot.
 *
 * Idea       A record is marked while it is written, so that a reader takes whole ones only. A
 *            flag slot is a few bytes that all ranks see: it holds a flag with its bytes right behind it; longer data are in the rank's
 *            control block. There are 2 * TT_WINDOW slots, used in turn.
 * Invariant  A slot is rewritten only when the operation that used it is over on every rank, which
 *            every flag reports along the way.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "shm_wire.h"

/* ---- records ---- */

void tt_flags_record(tt_wire *w, const tt_record *r, uint32_t oldest) {
  tt_ctrl *ctrl = tt_shm_of(w)->ctrls[w->rank];
  tt_call_record *at = &ctrl->records[r->stamp.seq % TT_RECORDS];
  /* Each store releases the one that marks the record as being written. */
  /* model: record:writing */
  atomic_store_explicit(&at->seq, UINT32_MAX, memory_order_relaxed);
  /* model: record:field */
  atomic_store_explicit(&at->hash, r->stamp.hash, memory_order_release);
  /* model: record:field */
  atomic_store_explicit(&at->kind, r->coll << 24 | r->type << 16 | r->op, memory_order_release);
  /* model: record:field */
  atomic_store_explicit(&at->root, r->root, memory_order_release);
  /* model: record:field */
  atomic_store_explicit(&at->count, r->count, memory_order_release);
  /* model: record:number */
  atomic_store_explicit(&at->seq, r->stamp.seq, memory_order_release);
  /* model: flags:oldest */
  atomic_store_explicit(&ctrl->oldest, oldest, memory_order_release);
  /* model: record:newest */
  atomic_store_explicit(&ctrl->newest, r->stamp.seq + 1, memory_order_release);
}

int tt_flags_read_record(tt_wire *w, int peer, uint32_t seq, tt_record *r) {
  tt_ctrl *ctrl = tt_shm_of(w)->ctrls[peer];
  /* model: record:newest-look */
  uint32_t newest = atomic_load_explicit(&ctrl->newest, memory_order_acquire);
  if ((int32_t)(newest - seq) <= 0) return 0;
  if (newest - seq > TT_RECORDS) return -1;
  tt_call_record *at = &ctrl->records[seq % TT_RECORDS];
  /* model: record:look */
  if (atomic_load_explicit(&at->seq, memory_order_acquire) != seq) return -1;
  /* model: record:fields */
  uint32_t kind = atomic_load_explicit(&at->kind, memory_order_acquire);
  /* model: record:fields */
  *r = (tt_record){.stamp = {seq, atomic_load_explicit(&at->hash, memory_order_acquire)},
                   .coll = kind >> 24,
                   .type = kind >> 16 & 0xff,
                   .op = kind & 0xffff,
                   .root = atomic_load_explicit(&at->root, memory_order_acquire),
                   .count = atomic_load_explicit(&at->count, memory_order_acquire)};
  /* model: record:again */
  return atomic_load_explicit(&at->seq, memory_order_acquire) == seq ? 1 : -1;
}

/* ---- flag slots ---- */

static uint32_t least_over(tt_shm *s) {
  uint32_t least = s->over[s->wire.rank ? 0 : s->wire.ranks - 1];
  for (int r = 0; r < s->wire.ranks; r++)
    if (r != s->wire.rank && (int32_t)(s->over[r] - least) < 0) least = s->over[r];
  return least;
}

static tt_flag_slot *flag_slot_of(const tt_shm *s, int rank, uint32_t seq) {
  return &s->slots[seq % TT_RECORDS * (uint32_t)s->wire.ranks + (uint32_t)rank];
}

static void *slot_payload(const tt_shm *s, int rank, uint32_t seq, size_t n) {
  if (n <= TT_BESIDE) return flag_slot_of(s, rank, seq)->beside;
  return s->ctrls[rank]->flags[seq % TT_RECORDS];
}

void *tt_flags_slot(tt_wire *w, uint32_t seq, size_t n) {
  tt_shm *s = tt_shm_of(w);
  uint32_t before = seq - TT_RECORDS + 1; /* the slot's previous operation, which must be over */
  if (w->ranks > 1 && (int32_t)(s->over_everywhere - before) < 0) {
    s->over_everywhere = least_over(s);
    for (int r = 0; (int32_t)(s->over_everywhere - before) < 0 && r < w->ranks; r++)
      /* model: flags:oldest-look */
      s->over[r] = atomic_load_explicit(&s->ctrls[r]->oldest, memory_order_acquire);
    s->over_everywhere = least_over(s);
    if ((int32_t)(s->over_everywhere - before) < 0) return NULL;
  }
  return slot_payload(s, w->rank, seq, n);
}

void tt_flags_set(tt_wire *w, tt_stamp stamp, uint32_t oldest) {
  tt_shm *s = tt_shm_of(w);
  tt_flag_slot *slot = flag_slot_of(s, w->rank, stamp.seq);
  slot->oldest = oldest;
  /* model: flags:stamp, wake:publish */
  atomic_store(&slot->stamp, (unsigned long long)stamp.seq << 32 | stamp.hash);
  /* model: wake:look */
  for (int r = 0; atomic_load(s->sleepers_anywhere) && r < w->ranks; r++)
    if (r != w->rank) tt_shm_wake(s, r);
}

const void *tt_flags_get(tt_wire *w, int peer, uint32_t seq, size_t n, uint32_t *hash) {
  tt_shm *s = tt_shm_of(w);
  const tt_flag_slot *slot = flag_slot_of(s, peer, seq);
  /* model: flags:look, wake:last */
  unsigned long long stamp = atomic_load_explicit(&slot->stamp, memory_order_acquire);
  if ((uint32_t)(stamp >> 32) != seq) return NULL;
  *hash = (uint32_t)stamp;
  s->over[peer] = slot->oldest;
  return slot_payload(s, peer, seq, n);
}
