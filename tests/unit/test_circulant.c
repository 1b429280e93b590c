/* The circulant broadcast and its reverse take the minimum number of rounds for any number of blocks: n - 1 +
 * ceil(log2 P). In each round a rank sends at most one block and receives at most one. Checked by counting the
 * rounds, each with senders that already have their block, and by the estimated time.
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
#include "tutti_plan.h"

static const double alpha = 3e-5, beta = 1e-8, bytes = 1e6;

static int next_of(int P) {
  return P < 70 ? P + 1 : P + 19; /* 127 and 203 are among them */
}

static int fewest_rounds(int P, int n) {
  return n - 1 + tt_ceil_log2((uint64_t)P);
}

static double price(const char *name, tutti_coll coll, int P, int root) {
  const tt_ask ask = {.coll = coll, .ranks = P, .root = root};
  tt_cost_model model;
  tt_sched **all;
  tt_breakdown t;
  tt_cost_flat(&model, P);
  model.link[0] = (tt_link){.alpha = alpha, .beta = beta};
  if (tt_algo_build_all_named(name, &ask, &all)) fail_msg("%s", tutti_error());
  tt_sim *sim = tt_sim_new(all, P, false, &model);
  assert_true(sim && tt_sim_run(sim, bytes, &t));
  tt_sim_free(sim);
  tt_sched_free_all(all, P);
  return t.time;
}

static void prices_are_those_of_the_fewest_rounds(void **state) {
  static const int blocks[] = {1, 2, 3, 7, 20};
  (void)state;
  for (int P = 2; P <= 260; P = next_of(P))
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
      for (int coll = TUTTI_BROADCAST; coll <= TUTTI_REDUCE; coll++) {
        char name[40];
        const int n = blocks[i];
        snprintf(name, sizeof name, "circulant(n=%d)", n);
        const double formula = fewest_rounds(P, n) * (alpha + bytes / n * beta);
        const double time = price(name, (tutti_coll)coll, P, P / 3);
        if (fabs(time - formula) > 1e-9 * formula)
          fail_msg("%s, %s, P = %d: %.12g s, not %.12g s", name, tutti_coll_name((tutti_coll)coll),
                   P, time, formula);
      }
}

/* The root sends in every round; no other rank sends more. The number of sums equals the number of messages. */
static void counts_are_those_of_the_paper(void **state) {
  (void)state;
  for (int P = 2; P <= 220; P = next_of(P))
    for (int n = 1; n <= 9; n += 4) {
      char name[40];
      tutti_report r;
      tt_ask ask = {.coll = TUTTI_BROADCAST, .ranks = P, .root = P / 2, .in_place = P % 2};
      const int rounds = fewest_rounds(P, n);
      snprintf(name, sizeof name, "circulant(n=%d)", n);
      if (!names_prove(name, &ask, &r)) fail_msg("%s on %d ranks: %s", name, P, r.witness);
      assert_true(r.blocks == n && r.messages == rounds && r.sent_blocks == rounds);
      assert_true(r.scratch_blocks == 0);
      ask.coll = TUTTI_REDUCE;
      if (!names_prove(name, &ask, &r)) fail_msg("%s on %d ranks: %s", name, P, r.witness);
      assert_true(r.messages == n && r.sent_blocks == n && r.reduced == rounds);
      assert_true(r.scratch_blocks <= n);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(prices_are_those_of_the_fewest_rounds),
      cmocka_unit_test(counts_are_those_of_the_paper),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
