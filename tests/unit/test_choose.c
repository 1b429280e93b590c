/* The choice of plans. An op that rounds gets the same bits on all ranks, an op that does not commute gets its
 * operands in rank order, and an override that cannot be satisfied gets a reason.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>

#include "by_name.h"
#include "candidates.h"
#include "engine.h"
#include "names.h"
#include "tutti_plan.h"

static void user(const void *a, const void *b, void *dst, size_t n, tutti_type t, void *ctx) {
  (void)a, (void)b, (void)dst, (void)n, (void)t, (void)ctx;
}

static void ops_say_what_they_need(void **state) {
  tutti_op commuting, ordered;
  (void)state;
  assert_int_equal(tutti_op_create(user, NULL, 1, &commuting), TUTTI_OK);
  assert_int_equal(tutti_op_create(user, NULL, 0, &ordered), TUTTI_OK);
  assert_int_equal(tt_needs_of(TUTTI_CONTRACT_SAME, TUTTI_ALLREDUCE, TUTTI_INT32, TUTTI_SUM), 0);
  assert_int_equal(tt_needs_of(TUTTI_CONTRACT_SAME, TUTTI_ALLREDUCE, TUTTI_INT8, TUTTI_AVG), 0);
  assert_int_equal(tt_needs_of(TUTTI_CONTRACT_SAME, TUTTI_ALLREDUCE, TUTTI_DOUBLE, TUTTI_MAX), 0);
  assert_int_equal(tt_needs_of(TUTTI_CONTRACT_SAME, TUTTI_ALLREDUCE, TUTTI_FLOAT_INT, TUTTI_MINLOC),
                   0);
  assert_int_equal(tt_needs_of(TUTTI_CONTRACT_SAME, TUTTI_ALLGATHER, TUTTI_FLOAT, TUTTI_SUM), 0);
  for (int type = TUTTI_FLOAT16; type < TUTTI_TYPE_COUNT; type++) {
    if (!tutti_type_has_op((tutti_type)type, TUTTI_SUM)) continue;
    const tutti_op sums[] = {TUTTI_SUM, TUTTI_PROD, TUTTI_AVG};
    for (int i = 0; i < 3; i++)
      assert_int_equal(tt_needs_of(TUTTI_CONTRACT_SAME, TUTTI_ALLREDUCE, (tutti_type)type, sums[i]),
                       TT_NEED_SAME);
  }
  assert_int_equal(tt_needs_of(TUTTI_CONTRACT_SAME, TUTTI_ALLREDUCE, TUTTI_INT32, commuting),
                   TT_NEED_SAME);
  assert_int_equal(tt_needs_of(TUTTI_CONTRACT_SAME, TUTTI_ALLREDUCE, TUTTI_INT32, ordered),
                   TT_NEED_SAME | TT_NEED_ORDER);
  tutti_op_free(commuting);
  tutti_op_free(ordered);
}

static tt_chooser *chooser_for(int ranks, double crowd) {
  tt_setting where = {
      .ranks = ranks, .ranks_per_core = crowd, .has_loop = tt_has_loop, .flight = TT_FLIGHT};
  tt_chooser *c;
  tt_profile_shm(&where.profile);
  assert_int_equal(tt_chooser_new(&where, &c), TUTTI_OK);
  return c;
}

static tt_choice choose(tt_chooser *c, tutti_coll coll, uint64_t bytes, unsigned needs, int root,
                        const char *text) {
  const tt_problem p = {.coll = coll, .bytes = bytes, .needs = needs, .root = root};
  const int ranks = tt_chooser_model(c)->ranks;
  tt_override override;
  tt_choice choice;
  if (tt_override_parse(text, ranks, &override)) { /* an override that was not checked */
    override = (tt_override){.n = 1, .item[0] = {.plan = plan_named(text), .to = UINT64_MAX}};
  }
  if (tt_choose(c, &p, &override, &choice)) fail_msg("%s", tutti_error());
  return choice;
}

