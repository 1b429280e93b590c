/* Every family keeps its paper's promise: steps, messages, blocks sent and reductions,
 * as the prover counts them, are those of the formulas, for many P.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include "names.h"

static tutti_report proven(const char *name, int P) {
  tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = P, .in_place = P % 2};
  tutti_report r;
  if (!names_prove(name, &ask, &r)) fail_msg("%s on %d ranks: %s", name, P, r.witness);
  return r;
}

static int next_of(int P) {
  return P < 70 ? P + 1 : P + 29;
}

/* With N members left after i folds, H the largest power of two in them: 2(P-N) blocks
 * for the folds, 2(N-H) for the pairs, N log2 H in the cube, where the members of an
 * unfinished period ask in messages of their own. */
static void consistent_keeps_its_counts(void **state) {
  (void)state;
  for (int P = 3; P <= 260; P = next_of(P))
    for (int i = (P & (P - 1)) == 0, N = (P + i) >> i; i <= tt_ceil_log2((uint64_t)P);
         i++, N = (N + 1) / 2) {
      int H = 1, log = 0, pairs, messages = 2 * i;
      while (2 * H <= N) H *= 2, log++;
      pairs = N - H;
      if (pairs) messages += 2;
      for (int bit = 1; bit < H; bit *= 2)
        messages += 2 + (N % (2 * bit) > 0) + (N % (2 * bit) > bit);
      char name[40];
      snprintf(name, sizeof name, "consistent(i=%d)", i);
      tutti_report r = proven(name, P);
      assert_true(r.steps <= i + tt_ceil_log2((uint64_t)P));
      assert_int_equal(r.messages, messages);
      assert_int_equal(r.sent_blocks, 2 * (P - N) + 2 * pairs + N * log);
      assert_int_equal(r.reduced, P - N + 2 * pairs + N * log);
      assert_true(r.same_grouping);
    }
}

/* What the hosted hypercube for all blocks sends, with all members missing up to the
 * power of two above taking part: ours sends as much where N is a power of two, else
 * less. From a simulation of that algorithm, i = 0, 1, 2 ... */
static void consistent_sends_no_more_than_a_hosted_hypercube(void **state) {
  static const struct {
    int P, blocks[9];
  } hosted[] = {
      {5, {13, 9, 8, 8}},
      {7, {21, 14, 12, 12}},
      {13, {53, 33, 26, 24, 24}},
      {48, {272, 160, 116, 100, 95, 94, 94}},
      {65, {449, 257, 177, 145, 133, 129, 128, 128}},
      {100, {716, 408, 279, 227, 207, 200, 198, 198}},
      {127, {893, 510, 350, 286, 262, 254, 252, 252}},
  };
  (void)state;
  for (size_t k = 0; k < sizeof hosted / sizeof *hosted; k++)
    for (int i = 0; hosted[k].blocks[i]; i++) {
      char name[40];
      snprintf(name, sizeof name, "consistent(i=%d)", i);
      assert_true(proven(name, hosted[k].P).sent_blocks <= hosted[k].blocks[i]);
    }
}

static void rank_order_takes_the_fewest_steps(void **state) {
  (void)state;
  for (int P = 2; P <= 300; P = next_of(P)) {
    const int log = tt_ceil_log2((uint64_t)P);
    tutti_report r = proven("consistent(rank-order)", P);
    assert_int_equal(r.blocks, 1);
    assert_int_equal(r.steps, log);
    assert_true(r.messages <= 2 * log && r.sent_blocks == r.messages);
    assert_true(r.rank_order && r.same_grouping);
    if (P == 127) assert_int_equal(r.messages, 11);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(consistent_keeps_its_counts),
      cmocka_unit_test(consistent_sends_no_more_than_a_hosted_hypercube),
      cmocka_unit_test(rank_order_takes_the_fewest_steps),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
