/* measure.c - times the plans that may be the fastest, and records the winner.
 *
 * Idea       the plan of least predicted time runs against the next best, on scratch memory, in
 *            alternating rounds; the time of the slowest rank counts. Clearly slower plans drop
 *            out. The fastest one wins if it beats the predicted one in nearly all rounds.
 * Cycle      as in a program, the vector is written before each call and the result read after
 *            it, in place if the caller's is; the time of doing that without the call is
 *            subtracted.
 * Cost       up to BUDGET seconds for a kind and size of call, but at least 2 LEAST_ROUNDS calls
 *            of each plan; meanwhile, twice the vector in memory.
 * Invariant  every rank makes the same calls, and decides from times that are equal bit by bit.
 *            The caller's vectors and ops are not touched: a built-in op stands in.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "call_plan.h"
#include "measure.h"
#include "process_wisdom.h"

enum { MOST = 6, MOST_SLOW = 3, LEAST = 3, FAMILY = 2 };
enum { ROUNDS = 7, LEAST_ROUNDS = 3, MOST_CALLS = 128 };
static const double WITHIN = 2, AT_ALL = 8, BUDGET = 0.25, SLOW = 0.02 /* s */, LEAST_GAIN = 0.02,
                    LEAST_TIME = 1e-9;

typedef struct runner {
  const char *name;
  int slices;
  double price;
  tt_plan plan;
  bool out; /* clearly not the fastest */
  int rounds;
  double times[ROUNDS], median, noise; /* s */
} runner;

typedef struct session {
  tutti_comm *comm;
  const tt_call *asked;
  tt_call call; /* the asked call, on scratch memory */
  tt_problem problem;
  tt_sched outline; /* of the asked call */
  runner at[MOST];  /* the first is the plan of least predicted time */
  int n, calls;     /* calls: in each round */
  char *memory;
  size_t writes, reads; /* bytes of the vectors */
  size_t from, first;   /* their offsets within the vector of all blocks, bytes */
  bool in_place;        /* as the caller's vectors */
  double touch;         /* s, for writing and reading them */
  bool exportable;      /* peers can access the memory directly, as they can the caller's */
} session;

/* ---- the plans that run ---- */

/* A built-in op of the type: a user's function must not see made-up numbers. */
static tutti_op stand_in(const tt_call *c) {
  const tt_user_op *user = tt_coll_reduces(c->coll) ? tt_op_user(c->op) : NULL;
  if (!user || !user->fn) return c->op;
  return tutti_type_has_op(c->type, TUTTI_SUM) ? TUTTI_SUM : TUTTI_MINLOC;
}

static tutti_status add_runner(session *s, const tt_choice *choice, double price) {
  runner *x = &s->at[s->n];
  *x = (runner){.name = choice->name, .slices = choice->slices, .price = price};
  tutti_status status = tt_plan_make(s->comm, s->asked, s->in_place, choice, &x->plan);
  if (status) return status;
  const tutti_op op = stand_in(s->asked);
  if (op != s->asked->op) status = tt_reducer_init(&x->plan.exec.reducer, s->asked->type, op);
  for (int i = 0; i < s->n; i++) /* the same plan, cut in more slices than the vector has */
    if (s->at[i].plan.prepared == x->plan.prepared &&
        s->at[i].plan.exec.slices == x->plan.exec.slices)
      return status;
  s->n++;
  return status;
}

typedef struct rival {
  int i; /* index among the candidates */
  double price;
} rival;

static int rivals_by_price(const void *a, const void *b) {
  const rival *x = a, *y = b;
  if (x->price != y->price) return x->price < y->price ? -1 : 1;
  return (x->i > y->i) - (x->i < y->i);
}

static int of_family(const session *s, const char *name) {
  const size_t n = strcspn(name, "(");
  int k = 0;
  for (int i = 0; i < s->n; i++)
    k += strcspn(s->at[i].name, "(") == n && strncmp(s->at[i].name, name, n) == 0;
  return k;
}

