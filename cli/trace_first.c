/* trace_first.c - the first table of `tutti trace`, in the style of `perf report`: the share of
 * each phase in the time of all ranks, and the ranks that they waited for, sorted by share.
 *
 * Idea      The phases are those of trace_sum.c, and add up to the total time. The time of waiting
 *           is divided among the ranks that were waited for, in proportion to the durations of the
 *           waits for each.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "trace_data.h"

enum { NOBODY = -1, OTHERS = -2, SHOWN = 4 /* ranks shown without --all */ };

typedef struct phase {
  const char *name;
  int rank; /* the rank that was waited for; NOBODY for another phase, or if the rank is unknown */
  int64_t ns;
} phase;

static int longest_first(const void *a, const void *b) {
  const phase *x = a, *y = b;
  if (x->ns != y->ns) return x->ns > y->ns ? -1 : 1;
  return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Sorts lanes by communicator and rank, so that they can be looked up by communicator and rank. */
static int by_place(const void *a, const void *b) {
  const trace_lane *x = *(const trace_lane *const *)a, *y = *(const trace_lane *const *)b;
  if (x->comm != y->comm) return x->comm < y->comm ? -1 : 1;
  if (x->ranks != y->ranks) return x->ranks < y->ranks ? -1 : 1;
  return (x->rank > y->rank) - (x->rank < y->rank);
}

static int by_rank(const void *a, const void *b) {
  const trace_wait *x = a, *y = b;
  return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Returns the entry for rank `peer` of this lane's communicator, or the last entry if that rank has left no events. */
static trace_wait *waits_for(const trace_lane **lanes, size_t nlanes, trace_wait *waits,
                             size_t nranks, const trace_lane *lane, int peer) {
  trace_lane key = *lane;
  const trace_lane *wanted = &key;
  key.rank = peer;
  const trace_lane **at =
      peer < 0 ? NULL : bsearch(&wanted, lanes, nlanes, sizeof *lanes, by_place);
  const trace_wait of = {.rank = at ? (*at)->pid : NOBODY};
  trace_wait *found = at ? bsearch(&of, waits, nranks, sizeof of, by_rank) : NULL;
  return found ? found : &waits[nranks];
}

trace_wait *trace_waits(const trace_data *d, const trace_sums *s, size_t *n) {
  trace_wait *waits = calloc(s->nranks + 1, sizeof *waits);
  const trace_lane **lanes = malloc((d->nlanes + 1) * sizeof *lanes);
  *n = 0;
  for (size_t i = 0; lanes && i < d->nlanes; i++) lanes[i] = &d->lanes[i];
  if (lanes) qsort(lanes, d->nlanes, sizeof *lanes, by_place);
  for (size_t i = 0; waits && i < s->nranks; i++) waits[i].rank = s->ranks[i].pid;
  if (waits) waits[s->nranks].rank = NOBODY;
  for (size_t i = 0; waits && lanes && i < d->nevents; i++) {
    const trace_event *e = &d->events[i];
    if (e->kind != TRACE_WAIT) continue;
    trace_wait *of = waits_for(lanes, d->nlanes, waits, s->nranks, &d->lanes[e->lane], e->peer);
    trace_add(&of->ns, e->end - e->begin);
    of->times++;
  }
  free(lanes);
  if (waits) *n = s->nranks + 1;
  return waits;
}

/* Adds a phase for each rank for which other ranks waited. Ranks that are not shown share one phase. */
static size_t put_waits(const trace_data *d, const trace_sums *s, int64_t whole, size_t most,
                        phase *to) {
  size_t n, k = 0;
  trace_wait *waits = trace_waits(d, s, &n);
  int64_t sum = 0, rest = 0;
  for (size_t i = 0; i < n; i++) trace_add(&sum, waits[i].ns);
  for (size_t i = 0; i < n && sum > 0; i++)
    if (waits[i].ns > 0)
      to[k++] = (phase){"waiting for", waits[i].rank,
                        (int64_t)((double)whole * ((double)waits[i].ns / (double)sum))};
  free(waits);
  if (k) qsort(to, k, sizeof *to, longest_first);
  for (size_t i = most; i < k; i++) trace_add(&rest, to[i].ns);
  if (k > most) to[most] = (phase){"waiting for", OTHERS, rest}, k = most + 1;
  if (!sum && whole > 0) to[k++] = (phase){"waiting", NOBODY, whole};
  return k;
}

void trace_show_first(const trace_data *d, const trace_sums *s, bool all) {
  int64_t reduce = 0, copy = 0, wait = 0, inside = 0, mark = 0, outside = 0, span = 0;
  phase *phases = calloc(s->nranks + 16, sizeof *phases);
  if (!phases) return;
  for (size_t i = 0; i < s->nranks; i++) {
    const trace_rank *r = &s->ranks[i];
    trace_add(&reduce, r->reduce), trace_add(&copy, r->copy), trace_add(&wait, r->wait);
    trace_add(&inside, r->inside), trace_add(&mark, r->mark), trace_add(&outside, r->outside);
    trace_add(&span, r->span);
  }
  size_t n = put_waits(d, s, wait, all ? s->nranks + 1 : SHOWN, phases);
  const phase others[] = {{"arithmetic", NOBODY, reduce},
                          {"copying, sending", NOBODY, copy},
                          {"else in tutti", NOBODY, inside},
                          {"your program, marked", NOBODY, mark},
                          {"outside of tutti", NOBODY, outside}};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (others[i].ns > 0) phases[n++] = others[i];
  qsort(phases, n, sizeof *phases, longest_first);
  printf("\n   time           ms  phase, of the time of all ranks\n");
  for (size_t i = 0; i < n && span > 0; i++) {
    const phase *p = &phases[i];
    printf("%6.2f %% %12.3f  %s", 100.0 * ((double)p->ns / (double)span), (double)p->ns / 1e6,
           p->name);
    if (p->rank >= 0) printf(" rank %d", p->rank);
    if (p->rank == OTHERS) printf(" other ranks");
    if (p->rank == NOBODY && *p->name == 'w' && p->name[7]) printf(" a rank without a trace");
    printf("\n");
  }
  free(phases);
}
