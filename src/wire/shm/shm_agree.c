/* shm_agree.c - agreement on the ranks that continue. The live ranks agree even if more ranks die
 * during the agreement.
 *
 * Idea       In each round, every live rank publishes that it has entered, and the offset of its
 *            control block in the next communicator. The lowest live rank leads: it waits until each
 *            of the others has entered or is dead, writes a proposal (members and settings), and
 *            decides it with one compare-and-swap of a word in the first control block. If it dies
 *            before that, the next live rank leads. If it dies later, its proposal remains in its
 *            memory. A rank that has waited too long closes the agreement: the last decision stays
 *            in the word for ranks that have yet to read it, and no other decision follows.
 * Invariant  There is one decision per round. No rank enters a round before it has read the previous round's
 *            decision, and no decision is made before all live ranks have entered. All data that a decision
 *            refers to is therefore kept until all have read it (models/shm_agree.pml).
 * Cost       A few loads and one liveness check per rank.
 * Source     Consensus by compare-and-swap: Herlihy, ACM TOPLAS 13(1), 1991; a perfect failure
 *            detector: Chandra and Toueg, J. ACM 43(2), 1996.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>

#include "agree.h"
#include "shm_wire.h"

enum { CLOSED = 1 << 30 }; /* set after the last decision */

/* each round, ctrl, asks, proposal, refs, decided, given_up: model: shm_agree:words */

static tt_vote *vote_of(tt_wire *w, int rank) {
  tt_ctrl *ctrl = tt_shm_of(w)->ctrls[rank];
  return tt_ctrl_at(ctrl, ctrl->layout.vote);
}

static bool is_there(tt_wire *w, int rank, uint32_t round) {
  return (int32_t)(atomic_load(&vote_of(w, rank)->round) - round) >= 0;
}

static void shm_agree_enter(tt_wire *w, uint32_t round, uint64_t ctrl, uint64_t asks) {
  tt_vote *mine = vote_of(w, w->rank);
  atomic_store(&mine->ctrl, ctrl);
  atomic_store(&mine->asks, asks);
  atomic_store(&mine->round, round);
}

static int shm_agree_awaited(tt_wire *w, uint32_t round) {
  for (int r = 0; r < w->ranks; r++)
    if (!is_there(w, r, round) && w->peer->alive(w, r)) return r;
  return -1;
}

static int shm_agree_leader(tt_wire *w) {
  int r = 0;
  while (r < w->rank && !w->peer->alive(w, r)) r++;
  return r;
}

static uint64_t shm_agree_asks(tt_wire *w, int rank) {
  return atomic_load(&vote_of(w, rank)->asks);
}

static tt_proposal *shm_agree_propose(tt_wire *w, uint32_t round, int more) {
  tt_shm *s = tt_shm_of(w);
  const size_t most = (size_t)(w->ranks + more);
  tt_proposal *t = tt_heap_alloc(s->heap, sizeof *t + most * sizeof *t->member, TT_PAIR);
  if (!t) return NULL;
  for (int r = 0; r < w->ranks; r++) {
    if (!is_there(w, r, round) || !w->peer->alive(w, r)) continue;
    const uint64_t ctrl = atomic_load(&vote_of(w, r)->ctrl);
    t->member[t->ranks++] = (tt_member){.index = s->members[r], .ctrl = ctrl};
    if (ctrl != UINT64_MAX || t->status) continue;
    t->status = TUTTI_ERR_MEMORY;
    snprintf(t->why, sizeof t->why, "rank %d could not make its part of a communicator", r);
  }
  return t;
}

static void shm_agree_decide(tt_wire *w, uint32_t round, tt_proposal *proposal) {
  tt_shm *s = tt_shm_of(w);
  atomic_ullong *decided = &s->ctrls[0]->decided;
  unsigned long long last = atomic_load(decided);
  if ((uint32_t)(last >> 32) == round || last & CLOSED) return; /* another rank was first */
  if (proposal) atomic_store(&proposal->refs, (unsigned)proposal->ranks);
  atomic_store(&vote_of(w, w->rank)->proposal,
               proposal ? (unsigned long long)((char *)proposal - s->segment->base) : 0);
  atomic_compare_exchange_strong(decided, &last,
                                 (unsigned long long)round << 32 | (unsigned)w->rank);
}

static void shm_agree_quit(tt_wire *w, uint32_t round, int awaited) {
  tt_ctrl *first = tt_shm_of(w)->ctrls[0];
  unsigned long long last = atomic_load(&first->decided);
  if ((uint32_t)(last >> 32) == round || last & CLOSED) return;
  atomic_store(&first->given_up, (unsigned long long)w->rank << 32 | (unsigned)awaited);
  atomic_compare_exchange_strong(&first->decided, &last, last | CLOSED);
}

static bool shm_agree_decided(tt_wire *w, uint32_t round, tt_decision *d) {
  tt_shm *s = tt_shm_of(w);
  const unsigned long long word = atomic_load(&s->ctrls[0]->decided);
  if ((uint32_t)(word >> 32) == round) {
    *d = (tt_decision){.round = round, .by = (int)(word & (CLOSED - 1)), .awaited = -1};
    const uint64_t at = atomic_load(&vote_of(w, d->by)->proposal);
    d->proposal = at ? (tt_proposal *)(void *)(s->segment->base + at) : NULL;
    return true;
  }
  if (!(word & CLOSED)) return false;
  const unsigned long long who = atomic_load(&s->ctrls[0]->given_up);
  *d = (tt_decision){.round = round, .by = (int)(who >> 32), .awaited = (int)(uint32_t)who};
  return true;
}

const tt_shm_agree_ops tt_shm_agree_table = {
    .enter = shm_agree_enter,
    .awaited = shm_agree_awaited,
    .leader = shm_agree_leader,
    .asks = shm_agree_asks,
    .propose = shm_agree_propose,
    .decide = shm_agree_decide,
    .quit = shm_agree_quit,
    .decided = shm_agree_decided,
};
