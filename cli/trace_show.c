/* trace_show.c - prints the output of `tutti trace`, as text or as JSON.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "trace_data.h"

/* What is shown without --all: at most this many ranks, kinds of calls, kinds of calls with a critical path, and
 * hops at each end of a path. */
typedef struct most {
  size_t ranks, kinds, paths;
  int hops;
} most;
static const most brief = {8, 6, 1, 4}, whole = {SIZE_MAX, SIZE_MAX, SIZE_MAX, TRACE_HOPS};

static double ms(int64_t ns) {
  return (double)ns / 1e6;
}
static double us(int64_t ns) {
  return (double)ns / 1e3;
}

static const char *size_text(char text[32], uint64_t bytes) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
  double n = (double)bytes;
  int u = 0;
  for (; n >= 1024 && u < 3; u++) n /= 1024;
  snprintf(text, 32, "%.4g %s", n, units[u]);
  return text;
}

static void call_text(char text[160], const trace_call *c) {
  char size[32];
  const bool barrier = strcmp(c->coll, "barrier") == 0;
  int n = snprintf(text, 160, "%s, %s", c->coll, c->plan);
  if (c->slices > 1) n += snprintf(text + n, 160 - (size_t)n, " in %u slices", c->slices);
  if (!barrier && n < 160)
    snprintf(text + n, 160 - (size_t)n, ", %" PRIu64 " %s %s, %s", c->count, c->type, c->op,
             size_text(size, c->bytes));
}

/* ---- as text ---- */

static trace_rank all_ranks(const trace_sums *s) {
  trace_rank all = {.pid = -1};
  for (size_t i = 0; i < s->nranks; i++) {
    const trace_rank *r = &s->ranks[i];
    const int64_t of[] = {r->reduce,  r->copy, r->wait,   r->inside,     r->mark,
                          r->outside, r->span, r->flight, r->flight_wait};
    int64_t *const sums[] = {&all.reduce,  &all.copy, &all.wait,   &all.inside,     &all.mark,
                             &all.outside, &all.span, &all.flight, &all.flight_wait};
    for (int k = 0; k < 9; k++) trace_add(sums[k], of[k]);
    all.dropped += r->dropped;
  }
  return all;
}

static void show_rank(const trace_rank *r) {
  const int64_t parts[] = {r->reduce, r->copy, r->wait, r->inside, r->mark, r->outside};
  char name[16];
  snprintf(name, sizeof name, r->pid < 0 ? "all" : "%d", r->pid);
  printf("  %5s %10.3f", name, ms(r->span));
  for (int i = 0; i < 6; i++)
    printf(" %9.3f %3.0f %%", ms(parts[i]),
           r->span ? 100.0 * (double)parts[i] / (double)r->span : 0);
  printf("\n");
}

static void show_more(size_t all, size_t shown, const char *what) {
  if (all > shown) printf("  ... and %zu more %s: --all\n", all - shown, what);
}

static void show_ranks(const trace_sums *s, const most *m) {
  const trace_rank all = all_ranks(s);
  printf(
      "\nWhere the time went, ms (waiting: in a call, for a peer; else: in tutti, none of "
      "these)\n");
  printf(
      "   rank       span    arithmetic  copying, sent       waiting          else  marked by you"
      "       outside\n");
  for (size_t i = 0; i < s->nranks && i < m->ranks; i++) show_rank(&s->ranks[i]);
  show_more(s->nranks, m->ranks, "ranks");
  if (s->nranks > 1) show_rank(&all);
  if (all.flight)
    printf(
        "  Operations were in flight for %.3f ms; ranks waited for %.3f ms (%.0f %%) of it, and the "
        "rest is overlap.\n",
        ms(all.flight), ms(all.flight_wait), 100.0 * (double)all.flight_wait / (double)all.flight);
}

static int by_last(const void *a, const void *b) {
  const trace_rank *x = *(const trace_rank *const *)a, *y = *(const trace_rank *const *)b;
  if (x->last != y->last) return x->last > y->last ? -1 : 1;
  return x->pid < y->pid ? -1 : x->pid > y->pid;
}

