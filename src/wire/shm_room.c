/* shm_room.c - a rank's room in a communicator: its abort word, what it called,
 * and the directory of its channels.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "shm_room.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static size_t ballot_at(int ranks) {
  size_t bytes = sizeof(tt_room) + (size_t)ranks * TT_LANES * sizeof(atomic_ullong);
  return tt_round_up(bytes, TT_PAIR);
}

tt_ballot *tt_room_ballot(tt_room *room, int ranks) {
  return (tt_ballot *)(void *)((char *)room + ballot_at(ranks));
}

static size_t posts_at(int ranks) {
  return tt_round_up(ballot_at(ranks) + sizeof(tt_ballot), 4096);
}

tt_post *tt_room_posts(tt_room *room, int ranks) {
  return (tt_post *)(void *)((char *)room + posts_at(ranks));
}

static size_t tallies_at(int ranks) {
  return posts_at(ranks) + (size_t)ranks * TT_RECORDS * sizeof(tt_post);
}

tt_tallies *tt_room_tallies(tt_room *room, int ranks) {
  return (tt_tallies *)(void *)((char *)room + tallies_at(ranks));
}

uint64_t tt_shm_room(tt_heap *heap, int ranks, bool first) {
  size_t all = first ? tallies_at(ranks) + (size_t)ranks * sizeof(tt_tallies) : posts_at(ranks);
  tt_room *room = tt_heap_alloc(heap, all, 4096);
  if (room) atomic_store_explicit(&room->guests, (unsigned)ranks, memory_order_relaxed);
  return room ? (uint64_t)((char *)room - tt_heap_segment(heap)->base) : 0;
}

void tt_shm_room_fewer(tt_heap *heap, uint64_t room, int by) {
  tt_room *at = (tt_room *)(void *)(tt_heap_segment(heap)->base + room);
  /* model: guests:leave */
  if (by) atomic_fetch_sub(&at->guests, (unsigned)by);
}

void tt_shm_room_free(tt_heap *heap, uint64_t room) {
  if (room) tt_heap_free(heap, tt_heap_segment(heap)->base + room);
}

void tt_shm_room_leave(tt_heap *heap, uint64_t room, tutti_status status, const char *why) {
  tt_room *at = (tt_room *)(void *)(tt_heap_segment(heap)->base + room);
  void *memory = at;
  tt_room_abort(at, status, why);
  /* model: guests:leave */
  atomic_fetch_sub(&at->guests, 1);
  tt_heap_free_later(heap, &at->guests, &memory, 1);
}

void tt_room_record(tt_room *room, const tt_record *r, uint32_t oldest) {
  tt_call_record *at = &room->records[r->stamp.seq % TT_RECORDS];
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
  /* model: board:oldest */
  atomic_store_explicit(&room->oldest, oldest, memory_order_release);
  /* model: record:newest */
  atomic_store_explicit(&room->newest, r->stamp.seq + 1, memory_order_release);
}

int tt_room_read_record(tt_room *room, uint32_t seq, tt_record *r) {
  /* model: record:newest-look */
  uint32_t newest = atomic_load_explicit(&room->newest, memory_order_acquire);
  if ((int32_t)(newest - seq) <= 0) return 0;
  if (newest - seq > TT_RECORDS) return -1;
  tt_call_record *at = &room->records[seq % TT_RECORDS];
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

/* `telling` is this process's already. */
static void tell(tt_room *room, tutti_status status, const char *reason) {
  snprintf(room->reason, sizeof room->reason, "%s", reason ? reason : "");
  /* model: abort:status, doze:publish */
  atomic_store(&room->aborted, (int)status);
}

void tt_room_abort(tt_room *room, tutti_status status, const char *reason) {
  int nobody = 0; /* else somebody was first */
  /* model: abort:first, guard:over */
  if (atomic_compare_exchange_strong(&room->telling, &nobody, (int)getpid()))
    tell(room, status, reason);
}

void tt_room_retell(tt_room *room) {
  char reason[80];
  /* order: a process that died; whether it told is asked next, in this order */
  int teller = atomic_load(&room->telling);
  /* order: seq_cst, so that the look after the death sees what the teller did before */
  if (!teller || atomic_load(&room->aborted) || tt_process_alive(teller)) return;
  /* order: as above */
  if (atomic_load(&room->aborted)) return; /* he did, and died then */
  snprintf(reason, sizeof reason, "process %d died, while it told why it is over", teller);
  /* model: abort:first */
  if (atomic_compare_exchange_strong(&room->telling, &teller, (int)getpid()))
    tell(room, TUTTI_ERR_PEER_LOST, reason);
}

tutti_status tt_room_aborted(tt_room *room, char *reason, size_t size) {
  /* model: abort:hear, doze:last */
  int status = atomic_load_explicit(&room->aborted, memory_order_acquire);
  if (status && reason) snprintf(reason, size, "%s", room->reason);
  return (tutti_status)status;
}