/* Adds the cheapest of `n`: first a few of each family, then any. */
static tutti_status add_rivals(session *s, tt_chooser *c, const rival *rivals, int n) {
  tutti_status status = TUTTI_OK;
  const int most = s->at[0].price > SLOW ? MOST_SLOW : MOST;
  for (int pass = 0; pass < 2; pass++)
    for (int i = 0; i < n && s->n < most && !status; i++) {
      tt_quote o;
      bool here = false;
      if (rivals[i].price > (s->n < LEAST ? AT_ALL : WITHIN) * s->at[0].price) break;
      tt_quote_at(c, &s->problem, tt_comm_override(s->comm), rivals[i].i, true, &o);
      for (int k = 0; k < s->n; k++)
        here |= s->at[k].slices == o.slices && strcmp(s->at[k].name, o.name) == 0;
      if (here || o.lacks || (!pass && of_family(s, o.name) >= FAMILY)) continue;
      const tt_choice choice = {.name = o.name, .slices = o.slices};
      status = add_runner(s, &choice, o.seconds);
    }
  if (!status && tt_chooser_starved(c))
    status = tt_fail(TUTTI_ERR_MEMORY, "out of memory for what is to be measured");
  return status;
}

static tutti_status find_runners(session *s) {
  tt_chooser *c = tt_chooser_for(s->comm, s->asked);
  const tt_override *override = tt_comm_override(s->comm);
  tt_choice own;
  tt_quote o;
  int all = 0, n = 0;
  double price = 0;
  tutti_status status = tt_choose(c, &s->problem, override, &own);
  if (status) return status;
  while (tt_quote_at(c, &s->problem, override, all, false, &o)) all++;
  rival *rivals = malloc((size_t)(all + 1) * sizeof *rivals);
  if (!rivals) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for what is to be measured");
  for (int i = 0; i < all; i++) {
    tt_quote_at(c, &s->problem, override, i, false, &o);
    if (o.possible && !o.ruled_out) rivals[n++] = (rival){i, o.seconds};
    if (strcmp(o.name, own.name) == 0 && o.slices == own.slices) price = o.seconds;
  }
  qsort(rivals, (size_t)n, sizeof *rivals, rivals_by_price);
  status = add_runner(s, &own, price);
  if (!status) status = add_rivals(s, c, rivals, n);
  free(rivals);
  return status;
}

/* ---- memory ---- */

/* Finds which blocks the call reads and writes, and whether it is in place. */
static void lay_out_vectors(session *s) {
  const tt_call *c = s->asked;
  const size_t block = s->problem.bytes / s->outline.blocks;
  uint32_t from, to, first, last;
  tt_coll_src(&s->outline, &from, &to);
  tt_coll_dst(&s->outline, &first, &last);
  s->writes = (to - from) * block;
  s->reads = (last - first) * block;
  s->from = from * block;
  s->first = first * block;
  s->in_place =
      s->writes && s->reads && (uintptr_t)c->src - s->from == (uintptr_t)c->dst - s->first;
}

/* Allocates source and result, as one vector or two. */
static bool alloc_trial_vectors(session *s) {
  const size_t part = tt_round_up(s->problem.bytes, 4096);
  s->call = *s->asked;
  s->call.said = s->asked;
  s->call.op = stand_in(s->asked);
  if (s->call.coll == TUTTI_BARRIER) return true;
  s->exportable = tt_comm_exports(s->comm, s->asked->src ? s->asked->src : s->asked->dst);
  s->memory = tt_trial_take(s->comm, 2 * part, s->exportable);
  if (!s->memory) return false;
  memset(s->memory, 0, 2 * part);
  s->call.src = s->memory + s->from;
  s->call.dst = s->memory + (s->in_place ? 0 : part) + s->first;
  return true;
}

/* ---- running ---- */

/* A barrier between calls. */
static tutti_status meet(session *s) {
  tt_call call = tt_barrier_call(s->comm);
  call.said = s->asked;
  return tt_call_own(s->comm, call, true);
}

/* The maximum of each number over all ranks. */
static tutti_status agree_on_most(session *s, double *at, size_t n) {
  const tt_call call = {.coll = TUTTI_ALLREDUCE,
                        .src = at,
                        .dst = at,
                        .count = n,
                        .type = TUTTI_DOUBLE,
                        .op = TUTTI_MAX,
                        .said = s->asked};
  return tt_call_own(s->comm, call, true);
}

static void write_vector(const session *s) {
  if (s->writes) memset((void *)(uintptr_t)s->call.src, 0, s->writes);
}

static void read_result(const session *s) {
  const char *at = s->call.dst;
  uint64_t sum = 0, word;
  for (size_t i = 0; i + sizeof word <= s->reads; i += sizeof word) {
    memcpy(&word, at + i, sizeof word);
    sum += word;
  }
  __asm__ volatile("" ::"r"(sum)); /* keeps the compiler from dropping the loop */
}

/* Times a cycle without its call, at the start of a round. */
static void time_touch(session *s, int calls) {
  const double from = tt_seconds();
  for (int i = 0; i < calls; i++) {
    write_vector(s);
    read_result(s);
  }
  s->touch = (tt_seconds() - from) / calls;
}