static void show_late(const trace_sums *s, const most *m) {
  const trace_rank **late = malloc(s->nranks * sizeof *late);
  size_t n = 0;
  for (size_t i = 0; late && i < s->nranks; i++)
    if (s->ranks[i].calls) late[n++] = &s->ranks[i];
  if (n) qsort(late, n, sizeof *late, by_last);
  printf("\nWhich rank came last, and how far behind the median of the others, us\n");
  printf("   rank      calls  came last          mean      worst\n");
  for (size_t i = 0; i < n && i < m->ranks; i++) {
    const trace_rank *r = late[i];
    printf("  %5d %10" PRIu64 " %10" PRIu64 " %3.0f %% %9.2f %10.2f\n", r->pid, r->calls, r->last,
           100.0 * (double)r->last / (double)r->calls,
           r->last ? us(r->behind) / (double)r->last : 0, us(r->worst));
  }
  show_more(n, m->ranks, "ranks, each last less often");
  free(late);
}

static void show_sorts(const trace_data *d, const trace_sums *s, const most *m) {
  printf("\nCalls, us of the rank that was in them longest; after: from when all had come\n");
  printf("     calls     median      worst      after  what\n");
  for (size_t i = 0; i < s->nsorts && i < m->kinds; i++) {
    const trace_sort *k = &s->sorts[i];
    const trace_op *ops = &s->ops[k->from];
    char text[160];
    call_text(text, &d->calls[k->what]);
    printf("  %8zu %10.2f %10.2f %10.2f  %s\n", k->n, us(ops[k->n / 2].longest),
           us(ops[k->n - 1].longest), us(k->median_after), text);
  }
  show_more(s->nsorts, m->kinds, "kinds of calls, each of less time in all");
}

static void show_hop(const trace_hop *h, int64_t zero) {
  char size[32];
  printf("    %10.2f  rank %d ", us(h->begin - zero), h->rank);
  if (h->kind == TRACE_CALL)
    printf("comes");
  else if (h->peer >= 0)
    printf("%s %s %d, step %u, %s, %.2f us", trace_kind_names[h->kind],
           h->kind == TRACE_SEND ? "to" : "from", h->peer, h->step, size_text(size, h->bytes),
           us(h->end - h->begin));
  else
    printf("%s, step %u, %s, %.2f us", trace_kind_names[h->kind], h->step,
           size_text(size, h->bytes), us(h->end - h->begin));
  if (h->gap > 0)
    printf("%s%.2f us until the next", h->kind == TRACE_CALL ? ", " : "; ", us(h->gap));
  printf("\n");
}

static void show_path(const trace_data *d, const trace_sums *s, const trace_op *op,
                      const char *which, const most *m) {
  trace_hop hops[TRACE_HOPS];
  const int n = trace_path(d, s, op, hops);
  printf("  the %s, %.2f us:\n", which, us(op->longest));
  for (int i = n; i-- > 0;) {
    const int skipped = i - m->hops + 1; /* the output resumes at the last hops */
    if (n - i <= m->hops || skipped <= 0 || n <= 2 * m->hops + 1) {
      show_hop(&hops[i], hops[n - 1].begin);
      continue;
    }
    printf("    %10s  %d steps more: --all\n", "...", skipped);
    i -= skipped - 1;
  }
}

void trace_show(const trace_data *d, const trace_sums *s, bool all) {
  const most *m = all ? &whole : &brief;
  uint64_t dropped = 0;
  double error = 0;
  for (size_t i = 0; i < d->nlanes; i++) {
    dropped += d->lanes[i].dropped;
    if (d->lanes[i].error_us > error) error = d->lanes[i].error_us;
  }
  printf("%zu ranks, %zu events, %zu collectives", s->nranks, d->nevents, s->nops);
  if (s->torn) printf(", and %zu with events of some ranks missing", s->torn);
  printf("\n");
  if (dropped)
    printf("%" PRIu64 " events were dropped: tapes were full (TUTTI_TRACE_EVENTS)\n", dropped);
  if (error > 0)
    printf("Clocks of several machines: times between them may be wrong by %.1f us\n", error);
  trace_show_first(d, s, all);
  show_ranks(s, m);
  if (s->nops) show_late(s, m);
  if (s->nops) show_sorts(d, s, m);
  for (size_t i = 0; i < s->nsorts && i < m->paths; i++) {
    const trace_sort *k = &s->sorts[i];
    char text[160];
    call_text(text, &d->calls[k->what]);
    printf("\nCritical path of %s\n", text);
    show_path(d, s, &s->ops[k->from + k->n / 2], "median call", m);
    if (k->n > 1) show_path(d, s, &s->ops[k->from + k->n - 1], "slowest", m);
  }
  if (s->nsorts > m->paths) printf("\nCritical paths of the other kinds of calls: --all\n");
}

