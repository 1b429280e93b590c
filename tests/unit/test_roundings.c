/* test_roundings.c - how often compressed messages round a number on its way through a plan, counted by hand;
 * and that only plans within the bound are chosen.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "by_name.h"
#include "candidates.h"

static tt_chooser *chooser_of(const char *levels, int ranks, tt_code code, int roundings) {
  tt_setting s = {.ranks = ranks, .code = code, .roundings = roundings, .flight = 3};
  tt_chooser *c = NULL;
  tt_profile_net(&s.profile);
  snprintf(s.levels, sizeof s.levels, "%s", levels);
  s.inside = *levels ? 1 : 0;
  s.node_ranks_per_core = 1;
  assert_int_equal(tt_chooser_new(&s, &c), TUTTI_OK);
  return c;
}

static int roundings_of(const tt_chooser *c, const char *name, tutti_coll coll) {
  const tt_ask ask = tt_ask_of(&c->setting, plan_named(name), coll, 0);
  int roundings = -2;
  bool skipped;
  assert_int_equal(tt_roundings_of(c, &ask, &roundings, &skipped), TUTTI_OK);
  assert_false(skipped);
  return roundings;
}

/* P ranks that share no memory: a ring's partial sums pass through P - 1 ranks. */
static void test_flat(void **unused) {
  (void)unused;
  for (int P = 2; P < 12; P++) {
    tt_chooser *c = chooser_of("", P, TT_CODE_INT8, 2);
    assert_int_equal(roundings_of(c, "two-shot", TUTTI_ALLREDUCE), 2);
    assert_int_equal(roundings_of(c, "two-shot", TUTTI_REDUCE_SCATTER), 2);
    assert_int_equal(roundings_of(c, "fold(ring)", TUTTI_ALLREDUCE), P);
    assert_int_equal(roundings_of(c, "one-shot", TUTTI_ALLREDUCE), -1); /* summed on every rank */
    if (P == 8) assert_int_equal(roundings_of(c, "fold(halving)", TUTTI_ALLREDUCE), 4);
    tt_chooser_free(c);
  }
}

/* Ranks of a node add without compression. */
static void test_levels(void **unused) {
  (void)unused;
  static const struct {
    const char *name;
    int roundings;
  } plans[] = {
      {"blueconnect(node:3 core:2,stages=two-shot/two-shot)", 2},
      {"blueconnect(node:3 core:2,seq=ring/ring)", 3},
      {"two-level(node:3 core:2,ring)", 3},
      {"two-shot", 2},
      {"fold(ring)", 4}}; /* a ring through all six ranks enters a node at most three times */
  tt_chooser *c = chooser_of("node:3 core:2", 6, TT_CODE_INT8, 2);
  for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
    const int n = roundings_of(c, plans[i].name, TUTTI_ALLREDUCE);
    if (n != plans[i].roundings) fail_msg("%s: %d", plans[i].name, n);
  }
  tt_chooser_free(c);
}

/* With nodes of different sizes, a fold rounds once for each halving of their number, and two-shot twice. */
static void test_uneven(void **unused) {
  (void)unused;
  static const struct {
    const char *levels;
    int ranks;
    const char *name;
    int roundings;
  } plans[] = {{"node:(4,3)", 7, "blueconnect(node:(4,3))", 2},
               {"node:(3,1,2)", 6, "blueconnect(node:(3,1,2))", 3},
               {"node:(1,4,2,5)", 12, "blueconnect(node:(1,4,2,5))", 3},
               {"node:(1,4,2,5)", 12, "two-level(node:(1,4,2,5),halving)", 3},
               {"node:(1,4,2,5)", 12, "tree(radix=16,segments=8,node:(1,4,2,5))", 2},
               {"node:(1,4,2,5)", 12, "two-shot", 2},
               {"node:(1,4,2,5)", 12, "two-level(node:(1,4,2,5),two-shot)", 2},
               {"node:(3,1,2)", 6, "two-level(node:(3,1,2),two-shot)", 2},
               {"node:(2,1,1,1,2,1,3)", 11, "tree(radix=16,node:(2,1,1,1,2,1,3))", 2}};
  for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
    tt_chooser *c = chooser_of(plans[i].levels, plans[i].ranks, TT_CODE_INT8, 2);
    const int n = roundings_of(c, plans[i].name, TUTTI_ALLREDUCE);
    if (n != plans[i].roundings) fail_msg("%s: %d", plans[i].name, n);
    tt_chooser_free(c);
  }
  /* with four nodes, one vector per node costs less than one per rank */
  const tt_problem p = {.coll = TUTTI_ALLREDUCE, .bytes = 4 << 20, .needs = TT_NEED_SAME};
  const tt_override none = {0};
  tt_choice choice;
  tt_chooser *c = chooser_of("node:(1,4,2,5)", 12, TT_CODE_INT8, 2);
  assert_int_equal(tt_choose(c, &p, &none, &choice), TUTTI_OK);
  assert_string_equal(choice.plan->text, "two-level(node:(1,4,2,5),two-shot)");
  assert_true(tt_choice_seconds(c, &p, &choice) <
              0.5 * tt_price_of(c, &p, plan_named("two-shot"), 1));
  tt_chooser_free(c);
}

/* The chosen plan respects the bound. Without lossy compression nothing is counted. */
static void test_chosen(void **unused) {
  (void)unused;
  static const char *const levels[] = {
      "", "", "node:3 core:2", "node:4 core:3", "node:2 core:4", "node:(1,4,2,5)", "node:(3,1,2)"};
  static const int ranks[] = {5, 8, 6, 12, 8, 12, 6};
  const tt_override none = {0};
  for (int i = 0; i < 7; i++) {
    tt_chooser *c = chooser_of(levels[i], ranks[i], TT_CODE_INT8, 2);
    for (uint64_t bytes = 4; bytes <= (uint64_t)1 << 28; bytes *= 8) {
      const tt_problem p = {.coll = TUTTI_ALLREDUCE, .bytes = bytes, .needs = TT_NEED_SAME};
      tt_choice choice;
      assert_int_equal(tt_choose(c, &p, &none, &choice), TUTTI_OK);
      const int n = roundings_of(c, choice.plan->text, TUTTI_ALLREDUCE);
      if (n < 0 || n > 2) fail_msg("%s on '%s': %d roundings", choice.plan->text, levels[i], n);
    }
    tt_chooser_free(c);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_flat), cmocka_unit_test(test_levels),
                                     cmocka_unit_test(test_uneven), cmocka_unit_test(test_chosen)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
