/* Helpers placed in the domains of a machine's levels: every shape is proven, a node's links carry one vector
 * in each direction, and wrong levels are refused.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>

#include "algo_helpers.h"
#include "by_name.h"
#include "candidates.h"
#include "engine.h"
#include "names.h"
#include "placement.h"
#include "short.h"
#include "tutti_plan.h"

enum { MOST = 36 };

static const tutti_coll colls[] = {TUTTI_ALLREDUCE, TUTTI_BARRIER, TUTTI_BROADCAST, TUTTI_REDUCE};
enum { COLLS = sizeof colls / sizeof *colls };

/* Proves a plan for each collective, in place and not, with some roots. */
static void prove_all(const char *name, int ranks, int data) {
  for (int k = 0; k < 2 * COLLS; k++) {
    tt_ask ask = {.coll = colls[k / 2], .ranks = ranks, .data = data, .in_place = k % 2};
    for (int i = 0; i < (tt_coll_rooted(ask.coll) ? 3 : 1); i++) {
      tutti_report r;
      ask.root = i * (data - 1) / 2;
      if (!names_prove(name, &ask, &r))
        fail_msg("%s, %s on %d ranks, root %d: %s", name, tutti_coll_name(ask.coll), ranks,
                 ask.root, r.witness);
      if (!r.same_grouping && tt_coll_reduces(ask.coll)) fail_msg("%s: other bits", name);
    }
  }
}

/* Each rank with data owns a block. */
static void prove_blocks(const char *name, int ranks) {
  for (int k = 0; k < 4; k++) {
    const tt_ask ask = {
        .coll = k / 2 ? TUTTI_ALLGATHER : TUTTI_REDUCE_SCATTER, .ranks = ranks, .in_place = k % 2};
    tutti_report r;
    if (!names_prove(name, &ask, &r))
      fail_msg("%s, %s on %d ranks: %s", name, tutti_coll_name(ask.coll), ranks, r.witness);
  }
}

/* Proves a shape with helpers on each level in `per`, and one to three trees. */
static void prove_shape(const char *levels, const char *const *per, int *proven) {
  tt_tree tree;
  assert_int_equal(tt_tree_parse(levels, &tree), TUTTI_OK);
  for (int p = 0; per[p]; p++)
    for (int trees = 1; trees <= 3; trees++) {
      tt_helper_rows rows;
      char name[NAME];
      int level = tree.levels - 1;
      while (level >= 0 && strcmp(tree.level[level].name, per[p]) != 0) level--;
      tt_helper_rows_set(&tree, level, 0, trees, &rows);
      const int ranks = tree.ranks + trees * tt_helper_rows_each(&rows);
      if (ranks > MOST) break;
      snprintf(name, sizeof name, "aggregate(%s,per=%s,trees=%d)", levels, per[p], trees);
      if (!*per[p]) snprintf(name, sizeof name, "aggregate(%s,trees=%d)", levels, trees);
      prove_all(name, ranks, tree.ranks);
      prove_blocks(name, ranks);
      snprintf(name + strlen(name) - 1, 10, ",spread)");
      prove_all(name, ranks, tree.ranks);
      ++*proven;
    }
}

static void every_shape_is_proven(void **state) {
  static const char *const of_nodes[] = {"node", "", NULL}, *const of_racks[] = {"node", "rack", "",
                                                                                 NULL};
  char levels[80];
  const int most = shorter(MOST, 13);
  int proven = 0;
  (void)state;
  for (int nodes = 1; nodes < most; nodes++)
    for (int cores = 1; nodes * cores < most; cores++) {
      snprintf(levels, sizeof levels, "node:%d core:%d", nodes, cores);
      prove_shape(levels, of_nodes, &proven);
    }
  for (int racks = 1; racks < most; racks++)
    for (int nodes = 1; racks * nodes < most; nodes++) {
      snprintf(levels, sizeof levels, "rack:%d node:%d", racks, nodes);
      prove_shape(levels, of_racks + 1, &proven);
      for (int cores = 1; racks * nodes * cores < most; cores++) {
        snprintf(levels, sizeof levels, "rack:%d node:%d core:%d", racks, nodes, cores);
        prove_shape(levels, of_racks, &proven);
      }
    }
  printf("# %d shapes\n", proven);
  assert_true(proven > shorter(500, 50));
}

