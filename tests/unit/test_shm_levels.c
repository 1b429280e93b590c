/* Levels within a machine. Without model parameters they cost nothing, each parameter applies at its level,
 * symmetric schedules are simulated by one rank, and plans over levels are candidates.
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
#include "tutti_plan.h"

enum { P = 32 };
static const char levels[] = "package:2 numa:2 cache:2 core:4";
static const char measured[] =
    "shm.package.delay=4us,shm.package.beta=3ns,shm.numa.delay=3us,shm.numa.beta=2ns,"
    "shm.cache.delay=2us,shm.cache.beta=1ns";

static tt_tree tree_of(const char *text) {
  tt_tree tree;
  assert_int_equal(tt_tree_parse(text, &tree), TUTTI_OK);
  return tree;
}

static tt_profile profile_of(const char *figures) {
  tt_profile m;
  tt_profile_shm(&m);
  assert_int_equal(tt_profile_parse(&m, figures, "test"), TUTTI_OK);
  return m;
}

/* The time of a plan, with all ranks simulated; < 0: the plan does not support the collective. */
static double time_of(const char *name, const tt_cost_model *model, double bytes) {
  const tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = model->ranks};
  tt_sched **all;
  tt_breakdown t;
  if (tt_algo_build_all_named(name, &ask, &all)) return -1;
  tt_sim *sim = tt_sim_new(all, model->ranks, false, model);
  assert_true(sim && tt_sim_run(sim, bytes, &t));
  double sum = t.o + t.copying + t.reducing;
  for (int l = 0; l < model->levels; l++) sum += t.latency[l] + t.transfer[l];
  assert_true(fabs(sum - t.time) < 1e-9 * t.time);
  tt_sim_free(sim);
  tt_sched_free_all(all, model->ranks);
  return t.time;
}

static void levels_without_figures_cost_the_same(void **state) {
  const tt_tree tree = tree_of(levels);
  const tt_profile m = profile_of("");
  (void)state;
  assert_false(tt_shm_levels_known(&m, &tree));
  for (int crowd = 1; crowd < 4; crowd += 2)
    for (int loop = 0; loop < 2; loop++) {
      tt_cost_model flat, leveled;
      tt_cost_shm(&m, P, NULL, crowd, loop, &flat);
      tt_cost_shm(&m, P, &tree, crowd, loop, &leveled);
      assert_int_equal(leveled.levels, 4);
      for (int i = 0; tutti_algo_name(i, NULL); i++)
        for (double bytes = 8; bytes < 1e7; bytes *= 50) {
          const char *name = tutti_algo_name(i, NULL);
          const double one = time_of(name, &flat, bytes), other = time_of(name, &leveled, bytes);
          if (fabs(one - other) > 1e-9 * fabs(one))
            fail_msg("%s, %g bytes: %g s and %g s", name, bytes, one, other);
        }
    }
}

/* The parameters of the four levels, from the outermost in; the innermost connects ranks that share a cache. */
static void each_figure_counts_at_its_level(void **state) {
  static const struct {
    const char *figures;
    double L[4], beta[4]; /* in us and ns, in addition to the cost that all levels have */
    bool known;
  } cases[] = {{"", {0}, {0}, false},
               {"shm.package.delay=3.1us", {3}, {0}, true},
               {"shm.numa.delay=2.1us,shm.numa.beta=5ns", {0, 2}, {0, 5}, true},
               {"shm.cache.beta=1ns", {0}, {0, 0, 1}, true},
               {"shm.cache.delay=1ns", {0}, {0}, true}, /* not less than shm.wake */
               {"shm.wake=1us,shm.cache.delay=2us", {0, 0, 1}, {0}, true}};
  const tt_tree tree = tree_of(levels);
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (int crowd = 1; crowd < 4; crowd += 2) {
      const tt_profile m = profile_of(cases[i].figures);
      tt_cost_model p;
      tt_cost_shm(&m, P, &tree, crowd, false, &p);
      assert_int_equal(tt_shm_levels_known(&m, &tree), cases[i].known);
      for (int l = 0; l < 4; l++)
        if (fabs(p.link[l].L - p.link[3].L - 1e-6 * cases[i].L[l]) > 1e-12 ||
            fabs(p.link[l].beta - 1e-9 * cases[i].beta[l]) > 1e-15 || p.link[l].alpha > 0)
          fail_msg("%s, level %d: %g s, %g s/B", cases[i].figures, l, p.link[l].L, p.link[l].beta);
    }
}

/* The parameters apply within nodes, too. Levels without a parameter keep their cost there. */
static void they_count_within_nodes(void **state) {
  const tt_tree tree = tree_of("node:2 package:2 numa:2 core:4");
  const tt_profile before = profile_of("numa.alpha=9us"),
                   now = profile_of("numa.alpha=9us,shm.package.delay=5.1us,shm.package.beta=7ns");
  tt_cost_model p[2];
  (void)state;
  for (int i = 0; i < 2; i++) {
    tt_cost_net(i ? &now : &before, P, &tree, &p[i]);
    tt_cost_inside(i ? &now : &before, 3, 1, &p[i]);
  }
  assert_true(fabs(p[1].link[1].L - p[0].link[1].L - 5e-6) < 1e-12 &&
              fabs(p[1].link[1].beta - 7e-9) < 1e-18);
  p[1].link[1].L = p[0].link[1].L;
  p[1].link[1].beta = p[0].link[1].beta;
  assert_memory_equal(&p[0], &p[1], sizeof *p);
}