/* For types that take longer to add, plans with more additions cost more, by the same ratio. */
static void slow_numbers_weigh_more(void **state) {
  static const struct {
    double times;
    int weight;
  } cases[] = {{0, 0}, {0.5, 0}, {1, 0}, {1.3, 0}, {1.5, 1}, {2.2, 1}, {4, 2}, {16, 4}, {1e6, 5}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tt_setting where = {.ranks = 6, .flight = TT_FLIGHT};
    tt_chooser *c;
    tt_profile_net(&where.profile);
    where.profile.gamma_of[TUTTI_BFLOAT16] = cases[i].times * where.profile.gamma;
    assert_int_equal(tt_chooser_new(&where, &c), TUTTI_OK);
    const int weight = tt_weight_of(c, TUTTI_BFLOAT16);
    assert_int_equal(weight, cases[i].weight);
    assert_int_equal(tt_weight_of(c, TUTTI_FLOAT), 0);
    tt_problem p = {.coll = TUTTI_ALLREDUCE, .bytes = 1 << 20};
    tt_breakdown light, heavy;
    tt_sends sends;
    for (int turn = 0; turn < 2; turn++) { /* neither type affects the other */
      p.weight = 0;
      assert_int_equal(tt_quote_breakdown(c, plan_named("fold(ring)"), 1, &p, &light, &sends, NULL),
                       TUTTI_OK);
      p.weight = weight;
      assert_int_equal(tt_quote_breakdown(c, plan_named("fold(ring)"), 1, &p, &heavy, &sends, NULL),
                       TUTTI_OK);
      assert_true(light.reducing > 0);
      const double times = 1 << weight;
      assert_float_equal(heavy.reducing / light.reducing, times, 1e-6);
      tt_quote o[2];
      const tt_override none = {0};
      for (int k = 0; tt_quote_at(c, &p, &none, k, false, &o[1]); k++) {
        p.weight = 0;
        assert_true(tt_quote_at(c, &p, &none, k, false, &o[0]));
        p.weight = weight;
        assert_string_equal(o[0].plan->text, o[1].plan->text);
        assert_true(o[1].seconds >= 0.999 * o[0].seconds); /* the order may differ */
        assert_true(weight || o[1].seconds == o[0].seconds);
      }
    }
    tt_chooser_free(c);
  }
}

/* Among plans that load the links equally, short vectors get a plan with few messages, and long vectors one
 * with a single sender for each rank (the ring). */
static void long_messages_come_from_few(void **state) {
  (void)state;
  for (int ranks = 5; ranks <= 8; ranks++)
    for (int burst = 0; burst < 2; burst++) {
      tt_setting where = {.ranks = ranks, .flight = TT_FLIGHT};
      tt_chooser *c;
      tt_profile_net(&where.profile);
      where.profile.net.alpha = 2e-5;
      where.profile.net.L = 3e-5;
      where.profile.net.beta = 4.2e-8;
      where.profile.net.burst = burst ? 65536 : 0;
      assert_int_equal(tt_chooser_new(&where, &c), TUTTI_OK);
      const char *few = choose(c, TUTTI_ALLREDUCE, 64 << 10, TT_NEED_SAME, 0, NULL).plan->text;
      assert_true(strncmp(few, "fold(ring", 9) != 0);
      const char *one = choose(c, TUTTI_ALLREDUCE, 4 << 20, TT_NEED_SAME, 0, NULL).plan->text;
      if (burst && strncmp(one, "fold(ring", 9) != 0) fail_msg("%d ranks, 4 MiB: %s", ranks, one);
      tt_chooser_free(c);
    }
}

/* At any size, the prover confirms that the plan has the properties that the op needs. */
static void what_is_chosen_meets_the_needs(void **state) {
  (void)state;
  for (int P = 1; P <= 40; P += P < 9 ? 1 : 6) {
    tt_chooser *c = chooser_for(P, 0.5);
    for (int coll = 0; coll < TUTTI_COLL_COUNT; coll++)
      for (unsigned needs = 0; needs < 4 && tt_coll_reduces((tutti_coll)coll); needs++)
        for (uint64_t bytes = 1; bytes < (uint64_t)1 << 32; bytes *= 16) {
          const char *name = choose(c, (tutti_coll)coll, bytes, needs, 0, "").plan->text;
          tt_ask ask = {.coll = (tutti_coll)coll, .ranks = P, .in_place = bytes % 3 == 1};
          tutti_report r;
          assert_true(names_prove(name, &ask, &r));
          assert_true(!(needs & TT_NEED_SAME) || r.same_grouping);
          assert_true(!(needs & TT_NEED_ORDER) || r.rank_order);
        }
    tt_chooser_free(c);
  }
}

/* No admissible plan is cheaper, within the accuracy of the curves. Where ranks share cores, the order of
 * events changes with the size (curve.c), most of all in circulant. */
