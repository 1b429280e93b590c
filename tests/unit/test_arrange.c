/* Rank order that differs from the placement: every collective gives the same result with every plan, and only
 * the messages that the levels require cross between nodes.
 *
 * Usage      TUTTI_TEST_SEED=n repeats a run.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../cli/configure.h"
#include "algo.h"
#include "build_comm.h"
#include "by_name.h"
#include "cover.h"
#include "placement.h"
#include "seconds.h"
#include "short.h"
#include "tutti_plan.h"

enum { MOST = 12 };

/* The rack and node of each rank; its package and cache, if all are on one node. */
static const char *const shapes[] = {
    "a0 a1 a0 a1 a0 a1",
    "a0 a1 a2 a0 a1 a2 a0",
    "a0 a1 a2 a0 a2 a0",
    "a0 a0 a0 a1 a2 a2",
    "b1 a0",
    "a0 b1 a0 b1 a2 b3 a2 b3",
    "a0 b1 a2 b3 a0 b1 a2 b3 b1",
    "a0px a0qx a0px a0qx a0py a0qy a0py a0qy",
    "a0px a0qx a0py a0px a0py",
    "a0px a0px a0py a0py a0qx a0qx", /* by TUTTI_TOPO, on two NUMA nodes */
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static uint64_t seed;
static cover_ops ops;

typedef struct shape {
  int ranks, order[MOST], node_of[MOST];
  tt_layout layout;
} shape;

static void read_shape(const char *words, shape *s) {
  tt_placement placements[MOST] = {0};
  s->ranks = 0;
  for (size_t n; (n = strcspn(words, " ")); words += n + strspn(words + n, " ")) {
    tt_placement *p = &placements[s->ranks++];
    *p = (tt_placement){.rack = words[0], .node = words[1]};
    if (n > 2) p->package = words[2];
    if (n > 3) p->cache = words[3];
  }
  s->layout = (tt_layout){.order = s->order, .node_of = s->node_of};
  assert_int_equal(tt_placement_arrange(placements, s->ranks, NULL, "", &s->layout), TUTTI_OK);
}

static void make(const shape *s, tutti_comm **comms) {
  const bool declared = s->layout.nodes == 1 && s->ranks == 6;
  if (declared) setenv("TUTTI_TOPO", "numa:2 cache:(2,1) core:2", 1);
  assert_int_equal(tutti_comm_from_threads(s->ranks, comms), TUTTI_OK);
  unsetenv("TUTTI_TOPO");
  if (declared) assert_string_equal(comms[0]->plans->setting.levels, "numa:2 cache:(2,1) core:2");
  for (int r = 0; r < s->ranks && !declared; r++)
    assert_int_equal(tt_comm_arrange(comms[r], &s->layout, 1), TUTTI_OK);
}

static void drop(tutti_comm **comms, int ranks) {
  for (int r = 0; r < ranks; r++) assert_int_equal(tutti_comm_free(comms[r]), TUTTI_OK);
}

/* ---- the same results ---- */

typedef struct rank {
  const shape *shape;
  tutti_comm *comm, *side;
  pthread_t thread;
  int failed;
} rank;

/* The i-th plan: tutti's choice, then the proposals for these levels, then the table. */
static bool plan_at(const shape *s, int i, char *name) {
  int proposed = 0;
  tt_plan_walk at = {0};
  snprintf(name, NAME, "auto");
  if (i-- == 0) return true;
  while (proposed <= i && next_named(s->ranks, s->layout.levels, &at, name, NAME)) proposed++;
  if (proposed > i) return true;
  const char *listed = tutti_algo_name(i - proposed, NULL);
  if (listed) snprintf(name, NAME, "%s", listed);
  return listed;
}

static void *live(void *arg) {
  rank *me = arg;
  const int P = me->shape->ranks;
  char name[NAME], line[400], why[700];
  bool over = false;
  cover_ops mine = ops;
  size_t n = 0;
  if (!cover_make_scaled(&mine, tutti_comm_rank(me->comm))) me->failed++;
  for (int i = 0; plan_at(me->shape, i, name) && !over; i++)
    for (int coll = 0; coll < TUTTI_COLL_COUNT && !over; coll++) {
      cover_case c = cover_case_at(P, seed, n++);
      if (known_named(name, P) && strcmp(name, "auto") != 0) continue;
      if (strcmp(name, "auto") != 0 && !does_named(name, (tutti_coll)coll)) continue;
      snprintf(c.algo, sizeof c.algo, "%.127s", name);
      c.coll = (tutti_coll)coll;
      c.helpers = strcmp(name, "auto") == 0 ? c.helpers : 0;
      c.root = (int)(n % (size_t)(P - c.helpers));
      c.count %= 600;
      if (cover_prefix(c.coll) && c.op == TUTTI_AVG) c.op = TUTTI_SUM;
      if (cover_run(me->comm, me->side, &mine, &c, &over, why, sizeof why)) continue;
      me->failed++;
      cover_print(&c, line, sizeof line);
      print_error("rank %d of '%s': %s\n%s\n", tutti_comm_rank(me->comm), me->shape->layout.levels,
                  why, line);
    }
  cover_drop_scaled(&mine);
  return NULL;
}

static void results_are_the_same(void **state) {
  for (int k = 0; k < SHAPES; k += shorter(1, 2)) {
    tutti_comm *comms[MOST], *sides[MOST];
    rank ranks[MOST] = {{0}};
    int failed = 0;
    shape s;
    (void)state;
    read_shape(shapes[k], &s);
    make(&s, comms);
    assert_int_equal(tutti_comm_from_threads(s.ranks, sides), TUTTI_OK);
    for (int r = 0; r < s.ranks; r++) {
      ranks[r] = (rank){.shape = &s, .comm = comms[r], .side = sides[r]};
      assert_int_equal(pthread_create(&ranks[r].thread, NULL, live, &ranks[r]), 0);
    }
    for (int r = 0; r < s.ranks; r++) {
      pthread_join(ranks[r].thread, NULL);
      failed += ranks[r].failed;
    }
    drop(comms, s.ranks);
    drop(sides, s.ranks);
    assert_int_equal(failed, 0);
  }
}

/* ---- which ranks communicate ---- */

static const tt_plan *planned(tutti_comm *comm, tutti_coll coll, tutti_op op, int root) {
  const tt_call call = {.coll = coll, .count = 64, .type = TUTTI_INT32, .op = op, .root = root};
  const tt_plan *plan;
  if (tt_plan_for(comm, &call, false, &plan)) fail_msg("%s", tutti_error());
  return plan;
}

/* Is the rank its node's first in the tree's order? */
static bool leads(const shape *s, int r) {
  for (int v = 0; v < s->ranks; v++)
    if (s->node_of[s->order[v]] == s->node_of[r]) return s->order[v] == r;
  return false;
}

static void leaders_speak_for_their_nodes(void **state) {
  (void)state;
  for (int k = 0; k < SHAPES; k++) {
    tutti_comm *comms[MOST];
    shape s;
    char name[NAME + 20];
    int crossing = 0;
    read_shape(shapes[k], &s);
    if (s.layout.nodes == 1 || !strstr(s.layout.levels, "core:")) continue; /* every rank leads */
    make(&s, comms);
    snprintf(name, sizeof name, "two-level(%s,doubling)", s.layout.levels);
    for (int r = 0; r < s.ranks; r++) {
      assert_int_equal(comm_set_algorithm(comms[r], name), TUTTI_OK);
      const tt_program *p = planned(comms[r], TUTTI_ALLREDUCE, TUTTI_SUM, 0)->exec.program;
      assert_string_equal(p->sched->name, name);
      for (uint32_t i = 0; i < p->ntransfers; i++) {
        const int peer = p->transfers[i].peer;
        if (s.node_of[peer] == s.node_of[r]) continue;
        assert_true(leads(&s, r) && leads(&s, peer));
        crossing++;
      }
    }
    assert_true(crossing > 0);
    drop(comms, s.ranks);
  }
}

static void ordered(const void *a, const void *b, void *dst, size_t n, tutti_type t, void *ctx) {
  cover_ordered_op(a, b, dst, n, t, ctx);
}

/* Collectives with blocks per rank, ordered ops and helpers keep the rank order. A rearranged plan has a
 * different hash, so ranks that rearrange and ranks that do not detect the mismatch. */
static void only_what_may_is_arranged(void **state) {
  static const struct {
    tutti_coll coll;
    bool ordered, arranged;
  } cases[] = {
      {TUTTI_ALLREDUCE, false, true},       {TUTTI_BROADCAST, false, true},
      {TUTTI_REDUCE, false, true},          {TUTTI_BARRIER, false, true},
      {TUTTI_ALLREDUCE, true, false},       {TUTTI_REDUCE, true, false},
      {TUTTI_BROADCAST, true, true},        {TUTTI_SCAN, false, false},
      {TUTTI_GATHER, false, false},         {TUTTI_SCATTER, false, false},
      {TUTTI_EXSCAN, false, false},         {TUTTI_ALLGATHER, false, false},
      {TUTTI_REDUCE_SCATTER, false, false}, {TUTTI_ALLTOALL, false, false},
  };
  tutti_comm *comms[MOST], *plain[MOST];
  tutti_op op;
  shape s;
  (void)state;
  read_shape(shapes[0], &s);
  make(&s, comms);
  assert_int_equal(tutti_comm_from_threads(s.ranks, plain), TUTTI_OK);
  assert_int_equal(tutti_op_create(ordered, NULL, 0, &op), TUTTI_OK);
  for (int helpers = 0; helpers < 2; helpers++) {
    assert_int_equal(comm_set_helpers(comms[1], helpers), TUTTI_OK);
    assert_int_equal(comm_set_helpers(plain[1], helpers), TUTTI_OK);
    if (helpers) assert_int_equal(tt_chooser_model(comms[1]->plans->helped.chooser)->levels, 2);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
      const tutti_coll coll = cases[k].coll;
      if (helpers && (cases[k].ordered || (coll != TUTTI_ALLREDUCE && coll != TUTTI_BROADCAST)))
        continue;
      const bool arranged = cases[k].arranged && !helpers;
      const char *override =
          coll == TUTTI_ALLREDUCE && !cases[k].ordered && !helpers ? "fold(ring)" : NULL;
      assert_int_equal(comm_set_algorithm(comms[1], override), TUTTI_OK);
      assert_int_equal(comm_set_algorithm(plain[1], override), TUTTI_OK);
      const tutti_op its = cases[k].ordered ? op : TUTTI_SUM;
      const tt_plan *mine = planned(comms[1], coll, its, 4),
                    *other = planned(plain[1], coll, its, 4);
      assert_true((mine->exec.program->order != NULL) == arranged);
      assert_int_equal(mine->exec.program->sched->rank, arranged ? 3 : 1);
      if (arranged && tt_coll_rooted(coll)) assert_int_equal(mine->exec.program->sched->root, 2);
      if (!arranged && tt_coll_rooted(coll)) assert_int_equal(mine->exec.program->sched->root, 4);
      if (arranged) assert_true(mine->hash != other->hash);
      if (!arranged) assert_null(strchr(mine->exec.program->sched->name, ':'));
    }
  }
  /* a shared-memory loop goes by ranks */
  for (int i = 0; i < 2; i++) {
    tutti_comm *comm = i ? comms[0] : plain[0];
    assert_int_equal(comm_set_helpers(comm, 0), TUTTI_OK);
    assert_int_equal(comm_set_algorithm(comm, "one-shot"), TUTTI_OK);
    assert_true((planned(comm, TUTTI_ALLREDUCE, TUTTI_SUM, 0)->exec.program->shape ==
                 TT_SHAPE_ONE_SHOT) == (i == 0));
  }
  tutti_op_free(op);
  drop(comms, s.ranks);
  drop(plain, s.ranks);
}