/* Trees that ignore placement: reduce-scatter and all-gather, with one block per rank with data. */
static void blocks_go_to_ranks_with_data(void **state) {
  char name[NAME];
  (void)state;
  for (int ranks = 2; ranks <= shorter(MOST, 13); ranks++)
    for (int family = 0; sampled_family(family); family++)
      for (int i = 0; sample_named(family, ranks, i, name, sizeof name); i++) {
        if (strncmp(name, "aggregate(data", strlen("aggregate(data")) != 0) continue;
        if (strstr(name, "share=")) continue; /* for allreduce only */
        prove_blocks(name, ranks);
      }
}

static void uneven_shapes_are_proven(void **state) {
  static const char *const levels[] = {"node:(4,3,4)",
                                       "node:(1,5,2)",
                                       "node:(3*2,2*3,1)",
                                       "rack:2 node:(2,1) core:(4,3,2)",
                                       "rack:2 node:(1,3) core:2",
                                       "rack:2 node:2 package:2 core:2",
                                       "node:2 package:(2,1) core:(2,3,4)",
                                       "package:2 core:4",
                                       "room:2 rack:2 node:2 core:2",
                                       "rack:3 core:4"};
  static const char *const per[] = {"node", "rack", ""};
  (void)state;
  for (size_t k = 0; k < sizeof levels / sizeof *levels; k++)
    for (int p = 0; p < 3; p++) {
      const char *one[] = {per[p], NULL};
      tt_tree tree;
      int proven = 0;
      assert_int_equal(tt_tree_parse(levels[k], &tree), TUTTI_OK);
      const int node = tt_level_in_node(&tree);
      int level = tree.levels - 1;
      while (level >= 0 && strcmp(tree.level[level].name, per[p]) != 0) level--;
      if (level >= node || (level < 0 && *per[p])) continue;
      prove_shape(levels[k], one, &proven);
      assert_true(proven > 0);
    }
}

/* What the ranks of the first node, which contains the root, send out of it and receive, in vectors of V
 * blocks: 1 is one vector, 0 is nothing, and OWN the blocks of these ranks. Also the maximum that one rank
 * sends. */