static void nothing_admissible_is_cheaper(void **state) {
  (void)state;
  for (int P = 2; P <= 24; P += 3)
    for (int net = 0; net < 2; net++) {
      tt_chooser *c = chooser_for(P, net ? 0 : 2);
      for (int coll = 0; coll < TUTTI_COLL_COUNT; coll++)
        for (uint64_t bytes = 8; bytes < 1u << 28; bytes *= 32) {
          const tt_problem p = {
              .coll = (tutti_coll)coll, .bytes = bytes, .needs = bytes % 3 == 2 ? TT_NEED_SAME : 0};
          const tt_override none = {0};
          tt_choice choice;
          tt_breakdown terms;
          tt_quote o;
          tt_sends sends;
          assert_int_equal(tt_choose(c, &p, &none, &choice), TUTTI_OK);
          assert_int_equal(tt_quote_breakdown(c, plan_named(choice.plan->text), choice.slices, &p,
                                              &terms, &sends, NULL),
                           TUTTI_OK);
          for (int i = 0; tt_quote_at(c, &p, &none, i, true, &o); i++) {
            const double shared = strncmp(o.plan->text, "circulant", 9) == 0 ? 0.95 : 0.98;
            if (o.possible && !o.lacks && o.seconds < terms.time * (net ? 1 - 1e-6 : shared))
              fail_msg("%s on %d ranks, %d bytes: %s takes %g s, %s only %g s",
                       tutti_coll_name(p.coll), P, (int)bytes, choice.plan->text, terms.time,
                       o.plan->text, o.seconds);
          }
        }
      tt_chooser_free(c);
    }
}

static void an_override_is_refused_in_words(void **state) {
  static const struct {
    const char *name, *says; /* NULL: allowed */
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
  tt_chooser *c = chooser_for(6, 1);
  (void)state;
  for (int again = 0; again < 2; again++)
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
      const tt_choice choice = choose(c, TUTTI_ALLREDUCE, 1000, cases[i].needs, 0, cases[i].name);
      const char *name = choice.plan->text, *refusal = *choice.refusal ? choice.refusal : NULL;
      if (!cases[i].says != !refusal || (refusal && !strstr(refusal, cases[i].says)))
        fail_msg("case %zu, %s: %s", i, cases[i].name, refusal ? refusal : "granted");
      if (!refusal) assert_string_equal(name, cases[i].name);
      if (refusal) assert_string_not_equal(name, cases[i].name);
    }
  tt_chooser_free(c);
}

/* For small vectors the engine stores the data next to the flags and sums group by group; longer vectors of the
 * same plan run step by step. The estimate follows this switch. */
static void a_loop_for_small_vectors_ends(void **state) {
  static const uint64_t sizes[] = {8, 1024, 1025, 8192, 1 << 20}; /* 64 ranks have room for 1 KiB */
  static const tt_override none = {0};
  tt_chooser *c = chooser_for(64, 1);
  double small = 0;
  (void)state;
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
    const tt_problem p = {.coll = TUTTI_ALLREDUCE, .bytes = sizes[k]};
    tt_breakdown terms;
    tt_sends sends;
    tt_quote o;
    int i = 0;
    while (tt_quote_at(c, &p, &none, i, false, &o) &&
           strcmp(o.plan->text, "multiplying(radix=4)") != 0)
      i++;
    assert_true(o.possible && strcmp(o.plan->text, "multiplying(radix=4)") == 0);
    assert_int_equal(tt_quote_breakdown(c, plan_named(o.plan->text), 1, &p, &terms, &sends, NULL),
                     TUTTI_OK);
    assert_true(o.seconds > 0.94 * terms.time && o.seconds < 1.06 * terms.time);
    if (sizes[k] == 1024) small = o.seconds;
    if (sizes[k] == 1025) assert_true(o.seconds > 1.2 * small);
  }
  tt_chooser_free(c);
}

/* Rank 0 could build this composition, but a rank whose peers wrap around within an inner level could not. */
static void an_override_is_for_all_ranks(void **state) {
  static const char name[] = "blueconnect(node:4 core:4,stages=one-shot/bruck(radix=4))";
  const tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = 16};
  tt_chooser *c = chooser_for(16, 1);
  tt_sched *s;
  (void)state;
  assert_int_equal(tt_algo_build_named(name, &ask, &s), TUTTI_OK);
  tt_sched_free(s);
  for (int again = 0; again < 2; again++) {
    const tt_choice choice = choose(c, TUTTI_ALLREDUCE, 1000, 0, 0, name);
    assert_non_null(strstr(choice.refusal, "cannot work on a part of the vector"));
  }
  tt_chooser_free(c);
}

