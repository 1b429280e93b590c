/* test_roundings.c - how often coded messages round a number on its way through a plan, counted by hand; and
 * that only plans within the bound are chosen.
 * Alone: no
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

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
  const tt_ask ask = tt_ask_of(&c->setting, coll, 0);
  int roundings = -2;
  bool skipped;
  assert_int_equal(tt_roundings_of(c, name, &ask, &roundings, &skipped), TUTTI_OK);
  assert_false(skipped);
  return roundings;
}

/* On P ranks that share no memory: a ring's partial sums pass P - 1 ranks. */
static void test_flat(void **unused) {
  (void)unused;
  for (int P = 2; P < 12; P++) {
    tt_chooser *c = chooser_of("", P, TT_CODE_INT8, 2);
    assert_int_equal(roundings_of(c, "two-shot", TUTTI_ALLREDUCE), 2);
    assert_int_equal(roundings_of(c, "two-shot", TUTTI_REDUCE_SCATTER), 2);
    assert_int_equal(roundings_of(c, "fold(ring)", TUTTI_ALLREDUCE), P);
    assert_int_equal(roundings_of(c, "one-shot", TUTTI_ALLREDUCE), -1); /* completed everywhere */
    if (P == 8) assert_int_equal(roundings_of(c, "fold(halving)", TUTTI_ALLREDUCE), 4);
    tt_chooser_free(c);
  }
}

/* Ranks of a node add in float. */
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
      {"fold(ring)", 4}}; /* a ring through all six ranks enters a node three times, at most */
  tt_chooser *c = chooser_of("node:3 core:2", 6, TT_CODE_INT8, 2);
  for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
    const int n = roundings_of(c, plans[i].name, TUTTI_ALLREDUCE);
    if (n != plans[i].roundings) fail_msg("%s: %d", plans[i].name, n);
  }
  tt_chooser_free(c);
}

/* Whatever is chosen keeps the bound; and without codes that round, nothing is counted. */
static void test_chosen(void **unused) {
  (void)unused;
  static const char *const levels[] = {"", "", "node:3 core:2", "node:4 core:3", "node:2 core:4"};
  static const int ranks[] = {5, 8, 6, 12, 8};
  const tt_override none = {0};
  for (int i = 0; i < 5; i++) {
    tt_chooser *c = chooser_of(levels[i], ranks[i], TT_CODE_INT8, 2);
    for (uint64_t bytes = 4; bytes <= (uint64_t)1 << 28; bytes *= 8) {
      const tt_problem p = {.coll = TUTTI_ALLREDUCE, .bytes = bytes, .needs = TT_NEED_SAME};
      tt_choice choice;
      assert_int_equal(tt_choose(c, &p, &none, &choice), TUTTI_OK);
      const int n = roundings_of(c, choice.name, TUTTI_ALLREDUCE);
      if (n < 0 || n > 2) fail_msg("%s on '%s': %d roundings", choice.name, levels[i], n);
    }
    tt_chooser_free(c);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_flat), cmocka_unit_test(test_levels),
                                     cmocka_unit_test(test_chosen)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