/* ---- as JSON ---- */

static void json_rank(const trace_rank *r) {
  printf(
      "    {\"rank\": %d, \"span_us\": %.3f, \"arithmetic_us\": %.3f, \"copying_us\": %.3f, "
      "\"waiting_us\": %.3f, \"else_us\": %.3f, \"marked_us\": %.3f, \"outside_us\": %.3f, "
      "\"in_flight_us\": %.3f, \"waiting_in_flight_us\": %.3f, \"calls\": %" PRIu64
      ", \"came_last\": %" PRIu64
      ", \"behind_us\": %.3f, \"behind_worst_us\": %.3f, "
      "\"dropped\": %" PRIu64 "}",
      r->pid, us(r->span), us(r->reduce), us(r->copy), us(r->wait), us(r->inside), us(r->mark),
      us(r->outside), us(r->flight), us(r->flight_wait), r->calls, r->last, us(r->behind),
      us(r->worst), r->dropped);
}

static void json_path(const trace_data *d, const trace_sums *s, const trace_op *op,
                      const char *name) {
  trace_hop hops[TRACE_HOPS];
  const int n = trace_path(d, s, op, hops);
  printf(",\n     \"%s\": [", name);
  for (int i = n; i-- > 0;)
    printf(
        "%s\n      {\"rank\": %d, \"does\": \"%s\", \"peer\": %d, \"step\": %u, \"bytes\": %" PRIu64
        ", \"at_us\": %.3f, \"us\": %.3f, \"gap_us\": %.3f}",
        i == n - 1 ? "" : ",", hops[i].rank,
        hops[i].kind == TRACE_CALL ? "comes" : trace_kind_names[hops[i].kind], hops[i].peer,
        hops[i].step, hops[i].bytes, us(hops[i].begin - hops[n - 1].begin),
        us(hops[i].end - hops[i].begin), us(hops[i].gap));
  printf("]");
}

static void json_sort(const trace_data *d, const trace_sums *s, const trace_sort *k) {
  const trace_call *c = &d->calls[k->what];
  const trace_op *ops = &s->ops[k->from];
  printf("    {\"coll\": \"%s\", \"plan\": \"%s\", \"count\": %" PRIu64
         ", \"type\": \"%s\", "
         "\"op\": \"%s\", \"bytes\": %" PRIu64
         ", \"slices\": %u, \"calls\": %zu, "
         "\"median_us\": %.3f, \"worst_us\": %.3f, \"median_after_us\": %.3f",
         c->coll, c->plan, c->count, c->type, c->op, c->bytes, c->slices, k->n,
         us(ops[k->n / 2].longest), us(ops[k->n - 1].longest), us(k->median_after));
  json_path(d, s, &ops[k->n / 2], "median_path");
  json_path(d, s, &ops[k->n - 1], "worst_path");
  printf("}");
}

void trace_show_json(const trace_data *d, const trace_sums *s) {
  printf("{\n  \"events\": %zu,\n  \"collectives\": %zu,\n  \"torn\": %zu,\n  \"ranks\": [\n",
         d->nevents, s->nops, s->torn);
  for (size_t i = 0; i < s->nranks; i++) {
    json_rank(&s->ranks[i]);
    printf("%s\n", i + 1 < s->nranks ? "," : "");
  }
  size_t n;
  trace_wait *waits = trace_waits(d, s, &n);
  printf("  ],\n  \"waited_for\": [");
  for (size_t i = 0, shown = 0; i < n; i++)
    if (waits[i].times)
      printf("%s{\"rank\": %d, \"waits\": %" PRIu64 ", \"us\": %.3f}", shown++ ? ", " : "",
             waits[i].rank, waits[i].times, us(waits[i].ns));
  free(waits);
  printf("],\n  \"calls\": [\n");
  for (size_t i = 0; i < s->nsorts; i++) {
    json_sort(d, s, &s->sorts[i]);
    printf("%s\n", i + 1 < s->nsorts ? "," : "");
  }
  printf("  ]\n}\n");
}
