/* trace_sum.c - sums up a trace: how each rank spent its time, which ranks were late, and how long
 * calls took.
 *
 * Idea       one sweep over each rank's time line. At every moment the rank is in the first of
 *            these states that applies: arithmetic, copying, waiting, elsewhere in tutti, a mark of
 *            the program, outside. Calls are matched by communicator and number.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "trace_data.h"

/* ---- the sweep ---- */

enum { REDUCES, COPIES, WAITS, INSIDE, MARKED, FLIES, STATES };

typedef struct edge {
  int64_t at;
  int rank;
  int8_t state, up;
} edge;

static int state_of(const trace_event *e) {
  switch (e->kind) {
    case TRACE_REDUCE:
    case TRACE_KERNEL: return REDUCES;
    case TRACE_COPY:
    case TRACE_SEND:
    case TRACE_RECEIVE:
    case TRACE_FROM_DEVICE:
    case TRACE_TO_DEVICE: return COPIES;
    case TRACE_WAIT: return WAITS;
    case TRACE_MARK: return MARKED;
    case TRACE_FLIGHT: return FLIES;
    default: return INSIDE;
  }
}

static int by_edge(const void *a, const void *b) {
  const edge *x = a, *y = b;
  if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
  if (x->at != y->at) return x->at < y->at ? -1 : 1;
  return y->up - x->up;
}

static void spend(trace_rank *r, const int *depth, int64_t ns) {
  int64_t *const where[] = {&r->reduce, &r->copy, &r->wait, &r->inside, &r->mark};
  int s = 0;
  while (s < FLIES && !depth[s]) s++;
  *(s < FLIES ? where[s] : &r->outside) += ns;
  r->span += ns;
  if (depth[FLIES]) r->flight += ns;
  if (depth[FLIES] && s == WAITS) r->flight_wait += ns;
}

static int by_pid(const void *a, const void *b) {
  const trace_rank *x = a, *y = b;
  return (x->pid > y->pid) - (x->pid < y->pid);
}

static int rank_at(const trace_sums *s, int pid) {
  const trace_rank key = {.pid = pid};
  const trace_rank *r = bsearch(&key, s->ranks, s->nranks, sizeof key, by_pid);
  return (int)(r - s->ranks);
}

static bool find_ranks(const trace_data *d, trace_sums *s) {
  s->ranks = calloc(d->nlanes + 1, sizeof *s->ranks);
  if (!s->ranks) return false;
  for (size_t i = 0; i < d->nlanes; i++) s->ranks[i].pid = d->lanes[i].pid;
  qsort(s->ranks, d->nlanes, sizeof *s->ranks, by_pid);
  for (size_t i = 0; i < d->nlanes; i++)
    if (i == 0 || s->ranks[i].pid != s->ranks[s->nranks - 1].pid)
      s->ranks[s->nranks++].pid = s->ranks[i].pid;
  for (size_t i = 0; i < d->nlanes; i++)
    s->ranks[rank_at(s, d->lanes[i].pid)].dropped += d->lanes[i].dropped;
  return true;
}

static bool sweep(const trace_data *d, trace_sums *s) {
  edge *edges = malloc((2 * d->nevents + 1) * sizeof *edges);
  if (!edges) return false;
  size_t n = 0;
  for (size_t i = 0; i < d->nevents; i++) {
    const trace_event *e = &d->events[i];
    const int rank = rank_at(s, d->lanes[e->lane].pid);
    const int8_t state = (int8_t)state_of(e);
    edges[n++] = (edge){e->begin, rank, state, 1};
    edges[n++] = (edge){e->end, rank, state, -1};
  }
  qsort(edges, n, sizeof *edges, by_edge);
  int depth[STATES] = {0};
  for (size_t i = 0; i < n; i++) {
    depth[edges[i].state] += edges[i].up;
    if (i + 1 < n && edges[i + 1].rank == edges[i].rank)
      spend(&s->ranks[edges[i].rank], depth, edges[i + 1].at - edges[i].at);
  }
  free(edges);
  return true;
}

/* ---- calls ---- */

static int by_part(const void *a, const void *b) {
  const trace_part *x = a, *y = b;
  if (x->comm != y->comm) return x->comm < y->comm ? -1 : 1;
  if (x->seq != y->seq) return x->seq < y->seq ? -1 : 1;
  return (x->lane > y->lane) - (x->lane < y->lane);
}

