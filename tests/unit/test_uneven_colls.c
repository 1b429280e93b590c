/* Collectives on uneven levels: proven for every shape of a table, with few bytes between groups, also among
 * ten thousand incomplete nodes; chosen and estimated.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka.h needs the headers above */
#include <cmocka.h>

#include "by_name.h"
#include "candidates.h"
#include "engine.h"
#include "names.h"
#include "order_sample.h"
#include "seconds.h"
#include "traded.h"
#include "tutti_plan.h"

static const tutti_coll colls[] = {TUTTI_ALLREDUCE, TUTTI_REDUCE_SCATTER, TUTTI_ALLGATHER,
                                   TUTTI_BROADCAST, TUTTI_REDUCE,         TUTTI_BARRIER};
enum { COLLS = sizeof colls / sizeof *colls };

static int ranks_of(const char *levels) {
  tt_tree tree;
  if (tt_tree_parse(levels, &tree)) fail_msg("%s", tutti_error());
  return tree.ranks;
}

/* The i-th plan over these levels for a collective; false past the last. */
static bool plan_of(const char *levels, tutti_coll coll, int i, char name[NAME]) {
  static const char *const folds[] = {"blueconnect(%s)", "blueconnect(%s,ring)"};
  static const char *const trees[] = {"tree(leaders,%s)", "tree(leaders,radix=3,%s)",
                                      "tree(leaders,binary,segments=2,%s)",
                                      "tree(leaders,chain,%s)"};
  const bool rooted = tt_coll_rooted(coll);
  if (i >= (rooted ? 4 : 2)) return false;
  snprintf(name, NAME, rooted ? trees[i] : folds[i], levels);
  return true;
}

static void prove(const char *name, const tt_ask *ask) {
  tutti_report r;
  if (!names_prove(name, ask, &r))
    fail_msg("%s, %s on %d ranks, root %d: %s", name, tutti_coll_name(ask->coll), ask->ranks,
             ask->root, r.witness);
  assert_true(r.same_grouping);
  if (ask->coll == TUTTI_REDUCE && ask->root == 0) assert_true(r.rank_order);
}

/* All collectives and plans, in place and not, and `roots` roots. */
static void prove_all(const char *levels, int roots) {
  const int P = ranks_of(levels);
  char name[NAME];
  for (int c = 0; c < COLLS; c++)
    for (int i = 0; plan_of(levels, colls[c], i, name); i++)
      for (int root = 0; root < (tt_coll_rooted(colls[c]) ? roots : 1); root++)
        for (int in_place = 0; in_place < 2; in_place++)
          prove(name, &(tt_ask){.coll = colls[c],
                                .ranks = P,
                                .root = (int)((int64_t)root * P / roots),
                                .in_place = in_place});
}