/* Ranks of one machine keep the specialized fast paths and the cost estimates of shared memory, in any rank
 * order. Plans in which not every rank reads from all others are rearranged. */
static void one_machine_keeps_its_loops(void **state) {
  static const struct {
    const char *plan;
    bool arranged;
    tt_shape shape;
  } cases[] = {{"one-shot", false, TT_SHAPE_ONE_SHOT},
               {"two-shot", false, TT_SHAPE_TWO_SHOT},
               {"multiplying(radix=2)", true, TT_SHAPE_ROUNDS},
               {"fold(ring)", true, TT_SHAPE_NONE},
               {"blueconnect(package:2 cache:2 core:2)", true, TT_SHAPE_NONE}};
  tutti_comm *comms[MOST];
  shape s;
  (void)state;
  read_shape("a0px a0qx a0px a0qx a0py a0qy a0py a0qy", &s);
  make(&s, comms);
  const tt_setting *setting = &comms[1]->plans->setting;
  assert_true(setting->ranks_per_core > 0 && setting->has_loop && setting->inside == 3);
  assert_string_equal(setting->levels, "package:2 cache:2 core:2");
  assert_true(tt_chooser_model(comms[1]->plans->chooser)->link[0].alpha <= 0);
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    assert_int_equal(comm_set_algorithm(comms[1], cases[k].plan), TUTTI_OK);
    const tt_program *p = planned(comms[1], TUTTI_ALLREDUCE, TUTTI_SUM, 0)->exec.program;
    assert_true((p->order != NULL) == cases[k].arranged && p->shape == cases[k].shape);
    assert_int_equal(p->sched->rank, cases[k].arranged ? 4 : 1);
  }
  drop(comms, s.ranks);
}