static void a_node_sends_one_vector(void **state) {
  enum { OWN = 2 };
  static const struct {
    const char *name;
    tutti_coll coll;
    int ranks, cores, out, in;
    uint32_t most; /* blocks that a rank sends; 0: any number */
  } cases[] = {{"aggregate(rack:2 node:3 core:4,per=rack)", TUTTI_ALLREDUCE, 27, 4, 1, 1, 0},
               {"aggregate(rack:2 node:3 core:4,per=node)", TUTTI_ALLREDUCE, 33, 4, 1, 1, 0},
               {"aggregate(node:3 core:5,trees=2)", TUTTI_ALLREDUCE, 17, 5, 1, 1, 0},
               {"aggregate(node:4 core:1)", TUTTI_ALLREDUCE, 9, 1, 1, 1, 0},
               {"aggregate(node:3 core:5,trees=2)", TUTTI_REDUCE_SCATTER, 17, 5, 1, OWN, 3},
               {"aggregate(node:3 core:5,trees=2)", TUTTI_ALLGATHER, 17, 5, OWN, 1, 1},
               {"aggregate(node:3 core:(4,7,1))", TUTTI_REDUCE_SCATTER, 13, 4, 1, OWN, 3},
               {"aggregate(node:3 core:(4,7,1),trees=4)", TUTTI_REDUCE_SCATTER, 16, 4, 1, OWN, 3},
               {"aggregate(node:3 core:(4,7,1),trees=4)", TUTTI_ALLGATHER, 16, 4, OWN, 1, 1},
               {"aggregate(rack:2 node:(2,1) core:(4,3,2),per=rack)", TUTTI_REDUCE_SCATTER, 12, 4,
                1, OWN, 3},
               {"aggregate(node:3 core:5,trees=5,spread)", TUTTI_REDUCE, 20, 5, 1, 1, 5},
               {"aggregate(node:3 core:5,trees=5,spread)", TUTTI_BROADCAST, 20, 5, 1, 1, 5},
               {"aggregate(node:3 core:5,trees=5)", TUTTI_BROADCAST, 20, 5, 1, 1, 0}};
  (void)state;
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    uint32_t out = 0, in = 0, blocks = 1, most = 0;
    for (int rank = 0; rank < cases[k].cores; rank++) {
      const tt_ask ask = {.coll = cases[k].coll, .ranks = cases[k].ranks, .rank = rank};
      const uint32_t before = out;
      tt_sched *s;
      if (tt_algo_build_named(cases[k].name, &ask, &s)) fail_msg("%s", tutti_error());
      blocks = s->blocks;
      for (uint32_t i = 0; i < s->nsteps; i++) {
        const tt_step *step = &s->steps[i];
        if (tt_step_local(step) || step->peers.first < cases[k].cores) continue;
        *(step->kind == TT_SEND ? &out : &in) += tt_span_size(tt_step_cargo(step));
      }
      if (out - before > most) most = out - before;
      if (cases[k].coll == TUTTI_ALLREDUCE) assert_true(s->tmp_blocks == 0);
      tt_sched_free(s);
    }
    const uint32_t amount[] = {0, blocks, (uint32_t)cases[k].cores};
    if (out != amount[cases[k].out] || in != amount[cases[k].in])
      fail_msg("%s, %s: %u blocks out, %u in, of %u", cases[k].name, tutti_coll_name(cases[k].coll),
               out, in, blocks);
    if (cases[k].most && most > cases[k].most)
      fail_msg("%s, %s: a rank sends %u blocks", cases[k].name, tutti_coll_name(cases[k].coll),
               most);
  }
}

static void wrong_levels_are_refused(void **state) {
  static const names_refusal wrong[] = {
      {"aggregate(node:3 core:4)", "hold 12 ranks with data, so of 12 ranks none helps",
       TUTTI_ALLREDUCE},
      {"aggregate(node:3 core:3,per=core)", "per= names the level of nodes", TUTTI_ALLREDUCE},
      {"aggregate(node:3 core:3,per=rack)", "per= names the level of nodes", TUTTI_ALLREDUCE},
      {"aggregate(node:2 core:5,per=node)", "there are 2 helpers, and a tree has 3",
       TUTTI_ALLREDUCE},
      {"aggregate(node:3 core:3,trees=2)", "there are 3 helpers, and 2 trees over 9",
       TUTTI_ALLREDUCE},
      {"aggregate(node:3 core:3,trees=0)", "trees go from 1", TUTTI_ALLREDUCE},
      {"aggregate(node:3 core:3,arity=2)", "levels say all", TUTTI_ALLREDUCE},
      {"aggregate(node:3 core:3,striped)", "levels say all", TUTTI_ALLREDUCE},
      {"aggregate(data=11,spread)", "spread needs levels", TUTTI_REDUCE},
      {"aggregate(node:3 core:x)", "expected a number", TUTTI_ALLREDUCE},
  };
  (void)state;
  assert_true(names_all_refused(wrong, sizeof wrong / sizeof *wrong, 12));
}

/* ---- which helper serves which ranks ---- */

/* Ranks by rack and node, as "a0 a0 b1"; those after the bar are helpers. */
typedef struct machine {
  int ranks, data;
  tt_placement at[MOST];
  int order[MOST], node_of[MOST], position[MOST];
  tt_layout layout; /* of the ranks with data, and the helpers */
  char levels[TT_TREE_TEXT];
} machine;