static const char *const shapes[] = {
    "node:(2,1)",
    "node:(1,2)",
    "node:(1,1)",
    "node:(4,3)",
    "node:(4,3,4,1)",
    "node:(1,4,3,4)",
    "node:(1,5,2)",
    "node:(7,1,1,1)",
    "node:(1*6,7)",
    "node:(3*3,2*4,1)",
    "node:(5,4,3,2,1)",
    "node:(17,19)",
    "node:3 core:(4,3,4)",
    "rack:2 node:(2,1) core:(4,3,4)",
    "rack:2 node:(1,2) core:(1,7,2)",
    "rack:2 node:(3,1) core:4",
    "rack:3 node:(1,3,2) core:(4,3*3,1,5)",
    "rack:2 node:2 core:(4,3,2,1)",
    "rack:2 node:(2,1) socket:1 core:(3,4,5)",
    "rack:2 node:(2,1) socket:2 core:(3,2,2,3,1,1)",
    "rack:2 node:(2,3) socket:(1,2,2,1,2) core:(4,3,1,2,5,3,1,2)",
    "room:2 rack:(1,2) node:(2,1,3) core:(3,2,4,1,1,2)",
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static void every_shape_is_proven(void **state) {
  (void)state;
  for (int i = 0; i < SHAPES; i++) prove_all(shapes[i], ranks_of(shapes[i]));
}

/* Levels derived from a number: up to four, with lists and without, up to 36 ranks. */
static bool any_levels(uint64_t u, char *levels, size_t size) {
  static const char *const kinds[] = {"room", "rack", "node", "core"};
  size_t at = 0;
  int domains = 1;
  const int depth = 2 + (int)(u % 3);
  for (int l = 0; l < depth; l++) {
    const bool list = l && (u = tt_mix(u)) % 3;
    int all = 0, here = 0;
    at += (size_t)snprintf(levels + at, size - at, "%s%s:%s", l ? " " : "", kinds[4 - depth + l],
                           list ? "(" : "");
    for (int d = 0; d < (list ? domains : 1); d++) {
      here = 1 + (int)((u = tt_mix(u + 1)) % 4);
      all += here;
      at += (size_t)snprintf(levels + at, size - at, "%s%d", d ? "," : "", here);
    }
    at += (size_t)snprintf(levels + at, size - at, "%s", list ? ")" : "");
    domains = list ? all : domains * here;
    if (domains > 36) return false;
  }
  return domains > 1;
}

static void any_shape_is_proven(void **state) {
  char levels[NAME];
  int n = 0;
  (void)state;
  for (uint64_t u = 1; n < 100; u++) {
    if (!any_levels(tt_mix(u), levels, sizeof levels)) continue;
    prove_all(levels, 2);
    n++;
  }
}

/* On many ranks, where some blocks represent all others when the order of steps is derived. */
static void samples_on_many_ranks_are_proven(void **state) {
  static const struct {
    const char *levels;
    tutti_coll coll;
  } cases[] = {{"node:1000 core:(2*400,1*600)", TUTTI_ALLGATHER},
               {"rack:30 node:15 core:(3*440,2*10)", TUTTI_ALLGATHER},
               {"rack:30 node:(15*29,14) core:(3*200,1*20,2*229)", TUTTI_REDUCE_SCATTER}};
  static const char *const rooted[] = {"node:100 core:(40*90,39*10)", "node:(64*63,63)",
                                       "rack:16 node:16 core:(16*200,15*56)"};
  char name[NAME];
  (void)state;
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    const tt_ask ask = {
        .coll = cases[k].coll, .ranks = ranks_of(cases[k].levels), .in_place = k % 2};
    tt_sample sample;
    tt_sched *s;
    plan_of(cases[k].levels, ask.coll, 0, name);
    assert_int_equal(tt_algo_build_named(name, &ask, &s), TUTTI_OK);
    assert_int_equal(tt_order_sample(s, ask.coll == TUTTI_ALLGATHER ? TT_DST : TT_TMP, &sample),
                     TUTTI_OK);
    assert_true(sample.n > 0);
    free(sample.window);
    tt_sched_free(s);
    prove(name, &ask);
  }
  for (size_t k = 0; k < sizeof rooted / sizeof *rooted; k++)
    for (int c = 0; c < COLLS; c++)
      for (int i = 0; tt_coll_rooted(colls[c]) && plan_of(rooted[k], colls[c], i, name); i++)
        prove(name, &(tt_ask){.coll = colls[c], .ranks = ranks_of(rooted[k]), .root = 77 * i});
}

/* ---- the bytes on the links ---- */

/* The node of a rank: a domain of the level above the last. */
static int node_of(const tt_tree *t, int rank) {
  int g = 0;
  for (int l = 0; l + 1 < t->levels; l++) g = tt_tree_domain(t, l, g, rank);
  return g;
}

/* A reduce-scatter and an all-gather carry each block out of each other node once; a broadcast or a reduce
 * carries the vector once into, or out of, each node except the root's. */
