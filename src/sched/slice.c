/* slice.c - one schedule on several consecutive parts of the vector.
 *
 * Idea       slice s is a copy whose blocks are shifted by s * blocks and whose
 *            tmp is its own; at most `flight` run at once: a slice starts on a
 *            rank when slice s - flight has ended there.
 * Invariant  the engine runs slices in this way without spelling them out; the
 *            prover proves this spelling.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "schedule.h"

static void shift(tt_span *span, const tt_sched *s, uint32_t slice, uint32_t slices) {
  if (tt_span_size(span) == 0) return; /* not used by this step */
  if (span->buf != TT_TMP) {
    span->base += slice * s->blocks;
  } else { /* spell the layer out: layers are `slices` times as long */
    uint32_t layer = tt_span_block(span, 0) / s->blocks;
    span->base += layer * s->blocks * (slices - 1) + slice * s->blocks;
  }
  tt_span_tidy(span);
}

static void copy_steps(tt_builder *b, const tt_sched *s, uint32_t slices) {
  for (uint32_t slice = 0; slice < slices; slice++)
    for (uint32_t i = 0; i < s->nsteps; i++) {
      tt_step step = s->steps[i];
      shift(&step.dst, s, slice, slices);
      shift(&step.own, s, slice, slices);
      shift(&step.in, s, slice, slices);
      step.in_step *= slices;
      tt_build_step(b, &step);
    }
}

/* A step that waits for none of its slice waits for all of slice - flight. */
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
  copy_steps(&b, s, (uint32_t)slices);
  tt_sched *all = tt_build_end(&b);
  if (all && !bound_flight(all, s, (uint32_t)flight)) {
    tt_sched_free(all);
    all = NULL;
  }
  return all;
}