/* The first call does not count: it pays for what the previous plan left, such as cold caches or a
 * network's used-up burst. The time ends when the last rank is done: a rank that only sends
 * finishes early, and a rank that comes late may find all data there. */
static tutti_status time_one(session *s, const runner *x, int calls, double *seconds) {
  tutti_status status = tt_call_run(s->comm, &s->call, &x->plan);
  if (!status) status = meet(s);
  const double from = tt_seconds();
  for (int i = 0; i < calls && !status; i++) {
    write_vector(s);
    status = tt_call_run(s->comm, &s->call, &x->plan);
    read_result(s);
  }
  if (!status) status = meet(s);
  *seconds = (tt_seconds() - from) / calls - s->touch;
  if (*seconds < LEAST_TIME) *seconds = LEAST_TIME;
  return status;
}

/* Runs each plan, in turn; the times become those of the slowest rank. */
static tutti_status one_round(session *s, int calls, double *seconds) {
  tutti_status status = TUTTI_OK;
  time_touch(s, calls);
  for (int i = 0; i < s->n && !status; i++) {
    seconds[i] = 0;
    if (!s->at[i].out) status = time_one(s, &s->at[i], calls, &seconds[i]);
  }
  return status ? status : agree_on_most(s, seconds, (size_t)s->n);
}

/* The first calls set up channels and touch memory. Also finds how many calls fit in the budget. */
static tutti_status warm_up(session *s, int *rounds) {
  double seconds[MOST] = {0}, all = 0, least = HUGE_VAL;
  tutti_status status = one_round(s, 1, seconds);
  for (int i = 0; i < s->n; i++) {
    all += seconds[i];
    if (seconds[i] < least) least = seconds[i];
  }
  for (int i = 0; i < s->n; i++) s->at[i].out = least > SLOW && seconds[i] > 3 * least;
  const double fit = all > 0 ? BUDGET / all : ROUNDS * MOST_CALLS; /* calls of each plan */
  s->calls = fit > ROUNDS * MOST_CALLS ? MOST_CALLS : fit < 3 * ROUNDS ? 1 : (int)fit / ROUNDS - 1;
  *rounds = fit < 2 * LEAST_ROUNDS ? LEAST_ROUNDS : fit < 2 * ROUNDS ? (int)fit / 2 : ROUNDS;
  return status;
}

/* ---- judging ---- */

