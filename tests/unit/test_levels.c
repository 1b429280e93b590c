/* Levels: topologies are parsed, BlueConnect matches the figure of its paper, and uneven groups send no more
 * between each other than even ones.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>

#include "names.h"
#include "topo_tree.h"
#include "tutti_plan.h"

static tutti_report proven(const char *name, int P) {
  tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = P, .in_place = P % 2};
  tutti_report r;
  if (!names_prove(name, &ask, &r)) fail_msg("%s on %d ranks: %s", name, P, r.witness);
  return r;
}

static tt_sched *built(const char *name, int P, int rank) {
  tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = P, .rank = rank};
  tt_sched *s;
  if (tt_algo_build_named(name, &ask, &s)) fail_msg("%s", tutti_error());
  return s;
}

/* Cho et al., figure 4: 12 ranks as 2 racks of 2 nodes of 3, A0 A1 A2 B0 .. D2. The ranks of a node
 * reduce-scatter N, nodes N/3, racks N/6; A0 ends with part 0, C0 with part 1, B0 with part 2. */
static void blueconnect_is_figure_4(void **state) {
  static const int parts[12] = {0, 4, 8, 2, 6, 10, 1, 5, 9, 3, 7, 11};
  (void)state;
  for (int rank = 0; rank < 12; rank++) {
    tt_sched *s = built("blueconnect(rack:2 node:2 core:3,ring)", 12, rank);
    int sent[3] = {0}, steps[3] = {0};
    const tt_step *sum = NULL;
    for (uint32_t i = 0; i < s->nsteps; i++) {
      const tt_step *step = &s->steps[i];
      const int peer = step->peers.first, apart = abs(peer - rank);
      const int level = peer / 3 == rank / 3 ? 0 : apart == 3 ? 1 : 2;
      if (step->kind == TT_RECV) break; /* the second half begins */
      assert_true(level == 0 || (level == 1 && peer / 6 == rank / 6) || apart == 6);
      if (step->kind == TT_SEND && (!sum || !sum->completes)) {
        sent[level] += (int)tt_span_size(&step->own);
        steps[level]++;
      }
      if (step->kind == TT_RECV_REDUCE) sum = step;
    }
    assert_true(steps[0] == 2 && steps[1] == 1 && steps[2] == 1);
    assert_true(sent[0] == 8 && sent[1] == 2 && sent[2] == 1);
    assert_int_equal(tt_span_size(&sum->dst), 1);
    assert_int_equal(tt_span_block(&sum->dst, 0), parts[rank]);
    tt_sched_free(s);
  }
}

/* The group that holds rank r, by the groups' sizes. */
static int node_of(const int *sizes, int r) {
  int node = 0;
  for (; r >= sizes[node]; node++) r -= sizes[node];
  return node;
}

/* Nodes of different sizes: each sends the others as much as n equal nodes would, 2(n-1)/n of a vector, and no
 * rank sends much more than its share of that. */
static void uneven_nodes_send_the_least(void **state) {
  static const struct {
    const char *name;
    int P, nodes, sizes[5];
  } cases[] = {
      {"blueconnect(node:(4,3))", 7, 2, {4, 3}},
      {"blueconnect(node:(4,3,4))", 11, 3, {4, 3, 4}},
      {"blueconnect(node:(4,3,4),ring)", 11, 3, {4, 3, 4}},
      {"blueconnect(node:(1,5,2))", 8, 3, {1, 5, 2}},
      {"blueconnect(node:(16,15,13,16),seq=4.3.2.1/halving)", 60, 4, {16, 15, 13, 16}},
      {"blueconnect(node:4 core:(9,8,7,6))", 30, 4, {9, 8, 7, 6}},
      {"blueconnect(node:(31,32))", 63, 2, {31, 32}},
  };
  (void)state;
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    const int P = cases[k].P, n = cases[k].nodes;
    int64_t out[5] = {0};
    double blocks = 1;
    for (int r = 0; r < P; r++) {
      tt_sched *s = built(cases[k].name, P, r);
      const int node = node_of(cases[k].sizes, r);
      int64_t mine = 0;
      for (uint32_t i = 0; i < s->nsteps; i++)
        if (s->steps[i].kind == TT_SEND && node_of(cases[k].sizes, s->steps[i].peers.first) != node)
          mine += tt_span_size(&s->steps[i].own);
      blocks = s->blocks;
      out[node] += mine;
      assert_true((double)mine <=
                  1.25 * blocks * 2 * (n - 1) / n / cases[k].sizes[node] + 1e-9 * blocks);
      tt_sched_free(s);
    }
    int64_t all = 0;
    for (int node = 0; node < n; node++) all += out[node];
    assert_true((double)all == 2 * (n - 1) * blocks);
    tutti_report r = proven(cases[k].name, P);
    assert_true(r.same_grouping);
  }
}

