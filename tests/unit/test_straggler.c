/* straggler: the last exchange takes n + ceil(log2 P) rounds after the others' allreduce, on a ring n - 1 + P, for every late rank, and late=r is
 * late=0 turned by r ranks. Checked by prices, by counts, and step by step.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>

#include "cost.h"
#include "names.h"

static const double alpha = 3e-5, beta = 1e-8, bytes = 1e6;

static const char *name_of(int late, int n, bool ring) {
  static char name[60];
  snprintf(name, sizeof name, "straggler(late=%d,n=%d%s)", late, n, ring ? ",ring" : "");
  return name;
}

static int rounds_of(int P, int n, bool ring) {
  return ring ? n - 1 + P : n + tt_ceil_log2((uint64_t)P);
}

static double price(const char *name, int P) {
  const tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = P};
  tt_cost_model model;
  tt_sched **all;
  tt_breakdown t;
  tt_cost_flat(&model, P);
  model.link[0] = (tt_link){.alpha = alpha, .beta = beta};
  if (tt_algo_build_all(name, &ask, &all)) fail_msg("%s", tutti_error());
  tt_sim *sim = tt_sim_new(all, P, false, &model);
  assert_true(sim && tt_sim_run(sim, bytes, &t));
  tt_sim_free(sim);
  tt_sched_free_all(all, P);
  return t.time;
}

/* n is a multiple of the others, so that each of them owns as much. The exchange may begin while the others
 * still share their sums, which is the second half of the fold. */
static void price_is_an_allreduce_of_the_others_and_an_exchange(void **state) {
  (void)state;
  for (int P = 3; P <= 70; P += 1 + P / 8)
    for (int k = 0; k < 6; k++) {
      const bool ring = k % 2;
      const int n = (k / 2 + 1) * (P - 1), steps = 2 * tt_ceil_log2((uint64_t)P - 1);
      const double fold = steps * alpha + 2.0 * (P - 2) / (P - 1) * bytes * beta;
      const double exchange = rounds_of(P, n, ring) * (alpha + bytes / n * beta);
      const double time = price(name_of(P / 3, n, ring), P);
      if (time > fold + exchange * (1 + 1e-9) || time < exchange + fold * (0.5 - 1e-9))
        fail_msg("%s, P = %d: %.9g s, not %.9g + %.9g", name_of(P / 3, n, ring), P, time, fold,
                 exchange);
    }
}

static void every_rank_may_be_late(void **state) {
  (void)state;
  for (int P = 2; P <= 19; P++)
    for (int late = 0; late < P; late++)
      for (int k = 0; k < 10; k++) {
        const int n = k | 1;
        const bool ring = k % 2;
        tutti_report r;
        const tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = P, .in_place = (late + n / 2) % 2};
        if (!names_prove(name_of(late, n, ring), &ask, &r))
          fail_msg("%s on %d ranks: %s", name_of(late, n, ring), P, r.witness);
        assert_true(r.same_grouping);
      }
}

/* Of one rank: messages that it sends, and blocks. */
static void counts_of(const tt_sched *s, int *messages, uint32_t *blocks) {
  *messages = 0;
  *blocks = 0;
  for (uint32_t i = 0; i < s->nsteps; i++)
    if (s->steps[i].kind == TT_SEND) *messages += 1, *blocks += tt_span_size(&s->steps[i].own);
}

static void the_late_rank_sends_its_vector_and_the_last_block_again(void **state) {
  (void)state;
  for (int P = 2; P <= 40; P++)
    for (int n = 1; n <= 64; n *= 4) {
      const tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = P};
      tt_sched **all;
      if (tt_algo_build_all(name_of(P - 1, n, false), &ask, &all)) fail_msg("%s", tutti_error());
      int messages;
      uint32_t blocks;
      counts_of(all[P - 1], &messages, &blocks);
      assert_int_equal(messages, rounds_of(P, n, false) - 1);
      assert_int_equal(blocks, (uint32_t)messages * (all[0]->blocks / (uint32_t)n));
      for (int r = 0; r < P - 1; r++) { /* 2 ceil(log2 (P - 1)) of the fold */
        counts_of(all[r], &messages, &blocks);
        assert_true(messages <= rounds_of(P, n, false) + 2 * tt_ceil_log2((uint64_t)P - 1));
      }
      tt_sched_free_all(all, P);
    }
}

static void turned(tt_step *step, int by, int P) {
  if (!tt_step_local(step)) step->peers.first = tt_mod((int64_t)step->peers.first + by, P);
}

static void late_r_is_late_0_turned(void **state) {
  (void)state;
  for (int P = 2; P <= 33; P++)
    for (int late = 1; late < P; late++) {
      tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = P};
      tt_sched **first, **then;
      if (tt_algo_build_all(name_of(0, 3, late % 2), &ask, &first) ||
          tt_algo_build_all(name_of(late, 3, late % 2), &ask, &then))
        fail_msg("%s", tutti_error());
      for (int r = 0; r < P; r++) {
        const tt_sched *a = first[r], *b = then[(r + late) % P];
        assert_int_equal(a->nsteps, b->nsteps);
        for (uint32_t i = 0; i < a->nsteps; i++) {
          tt_step want = a->steps[i], got = b->steps[i];
          turned(&want, late, P);
          turned(&got, 0, P);
          assert_memory_equal(&want, &got, sizeof want);
        }
      }
      tt_sched_free_all(first, P);
      tt_sched_free_all(then, P);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(price_is_an_allreduce_of_the_others_and_an_exchange),
      cmocka_unit_test(every_rank_may_be_late),
      cmocka_unit_test(the_late_rank_sends_its_vector_and_the_last_block_again),
      cmocka_unit_test(late_r_is_late_0_turned),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
