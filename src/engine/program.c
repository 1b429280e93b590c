/* program.c - prepares a schedule for running: numbers its messages within each pair, and lists for each step the steps
 * that wait for it.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "engine.h"

static bool is_message(const tt_sched *s, const tt_step *step, int entry) {
  return tt_peer_rank(&step->peers, entry, s->ranks) != s->rank;
}

static uint32_t count_transfers(const tt_sched *s) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < s->nsteps; i++)
    for (int e = 0; !tt_step_local(&s->steps[i]) && e < s->steps[i].peers.count; e++)
      n += is_message(s, &s->steps[i], e);
  return n;
}

/* Numbers all messages separately for each peer and direction. Returns false if out of memory. */
static bool list_transfers(tt_program *p) {
  const tt_sched *s = p->sched;
  uint32_t *pair_of = calloc(4 * (size_t)s->ranks, sizeof *pair_of); /* 1 + index; 0: none yet */
  uint32_t *turns = pair_of + 2 * s->ranks, n = 0;
  if (!pair_of) return false;
  for (uint32_t i = 0; i < s->nsteps; i++) {
    const tt_step *step = &s->steps[i];
    p->at[i] = n;
    for (int turn = 0; !tt_step_local(step) && turn < step->peers.count; turn++) {
      const int e = step->kind == TT_SEND ? tt_send_turn(s, step, turn) : turn;
      if (!is_message(s, step, e)) continue;
      int peer = tt_peer_rank(&step->peers, e, s->ranks);
      int key = 2 * peer + (step->kind == TT_SEND);
      if (!pair_of[key]) pair_of[key] = ++p->npairs;
      tt_transfer *t = &p->transfers[n++];
      *t = (tt_transfer){
          i, (uint32_t)e, 0, 0, p->order ? p->order[peer] : peer, turns[key]++, pair_of[key] - 1};
      tt_part_of(step, e, &t->lo, &t->hi);
    }
  }
  p->at[s->nsteps] = p->ntransfers = n;
  free(pair_of);
  return true;
}

static void turn_round(tt_program *p) {
  const tt_sched *s = p->sched;
  for (uint32_t i = 0; i < s->nsteps; i++) {
    p->waits[i] = s->after_at[i + 1] - s->after_at[i];
    for (uint32_t k = s->after_at[i]; k < s->after_at[i + 1]; k++) p->next_at[s->after[k] + 2]++;
  }
  for (uint32_t i = 0; i < s->nsteps; i++) p->next_at[i + 2] += p->next_at[i + 1];
  for (uint32_t i = 0; i < s->nsteps; i++)
    for (uint32_t k = s->after_at[i]; k < s->after_at[i + 1]; k++)
      p->next[p->next_at[s->after[k] + 1]++] = i;
}

/* Allocates the program together with all of its tables. */
tt_program *tt_program_new(const tt_sched *sched, const int *order, tt_shape shape) {
  const size_t n = sched->nsteps, transfers = count_transfers(sched);
  tt_program *p = calloc(1, sizeof *p + transfers * sizeof *p->transfers +
                                (3 * n + 5 + sched->after_at[n]) * sizeof *p->at);
  if (!p) return NULL;
  p->sched = sched;
  p->order = order;
  p->transfers = (tt_transfer *)(void *)(p + 1);
  p->at = (uint32_t *)(void *)(p->transfers + transfers);
  p->waits = p->at + n + 1;
  p->next_at = p->waits + n + 1;
  p->next = p->next_at + n + 3;
  if (!list_transfers(p)) {
    free(p);
    return NULL;
  }
  turn_round(p);
  p->shape = shape;
  return p;
}