static int compare_doubles(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Computes the median and the spread of the middle half of the rounds; of all, if they are few. */
static void judge(runner *x) {
  const int n = x->rounds;
  double sorted[ROUNDS];
  if (!n) return;
  memcpy(sorted, x->times, sizeof sorted);
  qsort(sorted, (size_t)n, sizeof *sorted, compare_doubles);
  x->median = n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
  x->noise = n < 5 ? sorted[n - 1] - sorted[0] : sorted[n - 1 - n / 4] - sorted[n / 4];
}

static double extreme(const runner *x, bool most) {
  double v = x->times[0];
  for (int r = 1; r < x->rounds; r++)
    if (most ? x->times[r] > v : x->times[r] < v) v = x->times[r];
  return v;
}

/* The index of the fastest plan still in. */
static int fastest(session *s) {
  int best = -1;
  for (int i = 0; i < s->n; i++) {
    judge(&s->at[i]);
    if (!s->at[i].out && (best < 0 || s->at[i].median < s->at[best].median)) best = i;
  }
  return best;
}

/* Drops each plan whose best round was slower than the worst of the fastest plan; false: one is
 * left. */
static bool drop_losers(session *s) {
  const runner *best = &s->at[fastest(s)];
  int in = 0;
  for (int i = 0; i < s->n; i++) {
    runner *x = &s->at[i];
    if (x != best && !x->out) x->out = extreme(x, false) > extreme(best, true);
    in += !x->out;
  }
  return in > 1;
}

/* Did x win three rounds of four at least? Changes from round to round affect both alike. */
static bool mostly_beats(const runner *x, const runner *own) {
  int won = 0;
  for (int r = 0; r < own->rounds; r++) won += x->times[r] < own->times[r];
  return 4 * won >= 3 * own->rounds;
}

/* The plan of least predicted time stays unless another one is better by more than chance. */
static int winner(session *s) {
  const int best = fastest(s);
  const runner *own = &s->at[0], *x = &s->at[best];
  if (best == 0 || !own->rounds || own->out) return best;
  const bool clear = own->median - x->median > LEAST_GAIN * own->median;
  return clear && mostly_beats(x, own) ? best : 0;
}

static tutti_status race(session *s, int *won) {
  int rounds;
  tutti_status status = warm_up(s, &rounds);
  for (int r = 0; r < rounds && !status; r++) {
    double seconds[MOST];
    status = one_round(s, s->calls, seconds);
    for (int i = 0; i < s->n; i++)
      if (!s->at[i].out) s->at[i].times[s->at[i].rounds++] = seconds[i];
    if (!status && r + 1 >= LEAST_ROUNDS && !drop_losers(s)) break;
  }
  if (!status) *won = winner(s);
  return status;
}

/* ---- all steps ---- */

static uint64_t ns(double seconds) {
  return seconds > 0 ? (uint64_t)(1e9 * seconds + 0.5) : 0;
}

static void say_when(char when[24]) {
  struct tm utc;
  const time_t now = time(NULL);
  snprintf(when, 24, "1970-01-01T00:00:00Z");
  if (gmtime_r(&now, &utc)) strftime(when, 24, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

/* Adds an entry to the communicator's wisdom on all ranks, and on rank 0 to the process's. */
static tutti_status learn(session *s, tt_wisdom_entry *entry) {
  say_when(entry->when);
  if (!tt_plans_learn(s->comm, entry))
    return tt_fail(TUTTI_ERR_MEMORY, "out of memory for what was measured");
  if (s->outline.rank != 0 || !*entry->plan) return TUTTI_OK;
  tt_wisdom_entry mine = *entry;
  mine.stamp = tt_comm_fingerprint(s->comm, mine.placement);
  tt_wisdom_keep(&mine);
  return TUTTI_OK;
}

/* won < 0: it could not be measured, and is not to be tried again. */
static tutti_status record_winner(session *s, int won) {
  tt_wisdom_entry e = {.key = s->problem.key, .bytes = s->problem.bytes, .slices = 1};
  if (won >= 0) {
    const runner *x = &s->at[won];
    snprintf(e.plan, sizeof e.plan, "%s", x->name);
    e.slices = x->slices;
    e.took = tt_max(ns(x->median), 1);
    e.own = ns(s->at[0].median);
    e.predicted = ns(x->price);
    e.spread = x->median > 0 ? (int)tt_min((size_t)(100 * x->noise / x->median + 0.5), 9999) : 0;
  }
  return learn(s, &e);
}

static void report_measured(const session *s, int won, double began, tutti_measured *m) {
  const runner *x = &s->at[won < 0 ? 0 : won];
  snprintf(m->own, sizeof m->own, "%.127s", s->at[0].name);
  snprintf(m->plan, sizeof m->plan, "%.127s", x->name);
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
  session on_stack = {.comm = comm,
                      .asked = asked,
                      .problem = tt_problem_of(comm, asked),
                      .outline = tt_call_outline(comm, asked)};
  session *s = &on_stack;
  const double began = tt_seconds();
  int won = -1;
  /* all ranks learn if one lacks memory for the vectors or the entry; FAILED or more: it failed */
  enum { FAILED = 2 };
  double lacks = tt_plans_reserve(comm) ? 0 : FAILED;
  s->problem.wisdom = NULL;
  lay_out_vectors(s);
  const tutti_status mine = find_runners(s);
  char why[TT_WHY]; /* agree_on_most may overwrite the message */
  snprintf(why, sizeof why, "%s", tutti_error());
  if (mine)
    lacks = FAILED - (double)mine;
  else if (s->n > 1 && !lacks && !alloc_trial_vectors(s))
    lacks = 1;
  tutti_status status = agree_on_most(s, &lacks, 1);
  if (!status && lacks > FAILED)
    status = mine ? tt_fail(mine, "%s", why)
                  : tt_fail((tutti_status)(FAILED - lacks),
                            "another rank could not make the plans that are to be measured: %s",
                            tutti_strerror((tutti_status)(FAILED - lacks)));
  if (!status && s->n > 1 && lacks == 0) status = race(s, &won);
  if (s->memory) tt_trial_give(s->comm, s->memory, s->exportable);
  if (!status && lacks < 2) status = record_winner(s, won);
  if (!status && m) report_measured(s, won, began, m);
  if (m && won < 0)
    snprintf(m->why, sizeof m->why, "%s",
             lacks > 0 ? "there is not enough memory"
                       : "no other plan is priced up to eight times as much");
  return status;
}

tutti_status tt_measure_first(tutti_comm *comm, const tt_call *call) {
  return tt_measure_wanted(comm, call) ? tt_measure_plans(comm, call, NULL) : TUTTI_OK;
}
