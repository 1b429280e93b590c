/* shm_open.c - how a rank attaches to a communicator's shared memory, monitors its peers, and
 * leaves.
 *
 * Cost       Tables of 40 bytes per rank, and the ends of channels (shm.c). Only the ends for peers in use are touched.
 * Invariant  A rank's control block, and the memory that it has published for peers, are freed once all ranks have left.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "process_state.h"
#include "remote.h"
#include "shm_wire.h"
#include "wires.h"

/* ---- peers ---- */

static void shm_abort(tt_wire *w, tutti_status status, const char *reason) {
  tt_shm *s = tt_shm_of(w);
  for (int peer = 0; peer < w->ranks; peer++) {
    tt_ctrl_abort(s->ctrls[peer], s->members[w->rank], status, reason);
    tt_shm_wake(s, peer);
  }
}

/* Checks the control blocks of all ranks for the reason why the communicator ended. A rank that failed early, just after it
 * had made its control block, published the reason only in that block. */
static void hear_leavers(const tt_shm *s, tt_ctrl *ctrl) {
  char why[TT_REASON];
  tutti_status status;
  for (int peer = 0; peer < s->wire.ranks && !tt_ctrl_aborted(ctrl, NULL, 0); peer++)
    if ((status = tt_ctrl_aborted(s->ctrls[peer], why, sizeof why)))
      tt_ctrl_abort(ctrl, s->members[s->wire.rank], status, why);
}

static tutti_status shm_aborted(tt_wire *w, char *reason, size_t size) {
  tt_ctrl *ctrl = tt_shm_of(w)->ctrls[w->rank];
  if (reason) {
    tt_ctrl_finish_abort(ctrl, tt_shm_of(w)->segment, tt_shm_of(w)->members[w->rank]);
    hear_leavers(tt_shm_of(w), ctrl);
  }
  return tt_ctrl_aborted(ctrl, reason, size);
}

static bool shm_alive(tt_wire *w, int peer) {
  tt_shm *s = tt_shm_of(w);
  return s->segment->threads || tt_rank_alive(tt_shm_intro(s, peer));
}

static bool shm_stopped(tt_wire *w, int peer) {
  tt_shm *s = tt_shm_of(w);
  return !s->segment->threads && tt_state_stopped(tt_rank_state(tt_shm_intro(s, peer)));
}

static long shm_pid(tt_wire *w, int peer) {
  return tt_shm_intro(tt_shm_of(w), peer)->pid;
}

static const tt_shown *shm_shown(tt_wire *w, int peer) {
  return &tt_shm_of(w)->ctrls[peer]->shown;
}

static uint64_t offset_of(const tt_shm *s, const tt_ctrl *ctrl) {
  return (uint64_t)((const char *)ctrl - s->segment->base);
}

static void publish_own_state(tt_shm *s) {
  tt_ctrl *mine = s->ctrls[s->wire.rank];
  s->wire.shown = &mine->shown;
  mine->shown.ranks = (uint32_t)s->wire.ranks;
  mine->shown.rank = (uint32_t)s->wire.rank;
  mine->shown.home = offset_of(s, s->ctrls[0]);
  atomic_store_explicit(&mine->shown.over, 1, memory_order_relaxed); /* operations are numbered from
                                                                        1 */
  tt_shm_show(s->head, offset_of(s, mine));
}

/* Drops this rank's references to all shared memory. Memory that peers may still read is freed after the peers have left. */
static void drop_peer_refs(tt_shm *s) {
  void **memory = malloc((tt_shm_ends_memory(s, NULL) + 3) * sizeof *memory);
  tt_ctrl *mine_here = s->ctrls[s->wire.rank];
  tt_shm_hide(s->head, offset_of(s, mine_here));
  /* model: refs:leave */
  for (int r = 0; r < s->wire.ranks; r++) atomic_fetch_sub(&s->ctrls[r]->refs, 1);
  size_t n = memory ? tt_shm_ends_memory(s, memory) : 0;
  if (memory && s->stage.memory) memory[n++] = s->stage.memory;
  if (memory && s->arena) memory[n++] = s->arena;
  if (memory) memory[n++] = mine_here;
  if (memory) tt_heap_free_later(s->heap, &mine_here->refs, memory, n);
  free(memory);
}

static void shm_close(tt_wire *w) {
  tt_shm *s = tt_shm_of(w);
  drop_peer_refs(s);
  tt_shm_ends_free(s);
  for (int r = 0; r < w->ranks; r++) free(s->bounce[r]);
  free(s->stage.spare);
  free(w->arena_state);
  free(s);
}