static tt_chooser *chooser_of(int ranks, const char *topology, const char *figures) {
  tt_setting s = {.ranks = ranks, .ranks_per_core = 1, .flight = 3, .profile = profile_of(figures)};
  tt_chooser *c = NULL;
  snprintf(s.levels, sizeof s.levels, "%s", topology);
  if (tt_chooser_new(&s, &c)) fail_msg("%s", tutti_error());
  return c;
}

/* With many ranks, a plan with all-to-all communication is estimated from one rank. The estimate equals that of
 * all ranks, except for the order in which messages wait for a port. */
static void one_stands_for_all(void **state) {
  static const struct {
    int ranks;
    const char *topology;
    double off;
  } cases[] = {{P, levels, 1e-9},
               {P, "package:2 core:16", 1e-9},
               {P, "package:2 cache:(3,1) core:8", 1e-9},
               {192, "package:2 numa:2 cache:4 core:12", 0.3},
               {190, "package:2 core:95", 0.3}};
  static const char *const plans[] = {"one-shot", "two-shot", "fold(halving)"};
  (void)state;
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    tt_chooser *c = chooser_of(cases[k].ranks, cases[k].topology, measured);
    const tt_cost_model *model = tt_chooser_model(c);
    assert_true(model->levels > 1);
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++)
      for (double bytes = 8; bytes < 1e7; bytes *= 50) {
        tt_sim *sim;
        tt_breakdown t;
        assert_int_equal(
            tt_candidate_sim(c, plan_named(plans[i]), 1, TUTTI_ALLREDUCE, 0, false, 0, &sim),
            TUTTI_OK);
        assert_true(tt_sim_run(sim, bytes, &t));
        const double all = time_of(plans[i], model, bytes);
        if (fabs(t.time - all) > cases[k].off * all)
          fail_msg("%s on %s, %g bytes: %g s, all ranks %g s", plans[i], cases[k].topology, bytes,
                   t.time, all);
        tt_sim_free(sim);
      }
    tt_chooser_free(c);
  }
}

static const tt_candidate *candidate(const tt_candidates *list, const char *name) {
  for (int i = 0; i < list->n; i++)
    if (strcmp(list->at[i].plan->text, name) == 0) return &list->at[i];
  return NULL;
}

/* Plans over levels are candidates, can be estimated even on 512 ranks, and win where a level is slow. */
static void plans_over_levels_are_candidates(void **state) {
  static const char machine[] = "package:2 numa:4 cache:8 core:8";
  static const char *const names[] = {
      "two-level(package:2 numa:4 cache:8 core:8,ring)",
      "two-level(package:2 core:256,doubling)",
      "two-level(numa:8 core:64,halving)",
      "blueconnect(package:2 numa:4 cache:8 core:8,seq=halving/halving/halving/ring)",
      "blueconnect(numa:8 core:64,seq=ring/halving)",
      "one-shot",
      "two-shot"};
  (void)state;
  for (int known = 0; known < 2; known++) {
    tt_chooser *c = chooser_of(512, machine, known ? measured : "");
    assert_int_equal(tt_chooser_model(c)->levels, known ? 4 : 1);
    tt_candidates *list = tt_candidates_of(c, TUTTI_ALLREDUCE, 0);
    assert_non_null(list);
    for (int i = 0; i < list->n; i++) assert_true(tt_candidates_price(c, list, i));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
      const tt_candidate *x = candidate(list, names[i]);
      if (!x || !x->possible) fail_msg("%s is not a candidate", names[i]);
      for (int k = 0; k < list->n; k++)
        if (&list->at[k] != x && strcmp(list->at[k].plan->text, names[i]) == 0)
          fail_msg("%s is one twice", names[i]);
    }
    const double by_levels = tt_curve_at(&candidate(list, names[3])->curve, 1e6);
    const double flat = tt_curve_at(&candidate(list, "fold(halving)")->curve, 1e6);
    if (known ? by_levels > 0.5 * flat : by_levels < 0.9 * flat)
      fail_msg("%g s by levels, and %g s", by_levels, flat);
    tt_chooser_free(c);
  }
}

/* A profile that is written and read back is the same. */
static void figures_read_back(void **state) {
  const tt_profile m = profile_of(measured), none = profile_of("");
  tt_text t = {0}, bare = {0};
  (void)state;
  tt_profile_print(&t, &m);
  tt_profile_print(&bare, &none);
  const tt_profile again = profile_of(t.at);
  assert_memory_equal(again.shm_level, m.shm_level, sizeof m.shm_level);
  assert_non_null(strstr(t.at, "shm.numa.delay"));
  assert_null(strstr(bare.at, "shm.numa")); /* unknown parameters are not written */
  free(t.at);
  free(bare.at);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(levels_without_figures_cost_the_same),
      cmocka_unit_test(each_figure_counts_at_its_level),
      cmocka_unit_test(they_count_within_nodes),
      cmocka_unit_test(one_stands_for_all),
      cmocka_unit_test(plans_over_levels_are_candidates),
      cmocka_unit_test(figures_read_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
