/* shm_memory.c - memory that ranks share: call records, flag slots, the arena, and a guard.
 *
 * Records    A record is marked while it is being written, so that a reader never uses an incomplete one.
 * Flags      A slot holds a flag directly followed by its bytes. Longer data is in the rank's control block. The first round
 *            has TT_RECORDS slots, each later round has TT_REUSED; all are used cyclically. A slot is rewritten only when the
 *            operation that used it has ended on every rank. Every flag reports which operations have ended; a rank that sets
 *            no flags reports it in `shown`.
 * Arena      Memory in the segment has a name (its offset), under which every rank finds it. Private memory has a name if all
 *            ranks can read it and that costs less than a copy. All other memory is copied into the rank's arena:
 *            wire.size.slots slots of wire.size.piece bytes, allocated at first use, through which the pieces of vectors
 *            pass. Progress counters count the pieces. Each has one writer and only grows.
 * Slots      There are two, so a rank writes a piece while its peers read the previous one. All
 *            slots together are half as large as the L2 cache. A line that is still in a peer's
 *            cache must be fetched from there before it is written again; stores.h chooses the kind
 *            of store for which that is cheap.
 * Guard      After a failure, no peer may access a rank's memory any more. A rank that accesses a
 *            peer's memory first sets `inside` and then checks whether the communicator has ended. A
 *            rank that ends the communicator first publishes that and then checks `inside` of all
 *            peers. At least one of the two sees the other's store. A peer that was stopped inside
 *            could still write when it continues, so the memory it may write to is replaced by
 *            private pages with the same bytes at the same address. A rank does not wait for a peer
 *            known to be stopped. Ranks that are threads share their pages, which therefore cannot be
 *            replaced: such a rank waits until its peers have left.
 * Cost       Per piece, the guard takes one store that no other rank reads in the normal case, and one load.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fences.h"
#include "long_wait.h"
#include "remote.h"
#include "shm_wire.h"

/* ---- records ---- */

void tt_shm_record(tt_wire *w, const tt_record *r) {
  tt_ctrl *ctrl = tt_shm_of(w)->ctrls[w->rank];
  tt_call_record *at = &ctrl->records[r->stamp.seq % TT_RECORDS];
  /* Every store to a field has release order, so that it follows the store that marks the record as being written. */
  /* model: record:writing */
  atomic_store_explicit(&at->seq, UINT64_MAX, memory_order_relaxed);
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
  /* model: record:newest */
  atomic_store_explicit(&ctrl->newest, r->stamp.seq + 1, memory_order_release);
}

