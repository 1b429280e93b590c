/* What is chosen: an op that rounds gets the same bits everywhere, one that does not
 * commute its order, and who asks for a plan that can not gives is told why.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include "choose.h"
#include "engine.h"
#include "names.h"

static void user(const void *a, const void *b, void *dst, size_t n, tutti_type t, void *ctx) {
  (void)a, (void)b, (void)dst, (void)n, (void)t, (void)ctx;
}

static void ops_say_what_they_need(void **state) {
  tutti_op commuting, ordered;
  (void)state;
  assert_int_equal(tutti_op_create(user, NULL, 1, &commuting), TUTTI_OK);
  assert_int_equal(tutti_op_create(user, NULL, 0, &ordered), TUTTI_OK);
  assert_int_equal(tt_needs_of(TUTTI_ALLREDUCE, TUTTI_INT32, TUTTI_SUM), 0);
  assert_int_equal(tt_needs_of(TUTTI_ALLREDUCE, TUTTI_INT8, TUTTI_AVG), 0);
  assert_int_equal(tt_needs_of(TUTTI_ALLREDUCE, TUTTI_DOUBLE, TUTTI_MAX), 0);
  assert_int_equal(tt_needs_of(TUTTI_ALLREDUCE, TUTTI_FLOAT_INT, TUTTI_MINLOC), 0);
  assert_int_equal(tt_needs_of(TUTTI_ALL_GATHER, TUTTI_FLOAT, TUTTI_SUM), 0);
  for (int type = TUTTI_FP16; type <= TUTTI_COMPLEX_DOUBLE; type++) {
    const tutti_op sums[] = {TUTTI_SUM, TUTTI_PROD, TUTTI_AVG};
    for (int i = 0; i < 3; i++)
      assert_int_equal(tt_needs_of(TUTTI_ALLREDUCE, (tutti_type)type, sums[i]), TT_NEED_SAME);
  }
  assert_int_equal(tt_needs_of(TUTTI_ALLREDUCE, TUTTI_INT32, commuting), TT_NEED_SAME);
  assert_int_equal(tt_needs_of(TUTTI_ALLREDUCE, TUTTI_INT32, ordered),
                   TT_NEED_SAME | TT_NEED_ORDER);
  tutti_op_free(commuting);
  tutti_op_free(ordered);
}

/* Whatever the size, the prover finds in the plan what the op needs. */
static void what_is_chosen_meets_the_needs(void **state) {
  (void)state;
  for (int P = 1; P <= 40; P += P < 9 ? 1 : 6) {
    tt_chooser *c = tt_chooser_new(P, P, 0.5, tt_has_loop);
    assert_non_null(c);
    for (int coll = 0; coll < TUTTI_COLL_COUNT; coll++)
      for (unsigned needs = 0; needs < 4 && tt_coll_reduces((tutti_coll)coll); needs++)
        for (uint64_t bytes = 1; bytes < (uint64_t)1 << 32; bytes *= 16) {
          const char *name, *refusal;
          if (tt_choose(c, (tutti_coll)coll, bytes, needs, 0, "", &name, &refusal))
            fail_msg("%s", tutti_error());
          tt_ask ask = {.coll = (tutti_coll)coll, .ranks = P, .in_place = bytes % 3 == 1};
          tutti_report r;
          assert_true(names_prove(name, &ask, &r));
          assert_true(!(needs & TT_NEED_SAME) || r.same_grouping);
          assert_true(!(needs & TT_NEED_ORDER) || r.rank_order);
        }
    tt_chooser_free(c);
  }
}

/* The table has many more than are priced. */
static void only_candidates_are_chosen(void **state) {
  (void)state;
  for (int P = 2; P <= 24; P += 3) {
    tt_chooser *c = tt_chooser_new(P, P, 1, tt_has_loop);
    for (int coll = 0; coll < TUTTI_COLL_COUNT; coll++)
      for (uint64_t bytes = 8; bytes < 1u << 28; bytes *= 32) {
        const char *name, *refusal;
        int a = 0;
        assert_int_equal(tt_choose(c, (tutti_coll)coll, bytes, 0, 0, "", &name, &refusal),
                         TUTTI_OK);
        while (strcmp(tt_algo_at(a)->name, name) != 0) a++;
        assert_true(tt_algo_at(a)->candidate);
      }
    tt_chooser_free(c);
  }
}

