/* Every family with every parameter it proposes: every group, level and number of
 * steps, for every P up to 64 and samples to 1000, the short ones to 4096. That takes
 * long: `make prove` does it, with a bar; `make check` a part of it.
 * Alone: no
 * SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include "names.h"

static bool full(void) {
  return getenv("TUTTI_PROVE") != NULL;
}

/* A line that overwrites itself, where somebody waits for it. */
static void bar(const char *what, int done, int all) {
  if (!full()) return;
  fprintf(stderr, "\r  %-28s [", what);
  for (int i = 0; i < 40; i++) fputc(i * all < 40 * done ? '#' : '.', stderr);
  fprintf(stderr, "] %d of %d%s", done, all, done == all ? "\n" : "");
  fflush(stderr);
}

static long proofs;

static void prove_name(const char *name, int P) {
  for (int coll = 0; coll < TUTTI_COLL_COUNT; coll++)
    for (int in_place = 0; in_place < 2; in_place++) {
      tt_ask ask = {.coll = (tutti_coll)coll, .ranks = P, .in_place = in_place};
      tutti_report r;
      tt_sched *s;
      if (tt_algo_build(name, &ask, &s)) continue;
      tt_sched_free(s);
      if (!names_prove(name, &ask, &r))
        fail_msg("%s\n  tutti plan check '%s' --coll %s -P %d%s", r.witness, name,
                 tutti_coll_name(ask.coll), P, in_place ? " --in-place" : "");
      proofs++;
    }
}

static void every_parameter_up_to_64_ranks(void **state) {
  (void)state;
  for (int P = 1; P <= 64; P += full() ? 1 : 1 + P / 8) {
    names list = names_for(P, full() ? -1 : 6, 3 * P);
    char what[40];
    snprintf(what, sizeof what, "%d ranks", P);
    for (int a = 0; a < list.n; a++) {
      bar(what, a, list.n);
      prove_name(list.at[a], P);
    }
    bar(what, list.n, list.n);
    names_free(&list);
  }
  print_message("# %ld schedules proven\n", proofs);
}

/* What the proof costs: steps to play, and leaves to look at where sums are grouped
 * differently from rank to rank. */
static double cost_of(const char *name, int P) {
  tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = P};
  tt_sched *s;
  uint32_t results = 0;
  if (tt_algo_build(name, &ask, &s)) return INFINITY; /* it does no allreduce here */
  for (uint32_t i = 0; i < s->nsteps; i++)
    if (s->steps[i].last) results += tt_span_size(&s->steps[i].dst);
  double cost = (double)P * (300.0 * s->nsteps + (double)P * results);
  tt_sched_free(s);
  return cost;
}

static void samples_to_1000_ranks(void **state) {
  const int samples[] = {97, 120, 127, 210, 255, 256, 257, 360, 511, 512, 625, 720, 999, 1000};
  const int n = sizeof samples / sizeof *samples;
  (void)state;
  for (int i = 0; i < n; i++) {
    names list = names_for(samples[i], full() ? 12 : 1, i);
    bar("samples to 1000 ranks", i, n);
    for (int a = 0; a < list.n; a++) {
      tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = samples[i], .in_place = i % 2};
      tutti_report r;
      if (cost_of(list.at[a], samples[i]) < (full() ? 1e8 : 4e6) &&
          !names_prove(list.at[a], &ask, &r))
        fail_msg("%s on %d ranks: %s", list.at[a], samples[i], r.witness);
    }
    names_free(&list);
  }
  bar("samples to 1000 ranks", n, n);
}

static void logarithmic_ones_to_4096_ranks(void **state) {
  static const struct {
    int ranks;
    const char *name;
  } cases[] = {
      {4095, "consistent(rank-order)"}, {4096, "consistent(rank-order)"},
      {1000, "fold(halving)"},          {1000, "generalized(r=3)"},
      {1000, "consistent(i=4)"},        {4095, "fold(halving)"},
      {4096, "generalized(r=2)"},       {4096, "fold(group=16x16x16,inner)"},
      {4095, "consistent(i=6)"},        {4000, "generalized(group=40x100,r=2)"},
  };
  const int n = sizeof cases / sizeof *cases;
  (void)state;
  for (int i = 0; i < (full() ? n : 3); i++) {
    tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = cases[i].ranks};
    tutti_report r;
    bar("samples to 4096 ranks", i, n);
    if (!names_prove(cases[i].name, &ask, &r))
      fail_msg("%s on %d ranks: %s", cases[i].name, cases[i].ranks, r.witness);
    assert_true(r.steps <= 2 * tt_ceil_log2((uint64_t)ask.ranks) + 2);
  }
  bar("samples to 4096 ranks", n, n);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_parameter_up_to_64_ranks),
      cmocka_unit_test(samples_to_1000_ranks),
      cmocka_unit_test(logarithmic_ones_to_4096_ranks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
