/* race.c - runs plans against each other on scratch memory.
 *
 * Idea       The first plan is the one that would run without a race. It runs against the others in alternating rounds,
 *            and the time of the slowest rank counts. Clearly slower plans drop out. The fastest plan wins if it beats
 *            the first one in nearly all rounds.
 * Cycle      As in a program, the vector is written before each call and the result is read after it. It contains
 *            zeros, or the caller's numbers. Calls are in place if the caller's is. The time of writing and reading
 *            without the call is subtracted.
 * Cost       Up to BUDGET seconds, but at least 2 LEAST_ROUNDS calls of each plan. During the race, memory of twice the
 *            vector's size.
 * Invariant  All ranks make the same calls, and decide based on bitwise equal times. The caller's vectors are not
 *            modified, and a built-in op replaces a user's function.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "race.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_ROUNDS = 3, MOST_CALLS = 128 };
static const double BUDGET = 0.25, LEAST_GAIN = 0.02, LEAST_TIME = 1e-9;

/* ---- the plans that run ---- */

/* Returns the call's op or, instead of a user's function, a built-in op. The function must not see invented numbers. */
static tutti_op stand_in(const tt_call *c) {
  const tt_user_op *user = tt_coll_reduces(c->coll) ? tt_op_user(c->op) : NULL;
  if (!user || !user->fn) return c->op;
  return tutti_type_has_op(c->type, TUTTI_SUM) ? TUTTI_SUM : TUTTI_MINLOC;
}

tutti_status tt_race_add(tt_race *s, const tt_choice *choice, double price) {
  tt_runner *x = &s->at[s->n];
  *x = (tt_runner){.spec = choice->plan, .slices = choice->slices, .price = price};
  tutti_status status = tt_plan_make(s->comm, s->asked, s->in_place, choice, &x->plan);
  if (status) return status;
  const tutti_op op = stand_in(s->asked);
  if (op != s->asked->op) status = tt_reducer_init(&x->plan.exec.reducer, s->asked->type, op);
  for (int i = 0; i < s->n; i++) /* the same plan, cut into more slices than the vector allows */
    if (s->at[i].plan.prepared == x->plan.prepared &&
        s->at[i].plan.exec.slices == x->plan.exec.slices &&
        s->at[i].plan.exec.coding.code == x->plan.exec.coding.code)
      return status;
  s->n++;
  return status;
}

/* ---- memory ---- */

