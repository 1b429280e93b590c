/* price.c - times cost estimates and the choice of plans, and checks the choice by brute force.
 *
 *   price        prints the name, value and unit of each result, one per line
 *   price -l     prints only names and numbers, for scripts
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "build_comm.h"
#include "tutti_plan.h"

static const char cluster[] = "alpha=30us,beta=1e-8,gamma=2e-10"; /* paper 001, table 2 */
static bool list;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* CPU time of this thread, in seconds. */
static double spent(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void say(const char *key, const char *what, double value, const char *unit) {
  if (list)
    printf("%s %.6g\n", key, value);
  else
    printf("%-66s %9.3g %s\n", what, value, unit);
}

static void check(tutti_status status) {
  if (!status) return;
  fprintf(stderr, "price: %s\n", tutti_error());
  exit(1);
}

static tutti_prices *prices_of(int ranks, tutti_type type, const char *only) {
  const tutti_question q = {
      .size = sizeof q, .ranks = ranks, .type = type, .net = cluster, .only = only};
  tutti_prices *p;
  check(tutti_prices_make(&q, &p));
  return p;
}

/* Prints the time in ms to compute the cost coefficients of all plans. It is the minimum of a few identical runs. */
static void building(int ranks, const char *key) {
  double least = 1e9;
  char what[100];
  int n = 0;
  for (int k = 0; k < 7; k++) {
    tutti_prices *p = prices_of(ranks, TUTTI_FLOAT, NULL);
    tutti_offer o = {.size = sizeof o};
    const double start = now();
    check(tutti_prices_offer(p, 1, 0, 0, &o));
    const double took = now() - start;
    if (took < least) least = took;
    for (n = 0; !tutti_prices_offer(p, 1, n, 0, &o);) n++;
    tutti_prices_free(p);
  }
  snprintf(what, sizeof what, "%d plans on %d ranks: coefficients of all, once", n, ranks);
  say(key, what, 1e3 * least, "ms");
}

/* Prints the time in us to estimate all plans at a new size and to choose one of them. Also prints the time to prove, once,
 * each plan that is the fastest at some size. */
static void evaluating(void) {
  tt_setting where = {.ranks = 127, .flight = TT_FLIGHT};
  tt_chooser *c;
  tt_choice choice;
  const tt_override none = {0};
  tt_profile_net(&where.profile);
  check(tt_chooser_new(&where, &c));
  tt_problem p = {.coll = TUTTI_ALLREDUCE, .bytes = 9216, .needs = TT_NEED_SAME};
  check(tt_choose(c, &p, &none, &choice));
  enum { TIMES = 2000 };
  double took[2];
  for (int pass = 0; pass < 2; pass++) {
    const double start = now();
    for (int i = 0; i < TIMES; i++) {
      p.bytes = 4 + (uint64_t)i * 997 + (uint64_t)pass;
      check(tt_choose(c, &p, &none, &choice));
    }
    took[pass] = now() - start;
  }
  say("evaluate", "127 ranks: a new size, all plans evaluated and one chosen",
      1e6 * took[1] / TIMES, "us");
  say("proofs", "127 ranks: proofs of what is cheapest at some size, once",
      1e3 * (took[0] - took[1]), "ms");
  tt_chooser_free(c);
}

/* Prints the time in ns to find the plan for another call of the same kind. */
static void again(void) {
  tutti_comm *comm;
  const tt_plan *plan;
  check(tutti_comm_from_threads(1, &comm));
  tt_call call = {.coll = TUTTI_ALLREDUCE, .count = 1000, .type = TUTTI_FLOAT, .op = TUTTI_SUM};
  enum { TIMES = 10000000 };
  check(tt_plan_for(comm, &call, false, &plan));
  const double start = now();
  for (int i = 0; i < TIMES; i++) {
    tt_plan_for(comm, &call, false, &plan);
    __asm__ volatile("" ::: "memory");
  }
  say("again", "the next call of the same kind: its plan", 1e9 * (now() - start) / TIMES, "ns");
  tutti_comm_free(comm);
}

/* Prints the CPU time in ms to prove a plan when 8 ranks first use it: the maximum and the mean over all built-in plans of
 * all collectives. Also prints the time in us for a plan that was proven before. */
static void proving(void) {
  enum { RANKS = 8 };
  double worst = 0, sum = 0, again_worst = 0;
  int n = 0;
  tutti_comm *comm;
  check(tutti_comm_from_threads(1, &comm));
  for (int coll = 0; coll < TUTTI_COLL_COUNT; coll++) {
    const tutti_question q = {
        .size = sizeof q, .ranks = RANKS, .coll = (tutti_coll)coll, .net = cluster};
    tutti_offer o = {.size = sizeof o};
    tutti_prices *p;
    if (tutti_prices_make(&q, &p)) continue;
    for (int i = 0; !tutti_prices_offer(p, 1024, i, 0, &o); i++) {
      tt_ask ask = {.coll = (tutti_coll)coll, .ranks = RANKS, .data = RANKS};
      if (!o.possible) continue;
      check(tt_plan_spec_named(o.name, &ask.plan));
      tt_proven is;
      const double start = spent();
      check(tt_proof_ask(comm, &ask, 1, &is));
      const double took = spent() - start;
      check(tt_proof_ask(comm, &ask, 1, &is));
      const double took_again = spent() - start - took;
      worst = took > worst ? took : worst;
      again_worst = took_again > again_worst ? took_again : again_worst;
      sum += took;
      n++;
    }
    tutti_prices_free(p);
  }
  tutti_comm_free(comm);
  char what[100];
  snprintf(what, sizeof what, "8 ranks: a plan's proof at its first use, mean of %d", n);
  say("prove8_mean", what, 1e3 * sum / n, "ms");
  say("prove8", "8 ranks: a plan's proof at its first use, at worst", 1e3 * worst, "ms");
  say("prove8_again", "8 ranks: the same at its next use, at worst", 1e6 * again_worst, "us");
}

static void many_ranks(const char *name, const char *key) {
  char what[100];
  tutti_offer o = {.size = sizeof o};
  const double start = now();
  tutti_prices *p = prices_of(100000, TUTTI_FLOAT, name);
  check(tutti_prices_offer(p, 1 << 20, 0, 1, &o));
  snprintf(what, sizeof what, "%s on 100,000 ranks: priced from nothing", name);
  say(key, what, 1e3 * (now() - start), "ms");
  tutti_prices_free(p);
}

/* Compares the time of each chosen plan with the times of all admissible plans, simulated at exactly the same size. Prints
 * the largest ratio. */
static void brute_force(void) {
  static const tutti_type types[] = {TUTTI_FLOAT, TUTTI_INT32};
  double worst = 0;
  int sizes = 0;
  for (int t = 0; t < 2; t++) {
    tutti_prices *p = prices_of(127, types[t], NULL);
    for (double bytes = 4; bytes < 1.01e8; bytes *= 1.8, sizes++) {
      tutti_offer chosen = {.size = sizeof chosen}, o = {.size = sizeof o};
      check(tutti_prices_chosen(p, (uint64_t)bytes, &chosen));
      for (int i = 0; !tutti_prices_offer(p, (uint64_t)bytes, i, 1, &o); i++)
        if (o.admissible && chosen.seconds / o.seconds > worst) worst = chosen.seconds / o.seconds;
    }
    tutti_prices_free(p);
  }
  char what[100];
  snprintf(what, sizeof what, "127 ranks, %d sizes: the choice over the cheapest of all, at worst",
           sizes);
  say("brute", what, worst, "times");
}

int main(int argc, char **argv) {
  list = argc > 1 && strcmp(argv[1], "-l") == 0;
  building(127, "build127");
  building(16, "build16");
  evaluating();
  again();
  proving();
  many_ranks("fold(halving)", "huge_halving");
  many_ranks("fold(ring)", "huge_ring");
  brute_force();
  return 0;
}