static bool list_parts(const trace_data *d, trace_sums *s) {
  s->parts = malloc((d->nevents + 1) * sizeof *s->parts);
  s->steps = malloc((d->nevents + 1) * sizeof *s->steps);
  if (!s->parts || !s->steps) return false;
  for (size_t i = 0; i < d->nevents; i++) {
    const trace_event *e = &d->events[i];
    const uint64_t comm = d->lanes[e->lane].comm;
    if (e->kind >= TRACE_WAIT) s->steps[s->nsteps++] = e;
    if ((e->kind == TRACE_CALL || e->kind == TRACE_FLIGHT) && e->what)
      s->parts[s->nparts++] = (trace_part){comm, e->seq, e->what, e->lane, e->begin, e->end};
  }
  qsort(s->parts, s->nparts, sizeof *s->parts, by_part);
  return true;
}

static int by_time(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* Finds the rank that arrived last, and its delay relative to the median arrival. `room` is scratch memory for n times. */
static void find_late(const trace_data *d, trace_sums *s, const trace_part *p, int n,
                      int64_t *room) {
  int last = 0, others = 0;
  for (int i = 1; i < n; i++)
    if (p[i].begin > p[last].begin) last = i;
  for (int i = 0; i < n; i++) {
    s->ranks[rank_at(s, d->lanes[p[i].lane].pid)].calls++;
    if (i != last) room[others++] = p[i].begin;
  }
  qsort(room, (size_t)others, sizeof *room, by_time);
  trace_rank *r = &s->ranks[rank_at(s, d->lanes[p[last].lane].pid)];
  const int64_t behind = p[last].begin - room[others / 2];
  r->last++;
  trace_add(&r->behind, behind);
  if (behind > r->worst) r->worst = behind;
}

static bool list_ops(const trace_data *d, trace_sums *s) {
  s->ops = malloc((s->nparts + 1) * sizeof *s->ops);
  int64_t *times = malloc((s->nparts + 1) * sizeof *times);
  for (size_t i = 0, n; s->ops && times && i < s->nparts; i += n) {
    const trace_part *p = &s->parts[i];
    trace_op op = {.from = i, .what = p->what};
    int64_t came = p->begin, went = p->end;
    for (n = 0; i + n < s->nparts && p[n].comm == p->comm && p[n].seq == p->seq; n++) {
      if (p[n].end - p[n].begin > op.longest) op.longest = p[n].end - p[n].begin;
      if (p[n].begin > came) came = p[n].begin;
      if (p[n].end > went) went = p[n].end;
    }
    op.n = (int)n;
    op.after = went - came;
    if ((int)n != d->lanes[p->lane].ranks) {
      s->torn++;
      continue;
    }
    s->ops[s->nops++] = op;
    if (n > 1) find_late(d, s, p, (int)n, times);
  }
  free(times);
  return s->ops && times;
}

static int by_what(const void *a, const void *b) {
  const trace_op *x = a, *y = b;
  if (x->what != y->what) return x->what < y->what ? -1 : 1;
  return (x->longest > y->longest) - (x->longest < y->longest);
}

static int by_total(const void *a, const void *b) {
  const trace_sort *x = a, *y = b;
  return (y->total > x->total) - (y->total < x->total);
}

static bool sort_ops(trace_sums *s) {
  s->sorts = malloc((s->nops + 1) * sizeof *s->sorts);
  int64_t *after = malloc((s->nops + 1) * sizeof *after);
  if (s->nops) qsort(s->ops, s->nops, sizeof *s->ops, by_what);
  for (size_t i = 0, n; s->sorts && after && i < s->nops; i += n) {
    trace_sort sort = {.from = i, .what = s->ops[i].what};
    for (n = 0; i + n < s->nops && s->ops[i + n].what == sort.what; n++) {
      trace_add(&sort.total, s->ops[i + n].longest);
      after[n] = s->ops[i + n].after;
    }
    qsort(after, n, sizeof *after, by_time);
    sort.n = n;
    sort.median_after = after[n / 2];
    s->sorts[s->nsorts++] = sort;
  }
  if (s->sorts && after) qsort(s->sorts, s->nsorts, sizeof *s->sorts, by_total);
  free(after);
  return s->sorts && after;
}

static int by_step(const void *a, const void *b) {
  const trace_event *x = *(const trace_event *const *)a, *y = *(const trace_event *const *)b;
  if (x->lane != y->lane) return x->lane < y->lane ? -1 : 1;
  if (x->seq != y->seq) return x->seq < y->seq ? -1 : 1;
  return (x->begin > y->begin) - (x->begin < y->begin);
}

bool trace_sum(const trace_data *d, trace_sums *s) {
  *s = (trace_sums){.ranks = NULL};
  if (!find_ranks(d, s) || !sweep(d, s) || !list_parts(d, s) || !list_ops(d, s) || !sort_ops(s))
    return false;
  qsort(s->steps, s->nsteps, sizeof *s->steps, by_step);
  return true;
}

void trace_sums_free(trace_sums *s) {
  free(s->ranks);
  free(s->parts);
  free(s->ops);
  free(s->sorts);
  free(s->steps);
}