static void read_machine(const char *words, machine *m) {
  int order[MOST], place[MOST];
  tt_layout all = {.order = order, .node_of = m->node_of};
  memset(m, 0, sizeof *m);
  for (size_t n; (n = strcspn(words, " ")); words += n + strspn(words + n, " ")) {
    if (*words == '|')
      m->data = m->ranks;
    else
      m->at[m->ranks++] = (tt_placement){.rack = words[0], .node = words[1]};
  }
  assert_int_equal(tt_placement_arrange(m->at, m->ranks, NULL, "", &all), TUTTI_OK);
  memcpy(m->levels, all.levels, sizeof m->levels);
  m->layout = (tt_layout){.order = m->order, .node_of = m->node_of};
  assert_int_equal(tt_helpers_arrange(m->at, m->ranks, m->data, &m->layout), TUTTI_OK);
  for (int v = 0; v < m->ranks; v++) place[order[v]] = v;
  for (int v = 0; v < m->ranks; v++) m->position[v] = place[m->order[v]];
}

static void helpers_serve_where_they_sit(void **state) {
  static const struct {
    const char *words, *levels;
    int helpers[8];
  } cases[] = {
      {"a0 a0 a1 a1 b2 b2 b3 b3 | b4 a5 c6", "rack:2 node:2 core:2", {9, 8, 10}},
      {"a0 a0 a1 a1 b2 b2 b3 b3 | a4 a5 b6", "rack:2 node:2 core:2", {8, 10, 9}},
      {"a0 a0 a1 a1 | a1 a0 b5", "node:2 core:2", {5, 4, 6}},
      {"a0 a1 a0 a1 | a1 a0 a1", "node:2 core:2", {5, 4, 6}},
      {"a0 a0 a1 a1 | b5 c6 d7", "node:2 core:2", {4, 5, 6}}, /* no helper is on a node with data */
      {"a0 a0 b1 b1 | b5 b6 a7 a8 c9 c9", "node:2 core:2", {6, 7, 4, 5, 8, 9}},
      {"a0 a1 b2 b3 | b4 a4 b2 b3 a1 a0 c9", "rack:2 node:2", {9, 8, 6, 7, 5, 4, 10}},
      {"a0 a0 a1 b2 b2 b2 | b4 a4 c9", "rack:2 node:(2,1) core:(2,1,3)", {7, 6, 8}},
      {"a0 a0 a0 | a0 b1", "", {3, 4}},
  };
  (void)state;
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    machine m;
    read_machine(cases[k].words, &m);
    if (strcmp(m.layout.levels, cases[k].levels) != 0)
      fail_msg("'%s': levels '%s'", cases[k].words, m.layout.levels);
    for (int i = 0; i < m.ranks - m.data; i++)
      if (m.order[m.data + i] != cases[k].helpers[i])
        fail_msg("'%s': place %d has rank %d", cases[k].words, i, m.order[m.data + i]);
  }
}

/* Helpers outside the domains that the levels describe. */
static void helpers_sit_beside(void **state) {
  static const struct {
    const char *levels, *all;
    int ranks, helper[9]; /* the position of each helper */
  } cases[] = {
      {"node:2 core:2", "node:3 core:(2*2,1)", 5, {4}},
      {"node:2 core:2", "node:3 core:(3*2,1)", 7, {2, 5, 6}},
      {"rack:2 node:2 core:2", "rack:3 node:(3*2,1) core:(2*2,1,2*2,1*2)", 11, {4, 9, 10}},
      {"rack:2 node:(2,1) core:(2,1,3)", "rack:3 node:(3,2,1) core:(2,1*2,3,1*2)", 9, {3, 7, 8}},
      {"rack:2 node:3", "rack:3 node:(4*2,1)", 9, {3, 7, 8}},
      {"node:3", "node:5", 5, {3, 4}},
      {"package:2 core:4", "package:4 core:(4*2,1*2)", 10, {8, 9}},
  };
  (void)state;
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    char all[TT_TREE_TEXT];
    int position[MOST];
    tt_tree data, tree;
    assert_int_equal(tt_tree_parse(cases[k].levels, &data), TUTTI_OK);
    assert_int_equal(tt_helpers_beside(cases[k].levels, cases[k].ranks, all, position), TUTTI_OK);
    assert_int_equal(tt_tree_parse(all, &tree), TUTTI_OK);
    assert_int_equal(tree.ranks, cases[k].ranks);
    for (int h = 0; h < tree.ranks - data.ranks; h++)
      if (strcmp(all, cases[k].all) != 0 || position[data.ranks + h] != cases[k].helper[h])
        fail_msg("'%s': '%s', helper %d is at %d", cases[k].levels, all, h,
                 position[data.ranks + h]);
  }
}