/* Levels declared in TUTTI_TOPO apply to thread ranks, and to communicators split from them. */
static void declared_levels_hold(void **state) {
  static const struct {
    const char *topology, *levels, *says; /* levels: of the communicator, or NULL with an error */
  } cases[] = {
      {"package:2 numa:2 core:2", "package:2 numa:2 core:2", NULL},
      {"cache:(3,5)", "cache:2 core:(3,5)", NULL},
      {"node:2 core:4", "", NULL}, /* for communicators over a network */
      {"rack:9", "", NULL},
      {"numa:2 core:2", NULL, "TUTTI_TOPO: the topology 'numa:2 core:2' holds 4 ranks, not 8"},
      {"cache:2 core:x", NULL, "character 14: expected a number"}};
  tutti_comm *comms[MOST];
  (void)state;
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    setenv("TUTTI_TOPO", cases[k].topology, 1);
    const tutti_status status = tutti_comm_from_threads(8, comms);
    unsetenv("TUTTI_TOPO");
    assert_int_equal(status, cases[k].levels ? TUTTI_OK : TUTTI_ERR_ARG);
    if (status && !strstr(tutti_error(), cases[k].says)) fail_msg("%s", tutti_error());
    if (status) continue;
    assert_string_equal(comms[5]->plans->setting.levels, cases[k].levels);
    const int last[] = {4, 5, 6, 7};
    tutti_comm *half = tt_comm_among(comms[5], last, 4, 1);
    assert_true(half && half->info[3].placement.package == comms[7]->info[7].placement.package);
    free(half->info);
    tt_heap_close(half->heap);
    free(half);
    drop(comms, 8);
  }
}

