/* Compositions: every pair of algorithms in the table, one inside nodes and one between them, is proven or
 * refused with an error message. Estimates of stages, and refusals.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>

#include "by_name.h"
#include "choose.h"
#include "engine.h"
#include "names.h"
#include "tutti_plan.h"

static const char *entry(int i) {
  return tutti_algo_name(i, NULL);
}

/* TUTTI_TEST_ALL=1: up to 36 ranks. */
static int most_ranks(void) {
  const char *all = getenv("TUTTI_TEST_ALL");
  return all && *all == '1' ? 36 : 12;
}

static void every_pair_is_proven_or_refused(void **state) {
  int good = 0, refused = 0, same = 0;
  (void)state;
  for (int nodes = 2; nodes <= most_ranks() / 2; nodes++)
    for (int cores = 2; nodes * cores <= most_ranks(); cores++)
      for (int a = 0; entry(a); a++)
        for (int b = 0; entry(b); b++) {
          tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = nodes * cores, .in_place = (a + b) % 2};
          char name[NAME];
          tutti_report r;
          if (!does_named(entry(a), TUTTI_ALLREDUCE) || !does_named(entry(b), TUTTI_ALLREDUCE))
            continue;
          snprintf(name, sizeof name, "blueconnect(node:%d core:%d,stages=%s/%s)", nodes, cores,
                   entry(a), entry(b));
          if (names_prove(name, &ask, &r)) {
            good++;
            same += r.same_grouping;
          } else if (strstr(r.witness, "cannot do allreduce on")) {
            refused++;
          } else {
            fail_msg("%s: %s", name, r.witness);
          }
        }
  assert_true(good > refused && same > good / 2);
}

/* Three levels: each algorithm on each level. */
static void every_algorithm_in_every_place(void **state) {
  static const char *const others[] = {"doubling", "fold(halving)", "lanes", "two-shot"};
  int good = 0;
  (void)state;
  for (int a = 0; entry(a); a++)
    for (int place = 0; place < 3; place++)
      for (int k = 0; k < 4; k++) {
        const char *stage[3] = {others[k], others[(k + 1) % 4], others[(k + 2) % 4]};
        tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = 3 * 2 * 4, .in_place = k % 2};
        char name[NAME];
        tutti_report r;
        if (!does_named(entry(a), TUTTI_ALLREDUCE)) continue;
        stage[place] = entry(a);
        snprintf(name, sizeof name, "blueconnect(rack:3 node:2 core:4,stages=%s/%s/%s)", stage[0],
                 stage[1], stage[2]);
        if (names_prove(name, &ask, &r))
          good++;
        else if (!strstr(r.witness, "cannot do allreduce on"))
          fail_msg("%s: %s", name, r.witness);
      }
  assert_true(good > 100);
}

/* With a fold inside the nodes, only a rank's part of the vector crosses the links between nodes. */
static void parts_are_sent_between_nodes(void **state) {
  static const struct {
    const char *name;
    int ranks, blocks, steps, sent;
  } cases[] = {
      {"blueconnect(node:8 core:4,stages=doubling/fold(halving))", 32, 4, 2 + 3 + 2, 3 + 3 + 3},
      {"blueconnect(node:8 core:4,stages=doubling/doubling)", 32, 1, 2 + 3, 2 + 3},
      {"blueconnect(node:8 core:4,stages=lanes(n=2)/two-shot)", 32, 16, 1 + 5 + 1, 12 + 7 + 12},
      {"blueconnect(node:6 core:4,stages=lanes(n=6)/bruck)", 24, 4, 2 + 3 + 2, 3 + 3 + 3},
      {"blueconnect(node:5 core:4,stages=searched(T=4)/bruck)", 20, 20, 2 + 4 + 2, 15 + 11 + 15},
      {"blueconnect(node:7 core:2,stages=searched(T=5)/fold(halving))", 14, 14, 1 + 5 + 1,
       7 + 14 + 7},
      {"blueconnect(node:3 core:5,stages=doubling/searched(T=4))", 15, 5, 4 + 2, 11 + 2 * 5},
      {"blueconnect(node:7 core:4,stages=windows/doubling)", 28, 1, 2 + 3, 2 + 5},
      {"blueconnect(rack:2 node:2 core:4,stages=doubling/doubling/fold(ring))", 16, 4, 3 + 2 + 3,
       3 + 2 + 3},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = cases[i].ranks};
    tutti_report r;
    if (!names_prove(cases[i].name, &ask, &r)) fail_msg("%s: %s", cases[i].name, r.witness);
    assert_true(r.same_grouping);
    if (r.blocks != cases[i].blocks || r.steps != cases[i].steps || r.sent_blocks != cases[i].sent)
      fail_msg("%s: %d steps, %d of %d blocks sent", cases[i].name, r.steps, (int)r.sent_blocks,
               r.blocks);
  }
}

/* ---- estimates ---- */

static const char figures[] =
    "rack.alpha=3us,node.alpha=2us,core.alpha=0.5us,rack.beta=50GB/s,node.beta=10GB/"
    "s,core.beta=5GB/s,"
    "gamma=0.05ns";

