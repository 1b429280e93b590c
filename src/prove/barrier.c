/* barrier.c - checks that a rank leaves a barrier only after every rank has entered it.
 *
 * Idea       For each rank, mark the steps that depend on it: its own steps, steps that wait for a marked step, and steps
 *            that receive from one. Every rank must have a marked step. For ranks with data the sum shows this already;
 *            for ranks without data only this check does.
 * Invariant  A barrier is an allreduce of one byte, which is in block 0. Messages of other blocks are empty and prove
 *            nothing. A completed send proves nothing either, because a transport may have buffered it.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "prove.h"

typedef struct rumour {
  tt_graph *g;
  unsigned char *heard; /* one per step; nonzero if the step depends on the rank */
  uint32_t *queue, head, tail;
} rumour;

static void mark_step_heard(rumour *r, uint32_t step) {
  if (r->heard[step]) return;
  r->heard[step] = 1;
  r->queue[r->tail++] = step;
}

static bool has_byte(const tt_graph *g, const tt_message *message) {
  const tt_step *step = tt_graph_step(g, message->to);
  uint32_t lo, hi;
  tt_part_of(step, (int)message->entry_to, &lo, &hi);
  for (; lo < hi; lo++)
    if (tt_span_block(&step->dst, lo) % g->all[0]->blocks == 0) return true;
  return false;
}

static void spread(rumour *r, int rank) {
  const tt_graph *g = r->g;
  memset(r->heard, 0, g->nsteps);
  r->head = r->tail = 0;
  for (uint32_t step = g->base[rank]; step < g->base[rank + 1]; step++) mark_step_heard(r, step);
  while (r->head < r->tail) {
    const uint32_t step = r->queue[r->head++];
    for (uint32_t k = g->deps_at[step]; k < g->deps_at[step + 1]; k++)
      mark_step_heard(r, g->deps[k]);
    for (uint32_t k = g->out_at[step]; k < g->out_at[step + 1]; k++)
      if (has_byte(g, &g->messages[k])) mark_step_heard(r, g->messages[k].to);
  }
}

static bool all_heard(rumour *r, int of) {
  tt_graph *g = r->g;
  for (int rank = 0; rank < g->ranks; rank++) {
    uint32_t step = g->base[rank];
    while (step < g->base[rank + 1] && !r->heard[step]) step++;
    if (step < g->base[rank + 1]) continue;
    if (g->base[rank] < g->base[rank + 1])
      tt_graph_refuse(g, g->base[rank + 1] - 1,
                      "its rank may leave the barrier before it hears of rank %d", of);
    else
      tt_graph_refuse(g, g->base[of], "rank %d does nothing in this barrier", rank);
    return false;
  }
  return true;
}

bool tt_barrier_waits(tt_graph *g) {
  rumour r = {g, malloc(g->nsteps + 1), malloc((g->nsteps + 1) * sizeof *r.queue), 0, 0};
  bool ok = r.heard && r.queue;
  if (!ok) g->failed = true;
  for (int rank = 0; rank < g->ranks && ok; rank++) {
    spread(&r, rank);
    ok = all_heard(&r, rank);
  }
  free(r.heard);
  free(r.queue);
  return ok;
}