/* A level without a list between two levels that have one. */
static void lists_stay_apart(void **state) {
  tt_tree t;
  (void)state;
  assert_int_equal(tt_tree_parse("rack:2 node:(2,1) socket:1 core:(3,4,5)", &t), TUTTI_OK);
  assert_int_equal(t.ranks, 12);
  assert_int_equal(tt_tree_count(&t, 1, 0), 2);
  assert_int_equal(tt_tree_count(&t, 1, 1), 1);
  assert_int_equal(tt_tree_first(&t, 3, 2), 7);
}

/* Even levels are a fold on the product of circles: nothing more is sent. */
static void even_levels_send_the_least(void **state) {
  static const struct {
    const char *name;
    int P, steps;
  } cases[] = {
      {"blueconnect(rack:3 node:2 core:2)", 12, 8},
      {"blueconnect(rack:3 node:16 core:4)", 192, 16},
      {"blueconnect(rack:3 node:16 core:4,seq=ring/halving/4.3.2.1)", 192, 18},
      {"blueconnect(a:2 b:2 c:2 d:2 e:3 f:5)", 240, 18},
      {"blueconnect(node:127,ring)", 127, 252},
  };
  (void)state;
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    tutti_report r = proven(cases[k].name, cases[k].P);
    assert_true(r.steps == cases[k].steps && r.messages == r.steps);
    assert_true(r.sent_blocks == 2 * (cases[k].P - 1) && r.reduced == cases[k].P - 1);
  }
}

static void topologies_are_read(void **state) {
  static const struct {
    const char *text, *says; /* NULL: valid */
    int ranks;
  } cases[] = {
      {"rack:3 node:16 core:4", NULL, 192},
      {"node:(4,3,4)", NULL, 11},
      {"node:3 core:(4,3,4)", NULL, 11},
      {"rack:2 node:(4,3,4,4)", NULL, 15},
      {"rack:2 node:(4,3)", NULL, 7},
      {" rack:2  node:(3,1) core:4 ", NULL, 16},
      {"", "character 1: expected a level", 0},
      {"node", "expected a level", 0},
      {"node:", "expected a number of at least 1", 0},
      {"node:0", "expected a number of at least 1", 0},
      {"node:-2", "expected a number", 0},
      {"node:2x", "expected a blank", 0},
      {"node:(2", "expected a list such as", 0},
      {"node:()", "expected a list such as", 0},
      {"node:2 core:(1,2,3)", "for each thing of the level above", 0},
      {"node:(2,3) core:4", "for each thing of the level above", 0},
      {"a:1000 b:1000 c:1000 d:1000", "at most 1048576 ranks", 0},
      {"a:99999999999", "expected a number", 0},
      {"a:1 b:1 c:1 d:1 e:1 f:1 g:1 h:1 i:1 j:1 k:1 l:1 m:1", "at most 11 levels", 0},
  };
  (void)state;
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    tt_tree tree;
    tutti_status status = tt_tree_parse(cases[k].text, &tree);
    assert_int_equal(status, cases[k].says ? TUTTI_ERR_ARG : TUTTI_OK);
    if (cases[k].says && !strstr(tutti_error(), cases[k].says))
      fail_msg("'%s' does not say '%s'", tutti_error(), cases[k].says);
    if (!cases[k].says) assert_int_equal(tree.ranks, cases[k].ranks);
  }
}

static void what_blueconnect_refuses(void **state) {
  static const names_refusal cases[] = {
      {"blueconnect", "it needs the levels", TUTTI_ALLREDUCE},
      {"blueconnect(node:4 core:2)", "hold 8 ranks, not 12", TUTTI_ALLREDUCE},
      {"blueconnect(node:4 core)", "character 8", TUTTI_ALLREDUCE},
      {"blueconnect(node:4 core:3)", "do that", TUTTI_REDUCE},
      {"blueconnect(node:4 core:3,seq=ring/ring/ring)", "one per level", TUTTI_ALLREDUCE},
      {"blueconnect(node:4 core:3,seq=4.1/ring)", "at least half", TUTTI_ALLREDUCE},
      {"blueconnect(node:(5,7),seq=ring/5.3.2.1)", "at least half", TUTTI_ALLREDUCE},
  };
  (void)state;
  assert_true(names_all_refused(cases, sizeof cases / sizeof *cases, 12));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(blueconnect_is_figure_4),    cmocka_unit_test(uneven_nodes_send_the_least),
      cmocka_unit_test(even_levels_send_the_least), cmocka_unit_test(topologies_are_read),
      cmocka_unit_test(what_blueconnect_refuses),   cmocka_unit_test(lists_stay_apart),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