static const tt_peer_ops peer_ops = {
    .record = tt_shm_record,
    .over = tt_shm_over,
    .read_record = tt_shm_read_record,
    .sleep_begin = tt_sleep_begin,
    .sleep = tt_sleep,
    .sleep_end = tt_sleep_end,
    .wake_fd_open = tt_sleep_fd_open,
    .wake_fd_close = tt_sleep_fd_close,
    .abort = shm_abort,
    .aborted = shm_aborted,
    .alive = shm_alive,
    .stopped = shm_stopped,
    .pid = shm_pid,
    .shown = shm_shown,
    .close = shm_close,
};

/* ---- opening ---- */

/* One allocation, followed by the tables of all ranks. */
static tt_shm *alloc_shm(size_t ranks) {
  tt_shm *s =
      calloc(1, sizeof *s + ranks * (sizeof *s->ctrls + sizeof *s->heads + sizeof *s->bounce +
                                     sizeof *s->over + sizeof *s->members));
  if (!s) return NULL;
  s->ctrls = (tt_ctrl **)(void *)(s + 1);
  s->heads = (tt_head **)(void *)(s->ctrls + ranks);
  s->bounce = (char **)(void *)(s->heads + ranks);
  s->over = (uint64_t *)(void *)(s->bounce + ranks);
  s->members = (int *)(void *)(s->over + ranks);
  return s;
}

/* Returns true if the ranks are on several NUMA nodes. The result is the same on all ranks. */
static bool several_memories(const tt_shm *s) {
  for (int r = 1; r < s->wire.ranks; r++)
    if (tt_shm_intro(s, r)->within.numa != tt_shm_intro(s, 0)->within.numa) return true;
  return false;
}

/* Finds the memory of the flag slots, and computes the size that a slot has in later rounds. */
static void find_slots(tt_shm *s) {
  const tt_layout *first = &s->ctrls[0]->layout;
  s->wire.size.later = first->later_bytes;
  for (int r = 1; r < s->wire.ranks; r++)
    s->wire.size.later = tt_min(s->wire.size.later, s->ctrls[r]->layout.later_bytes);
  if (several_memories(s)) return;
  s->slots = tt_ctrl_at(s->ctrls[0], first->slots);
  s->counters = tt_ctrl_at(s->ctrls[0], first->counters);
}

tutti_status tt_shm_wire(tt_heap *heap, int rank, int ranks, const int *members,
                         const uint64_t *ctrls, tt_wire **wire) {
  tt_shm *s = alloc_shm((size_t)ranks);
  if (!s) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for a communicator of %d ranks", ranks);
  s->wire = (tt_wire){.channel = &tt_shm_channel_ops,
                      .memory = &tt_shm_memory_ops,
                      .peer = &peer_ops,
                      .shm_agree = &tt_shm_agree_table,
                      .rank = rank,
                      .ranks = ranks,
                      .size.flag = TT_FLAG_BYTES,
                      .size.beside = TT_INLINE};
  if (!tt_shm_ends_new(s)) {
    free(s);
    return tt_fail(TUTTI_ERR_MEMORY, "out of memory for the channels of %d ranks", ranks);
  }
  s->heap = heap;
  s->segment = tt_heap_segment(heap);
  s->head = tt_heap_head(s->segment, tt_heap_index(heap));
  s->revokes = tt_heap_revokes(heap);
  s->gulp = tt_remote_gulp(ranks);
  s->copies = tt_copies_wanted() == TT_COPIES_ALL;
  s->fenced = true;
  for (int r = 0; r < ranks; r++) {
    s->members[r] = members[r];
    s->heads[r] = tt_heap_head(s->segment, members[r]);
    s->ctrls[r] = (tt_ctrl *)(void *)(s->segment->base + ctrls[r]);
    s->fenced = s->fenced && tt_shm_intro(s, r)->fenced;
  }
  tt_shm_measure_arena(&s->wire, s->heads[0]->l2);
  s->store_rule = tt_stores_wanted();
  s->wire.learns = tt_learns_wanted();
  find_slots(s);
  s->wire.first = tt_first_number();
  for (int k = 0; k < TT_COUNTERS; k++)
    atomic_store_explicit(&tt_shm_counters(s, rank)->of[k], s->wire.first, memory_order_relaxed);
  s->sleepers_anywhere = &tt_job_head_of(s->segment)->sleepers_anywhere;
  s->wire.over = &s->ctrls[rank]->aborted;
  s->wire.proofs = s->ctrls[0]->proofs;
  publish_own_state(s);
  *wire = &s->wire;
  return TUTTI_OK;
}