/* Finds the blocks that the call reads and writes, and determines whether the call is in place. */
static void lay_out_vectors(tt_race *s) {
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

/* Allocates the vectors of the trials: one if the call is in place, otherwise two. Returns false if out of memory. */
static bool alloc_trial_vectors(tt_race *s) {
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

/* Runs a barrier between calls. */
static tutti_status meet(tt_race *s) {
  tt_call call = tt_barrier_call(s->comm);
  call.said = s->asked;
  return tt_call_own(s->comm, call, true);
}

/* Replaces each number with its maximum over all ranks. */
static tutti_status agree_on_most(tt_race *s, double *at, size_t n) {
  const tt_call call = {.coll = TUTTI_ALLREDUCE,
                        .src = at,
                        .dst = at,
                        .count = n,
                        .type = TUTTI_DOUBLE,
                        .op = TUTTI_MAX,
                        .said = s->asked};
  return tt_call_own(s->comm, call, true);
}

static void write_vector(const tt_race *s) {
  void *to = (void *)(uintptr_t)s->call.src;
  if (s->writes && s->real) memcpy(to, s->asked->src, s->writes);
  if (s->writes && !s->real) memset(to, 0, s->writes);
}

static void read_result(const tt_race *s) {
  const char *at = s->call.dst;
  uint64_t sum = 0, word;
  for (size_t i = 0; i + sizeof word <= s->reads; i += sizeof word) {
    memcpy(&word, at + i, sizeof word);
    sum += word;
  }
  __asm__ volatile("" ::"r"(sum)); /* keeps the compiler from removing the loop */
}

/* Measures the time that writing and reading the vectors takes without a call, at the start of a round. */
static void time_touch(tt_race *s, int calls) {
  const double from = tt_seconds();
  for (int i = 0; i < calls; i++) {
    write_vector(s);
    read_result(s);
  }
  s->touch = (tt_seconds() - from) / calls;
}

/* Times the calls of a plan in one round. Some calls at the beginning are not timed (one, or with compression as many as are
 * timed), because the previous plan has left cold caches or used-up burst credit. The time ends when the last rank has
 * finished. A rank that only sends finishes early, and a rank that starts late may find that all its data has arrived. */
static tutti_status time_one(tt_race *s, const tt_runner *x, int calls, double *seconds) {
  tutti_status status = TUTTI_OK;
  for (int i = 0; i < (s->real ? calls : 1) && !status; i++)
    status = tt_call_run(s->comm, &s->call, &x->plan);
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

/* Runs each plan in one round. The time of a plan is that of the slowest rank. */
static tutti_status one_round(tt_race *s, int calls, double *seconds) {
  tutti_status status = TUTTI_OK;
  time_touch(s, calls);
  for (int i = 0; i < s->n && !status; i++) {
    seconds[i] = 0;
    if (!s->at[i].out) status = time_one(s, &s->at[i], calls, &seconds[i]);
  }
  return status ? status : agree_on_most(s, seconds, (size_t)s->n);
}

/* Runs each plan for the first time, to set up channels and touch memory. Also computes the number of calls and rounds that
 * fit in the budget. */
static tutti_status warm_up(tt_race *s, int *rounds) {
  double seconds[TT_RACE_MOST] = {0}, all = 0, least = HUGE_VAL;
  tutti_status status = one_round(s, 1, seconds);
  for (int i = 0; i < s->n; i++) {
    all += seconds[i];
    if (seconds[i] < least) least = seconds[i];
  }
  for (int i = 0; i < s->n; i++) s->at[i].out = least > TT_RACE_SLOW && seconds[i] > 3 * least;
  const double fit = all > 0 ? BUDGET / all : TT_RACE_ROUNDS * MOST_CALLS; /* calls of each plan */
  s->calls = fit > TT_RACE_ROUNDS * MOST_CALLS ? MOST_CALLS
             : fit < 3 * TT_RACE_ROUNDS        ? 1
                                               : (int)fit / TT_RACE_ROUNDS - 1;
  *rounds = fit < 2 * LEAST_ROUNDS     ? LEAST_ROUNDS
            : fit < 2 * TT_RACE_ROUNDS ? (int)fit / 2
                                       : TT_RACE_ROUNDS;
  return status;
}

/* ---- evaluation ---- */

static int compare_doubles(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Computes the median of the rounds, and the spread of their middle half (of all rounds, if they are fewer than five). */
static void judge(tt_runner *x) {
  const int n = x->rounds;
  double sorted[TT_RACE_ROUNDS];
  if (!n) return;
  memcpy(sorted, x->times, sizeof sorted);
  qsort(sorted, (size_t)n, sizeof *sorted, compare_doubles);
  x->median = n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
  x->noise = n < 5 ? sorted[n - 1] - sorted[0] : sorted[n - 1 - n / 4] - sorted[n / 4];
}

static double extreme(const tt_runner *x, bool most) {
  double v = x->times[0];
  for (int r = 1; r < x->rounds; r++)
    if (most ? x->times[r] > v : x->times[r] < v) v = x->times[r];
  return v;
}

/* Returns the index of the fastest plan among those still in the race. */
static int fastest(tt_race *s) {
  int best = -1;
  for (int i = 0; i < s->n; i++) {
    judge(&s->at[i]);
    if (!s->at[i].out && (best < 0 || s->at[i].median < s->at[best].median)) best = i;
  }
  return best;
}

/* Drops each plan whose best round is slower than the fastest plan's worst round. Returns false if only one plan remains. */
static bool drop_losers(tt_race *s) {
  const tt_runner *best = &s->at[fastest(s)];
  int in = 0;
  for (int i = 0; i < s->n; i++) {
    tt_runner *x = &s->at[i];
    if (x != best && !x->out) x->out = extreme(x, false) > extreme(best, true);
    in += !x->out;
  }
  return in > 1;
}

/* Returns true if x won at least three quarters of the rounds. A slow round affects both plans equally. */
static bool mostly_beats(const tt_runner *x, const tt_runner *own) {
  int won = 0;
  for (int r = 0; r < own->rounds; r++) won += x->times[r] < own->times[r];
  return 4 * won >= 3 * own->rounds;
}

/* Returns the fastest plan if its lead is too large for chance. Otherwise returns the plan with the least predicted time. */
static int winner(tt_race *s) {
  const int best = fastest(s);
  const tt_runner *own = &s->at[0], *x = &s->at[best];
  if (best == 0 || !own->rounds || own->out) return best;
  const bool clear = own->median - x->median > LEAST_GAIN * own->median;
  return clear && mostly_beats(x, own) ? best : 0;
}

static tutti_status run_rounds(tt_race *s, int *won) {
  int rounds;
  tutti_status status = warm_up(s, &rounds);
  for (int r = 0; r < rounds && !status; r++) {
    double seconds[TT_RACE_MOST];
    status = one_round(s, s->calls, seconds);
    for (int i = 0; i < s->n; i++)
      if (!s->at[i].out) s->at[i].times[s->at[i].rounds++] = seconds[i];
    if (!status && r + 1 >= LEAST_ROUNDS && !drop_losers(s)) break;
  }
  if (!status) *won = winner(s);
  return status;
}

enum { NO_MEMORY = 1, FAILED };

tutti_status tt_race_run(tt_race *s, tutti_status mine, bool reserved, int *won, bool *may_record) {
  double lacks = mine ? FAILED - (double)mine : reserved ? 0 : FAILED;
  char why[TT_WHY]; /* the collective call may overwrite the message */
  snprintf(why, sizeof why, "%s", tutti_error());
  *won = -1;
  if (s->n > 1 && !lacks && !alloc_trial_vectors(s)) lacks = NO_MEMORY;
  tutti_status status = agree_on_most(s, &lacks, 1);
  if (!status && lacks > FAILED)
    status = mine ? tt_fail(mine, "%s", why)
                  : tt_fail((tutti_status)(FAILED - lacks),
                            "another rank could not make the plans that are to be measured: %s",
                            tutti_strerror((tutti_status)(FAILED - lacks)));
  if (!status && s->n > 1 && lacks == 0) status = run_rounds(s, won);
  if (s->memory) tt_trial_give(s->comm, s->memory, s->exportable);
  s->starved = lacks > 0;
  *may_record = !status && lacks < FAILED;
  return status;
}

void tt_race_begin(tt_race *s, tutti_comm *comm, const tt_call *asked) {
  *s = (tt_race){.comm = comm,
                 .asked = asked,
                 .problem = tt_problem_of(comm, asked),
                 .outline = tt_call_outline(comm, asked)};
  lay_out_vectors(s);
}