static void nodes_send_the_least(void **state) {
  static const char *const levels[] = {"node:(4,3)",      "node:(4,3,4,1)", "node:(1,5,2)",
                                       "node:(17,19,18)", "node:(1*6,7)",   "node:(5,4,3,2,1)"};
  (void)state;
  for (size_t k = 0; k < sizeof levels / sizeof *levels; k++)
    for (int c = 0; c < COLLS; c++) {
      const bool rooted = tt_coll_rooted(colls[c]), owned = tt_coll_owned(colls[c]);
      char name[NAME];
      tt_tree t;
      int64_t crossed = 0;
      if (!rooted && !owned) continue;
      assert_int_equal(tt_tree_parse(levels[k], &t), TUTTI_OK);
      tt_ask ask = {.coll = colls[c], .ranks = t.ranks, .root = t.ranks / 2};
      plan_of(levels[k], ask.coll, 0, name);
      for (ask.rank = 0; ask.rank < t.ranks; ask.rank++) {
        tt_sched *s;
        assert_int_equal(tt_algo_build_named(name, &ask, &s), TUTTI_OK);
        for (uint32_t i = 0; i < s->nsteps; i++)
          if (s->steps[i].kind == TT_SEND &&
              node_of(&t, s->steps[i].peers.first) != node_of(&t, ask.rank))
            crossed += tt_span_size(&s->steps[i].own);
        tt_sched_free(s);
      }
      const int others = t.level[0].each - 1;
      assert_int_equal(crossed, owned ? others * t.ranks : others);
    }
}

/* Blocks of ranks cannot be divided. In long runs of nodes of nearly the same size, however, no rank sends much
 * more than its share. */
static void ranks_send_their_share(void **state) {
  static const char *const levels[] = {"node:40 core:(4*30,3*10)", "node:41 core:(4*40,3)",
                                       "node:40 core:(8*20,7*12,5*8)"};
  (void)state;
  for (size_t k = 0; k < 2 * sizeof levels / sizeof *levels; k++) {
    char name[NAME];
    tt_tree t;
    assert_int_equal(tt_tree_parse(levels[k / 2], &t), TUTTI_OK);
    tt_ask ask = {.coll = k % 2 ? TUTTI_ALLGATHER : TUTTI_REDUCE_SCATTER, .ranks = t.ranks};
    plan_of(levels[k / 2], ask.coll, 0, name);
    for (ask.rank = 0; ask.rank < t.ranks; ask.rank++) {
      tt_sched *s;
      double mine = 0;
      const int node = node_of(&t, ask.rank);
      assert_int_equal(tt_algo_build_named(name, &ask, &s), TUTTI_OK);
      for (uint32_t i = 0; i < s->nsteps; i++)
        if (s->steps[i].kind == TT_SEND && node_of(&t, s->steps[i].peers.first) != node)
          mine += tt_span_size(&s->steps[i].own);
      if (mine > 1.45 * t.ranks / tt_tree_count(&t, 1, node))
        fail_msg("%s, %s, rank %d sends %g of %d blocks", name, tutti_coll_name(ask.coll), ask.rank,
                 mine, t.ranks);
      tt_sched_free(s);
    }
  }
}

/* ---- ten thousand nodes ---- */

static const char *const large[] = {
    "node:10000 core:(4*7911,3*1319,2*770)", "node:10000 core:(3,4*9998,3)",
    "node:10000 core:(40*9950,39*30,38*20)", "rack:400 node:25 core:(40*9950,39*30,38*20)",
    "rack:400 node:(25*399,24) core:(4*9999)"};
enum { LARGE = sizeof large / sizeof *large };

static tt_sched *build(const char *levels, tutti_coll coll, int ranks, int rank) {
  const tt_ask ask = {.coll = coll, .ranks = ranks, .rank = rank, .root = ranks / 3};
  char name[NAME];
  tt_sched *s;
  plan_of(levels, coll, 0, name);
  if (tt_algo_build_named(name, &ask, &s)) fail_msg("%s", tutti_error());
  return s;
}

/* Each message that a rank sends is received by its peer; the plan has few steps; and building it takes less
 * than a millisecond of CPU time (the limit is ten times that, for sanitizers and other load). */