/* ---- prices and the choice ---- */

static tt_chooser *chooser_of(const machine *m, const int *position) {
  tt_setting s = {.ranks = m->ranks, .data = m->data, .flight = TT_FLIGHT, .position = position};
  tt_chooser *c;
  memcpy(s.levels, m->levels, sizeof m->levels);
  memcpy(s.data_levels, m->layout.levels, sizeof m->layout.levels);
  tt_profile_net(&s.profile);
  assert_int_equal(
      tt_profile_parse(&s.profile, "alpha=2us,rack.beta=1GB/s,node.beta=10GB/s,core.beta=20GB/s",
                       "here"),
      TUTTI_OK);
  if (tt_chooser_new(&s, &c)) fail_msg("%s", tutti_error());
  return c;
}

static double seconds_of(tt_chooser *c, const char *name) {
  const tt_problem p = {.coll = TUTTI_ALLREDUCE, .bytes = 1 << 22};
  tt_breakdown b;
  tt_sends sends;
  if (tt_quote_breakdown(c, plan_named(name), 1, &p, &b, &sends, NULL))
    fail_msg("%s", tutti_error());
  return b.time;
}

static const char two_racks[] =
    "a0 a0 a0 a0 a1 a1 a1 a1 a2 a2 a2 a2 b3 b3 b3 b3 b4 b4 b4 b4 b5 b5 b5 "
    "b5 | b6 a7 a8";

/* Long vectors are sent to the helpers of the racks by tutti's own choice. */
static void levels_are_chosen(void **state) {
  const tt_override none = {0};
  machine m;
  (void)state;
  read_machine(two_racks, &m);
  tt_chooser *c = chooser_of(&m, m.position);
  const tt_problem p = {.coll = TUTTI_ALLREDUCE, .bytes = 1 << 22, .needs = TT_NEED_SAME};
  tt_choice choice;
  assert_int_equal(tt_choose(c, &p, &none, &choice), TUTTI_OK);
  assert_string_equal(choice.plan->text, "aggregate(rack:2 node:3 core:4,per=rack)");
  assert_true(seconds_of(c, choice.plan->text) < seconds_of(c, "aggregate") / 2);
  tt_chooser_free(c);
}

/* Helpers in the wrong racks are slower, and the estimate shows it. */
static void prices_know_where_helpers_sit(void **state) {
  static const char plan[] = "aggregate(rack:2 node:3 core:4,per=rack)";
  int wrong[MOST];
  machine m;
  (void)state;
  read_machine(two_racks, &m);
  memcpy(wrong, m.position, sizeof wrong);
  wrong[24] = m.position[25];
  wrong[25] = m.position[24];
  tt_chooser *right = chooser_of(&m, m.position), *other = chooser_of(&m, wrong);
  assert_true(seconds_of(other, plan) > 1.5 * seconds_of(right, plan));
  tt_chooser_free(right);
  tt_chooser_free(other);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_shape_is_proven),
      cmocka_unit_test(blocks_go_to_ranks_with_data),
      cmocka_unit_test(uneven_shapes_are_proven),
      cmocka_unit_test(a_node_sends_one_vector),
      cmocka_unit_test(wrong_levels_are_refused),
      cmocka_unit_test(helpers_serve_where_they_sit),
      cmocka_unit_test(helpers_sit_beside),
      cmocka_unit_test(levels_are_chosen),
      cmocka_unit_test(prices_know_where_helpers_sit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
