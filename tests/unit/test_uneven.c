/* Uneven levels at scale: runs in the text, one rank's plan among ten thousand incomplete nodes, and the
 * estimate.
 * SPDX-License-Identifier: BSD-3-Clause */
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
#include "seconds.h"
#include "traded.h"

static tt_sched *build(const char *levels, const char *how, int rank) {
  tt_tree tree;
  char name[NAME];
  tt_sched *s;
  assert_int_equal(tt_tree_parse(levels, &tree), TUTTI_OK);
  const tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = tree.ranks, .rank = rank};
  snprintf(name, sizeof name, "blueconnect(%s,%s)", levels, how);
  if (tt_algo_build_named(name, &ask, &s)) fail_msg("%s", tutti_error());
  return s;
}

/* A run represents its numbers, in trees and in schedules. */
static void runs_are_numbers(void **state) {
  static const struct {
    const char *runs, *numbers;
  } cases[] = {{"node:(4*2,3)", "node:(4,4,3)"},
               {"node:(3,4*2)", "node:(3,4,4)"},
               {"node:6 core:(2*3,1,3*2)", "node:6 core:(2,2,2,1,3,3)"},
               {"rack:2 node:(3*2) core:(2*5,1)", "rack:2 node:(3,3) core:(2,2,2,2,2,1)"},
               {"node:(2*1,2*2,2)", "node:(2,2,2,2)"},
               {"rack:2 node:(2,1) core:(3*2,2)", "rack:2 node:(2,1) core:(3,3,2)"}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tt_tree a, b;
    assert_int_equal(tt_tree_parse(cases[i].runs, &a), TUTTI_OK);
    assert_int_equal(tt_tree_parse(cases[i].numbers, &b), TUTTI_OK);
    assert_int_equal(a.ranks, b.ranks);
    assert_int_equal(a.levels, b.levels);
    for (int r = 0; r < a.ranks; r++) {
      tt_sched *x = build(cases[i].runs, "halving", r), *y = build(cases[i].numbers, "halving", r);
      free(x->name);
      x->name = strdup(y->name);
      assert_true(tt_sched_equal(x, y));
      tt_sched_free(x);
      tt_sched_free(y);
    }
  }
}

static void wrong_runs_are_refused(void **state) {
  static const char *const wrong[] = {"node:(4*)",       "node:(4*0)",          "node:(*4)",
                                      "node:(4**2)",     "node:(4*2*2)",        "node:4*2",
                                      "node:(2*600000)", "node:2 core:(4*2,3)", "node:(4*-1)"};
  tt_tree tree;
  (void)state;
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    if (tt_tree_parse(wrong[i], &tree) != TUTTI_ERR_ARG) fail_msg("%s is read", wrong[i]);
}

static const char *const large[] = {
    "node:10000 core:(4*7911,3*1319,2*770)", "node:10000 core:(3,4*9998,3)",
    "node:10000 core:(40*9950,39*30,38*20)", "rack:400 node:25 core:(40*9950,39*30,38*20)",
    "rack:400 node:(25*399,24) core:(4*9999)"};
enum { LARGE = sizeof large / sizeof *large };

/* Ten thousand nodes, some of which lack ranks. Each message that a rank sends is received by its peer; the
 * plan has few steps; and building it takes less than a millisecond of CPU time (the limit is ten times that,
 * for sanitizers and other load). */
static void one_rank_of_many_has_its_plan_at_once(void **state) {
  (void)state;
  for (int k = 0; k < LARGE; k++) {
    tt_tree tree;
    assert_int_equal(tt_tree_parse(large[k], &tree), TUTTI_OK);
    for (int i = 0; i < 5; i++) {
      const int rank = (int)((int64_t)(tree.ranks - 1) * i / 4);
      tt_sched *s = build(large[k], "halving", rank);
      if (s->nsteps > 300) fail_msg("%s, rank %d: %d steps", large[k], rank, (int)s->nsteps);
      for (uint32_t m = 0; m < s->nsteps; m++) {
        if (tt_step_local(&s->steps[m])) continue;
        const int peer = s->steps[m].peers.first;
        const bool sends = s->steps[m].kind == TT_SEND;
        tt_sched *other = build(large[k], "halving", peer);
        assert_int_equal(traded_with(s, peer, sends), traded_with(other, rank, !sends));
        tt_sched_free(other);
      }
      tt_sched_free(s);
      double least = 1;
      for (int turn = 0; turn < 5; turn++) {
        const double start = processor_seconds();
        tt_sched_free(build(large[k], "halving", rank));
        const double took = processor_seconds() - start;
        if (took < least) least = took;
      }
      if (least > 0.01) fail_msg("%s, rank %d: %g s", large[k], rank, least);
    }
  }
}