/* Ranks that are already in placement order are not remapped, and still have levels. */
static void who_sits_well_stays(void **state) {
  tutti_comm *comms[MOST];
  shape s;
  (void)state;
  read_shape("a0 a0 a0 a1 a1 a1", &s);
  make(&s, comms);
  assert_null(comms[0]->plans->order);
  assert_null(comms[0]->plans->flat);
  assert_string_equal(comms[0]->plans->setting.levels, "node:2 core:3");
  assert_int_equal(comms[0]->plans->setting.inside, 1);
  const tt_cost_model *p = tt_chooser_model(comms[0]->plans->chooser);
  const tt_profile *m = &comms[0]->plans->setting.profile;
  assert_true(p->link[0].alpha == m->net.alpha && p->link[1].alpha == 2 * m->shm.message);
  drop(comms, s.ranks);
}

/* ---- prices ---- */

/* Within a node a level costs the same as shared memory, unless it has its own model parameters. */
static void levels_within_a_node_are_shared_memory(void **state) {
  tt_profile m;
  tt_tree tree;
  tt_cost_model net, p;
  (void)state;
  tt_profile_shm(&m);
  assert_int_equal(
      tt_profile_parse(&m,
                       "alpha=30us,beta=1e-9,node.beta=5e-10,core.beta=3e-11,x.alpha=1,"
                       "shm.message=1us,shm.wake=2us,shm.turn=3us,shm.copy=1e-10",
                       "test"),
      TUTTI_OK);
  assert_int_equal(tt_tree_parse("rack:2 node:3 cache:2 core:4", &tree), TUTTI_OK);
  tt_cost_net(&m, 48, &tree, &net);
  p = net;
  tt_cost_inside(&m, 0, 1, &p);
  assert_memory_equal(&p, &net, sizeof p);
  for (int ranks_per_core = 1; ranks_per_core < 3; ranks_per_core++) {
    p = net;
    tt_cost_inside(&m, 2, ranks_per_core, &p);
    assert_memory_equal(p.link, net.link, 2 * sizeof *p.link);
    assert_true(fabs(p.link[1].alpha - 30e-6) < 1e-12 && p.link[1].beta == 5e-10);
    assert_true(fabs(p.link[2].alpha - 2e-6) < 1e-12 && p.link[2].beta == 2e-10);
    assert_true(fabs(p.link[2].L - (ranks_per_core > 1 ? 3e-6 : 2e-6)) < 1e-12);
    assert_true(p.link[3].alpha == p.link[2].alpha && p.link[3].beta == 3e-11);
  }
  assert_int_equal(tt_figures_known(&m, &net), TUTTI_ERR_ARG);
  assert_non_null(strstr(tutti_error(), "the level 'x'"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(results_are_the_same),
      cmocka_unit_test(leaders_speak_for_their_nodes),
      cmocka_unit_test(only_what_may_is_arranged),
      cmocka_unit_test(who_sits_well_stays),
      cmocka_unit_test(one_machine_keeps_its_loops),
      cmocka_unit_test(declared_levels_hold),
      cmocka_unit_test(levels_within_a_node_are_shared_memory),
  };
  end_after(230);
  tutti_op_create(cover_user_op, NULL, 1, &ops.user);
  tutti_op_create(cover_ordered_op, NULL, 0, &ops.ordered);
  seed = cover_seed();
  printf("# seed %llu\n", (unsigned long long)seed);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