static double whole_price(const char *name, const char *levels, int ranks, double bytes) {
  const tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = ranks};
  tt_profile profile;
  tt_cost_model model;
  tt_breakdown t;
  tt_sched **all;
  tt_tree tree;
  tt_profile_net(&profile);
  assert_int_equal(tt_profile_parse(&profile, figures, "the figures"), TUTTI_OK);
  assert_int_equal(tt_tree_parse(levels, &tree), TUTTI_OK);
  tt_cost_net(&profile, ranks, &tree, &model);
  if (tt_algo_build_all_named(name, &ask, &all)) fail_msg("%s", tutti_error());
  tt_sim *sim = tt_sim_new(all, ranks, false, &model);
  assert_true(sim && tt_sim_run(sim, bytes, &t));
  tt_sim_free(sim);
  tt_sched_free_all(all, ranks);
  return t.time;
}

/* The sum of the stages' times is an upper bound of the whole simulation, and close to it. */
static void stages_add_up_to_the_whole(void **state) {
  static const struct {
    const char *levels, *stages;
    int ranks;
    double within;
  } cases[] = {
      {"rack:2 node:4 core:4", "doubling/doubling/doubling", 32, 1e-6},
      {"rack:2 node:4 core:4", "lanes(n=2)/fold(halving)/fold(halving)", 32, 1e-6},
      {"rack:3 node:4 core:4", "doubling/fold(halving)/two-shot", 48, 0.1},
      {"node:12 core:4", "lanes(n=4)/fold(ring)", 48, 1e-6},
      {"node:12 core:5", "lanes(n=6)/windows", 60, 0.1},
      {"node:12 core:5", "windows/fold(halving)", 60, 0.1},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (double bytes = 8; bytes <= 1 << 23; bytes *= 32) {
      tt_setting setting = {.ranks = cases[i].ranks, .flight = TT_FLIGHT};
      const tt_problem problem = {.coll = TUTTI_ALLREDUCE, .bytes = (uint64_t)bytes};
      char name[NAME];
      tt_breakdown t;
      tt_sends sends;
      tt_chooser *c;
      tt_profile_net(&setting.profile);
      assert_int_equal(tt_profile_parse(&setting.profile, figures, "the figures"), TUTTI_OK);
      snprintf(setting.levels, sizeof setting.levels, "%s", cases[i].levels);
      snprintf(name, sizeof name, "blueconnect(%s,stages=%s)", cases[i].levels, cases[i].stages);
      assert_int_equal(tt_chooser_new(&setting, &c), TUTTI_OK);
      assert_int_equal(tt_quote_breakdown(c, plan_named(name), 1, &problem, &t, &sends, NULL),
                       TUTTI_OK);
      const double whole = whole_price(name, cases[i].levels, cases[i].ranks, bytes);
      if (t.time < whole * (1 - 1e-9) || t.time > whole * (1 + cases[i].within) + 1e-12)
        fail_msg("%s, %g bytes: %g us by stages, %g the whole", name, bytes, 1e6 * t.time,
                 1e6 * whole);
      tt_chooser_free(c);
    }
}

/* ---- refusals ---- */

static void what_compositions_refuse(void **state) {
  static const names_refusal cases[] = {
      {"blueconnect(node:4 core:3,stages=doubling)", "one algorithm for each level",
       TUTTI_ALLREDUCE},
      {"blueconnect(node:4 core:3,stages=ring/ring/ring)", "one algorithm for each level",
       TUTTI_ALLREDUCE},
      {"blueconnect(node:4 core:3,stages=/ring)", "one algorithm for each level", TUTTI_ALLREDUCE},
      {"blueconnect(node:4 core:3,stages=lanes(n=5)/ring)", "2^k or 3 * 2^k", TUTTI_ALLREDUCE},
      {"blueconnect(node:4 core:3,stages=lains/ring)", "did you mean 'lanes'", TUTTI_ALLREDUCE},
      {"blueconnect(node:4 core:3,ring,stages=ring/ring)", "leave out ring", TUTTI_ALLREDUCE},
      {"blueconnect(node:4 core:3,stages=aggregate(data=3)/ring)", "from some of its ranks",
       TUTTI_ALLREDUCE},
      {"blueconnect(node:(5,7),stages=ring/ring)", "one size", TUTTI_ALLREDUCE},
      {"blueconnect(rack:2 node:2 core:3,stages=tree(segments=256)/tree(segments=255)/"
       "tree(segments=253))",
       "too many blocks", TUTTI_ALLREDUCE},
      {"blueconnect(node:4 core:3,stages=ring/ring)", "stages make an allreduce",
       TUTTI_REDUCE_SCATTER},
  };
  (void)state;
  assert_true(names_all_refused(cases, sizeof cases / sizeof *cases, 12));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_pair_is_proven_or_refused),
      cmocka_unit_test(every_algorithm_in_every_place),
      cmocka_unit_test(parts_are_sent_between_nodes),
      cmocka_unit_test(stages_add_up_to_the_whole),
      cmocka_unit_test(what_compositions_refuse),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