/* ---- prices ---- */

static const char figures[] =
    "gamma=0.05ns,node.alpha=2us,core.alpha=0.5us,node.beta=10GB/s,core.beta=5GB/s";

static tt_chooser *chooser_of(const char *levels) {
  tt_setting s = {.flight = TT_FLIGHT};
  tt_chooser *c;
  tt_tree tree;
  assert_int_equal(tt_tree_parse(levels, &tree), TUTTI_OK);
  s.ranks = tree.ranks;
  snprintf(s.levels, sizeof s.levels, "%s", levels);
  tt_profile_net(&s.profile);
  if (tt_profile_parse(&s.profile, figures, "the figures")) fail_msg("%s", tutti_error());
  assert_int_equal(tt_chooser_new(&s, &c), TUTTI_OK);
  return c;
}

/* The estimate is close to the simulation of all ranks, which takes up to two thirds longer for long vectors,
 * because the messages of an incomplete node share its link in other rounds. */
static void prices_are_those_of_full_nodes(void **state) {
  static const char *const levels[] = {"node:301 core:(4*300,3)", "node:301 core:(4*200,3*101)"};
  (void)state;
  for (size_t k = 0; k < sizeof levels / sizeof *levels; k++) {
    tt_chooser *c = chooser_of(levels[k]);
    const int ranks = tt_chooser_model(c)->ranks;
    const tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = ranks};
    tt_candidates *list = tt_candidates_of(c, TUTTI_ALLREDUCE, 0);
    char name[NAME];
    tt_sched **all;
    snprintf(name, sizeof name, "blueconnect(%s,seq=halving/halving)", levels[k]);
    int at = 0;
    while (at < list->n && (strcmp(list->at[at].plan->text, name) != 0 || list->at[at].slices > 1))
      at++;
    assert_true(at < list->n && tt_candidates_price(c, list, at) && list->at[at].possible);
    assert_int_equal(tt_algo_build_all_named(name, &ask, &all), TUTTI_OK);
    tt_sim *sim = tt_sim_new(all, ranks, false, tt_chooser_model(c));
    assert_non_null(sim);
    for (double bytes = 8; bytes < 1e8; bytes *= 100) {
      tt_breakdown t;
      assert_true(tt_sim_run(sim, bytes, &t));
      const double price = tt_curve_at(&list->at[at].curve, bytes);
      if (price < 0.6 * t.time || price > 1.1 * t.time)
        fail_msg("%s, %g bytes: price %g s, all ranks %g s", name, bytes, price, t.time);
    }
    tt_sim_free(sim);
    tt_sched_free_all(all, ranks);
    tt_chooser_free(c);
  }
}

/* A plan over the levels runs on all of these, and choosing it takes little simulation. */
static void incomplete_nodes_keep_their_levels(void **state) {
  static const tt_override none = {0};
  static const char *const levels[] = {"node:301 core:(4*300,3)", "node:2000 core:(4*1900,3*100)",
                                       "node:10000 core:(4*7911,3*1319,2*770)"};
  (void)state;
  for (size_t k = 0; k < sizeof levels / sizeof *levels; k++)
    for (uint64_t bytes = 8; bytes <= 1 << 24; bytes *= 1024) {
      const tt_problem p = {.coll = TUTTI_ALLREDUCE, .bytes = bytes, .needs = TT_NEED_SAME};
      tt_chooser *c = chooser_of(levels[k]);
      tt_choice choice;
      if (tt_choose(c, &p, &none, &choice)) fail_msg("%s", tutti_error());
      if (!strstr(choice.plan->text, levels[k]) || c->effort.messages > 2000)
        fail_msg("%s, %d bytes: %s, %d messages", levels[k], (int)bytes, choice.plan->text,
                 (int)c->effort.messages);
      tt_chooser_free(c);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(runs_are_numbers),
      cmocka_unit_test(wrong_runs_are_refused),
      cmocka_unit_test(one_rank_of_many_has_its_plan_at_once),
      cmocka_unit_test(prices_are_those_of_full_nodes),
      cmocka_unit_test(incomplete_nodes_keep_their_levels),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