static void a_wish_is_refused_in_words(void **state) {
  static const struct {
    const char *name, *says; /* NULL: it is granted */
    unsigned needs;
  } cases[] = {
      {"generalized(latency)", NULL, 0},
      {"generalized(latency)", "an op that rounds", TT_NEED_SAME},
      {"generalized(latency)", "integers, min and max", TT_NEED_SAME},
      {"generalized(latency)", "non-commutative", TT_NEED_ORDER},
      {"generalized(r=0)", NULL, TT_NEED_SAME},
      {"generalized(r=1,group=3x2,inner)", "an op that rounds", TT_NEED_SAME},
      {"fold(ring)", NULL, TT_NEED_SAME},
      {"fold(group=3x2)", NULL, TT_NEED_SAME},
      {"fold(group=4x2)", "whose product is P", TT_NEED_SAME},
      {"consistent(i=1)", NULL, TT_NEED_SAME},
      {"consistent(i=1)", "non-commutative", TT_NEED_SAME | TT_NEED_ORDER},
      {"consistent(i=4)", "from 0 to ceil(log2 P)", 0},
      {"consistent(rank-order)", NULL, TT_NEED_SAME | TT_NEED_ORDER},
      {"elimination", NULL, TT_NEED_SAME | TT_NEED_ORDER},
      {"aggregate(data=5,arity=5)", "from 5 of 6 ranks; here 6 bring data", 0},
      {"aggregate", "it needs ranks that only help", 0},
      {"tree(double)", NULL, TT_NEED_SAME | TT_NEED_ORDER},
      {"two-level(node=4)", "non-commutative", TT_NEED_ORDER},
  };
  tt_chooser *c = tt_chooser_new(6, 6, 1, tt_has_loop);
  (void)state;
  for (int again = 0; again < 2; again++)
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
      const char *name, *refusal;
      assert_int_equal(
          tt_choose(c, TUTTI_ALLREDUCE, 1000, cases[i].needs, 0, cases[i].name, &name, &refusal),
          TUTTI_OK);
      if (!cases[i].says != !refusal || (refusal && !strstr(refusal, cases[i].says)))
        fail_msg("case %zu, %s: %s", i, cases[i].name, refusal ? refusal : "granted");
      if (!refusal) assert_string_equal(name, cases[i].name);
      if (refusal) assert_string_not_equal(name, cases[i].name);
    }
  tt_chooser_free(c);
}

/* With helpers, only what takes data from the others: by its own name, or with what
 * follows from their number. */
static void helpers_are_asked_for(void **state) {
  static const struct {
    int data, helpers;
    const char *name, *says; /* NULL: it is granted */
  } cases[] = {
      {4, 3, "", NULL},
      {4, 3, "aggregate", NULL},
      {4, 3, "aggregate(tree)", NULL},
      {4, 3, "aggregate(data=4,arity=2)", NULL},
      {4, 3, "aggregate(data=6)", "from 6 of 7 ranks; here 4 bring data"},
      {4, 3, "fold(ring)", "from 7 of 7 ranks; here 4 bring data"},
      {4, 2, "aggregate(tree)", "no trees of several rows"},
      {5, 2, "", NULL},
      {1, 1, "", NULL},
      {60, 4, "", NULL},
      {2, 62, "", NULL},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const int P = cases[i].data + cases[i].helpers;
    tt_chooser *c = tt_chooser_new(P, cases[i].data, 1, tt_has_loop);
    for (int coll = 0; coll < TUTTI_COLL_COUNT; coll++)
      for (uint64_t bytes = 8; bytes < 1u << 28; bytes *= 128) {
        const char *name, *refusal;
        tt_ask ask = {.coll = (tutti_coll)coll, .ranks = P, .data = cases[i].data};
        const unsigned needs = ask.coll == TUTTI_BARRIER ? 0 : TT_NEED_ORDER | TT_NEED_SAME;
        tutti_report r;
        tutti_status status =
            tt_choose(c, ask.coll, bytes, needs, 0, cases[i].name, &name, &refusal);
        if (tt_coll_owned(ask.coll)) {
          assert_int_equal(status, TUTTI_ERR_UNSUPPORTED);
          assert_non_null(strstr(tutti_error(), "of which only help"));
          continue;
        }
        if (status) fail_msg("%s", tutti_error());
        const bool says = refusal && cases[i].says && strstr(refusal, cases[i].says);
        if (ask.coll == TUTTI_ALLREDUCE && (refusal ? !says : cases[i].says != NULL))
          fail_msg("case %zu, %s: %s", i, cases[i].name, refusal ? refusal : "granted");
        assert_true(names_prove(name, &ask, &r));
      }
    tt_chooser_free(c);
  }
}

/* A tree keeps the order for root 0 and not for others, whichever is asked about first. */
static void what_is_found_is_of_one_root(void **state) {
  (void)state;
  for (int first = 0; first < 2; first++) {
    tt_chooser *c = tt_chooser_new(5, 5, 1, tt_has_loop);
    for (int i = 0; i < 4; i++) {
      const int root = (first + i) % 2 ? 2 : 0;
      const char *name, *refusal;
      assert_int_equal(
          tt_choose(c, TUTTI_REDUCE, 8, TT_NEED_ORDER, root, "tree(binomial)", &name, &refusal),
          TUTTI_OK);
      assert_true(root ? refusal && strstr(refusal, "non-commutative") : !refusal);
    }
    tt_chooser_free(c);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ops_say_what_they_need),
      cmocka_unit_test(what_is_chosen_meets_the_needs),
      cmocka_unit_test(only_candidates_are_chosen),
      cmocka_unit_test(what_is_found_is_of_one_root),
      cmocka_unit_test(helpers_are_asked_for),
      cmocka_unit_test(a_wish_is_refused_in_words),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
