/* slice.c - runs one schedule on several parts of the vector in parallel.
 *
 * Idea       Slice s is a copy of the schedule in which block x becomes block x * slices + s, also in tmp. At most
 *            `flight` slices run in parallel: on each rank, slice s starts after slice s - flight has ended.
 * Invariant  The engine runs slices in this order without expanding them, each on contiguous bytes. The prover checks the
 *            expanded form, because positions of blocks do not matter to a proof.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "schedule.h"

static void shift(tt_span *span, uint32_t slice, uint32_t slices) {
  span->base = span->base * slices + slice;
  span->stride *= slices;
  tt_span_tidy(span);
}

static void copy_steps(tt_builder *b, const tt_sched *s, uint32_t slices) {
  for (uint32_t slice = 0; slice < slices; slice++)
    for (uint32_t i = 0; i < s->nsteps; i++) {
      tt_step step = s->steps[i];
      shift(&step.dst, slice, slices);
      shift(&step.own, slice, slices);
      shift(&step.in, slice, slices);
      step.in_step *= slices;
      tt_build_step(b, &step);
    }
}

/* If a step depends on no other step of its slice, makes it depend on all steps of the slice that is `flight` slices earlier. */
static bool bound_flight(tt_sched *all, const tt_sched *s, uint32_t flight) {
  uint32_t n = s->nsteps, length = 0;
  uint32_t *at = malloc((all->nsteps + 1) * sizeof *at);
  uint32_t *after =
      malloc(((size_t)all->after_at[all->nsteps] + (size_t)all->nsteps * n + 1) * sizeof *after);
  if (!at || !after) {
    free(at);
    free(after);
    return false;
  }
  for (uint32_t i = 0; i < all->nsteps; i++) {
    at[i] = length;
    uint32_t lo = all->after_at[i], hi = all->after_at[i + 1], slice = i / n;
    for (uint32_t k = 0; lo == hi && slice >= flight && k < n; k++)
      after[length++] = (slice - flight) * n + k;
    for (uint32_t k = lo; k < hi; k++) after[length++] = all->after[k];
  }
  at[all->nsteps] = length;
  free(all->after_at);
  free(all->after);
  all->after_at = at;
  all->after = after;
  return true;
}

tt_sched *tt_sched_sliced(const tt_sched *s, int slices, int flight) {
  tt_builder b;
  tt_build_begin(&b, s->name, s->coll, s->ranks, s->rank, s->root, s->in_place,
                 s->blocks * (uint32_t)slices);
  tt_build_data(&b, s->data);
  copy_steps(&b, s, (uint32_t)slices);
  tt_sched *all = tt_build_end(&b);
  if (all && !bound_flight(all, s, (uint32_t)flight)) {
    tt_sched_free(all);
    all = NULL;
  }
  return all;
}