static void one_rank_of_many_has_its_plan_at_once(void **state) {
  (void)state;
  for (int k = 0; k < LARGE * COLLS; k++) {
    const char *levels = large[k / COLLS];
    const tutti_coll coll = colls[k % COLLS];
    const int P = ranks_of(levels);
    for (int i = 0; i < 5; i++) {
      const int rank = (int)((int64_t)(P - 1) * i / 4);
      tt_sched *s = build(levels, coll, P, rank);
      if (s->nsteps > 300) fail_msg("%s, rank %d: %d steps", levels, rank, (int)s->nsteps);
      for (uint32_t m = 0; m < s->nsteps; m++) {
        if (tt_step_local(&s->steps[m])) continue;
        const int peer = s->steps[m].peers.first;
        const bool sends = s->steps[m].kind == TT_SEND;
        tt_sched *other = build(levels, coll, P, peer);
        if (traded_with(s, peer, sends) != traded_with(other, rank, !sends))
          fail_msg("%s, %s: ranks %d and %d", levels, tutti_coll_name(coll), rank, peer);
        tt_sched_free(other);
      }
      tt_sched_free(s);
      double least = 1;
      for (int turn = 0; turn < 5; turn++) {
        const double start = processor_seconds();
        tt_sched_free(build(levels, coll, P, rank));
        const double took = processor_seconds() - start;
        if (took < least) least = took;
      }
      if (least > 0.01)
        fail_msg("%s, %s, rank %d: %g s", levels, tutti_coll_name(coll), rank, least);
    }
  }
}

/* ---- estimates ---- */

static const char figures[] =
    "gamma=0.05ns,node.alpha=2us,core.alpha=0.5us,node.beta=10GB/s,core.beta=5GB/s";

static tt_chooser *chooser_of(const char *levels, const char *only) {
  tt_setting s = {.flight = TT_FLIGHT, .ranks = ranks_of(levels), .verify = TT_VERIFY_NONE};
  tt_chooser *c;
  snprintf(s.levels, sizeof s.levels, "%s", levels);
  s.only = *only ? plan_named(only) : NULL;
  tt_profile_net(&s.profile);
  if (tt_profile_parse(&s.profile, figures, "the figures")) fail_msg("%s", tutti_error());
  assert_int_equal(tt_chooser_new(&s, &c), TUTTI_OK);
  return c;
}

/* Estimates on more ranks than are simulated, compared with the simulation of all ranks. A tree's estimate is
 * the same, within the accuracy of its curve. In a fold the messages of an incomplete node share its link in
 * other rounds. */
static void prices_are_those_of_all_ranks(void **state) {
  static const struct {
    const char *name, *levels;
    double lo, hi;
  } cases[] = {{"blueconnect(%s)", "node:301 core:(4*300,3)", 0.48, 1.1},
               {"blueconnect(%s)", "node:301 core:(4*200,3*101)", 0.48, 1.1},
               {"tree(leaders,%s)", "node:301 core:(4*300,3)", 0.93, 1.07},
               {"tree(leaders,%s)", "node:500 core:(3*300,1*180,4*20)", 0.93, 1.07},
               {"tree(leaders,radix=4,%s)", "node:301 core:(4*200,3*101)", 0.93, 1.07},
               {"tree(leaders,binary,segments=8,%s)", "node:301 core:(4*200,3*101)", 0.8, 1.07}};
  (void)state;
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
    for (int i = 0; i < COLLS; i++) {
      const bool tree = *cases[k].name == 't';
      tt_ask ask = {.coll = colls[i], .ranks = ranks_of(cases[k].levels)};
      if (tree ? !tt_coll_rooted(ask.coll) : !tt_coll_owned(ask.coll)) continue;
      char name[NAME];
      tt_sched **all;
      snprintf(name, sizeof name, cases[k].name, cases[k].levels);
      tt_chooser *c = chooser_of(cases[k].levels, name);
      tt_candidates *list = tt_candidates_of(c, ask.coll, 0);
      assert_true(!list->at[0].dear && tt_candidates_price(c, list, 0) && list->at[0].possible);
      assert_int_equal(tt_algo_build_all_named(name, &ask, &all), TUTTI_OK);
      tt_sim *sim = tt_sim_new(all, ask.ranks, false, tt_chooser_model(c));
      assert_non_null(sim);
      for (double bytes = 8; bytes < 1e8; bytes *= 100) {
        tt_breakdown t;
        assert_true(tt_sim_run(sim, bytes, &t));
        const double price = tt_curve_at(&list->at[0].curve, bytes);
        const double lo =
            tree || bytes > 1e3 ? cases[k].lo : 0.75; /* short: the message count matters */
        if (price < lo * t.time || price > cases[k].hi * t.time)
          fail_msg("%s, %s, %g bytes: price %g s, all ranks %g s", name, tutti_coll_name(ask.coll),
                   bytes, price, t.time);
      }
      tt_sim_free(sim);
      tt_sched_free_all(all, ask.ranks);
      tt_chooser_free(c);
    }
}