/* With helpers, only algorithms that take data from the other ranks are valid: named directly, or with the
 * parameter that follows from the number of helpers. */
static void helpers_are_asked_for(void **state) {
  static const struct {
    int data, helpers;
    const char *name, *says; /* NULL: allowed */
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
    tt_setting where = {.ranks = P,
                        .data = cases[i].data,
                        .ranks_per_core = 1,
                        .has_loop = tt_has_loop,
                        .flight = TT_FLIGHT};
    tt_chooser *c;
    tt_profile_shm(&where.profile);
    assert_int_equal(tt_chooser_new(&where, &c), TUTTI_OK);
    for (int coll = 0; coll < TUTTI_COLL_COUNT; coll++)
      for (uint64_t bytes = 8; bytes < 1u << 28; bytes *= 128) {
        tt_ask ask = {.coll = (tutti_coll)coll, .ranks = P, .data = cases[i].data};
        tt_override override;
        tt_choice choice;
        const unsigned needs = ask.coll == TUTTI_BARRIER ? 0 : TT_NEED_ORDER | TT_NEED_SAME;
        tutti_report r;
        const tt_problem p = {.coll = ask.coll, .bytes = bytes, .needs = needs};
        assert_int_equal(tt_override_parse(cases[i].name, P, &override), TUTTI_OK);
        tutti_status status = tt_choose(c, &p, &override, &choice);
        const char *refusal = *choice.refusal ? choice.refusal : NULL;
        const bool halves = ask.coll == TUTTI_REDUCE_SCATTER || ask.coll == TUTTI_ALLGATHER;
        if ((tt_coll_owned(ask.coll) && !halves) || tt_coll_prefix(ask.coll)) {
          assert_int_equal(status, TUTTI_ERR_UNSUPPORTED);
          assert_non_null(strstr(tutti_error(), "of which only help"));
          continue;
        }
        if (status) fail_msg("%s", tutti_error());
        const bool says = refusal && cases[i].says && strstr(refusal, cases[i].says);
        if (ask.coll == TUTTI_ALLREDUCE && (refusal ? !says : cases[i].says != NULL))
          fail_msg("case %zu, %s: %s", i, cases[i].name, refusal ? refusal : "granted");
        assert_true(names_prove(choice.plan->text, &ask, &r));
      }
    tt_chooser_free(c);
  }
}

/* A tree keeps rank order for root 0 but not for other roots, regardless of which root is asked about first. */
static void what_is_found_is_of_one_root(void **state) {
  (void)state;
  for (int first = 0; first < 2; first++) {
    tt_chooser *c = chooser_for(5, 1);
    for (int i = 0; i < 4; i++) {
      const int root = (first + i) % 2 ? 2 : 0;
      const tt_choice choice = choose(c, TUTTI_REDUCE, 8, TT_NEED_ORDER, root, "tree(binomial)");
      assert_true(root ? strstr(choice.refusal, "non-commutative") != NULL : !*choice.refusal);
    }
    tt_chooser_free(c);
  }
}

