/* shm_ctrl.c - a rank's control block in a communicator: allocation, and its abort word.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "shm_ctrl.h"

#include <stdio.h>

#include "process_state.h"
#include "wires.h"

_Static_assert(sizeof(tt_ctrl) <= TT_CTRL_LEAST, "joiners.c checks that one fits in a heap");

uint64_t tt_shm_ctrl_new(tt_heap *heap, int ranks, bool first) {
  const tt_layout layout = tt_shm_layout(ranks, first);
  tt_ctrl *ctrl = tt_heap_alloc(heap, layout.bytes, 4096);
  if (!ctrl) return 0;
  ctrl->layout = layout;
  atomic_store_explicit(&ctrl->refs, (unsigned)ranks, memory_order_relaxed);
  return (uint64_t)((char *)ctrl - tt_heap_segment(heap)->base);
}

void tt_shm_ctrl_drop_refs(tt_heap *heap, uint64_t ctrl, int by) {
  tt_ctrl *at = (tt_ctrl *)(void *)(tt_heap_segment(heap)->base + ctrl);
  /* model: refs:leave */
  if (by) atomic_fetch_sub(&at->refs, (unsigned)by);
}

void tt_shm_ctrl_free(tt_heap *heap, uint64_t ctrl) {
  if (ctrl) tt_heap_free(heap, tt_heap_segment(heap)->base + ctrl);
}

void tt_shm_ctrl_abandon(tt_heap *heap, uint64_t ctrl, tutti_status status, const char *why) {
  tt_ctrl *at = (tt_ctrl *)(void *)(tt_heap_segment(heap)->base + ctrl);
  void *memory = at;
  tt_ctrl_abort(at, tt_heap_index(heap), status, why);
  /* model: refs:leave */
  atomic_fetch_sub(&at->refs, 1);
  tt_heap_free_later(heap, &at->refs, &memory, 1);
}

/* Requires that aborting_by is already set to this rank. */
static void publish_abort(tt_ctrl *ctrl, tutti_status status, const char *reason) {
  snprintf(ctrl->reason, sizeof ctrl->reason, "%s", reason ? reason : "");
  /* model: abort:status */
  atomic_store(&ctrl->aborted, (int)status);
}

void tt_ctrl_abort(tt_ctrl *ctrl, int by, tutti_status status, const char *reason) {
  int nobody = 0; /* if not, another rank was first */
  /* model: abort:first, guard:over */
  if (atomic_compare_exchange_strong(&ctrl->aborting_by, &nobody, by + 1))
    publish_abort(ctrl, status, reason);
}

void tt_ctrl_finish_abort(tt_ctrl *ctrl, const tt_segment *segment, int by) {
  char reason[80];
  /* order: a process that died; the check whether it published a reason follows, in this order */
  int aborter = atomic_load(&ctrl->aborting_by);
  /* order: seq_cst, so that the look after the death sees what the teller did before */
  if (!aborter || atomic_load(&ctrl->aborted)) return;
  const tt_intro *intro = tt_heap_intro(segment, aborter - 1);
  if (segment->threads || tt_rank_alive(intro)) return;
  /* order: as above */
  if (atomic_load(&ctrl->aborted)) return; /* it published the status before it died */
  snprintf(reason, sizeof reason, "process %d died while it reported a failure", intro->pid);
  /* model: abort:first */
  if (atomic_compare_exchange_strong(&ctrl->aborting_by, &aborter, by + 1))
    publish_abort(ctrl, TUTTI_ERR_PEER_LOST, reason);
}

tutti_status tt_ctrl_aborted(tt_ctrl *ctrl, char *reason, size_t size) {
  /* model: abort:hear, wake:last */
  int status = atomic_load_explicit(&ctrl->aborted, memory_order_acquire);
  if (status && reason) snprintf(reason, size, "%s", ctrl->reason);
  return (tutti_status)status;
}

void tt_shm_ctrl_refuse(tt_heap *heap, const tt_proposal *proposal, tutti_status status,
                        const char *reason) {
  char *base = tt_heap_segment(heap)->base;
  for (int i = 0; i < proposal->ranks; i++)
    tt_ctrl_abort((tt_ctrl *)(void *)(base + proposal->member[i].ctrl), tt_heap_index(heap), status,
                  reason);
}

/* ---- control blocks visible from outside: a table in the heap's header ----
 *
 * An entry holds a complete control block, or 0. Threads of a rank may claim entries concurrently.
 * If the table is full, further control blocks are not visible. */

/* each ctrls, ctrls_made: order: the command that looks from outside checks it */

static bool swap(tt_head *head, uint64_t from, uint64_t to) {
  for (int i = 0; i < TT_CTRLS; i++) {
    unsigned long long was = from;
    if (atomic_compare_exchange_strong(&head->ctrls[i], &was, to)) return true;
  }
  return false;
}

void tt_shm_show(tt_head *head, uint64_t ctrl) {
  swap(head, 0, ctrl);
  atomic_fetch_add(&head->ctrls_made, 1);
}

void tt_shm_hide(tt_head *head, uint64_t ctrl) {
  swap(head, ctrl, 0);
}