/* A plan over the levels runs on all of these, and choosing it takes little simulation. */
static void incomplete_nodes_keep_their_levels(void **state) {
  static const tt_override none = {0};
  static const char *const levels[] = {"node:2000 core:(4*1900,3*100)",
                                       "node:10000 core:(4*7911,3*1319,2*770)",
                                       "rack:400 node:25 core:(40*9950,39*30,38*20)"};
  (void)state;
  for (size_t k = 0; k < sizeof levels / sizeof *levels; k++)
    for (int i = 0; i < COLLS; i++) {
      tt_chooser *c = chooser_of(levels[k], "");
      const tutti_op op = tt_coll_rooted(colls[i]) ? TUTTI_MAX : TUTTI_SUM;
      for (uint64_t bytes = 8; bytes <= 1 << 24; bytes *= 1024) {
        const tt_problem p = {.coll = colls[i],
                              .bytes = bytes,
                              .needs = tt_needs_of(TUTTI_CONTRACT_SAME, colls[i], TUTTI_FLOAT, op)};
        tt_choice choice;
        if (tt_choose(c, &p, &none, &choice)) fail_msg("%s", tutti_error());
        if (!strstr(choice.plan->text, levels[k]) || c->effort.messages > 50000)
          fail_msg("%s, %s, %d bytes: %s, %d messages", levels[k], tutti_coll_name(p.coll),
                   (int)bytes, choice.plan->text, (int)c->effort.messages);
      }
      tt_chooser_free(c);
    }
}

/* An op that does not commute needs a different plan than the tree if the root is not the first rank. The
 * choice then considers plans that it otherwise leaves out; later choices do not. */
static void other_plans_serve_an_op_that_does_not_commute(void **state) {
  static const tt_override none = {0};
  static const char levels[] = "node:275 core:(4*270,3*5)";
  tt_choice choice;
  (void)state;
  tt_chooser *c = chooser_of(levels, "");
  for (int turn = 0; turn < 3; turn++) {
    const bool order = turn == 1;
    const tt_problem p = {
        .coll = TUTTI_REDUCE, .bytes = 8, .needs = order ? TT_NEED_ORDER : 0, .root = 5};
    if (tt_choose(c, &p, &none, &choice)) fail_msg("%s", tutti_error());
    if (order == (strstr(choice.plan->text, "leaders") != NULL)) fail_msg("%s", choice.plan->text);
  }
  tt_chooser_free(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_shape_is_proven),
      cmocka_unit_test(any_shape_is_proven),
      cmocka_unit_test(samples_on_many_ranks_are_proven),
      cmocka_unit_test(nodes_send_the_least),
      cmocka_unit_test(ranks_send_their_share),
      cmocka_unit_test(one_rank_of_many_has_its_plan_at_once),
      cmocka_unit_test(prices_are_those_of_all_ranks),
      cmocka_unit_test(incomplete_nodes_keep_their_levels),
      cmocka_unit_test(other_plans_serve_an_op_that_does_not_commute),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
