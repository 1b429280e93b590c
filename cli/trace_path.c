/* trace_path.c - the critical path of a collective.
 *
 * Idea       go backwards step by step, from the rank that ended last. At a wait, continue with the
 *            peer that was waited for, at its last step before that time. The path begins with the
 *            call of a rank that has no earlier step.
 * Invariant  every hop begins before the one that it leads to, so the walk ends.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "trace_data.h"

static const trace_part *part_of(const trace_data *d, const trace_sums *s, const trace_op *op,
                                 int rank) {
  for (int i = 0; i < op->n; i++)
    if (d->lanes[s->parts[op->from + (size_t)i].lane].rank == rank)
      return &s->parts[op->from + (size_t)i];
  return NULL;
}

/* Returns the last step that began before `time` in this part of a call, or NULL if every step began later. */
static const trace_event *before(const trace_sums *s, const trace_part *p, int64_t time) {
  size_t lo = 0, hi = s->nsteps; /* the first step that did not begin before */
  while (lo < hi) {
    const size_t mid = lo + (hi - lo) / 2;
    const trace_event *e = s->steps[mid];
    const bool is_before = e->lane != p->lane ? e->lane < p->lane
                           : e->seq != p->seq ? e->seq < p->seq
                                              : e->begin < time;
    if (is_before)
      lo = mid + 1;
    else
      hi = mid;
  }
  const trace_event *e = lo ? s->steps[lo - 1] : NULL;
  return e && e->lane == p->lane && e->seq == p->seq ? e : NULL;
}

int trace_path(const trace_data *d, const trace_sums *s, const trace_op *op,
               trace_hop hops[TRACE_HOPS]) {
  const trace_part *at = &s->parts[op->from];
  int n = 0;
  for (int i = 1; i < op->n; i++)
    if (s->parts[op->from + (size_t)i].end > at->end) at = &s->parts[op->from + (size_t)i];
  int64_t time = at->end;
  while (n < TRACE_HOPS) {
    const trace_event *e = before(s, at, time);
    const int rank = d->lanes[at->lane].rank;
    if (!e) {
      hops[n++] = (trace_hop){rank, -1, TRACE_CALL, at->begin, at->begin, time - at->begin, 0, 0};
      break;
    }
    const int64_t end = e->end < time ? e->end : time;
    const bool waits = e->kind == TRACE_WAIT && e->peer >= 0;
    const trace_part *peer = waits ? part_of(d, s, op, e->peer) : NULL;
    if (waits && (!peer || peer->begin >= end)) { /* that peer did not end the wait */
      time = e->begin;
      continue;
    }
    if (peer && peer != at) { /* the peer's last work before that; its waits do not count */
      at = peer;
      time = end;
      const trace_event *last = before(s, at, time);
      if (last && last->kind == TRACE_WAIT && last->end >= time) time = last->begin;
      continue;
    }
    hops[n++] = (trace_hop){rank, e->peer, e->kind, e->begin, end, time - end, e->bytes, e->step};
    time = e->begin;
  }
  return n;
}
