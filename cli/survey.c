/* survey.c - times plans alternately.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "survey.h"
#include "configure.h"

#include <stdlib.h>
#include <string.h>
#include "tutti_plan.h"

enum { SIT_OUT = 2 };        /* a plan that takes too long is skipped after this many such rounds */
enum { MOST_CALLS = 16384 }; /* limit for the calls of a round */

/* ---- choose plans ---- */

static int by_price(const void *a, const void *b) {
  const survey_plan *x = a, *y = b;
  return (x->predicted > y->predicted) - (x->predicted < y->predicted);
}

/* Returns the index of a plan in the list, or n if the list does not contain it. Each plan is in the list once, with the
 * number of slices for which its estimate is lowest. */
static int find(const survey_plan *plans, int n, const char *name) {
  for (int i = 0; i < n; i++)
    if (strcmp(plans[i].name, name) == 0) return i;
  return n;
}

int survey_list(tutti_prices *prices, uint64_t bytes, survey_plan *plans, int most) {
  tutti_offer o = {.size = sizeof o};
  int n = 0;
  for (int i = 0; !tutti_prices_offer(prices, bytes, i, 0, &o); i++) {
    const int at = find(plans, n, o.name);
    if (!o.possible || (at < n && plans[at].predicted <= o.seconds)) continue;
    if (at == n && tutti_prices_offer(prices, bytes, i, 1, &o)) return -1;
    if (at == n && !o.admissible) continue;
    const survey_plan plan = {.name = cli_kept(o.name), .slices = o.slices, .predicted = o.seconds};
    if (at < most) plans[at] = plan;
    if (at == n && n < most) n++;
  }
  qsort(plans, (size_t)n, sizeof *plans, by_price);
  return n;
}

/* ---- timing ---- */

static tutti_status choose(const bench_job *job, const survey_plan *p, const char *override) {
  tutti_status status = comm_set_algorithm(job->comm, p->name ? p->name : override);
  return status ? status : comm_set_slices(job->comm, p->name ? p->slices : 0);
}

/* Returns true if the communicator runs this plan rather than replacing it with another plan. */
static bool is_run(const bench_job *job, const bench_call *call, const survey_plan *p) {
  char name[CLI_PLAN];
  if (!p->name) return true;
  const size_t n = strlen(p->name);
  if (tutti_comm_plan(job->comm, call->coll, call->count, call->type, call->op, name, sizeof name))
    return false;
  return strncmp(name, p->name, n) == 0 && (!name[n] || name[n] == ' ' || name[n] == ',');
}

static bool counts(const survey_plan *p, int round) {
  return !p->kept || cli_bounce_near(p->far[round], p->wanted);
}

static void sum_up(survey_plan *p) {
  double sorted[SURVEY_ROUNDS];
  int n = 0;
  p->kept = 0;
  for (int i = 0; i < p->rounds; i++) p->kept += cli_bounce_near(p->far[i], p->wanted);
  for (int i = 0; i < p->rounds; i++)
    if (counts(p, i)) sorted[n++] = p->round[i];
  p->counted = n;
  if (!n) return;
  p->spread = cli_spread(sorted, (size_t)n);
  p->median = sorted[n / 2];
}

int survey_keep(survey_plan *plans, int n, double wanted) {
  int least = SURVEY_ROUNDS;
  for (int i = 0; i < n; i++) {
    plans[i].wanted = wanted;
    sum_up(&plans[i]);
    if (plans[i].runs && plans[i].kept < least) least = plans[i].kept;
  }
  return least;
}

/* Returns the number of calls in the next round, which is the number that would fit into the budget at the speed of
 * the last round. The number changes gradually. The first rounds may mislead, because ranks that share cores take a
 * while to settle into a steady alternation. */
static long calls_after(const survey_plan *p, double last, double budget) {
  const double fit = budget / last;
  const long least = p->calls > 1 ? p->calls / 2 : 1;
  const long most = p->calls < MOST_CALLS / 4 ? 4 * p->calls : MOST_CALLS;
  return fit < (double)least ? least : fit > (double)most ? most : (long)fit;
}

/* Ends a round. Stops timing a plan after it was much slower than the best plan in two rounds without a migration of
 * cores. Times are maxima over all ranks, so all ranks make the same decision. */