int tt_shm_read_record(tt_wire *w, int peer, uint64_t seq, tt_record *r) {
  tt_ctrl *ctrl = tt_shm_of(w)->ctrls[peer];
  /* model: record:newest-look */
  const uint64_t newest = atomic_load_explicit(&ctrl->newest, memory_order_acquire);
  if (newest <= seq) return 0;
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

static uint64_t least_over(tt_shm *s) {
  uint64_t least = s->over[s->wire.rank ? 0 : s->wire.ranks - 1];
  for (int r = 0; r < s->wire.ranks; r++)
    if (r != s->wire.rank && s->over[r] < least) least = s->over[r];
  return least;
}

static void *slot_payload(const tt_shm *s, int rank, uint64_t seq, uint32_t round, size_t n) {
  if (n <= TT_BESIDE) return tt_shm_slot(s, rank, seq, round)->beside;
  const uint32_t at = tt_shm_slot_at(seq, round);
  if (round == 0 && n <= TT_SMALL) return s->ctrls[rank]->small[at];
  if (round == 0) return s->ctrls[rank]->flags[seq % TT_REUSED];
  const tt_layout *l = &s->ctrls[rank]->layout;
  return (char *)tt_ctrl_at(s->ctrls[rank], l->later) + (size_t)(at - TT_RECORDS) * l->later_bytes;
}

/* Returns a number n. Before the slot of operation `seq` may be written, all operations below n must have ended on every
 * rank. These are the operations that used the slot, and one more, so that a record is not overwritten while a peer still
 * executes its operation. */
static uint64_t slot_free_from(uint64_t seq, uint32_t round, size_t n) {
  const uint64_t ahead = (round || n > TT_SMALL ? TT_REUSED : TT_RECORDS) - 1;
  return seq < ahead ? 0 : seq - ahead + 1;
}

static void *shm_flag_slot(tt_wire *w, uint64_t seq, uint32_t round, size_t n) {
  tt_shm *s = tt_shm_of(w);
  const uint64_t before = slot_free_from(seq, round, n);
  if (w->ranks > 1 && s->over_everywhere < before) {
    s->over_everywhere = least_over(s);
    for (int r = 0; s->over_everywhere < before && r < w->ranks; r++) /* model: flags:oldest-look */
      s->over[r] = atomic_load_explicit(&s->ctrls[r]->shown.over, memory_order_acquire);
    s->over_everywhere = least_over(s);
    if (s->over_everywhere < before) return NULL;
  }
  return slot_payload(s, w->rank, seq, round, n);
}

static int shm_flag_keeper(tt_wire *w, uint64_t seq, size_t n) {
  const tt_shm *s = tt_shm_of(w);
  for (int r = 0; r < w->ranks; r++)
    if (r != w->rank && s->over[r] < slot_free_from(seq, 0, n)) return r;
  return -1;
}

void tt_shm_over(tt_wire *w, uint64_t oldest, bool wakes) {
  /* model: flags:oldest, wake:publish */
  atomic_store_explicit(&w->shown->over, oldest, memory_order_release);
  if (wakes) tt_shm_wake_all(tt_shm_of(w));
}

static void shm_flag_set(tt_wire *w, tt_stamp stamp, uint32_t round, uint64_t oldest) {
  tt_shm *s = tt_shm_of(w);
  tt_flag_slot *slot = tt_shm_slot(s, w->rank, stamp.seq, round);
  slot->hash = stamp.hash;
  slot->under_way = (uint32_t)(stamp.seq - oldest);
  /* model: flags:stamp, wake:publish */
  atomic_store_explicit(&slot->seq, stamp.seq, memory_order_release);
  tt_shm_wake_all(s);
}

static const void *shm_flag_get(tt_wire *w, int peer, uint64_t seq, uint32_t round, size_t n,
                                uint32_t *hash) {
  tt_shm *s = tt_shm_of(w);
  const tt_flag_slot *slot = tt_shm_slot(s, peer, seq, round);
  /* model: flags:look, wake:last */
  if (atomic_load_explicit(&slot->seq, memory_order_acquire) != seq) return NULL;
  *hash = slot->hash;
  s->over[peer] = seq - slot->under_way;
  return slot_payload(s, peer, seq, round, n);
}

static void own_line(const void *line) {
#if defined(__x86_64__)
  __asm__ volatile("prefetchw %0" : : "m"(*(const char *)line));
#else
  __builtin_prefetch(line, 1);
#endif
}

/* Prefetches only slots that store their payload separately. If the payload follows the flag, prefetching does not help,
 * because only one cache line is in flight. Payloads with more lines than a core has line-fill buffers are not prefetched
 * either, because that would delay the following stores. */
enum { AHEAD = 512 };
static void shm_flag_ahead(tt_wire *w, uint64_t seq, uint32_t round, size_t n) {
  tt_shm *s = tt_shm_of(w);
  if (n <= TT_BESIDE || n > AHEAD || w->ranks == 1) return;
  const char *payload = slot_payload(s, w->rank, seq, round, n);
  own_line(tt_shm_slot(s, w->rank, seq, round));
#pragma GCC unroll 1
  for (size_t at = 0; at < n; at += 64) own_line(payload + at);
}

/* ---- the arena ---- */

static const uint64_t remote = (uint64_t)1 << 63; /* marks a name that is an address in its rank's
                                                     private memory */

/* LIVE: number of pieces that are in the cache at the same time, which are two in the arena, one in src and one in dst. */
enum { SLOTS = 2, LIVE = 4 };
_Static_assert((int)SLOTS == (int)TT_STORE_WARM,
               "after a change of kind each place is written once");

void tt_shm_measure_arena(tt_wire *w, size_t l2) {
  const size_t bound = ((size_t)16 << 20) / SLOTS / (size_t)w->ranks;
  w->size.piece = tt_max((size_t)16 << 10, tt_min(l2 / LIVE, bound) / 4096 * 4096);
  w->size.slots = SLOTS;
}

static void *shm_arena(tt_wire *w) {
  tt_shm *s = tt_shm_of(w);
  if (!s->arena) s->arena = tt_heap_alloc(s->heap, tt_arena_bytes(w), 4096);
  return s->arena;
}

static bool all_read(tt_shm *s) {
  for (int r = 0; r < s->wire.ranks && !s->all_read; r++)
    if (r != s->wire.rank && !tt_remote_reads(s->heads[r])) return false;
  return s->all_read = true;
}

static uint64_t shm_export(tt_wire *w, const void *bytes, size_t n) {
  tt_shm *s = tt_shm_of(w);
  const uint64_t at = (uint64_t)(uintptr_t)bytes;
  const char *shown = tt_shm_shown(s, bytes, n);
  if (shown) return s->segment->threads ? at : (uint64_t)(shown - s->segment->base);
  return at < remote && all_read(s) ? at | remote : 0;
}

static bool shm_worth(tt_wire *w, uint64_t name, size_t n) {
  return !(name & remote) || tt_remote_cheaper(tt_shm_of(w)->head, n);
}

static const char *address_of_name(const tt_shm *s, uint64_t name) {
  return s->segment->threads ? (const char *)(uintptr_t)name : s->segment->base + name;
}

static void *shm_writable(tt_wire *w, uint64_t name) {
  const tt_shm *s = tt_shm_of(w);
  if (!name || name & remote) return NULL;
  return s->segment->threads ? (char *)(uintptr_t)name : s->segment->base + name;
}

static bool shm_fetch(tt_wire *w, int peer, uint64_t name, size_t from, void *to, size_t n,
                      tutti_status *status) {
  tt_shm *s = tt_shm_of(w);
  if (name & remote)
    *status = tt_remote_read(tt_shm_intro(s, peer)->pid, (name & ~remote) + from, to, n);
  else
    tt_memcpy(to, address_of_name(s, name) + from, n);
  return *status == TUTTI_OK;
}

static const void *shm_map(tt_wire *w, int peer, uint64_t name, size_t from, size_t *n,
                           tutti_status *status) {
  tt_shm *s = tt_shm_of(w);
  if (!(name & remote)) return address_of_name(s, name) + from;
  if (!s->bounce[peer]) s->bounce[peer] = aligned_alloc(64, s->gulp);
  if (!s->bounce[peer]) {
    *status = tt_fail(TUTTI_ERR_MEMORY, "no memory to read rank %d's bytes into", peer);
    return NULL;
  }
  *n = tt_min(*n, s->gulp);
  return shm_fetch(w, peer, name, from, s->bounce[peer], *n, status) ? s->bounce[peer] : NULL;
}

static void shm_publish(tt_wire *w, tt_counter counter, uint64_t value) {
  tt_shm *s = tt_shm_of(w);
  /* model: arena:told, wake:publish */
  atomic_store_explicit(&tt_shm_counters(s, w->rank)->of[counter], value, memory_order_release);
  tt_shm_wake_all(s);
}

static uint64_t shm_published(tt_wire *w, int peer, tt_counter counter) {
  tt_counters *theirs = tt_shm_counters(tt_shm_of(w), peer);
  /* model: arena:look, wake:last */
  return atomic_load_explicit(&theirs->of[counter], memory_order_acquire);
}

static void shm_advise(tt_wire *w, int index, uint64_t word) {
  atomic_ullong *at = &tt_shm_of(w)->ctrls[0]->advice[index];
  /* order: advice, nothing is read behind it */
  if (atomic_load_explicit(at, memory_order_relaxed) != word)
    atomic_store_explicit(at, word, memory_order_relaxed);
}

static uint64_t shm_advised(tt_wire *w, int index) {
  /* order: advice, nothing is read behind it */
  return atomic_load_explicit(&tt_shm_of(w)->ctrls[0]->advice[index], memory_order_relaxed);
}

/* ---- the guard ---- */

static const double limit = 2, between_looks = 0.02; /* s */

static void shm_leave(tt_wire *w) {
  /* model: guard:leave */
  atomic_store_explicit(&tt_shm_of(w)->ctrls[w->rank]->inside, 0, memory_order_release);
}

static bool shm_enter(tt_wire *w) {
  tt_ctrl *ctrl = tt_shm_of(w)->ctrls[w->rank];
  /* model: guard:inside */
  atomic_store_explicit(&ctrl->inside, 1, memory_order_release);
  tt_shm_fence(tt_shm_of(w));
  /* model: guard:look */
  if (!atomic_load_explicit(&ctrl->aborting_by, memory_order_acquire)) return true;
  shm_leave(w);
  return false;
}

static bool shm_quiesce(tt_wire *w) {
  tt_shm *s = tt_shm_of(w);
  char reason[TT_REASON];
  const tutti_status status = tt_ctrl_aborted(s->ctrls[w->rank], reason, sizeof reason);
  for (int r = 0; status && r < w->ranks; r++)
    tt_ctrl_abort(s->ctrls[r], s->members[w->rank], status, reason);
  tt_fence_everywhere();
  double now = tt_seconds(), look = now + between_looks;
  const double until = now + limit;
  tt_long_wait wait = tt_long_wait_begin("a call that failed");
  bool settles = true;
  for (int r = 0; r < w->ranks && settles; r++) /* model: guard:settle */
    while (r != w->rank && settles && atomic_load(&s->ctrls[r]->inside)) {
      if (!w->peer->alive(w, r)) break;
      if ((now = tt_seconds()) > look) {
        look = now + between_looks;
        settles = !w->peer->stopped(w, r);
      }
      if (now > until && !s->segment->threads) settles = false;
      tt_long_wait_for(&wait, "rank %d, which is inside the op that works on rank %d's vectors", r,
                       w->rank);
      sched_yield();
    }
  tt_long_wait_end(&wait);
  return settles;
}

static void shm_revoke(tt_wire *w, void *memory, size_t bytes) {
  tt_shm *s = tt_shm_of(w);
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  char *at = (char *)((uintptr_t)memory / page * page);
  const size_t size = tt_round_up((size_t)((char *)memory - at) + bytes, page);
  if (s->segment->threads || !bytes || !tt_shm_shown(s, memory, bytes)) return;
  if (s->segment->lent && tt_lend_end(s->heap, memory, true)) return;
  void *own = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (own == MAP_FAILED) return;
  memcpy(own, at, size);
  tt_heap_revoke(s->heap, at, size);
  if (!tt_map_over(own, size, at, false)) munmap(own, size);
}

/* ---- the table ---- */

/* Allocates whole pages. Revoking this memory later then does not affect any other allocation. */
static void *shm_alloc(tt_wire *w, size_t bytes) {
  return bytes > PTRDIFF_MAX ? NULL
                             : tt_heap_alloc(tt_shm_of(w)->heap, tt_round_up(bytes, 4096), 4096);
}
static bool shm_free(tt_wire *w, void *memory) {
  return tt_heap_free(tt_shm_of(w)->heap, memory);
}

const tt_memory_ops tt_shm_memory_ops = {
    .flag_slot = shm_flag_slot,
    .flag_set = shm_flag_set,
    .flag_get = shm_flag_get,
    .flag_ahead = shm_flag_ahead,
    .flag_keeper = shm_flag_keeper,
    .arena = shm_arena,
    .export = shm_export,
    .worth = shm_worth,
    .map = shm_map,
    .fetch = shm_fetch,
    .writable = shm_writable,
    .publish = shm_publish,
    .published = shm_published,
    .advise = shm_advise,
    .advised = shm_advised,
    .enter = shm_enter,
    .leave = shm_leave,
    .quiesce = shm_quiesce,
    .revoke = shm_revoke,
    .alloc = shm_alloc,
    .free = shm_free,
};
