/* A composition on a torus, estimated stage by stage, gives the time of the simulation of all ranks, at all
 * sizes.
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
#include "chooser_of.h"

static const char neighbours[] = "torus=1,hop=100ns,alpha=1us,beta=50Gbit/s,gamma=0.05ns";
static const char slow_y[] =
    "torus=1,hop=300ns,alpha=1us,beta=50Gbit/s,y.beta=10Gbit/s,x.alpha=2us,"
    "node.beta=40Gbit/s,gamma=0.05ns";
static const char everywhere[] = "torus=1,alpha=1us,delay=1us,y.beta=20Gbit/s,x.beta=50Gbit/s";
static const char two_ports[] = "torus=1,hop=100ns,alpha=1us,beta=50Gbit/s,ports=2";
static const char own_ports[] = "torus=1,hop=100ns,alpha=1us,beta=50Gbit/s,apart=1";
static const char no_torus[] = "y.alpha=3us,x.alpha=2us,beta=50Gbit/s,gamma=0.05ns";
static const char ports[] = "alpha=2us,beta=50Gbit/s,ports=3";

static const char *const tori[] = {"z:3 y:4 x:5 node:1", "z:4 y:4 x:4 node:1", "y:5 x:5 node:1",
                                   "z:2 y:3 x:4 node:1", "z:2 y:3 x:4 node:2", "y:5 x:5 node:2"};
static const char *const figures[] = {neighbours, slow_y,    everywhere, own_ports,
                                      no_torus,   two_ports, ports};
enum { ONE_PORT = 4 }; /* the first ones: tori, on which a rank sends one message at a time */
enum { TORI = sizeof tori / sizeof *tori, FIGURES = sizeof figures / sizeof *figures };

/* How close the estimate by stages is to the whole simulation: the minimum and maximum of their ratio. */
typedef struct nearness {
  int prices, equal;
  double least, most;
} nearness;

static void compare(tt_chooser *c, const char *name, nearness *near) {
  const tt_cost_model *model = tt_chooser_model(c);
  const tt_ask ask = {.plan = plan_named(name), .coll = TUTTI_ALLREDUCE, .ranks = model->ranks};
  tt_sched **all;
  tt_sim *stages;
  tt_curve curve;
  if (tt_algo_build_all_named(name, &ask, &all)) fail_msg("%s", tutti_error());
  tt_sim *whole = tt_sim_new(all, model->ranks, false, model);
  assert_non_null(whole);
  assert_int_equal(tt_candidate_sim(c, plan_named(name), 1, TUTTI_ALLREDUCE, 0, false, 8, &stages),
                   TUTTI_OK);
  assert_true(tt_sim_messages(stages) < tt_sim_messages(whole));
  assert_true(stages_price(c, &ask, &curve));
  for (double bytes = 8; bytes <= 1 << 20; bytes *= 8) {
    tt_breakdown a, b;
    assert_true(tt_sim_run(whole, bytes, &a) && tt_sim_run(stages, bytes, &b));
    const double ratio = b.time / a.time, kept = tt_curve_at(&curve, bytes) / b.time;
    double parts = b.o + b.copying + b.reducing;
    for (int l = 0; l < model->levels; l++) parts += b.latency[l] + b.transfer[l];
    if (fabs(parts / b.time - 1) > 1e-9 || kept < 0.93 || kept > 1.08)
      fail_msg("%s, %g bytes: %g s, its parts %g, its curve %g", name, bytes, b.time, parts,
               kept * b.time);
    near->prices++;
    near->equal += fabs(ratio - 1) < 1e-9;
    if (ratio < near->least) near->least = ratio;
    if (ratio > near->most) near->most = ratio;
  }
  tt_sim_free(whole);
  tt_sim_free(stages);
  tt_sched_free_all(all, model->ranks);
}

static int levels_of(const tt_tree *tree) {
  int n = 0;
  for (int l = 0; l < tree->levels; l++) n += tree->level[l].each > 1;
  return n;
}

/* The i-th composition of these algorithms, one for each level. */
static void name_of(const char *levels, int n, int i, const char *const *stages, int count,
                    char name[NAME]) {
  size_t at = (size_t)snprintf(name, NAME, "blueconnect(%s,stages=", levels);
  for (int l = 0; l < n; l++, i /= count)
    at += (size_t)snprintf(name + at, NAME - at, "%s%s", stages[i % count], l + 1 < n ? "/" : ")");
}