static tutti_status end_round(const bench_job *job, const bench_options *o, survey_plan *plans,
                              int n, double far, double patience) {
  double best = 0;
  for (int i = 0; i < n; i++) {
    survey_plan *p = &plans[i];
    if (!p->runs || p->rounds == SURVEY_ROUNDS) continue;
    double *last = &p->round[p->rounds];
    tutti_status status = tutti_allreduce(job->talk, last, last, 1, TUTTI_DOUBLE, TUTTI_MAX);
    if (status) return status;
    if (*last < 1e-9) *last = 1e-9; /* not more than the loop without the call */
    p->far[p->rounds++] = far;
    if (!o->iterations) p->calls = calls_after(p, *last, o->budget);
    if (best <= 0 || *last < best) best = *last;
  }
  for (int i = 0; i < n; i++) {
    survey_plan *p = &plans[i];
    if (!p->runs || patience <= 0 || far == SURVEY_MOVED) continue;
    p->behind += p->round[p->rounds - 1] > patience * best;
    if (p->behind == SIT_OUT) p->runs = false;
  }
  return TUTTI_OK;
}

/* Measures on rank 0 how far the cores are apart. Called before and after each round. */
static tutti_status look(const bench_job *job, double *far) {
  *far = job->rank == 0 ? cli_bounce() : 0;
  return tutti_allreduce(job->talk, far, far, 1, TUTTI_DOUBLE, TUTTI_MAX);
}

/* Determines the number of calls in a round. It begins with one call, and increases the number until the calls use enough of the
 * budget to show how long one call takes. No long warm-up is needed, because the result is a median over many rounds. */
static tutti_status settle(const bench_job *job, const bench_options *o, const bench_call *call,
                           long *calls) {
  double once = 0;
  tutti_status status = bench_run(job, call);
  *calls = o->iterations;
  for (long n = 1; !status && !*calls; n *= 4) {
    status = bench_repeat(job, o, call, n, &once);
    if (!status) status = tutti_allreduce(job->talk, &once, &once, 1, TUTTI_DOUBLE, TUTTI_MAX);
    if (once * (double)n > o->budget / 8 || n > MOST_CALLS / 4)
      *calls = once * MOST_CALLS < o->budget ? MOST_CALLS
               : once > o->budget            ? 1
                                             : (long)(o->budget / once);
  }
  return status;
}

/* Returns the stride between the plans of a round. Every round times every plan, but in a different order, because a
 * slow predecessor may leave the ranks out of step. */
static int stride(int n, int round) {
  for (int k = 1 + 2 * round % n;; k++) {
    int a = n, b = k;
    while (b) {
      const int rest = a % b;
      a = b;
      b = rest;
    }
    if (a == 1) return k;
  }
}

tutti_status survey_time(const bench_job *job, const bench_options *o, const bench_call *call,
                         const char *override, survey_plan *plans, int n, bool looks,
                         double patience) {
  tutti_status status = TUTTI_OK;
  int before = 0;
  for (int i = 0; i < n && !status; i++) {
    if (plans[i].rounds > before) before = plans[i].rounds;
    if (plans[i].known) continue;
    plans[i].known = true;
    status = choose(job, &plans[i], override);
    plans[i].runs = !status && is_run(job, call, &plans[i]);
    if (!status && plans[i].runs) status = settle(job, o, call, &plans[i].calls);
  }
  double begin = 0, end = 0;
  if (!status && looks) status = look(job, &begin);
  const int further = n ? stride(n, before) : 0;
  for (int k = 0; k < n && !status; k++) {
    survey_plan *p = &plans[(k * further + before) % n];
    if (!p->runs || p->rounds == SURVEY_ROUNDS) continue;
    status = choose(job, p, override);
    if (!status && p->calls > 1)
      status = bench_run(job, call); /* warm-up, except for a plan with one long call */
    if (!status) status = bench_repeat(job, o, call, p->calls, &p->round[p->rounds]);
  }
  if (!status && looks) status = look(job, &end);
  if (!status)
    status = end_round(job, o, plans, n,
                       end == begin || cli_bounce_near(end, begin) ? end : SURVEY_MOVED, patience);
  for (int i = 0; i < n; i++) sum_up(&plans[i]);
  const survey_plan own = {.name = NULL};
  return status ? status : choose(job, &own, override);
}

const survey_plan *survey_best(const survey_plan *plans, int n) {
  const survey_plan *best = NULL;
  for (int i = 0; i < n; i++)
    if (plans[i].runs && (!best || plans[i].median < best->median)) best = &plans[i];
  return best;
}

double survey_ratio(const survey_plan *a, const survey_plan *b) {
  double each[SURVEY_ROUNDS];
  const int n = a->rounds < b->rounds ? a->rounds : b->rounds;
  if (!n) return 0;
  int m = 0;
  for (int i = 0; i < n; i++)
    if (counts(a, i)) each[m++] = a->round[i] / b->round[i];
  cli_sort(each, (size_t)m);
  return m ? each[m / 2] : 0;
}