/* Overrides that apply to some sizes, or to no size. */
static void wishes_are_for_sizes(void **state) {
  static const struct {
    const char *text, *name; /* NULL: another plan than the first in the text */
    uint64_t bytes;
  } cases[] = {
      {"doubling:0-64k;ring:64k-", "doubling", 65535},
      {"doubling:0-64k;ring:64k-", "fold(ring)", 65536},
      {"consistent(i=1):-1KiB ; fold(group=3x2):1k-1MiB", "consistent(i=1)", 0},
      {"consistent(i=1):-1KiB ; fold(group=3x2):1k-1MiB", "fold(group=3x2)", 5000},
      {"blueconnect(node:2 core:3):1k-", "blueconnect(node:2 core:3)", 1024},
      {"naive", "naive", 1 << 30},
      {"^naive;naive", "naive", 7}, /* the override takes precedence */
      {"^one-shot", NULL, 8},
      {"^one-shot;^two-shot;^naive", NULL, 8},
      {"^naive:0-16", NULL, 8},
  };
  static const struct {
    const char *text, *says;
  } wrong[] = {
      {"rign", "did you mean"},
      {"naive:64k", "sizes such as"},
      {"naive:64k-32k", "character 7"},
      {"naive:a-b", "character 7"},
      {"^rign", "did you mean"},
      {"naive:0-1;;fold(ring", "parenthes"},
      {"fold(group=5x2)", "product"},
      {"naive:0-1x", "character 7"},
      {"tree;a;b", "'a'"},
      {"1;2;3", "no algorithm"},
  };
  tt_chooser *c = chooser_for(6, 1);
  tt_override override;
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const tt_choice choice = choose(c, TUTTI_ALLREDUCE, cases[i].bytes, 0, 0, cases[i].text);
    if (*choice.refusal) fail_msg("%s: %s", cases[i].text, choice.refusal);
    if (cases[i].name)
      assert_string_equal(choice.plan->text, cases[i].name);
    else
      assert_null(strstr(cases[i].text, choice.plan->text));
  }
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    assert_int_equal(tt_override_parse(wrong[i].text, 6, &override), TUTTI_ERR_ARG);
    if (!strstr(tutti_error(), wrong[i].says)) fail_msg("%s: %s", wrong[i].text, tutti_error());
  }
  tt_chooser_free(c);
}

/* "Cheaper" is a strict order for any estimates: irreflexive and without cycles. */
static void prices_have_an_order(void **state) {
  enum { PLANS = 64 };
  static const float times[] = {1, 1, 1, 2, NAN, INFINITY};
  static tt_candidate of[PLANS];
  (void)state;
  for (uint64_t i = 0, u = 0; i < PLANS; i++) {
    u = tt_mix(i + 1);
    of[i].curve = (tt_curve){.n = 1,
                             .incast_threshold = u % 3 ? 0 : 50,
                             .senders = (int)(u / 3 % 3),
                             .messages = (int)(u / 9 % 3),
                             .line = {{.fixed = times[u / 27 % 6]}}};
  }
  for (int a = 0; a < PLANS; a++)
    for (int b = 0; b < PLANS; b++) {
      const bool before = tt_candidate_cheaper(&of[a], &of[b], 100);
      assert_int_equal(before + tt_candidate_cheaper(&of[b], &of[a], 100), a != b);
      for (int c = 0; c < PLANS && before; c++)
        if (tt_candidate_cheaper(&of[b], &of[c], 100))
          assert_true(tt_candidate_cheaper(&of[a], &of[c], 100));
    }
}

/* Plan names may be long. They are never truncated. */
static void long_names_are_whole(void **state) {
  char name[1200] = "fold(seq=";
  size_t n = strlen(name);
  tutti_prices *prices;
  tutti_offer offer = {.size = sizeof offer};
  char *why = NULL;
  (void)state;
  for (int k = 250; k > 0; k--)
    n += (size_t)snprintf(name + n, sizeof name - n, k > 1 ? "%d." : "%d)", k);
  const tutti_question question = {
      .size = sizeof question, .ranks = 250, .type = TUTTI_FLOAT, .only = name};
  assert_true(n > 800 && name[n - 1] == ')');
  assert_int_equal(tutti_prices_make(&question, &prices), TUTTI_OK);
  assert_int_equal(tutti_prices_chosen(prices, 1 << 20, &offer), TUTTI_OK);
  assert_string_equal(offer.name, name);
  assert_int_equal(tutti_prices_explain(prices, 1 << 20, 0, &why), TUTTI_OK);
  assert_non_null(strstr(why, name));
  tutti_text_free(why);
  tutti_prices_free(prices);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ops_say_what_they_need),
      cmocka_unit_test(slow_numbers_weigh_more),
      cmocka_unit_test(long_messages_come_from_few),
      cmocka_unit_test(what_is_chosen_meets_the_needs),
      cmocka_unit_test(nothing_admissible_is_cheaper),
      cmocka_unit_test(what_is_found_is_of_one_root),
      cmocka_unit_test(helpers_are_asked_for),
      cmocka_unit_test(an_override_is_refused_in_words),
      cmocka_unit_test(an_override_is_for_all_ranks),
      cmocka_unit_test(a_loop_for_small_vectors_ends),
      cmocka_unit_test(wishes_are_for_sizes),
      cmocka_unit_test(prices_have_an_order),
      cmocka_unit_test(long_names_are_whole),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