/* All compositions of the algorithms that are used on many ranks. */
static void they_are_equal(void **state) {
  static const char *const stages[] = {"fold(ring)", "fold(halving)", "windows",
                                       "two-shot",   "doubling",      "one-shot"};
  enum { STAGES = sizeof stages / sizeof *stages };
  (void)state;
  for (int t = 0; t < TORI; t++)
    for (int f = 0; f < ONE_PORT; f++) {
      tt_chooser *c = chooser_of(tori[t], figures[f]);
      const int n = levels_of(&tt_chooser_model(c)->tree);
      int all = 1;
      for (int l = 0; l < n; l++) all *= STAGES;
      for (int i = 0; i<all; i += n> 2 ? 7 : 1) {
        char name[NAME];
        nearness near = {0, 0, 1, 1};
        name_of(tori[t], n, i, stages, STAGES, name);
        compare(c, name, &near);
        if (near.equal < near.prices)
          fail_msg("%s, %s: %g to %g of the whole", name, figures[f], near.least, near.most);
      }
      tt_chooser_free(c);
    }
}

static nearness compare_proposals(const char *levels, const char *said) {
  nearness near = {0, 0, 1, 1};
  tt_chooser *c = chooser_of(levels, said);
  const tt_candidates *list = tt_candidates_of(c, TUTTI_ALLREDUCE, 0);
  assert_non_null(list);
  for (int i = 0; i < list->n; i++)
    if (tt_is_composition(list->at[i].plan) && list->at[i].slices == 1)
      compare(c, list->at[i].plan->text, &near);
  assert_true(near.prices > 20);
  tt_chooser_free(c);
  return near;
}

/* With more ranks than the prover checks, only such algorithms are proposed. */
static void all_proposals_on_many_ranks_are_equal(void **state) {
  static const char *const many[] = {"z:4 y:6 x:8 node:1", "z:3 y:4 x:5 node:2", "y:11 x:7 node:1"};
  (void)state;
  for (int t = 0; t < 3; t++)
    for (int f = 0; f < ONE_PORT; f++) {
      const nearness near = compare_proposals(many[t], figures[f]);
      if (near.equal < near.prices)
        fail_msg("%s, %s: %d of %d prices are equal, all from %g to %g of the whole", many[t],
                 figures[f], near.equal, near.prices, near.least, near.most);
    }
}

/* On few ranks any algorithm may be proposed. */
static void most_proposals_are_equal_and_the_rest_near(void **state) {
  (void)state;
  for (int f = 0; f < FIGURES; f++) {
    nearness all = {0, 0, 1, 1};
    for (int t = 0; t < TORI; t++) {
      const nearness one = compare_proposals(tori[t], figures[f]);
      all.prices += one.prices;
      all.equal += one.equal;
      all.least = fmin(all.least, one.least);
      all.most = fmax(all.most, one.most);
    }
    const bool torus = f < ONE_PORT;
    if (all.equal < (torus ? 0.85 : 0.75) * all.prices || all.least < 0.6 ||
        all.most > (torus ? 1 + 1e-9 : 1.5))
      fail_msg("%s: %d of %d prices are equal, all from %g to %g of the whole", figures[f],
               all.equal, all.prices, all.least, all.most);
  }
}

/* Part of a circle is not a circle: transposed swaps between two nodes of a level at a time. */
static void parts_of_circles_have_no_price_by_stages(void **state) {
  static const char name[] = "transposed(group=12x12x12)";
  const tt_ask ask = {.plan = plan_named(name), .coll = TUTTI_ALLREDUCE, .ranks = 12 * 12 * 12};
  (void)state;
  for (int f = 0; f < FIGURES; f++) {
    tt_chooser *c = chooser_of("z:12 y:12 x:12 node:1", figures[f]);
    tt_sim *sim = NULL;
    tt_curve curve;
      assert_int_equal(stages_price(c, &ask, &curve), !tt_chooser_model(c)->torus);
    assert_int_equal(tt_candidate_sim(c, plan_named(name), 1, TUTTI_ALLREDUCE, 0, false, 8, &sim),
                     TUTTI_OK);
    assert_int_equal(tt_sim_messages(sim) < 1000, !tt_chooser_model(c)->torus);
    tt_sim_free(sim);
    tt_chooser_free(c);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(they_are_equal),
      cmocka_unit_test(parts_of_circles_have_no_price_by_stages),
      cmocka_unit_test(all_proposals_on_many_ranks_are_equal),
      cmocka_unit_test(most_proposals_are_equal_and_the_rest_near),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
