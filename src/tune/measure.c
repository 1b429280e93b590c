/* measure.c - measures the plans that may be the fastest, and records the winner.
 *
 * Idea       The plan with the least predicted time races against the next best plans (race.c).
 * Cost       Up to a quarter of a second for each kind and size of call, or a few calls of each plan.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "measure.h"
#include "process_wisdom.h"
#include "race.h"

enum { MOST_SLOW = 3, LEAST = 3, FAMILY = 2 };
static const double WITHIN = 2, AT_ALL = 8;

/* ---- the plans that run ---- */

typedef struct rival {
  int i; /* index among the candidates */
  double price;
} rival;

static int rivals_by_price(const void *a, const void *b) {
  const rival *x = a, *y = b;
  if (x->price != y->price) return x->price < y->price ? -1 : 1;
  return (x->i > y->i) - (x->i < y->i);
}

static int of_family(const tt_race *s, const tt_plan_spec *plan) {
  int k = 0;
  for (int i = 0; i < s->n; i++) k += s->at[i].spec->family == plan->family;
  return k;
}

static bool quote_at(tt_race *s, int i, bool ask, tt_quote *o) {
  tt_chooser *c = tt_chooser_for(s->comm, s->asked);
  const bool there = tt_quote_at(c, &s->problem, tt_comm_override(s->comm), i, ask, o);
  s->starved |= o->starved;
  return there;
}

/* Adds the fastest of `n` candidates to the race. The first pass adds only a few of each family, the second adds any. */
static tutti_status add_rivals(tt_race *s, const rival *rivals, int n) {
  tutti_status status = TUTTI_OK;
  const int most = s->at[0].price > TT_RACE_SLOW ? MOST_SLOW : TT_RACE_MOST;
  for (int pass = 0; pass < 2; pass++)
    for (int i = 0; i < n && s->n < most && !status; i++) {
      tt_quote o;
      bool here = false;
      if (rivals[i].price > (s->n < LEAST ? AT_ALL : WITHIN) * s->at[0].price) break;
      if (!quote_at(s, rivals[i].i, true, &o)) break;
      for (int k = 0; k < s->n; k++)
        here |= s->at[k].slices == o.slices && tt_plan_spec_equal(s->at[k].spec, o.plan);
      if (here || o.lacks || (!pass && of_family(s, o.plan) >= FAMILY)) continue;
      const tt_choice choice = {.plan = o.plan, .slices = o.slices};
      status = tt_race_add(s, &choice, o.seconds);
    }
  if (!status && s->starved)
    status = tt_fail(TUTTI_ERR_MEMORY, "out of memory for what is to be measured");
  return status;
}

static tutti_status find_runners(tt_race *s) {
  tt_chooser *c = tt_chooser_for(s->comm, s->asked);
  tt_choice own;
  tt_quote o;
  int all = 0, n = 0;
  double price = 0;
  tutti_status status = tt_choose(c, &s->problem, tt_comm_override(s->comm), &own);
  if (status) return status;
  while (quote_at(s, all, false, &o)) all++;
  rival *rivals = malloc((size_t)(all + 1) * sizeof *rivals);
  if (!rivals) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for what is to be measured");
  for (int i = 0; i < all; i++) {
    if (!quote_at(s, i, false, &o)) break;
    if (o.possible && !o.ruled_out) rivals[n++] = (rival){i, o.seconds};
    if (tt_plan_spec_equal(o.plan, own.plan) && o.slices == own.slices) price = o.seconds;
  }
  qsort(rivals, (size_t)n, sizeof *rivals, rivals_by_price);
  status = tt_race_add(s, &own, price);
  if (!status) status = add_rivals(s, rivals, n);
  free(rivals);
  return status;
}

/* ---- measuring and recording ---- */

static uint64_t ns(double seconds) {
  return seconds > 0 ? (uint64_t)(1e9 * seconds + 0.5) : 0;
}

static void say_when(char when[24]) {
  struct tm utc;
  const time_t now = time(NULL);
  snprintf(when, 24, "1970-01-01T00:00:00Z");
  if (gmtime_r(&now, &utc)) strftime(when, 24, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

/* Adds an entry to the communicator's wisdom on all ranks. On rank 0, also adds it to the wisdom of the process. */
static tutti_status learn(tt_race *s, tt_wisdom_entry *entry) {
  say_when(entry->when);
  if (!tt_plans_learn(s->comm, entry))
    return tt_fail(TUTTI_ERR_MEMORY, "out of memory for what was measured");
  if (s->outline.rank != 0 || !entry->plan) return TUTTI_OK;
  tt_wisdom_entry mine = *entry;
  mine.stamp = tt_comm_fingerprint(s->comm, mine.placement);
  tt_wisdom_keep(&mine);
  return TUTTI_OK;
}

/* Records the winner of the race. If won < 0, records that the call could not be measured and should not be tried again. */
static tutti_status record_winner(tt_race *s, int won) {
  tt_wisdom_entry e = {.key = s->problem.key, .bytes = s->problem.bytes, .slices = 1};
  if (won >= 0) {
    const tt_runner *x = &s->at[won];
    tutti_status status = tt_plan_spec_named(x->spec->text, &e.plan);
    if (status) return status;
    e.slices = x->slices;
    e.took = tt_max(ns(x->median), 1);
    e.own = ns(s->at[0].median);
    e.predicted = ns(x->price);
    e.spread = x->median > 0 ? (int)tt_min((size_t)(100 * x->noise / x->median + 0.5), 9999) : 0;
  }
  return learn(s, &e);
}

/* Returns the name of a plan as a string that is never freed, or "" if out of memory. */
static const char *kept_name(const tt_plan_spec *plan) {
  const tt_plan_spec *kept;
  return tt_plan_spec_named(plan->text, &kept) ? "" : kept->text;
}

static void report_measured(const tt_race *s, int won, double began, tutti_measured *m) {
  const tt_runner *x = &s->at[won < 0 ? 0 : won];
  m->own = kept_name(s->at[0].spec);
  m->plan = kept_name(x->spec);
  m->own_slices = s->at[0].slices;
  m->slices = x->slices;
  m->predicted = x->price;
  m->own_predicted = s->at[0].price;
  m->spent = tt_seconds() - began;
  if (won < 0) return;
  m->candidates = s->n;
  m->seconds = x->median;
  m->own_seconds = s->at[0].rounds ? s->at[0].median : 0;
  m->spread = x->noise;
  m->calls = s->calls * x->rounds;
}

tutti_status tt_measure_plans(tutti_comm *comm, const tt_call *asked, tutti_measured *m) {
  const double began = tt_seconds();
  const bool reserved = tt_plans_reserve(comm);
  bool may_record;
  int won;
  tt_race on_stack, *s = &on_stack;
  tt_race_begin(s, comm, asked);
  s->problem.wisdom = NULL;
  tutti_status status = tt_race_run(s, find_runners(s), reserved, &won, &may_record);
  if (may_record) status = record_winner(s, won);
  if (!status && m) report_measured(s, won, began, m);
  if (m && won < 0)
    snprintf(m->why, sizeof m->why, "%s",
             s->starved
                 ? "there is not enough memory"
                 : "no other plan has an estimate of at most eight times that of the fastest");
  return status;
}

tutti_status tt_measure_first(tutti_comm *comm, const tt_call *call) {
  tutti_status status = TUTTI_OK;
  if (tt_measure_wanted(comm, call)) status = tt_measure_plans(comm, call, NULL);
  if (!status && tt_coding_is_open(comm, call)) status = tt_measure_codes(comm, call);
  return status;
}
