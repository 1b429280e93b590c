/* two_level.c - each node reduces to its leader, the leaders allreduce, and each distributes the result.
 *
 * Idea       The ranks of a node send their vectors to its first rank, the leader, which adds them in one pass. The
 *            leaders run a ring (or another algorithm) among themselves, and each sends the result to its node. Nodes may
 *            differ in size. With scatter, each rank of a node reduces a part of the vector, by a fold, and sends it to
 *            the leader; the results take the same path in reverse. With two-shot, each leader adds its part of all
 *            nodes' sums and sends it to all leaders. A number is then sent between nodes once before it is added and
 *            once after, but not in between.
 * Cost       2 steps and those among the leaders. The leader of a node with N ranks moves N-1 vectors in each direction
 *            within its node, plus the data that the leaders' algorithm moves between nodes.
 * Scratch    That of the leaders' algorithm.
 * Invariant  The leaders run their algorithm in place on dst, which holds the node's sum.
 * Parameters the nodes, as in algo_pattern.h; ring (the default) | halving | doubling | two-shot: the leaders' algorithm;
 *            scatter: only for nodes of the same size.
 * Source     Jia et al., Highly Scalable Deep Learning Training System with
 *            Mixed-Precision, 2018.
 * See        tutti plan draw 'two-level(node=4)' -n 7
 * SPDX-License-Identifier: BSD-3-Clause */
#include "algo_pattern.h"

static const char *twolevel_refuse(const tt_ask *ask) {
  static const char *const leaders[] = {"ring", "halving", "doubling", "two-shot"};
  if (tt_param_count(ask, leaders, 4) > 1)
    return "ring, halving, doubling and two-shot exclude each other";
  const char *wrong = tt_nodes_refuse(ask);
  if (wrong || !tt_param_given(ask, "scatter")) return wrong;
  const tt_nodes nodes = tt_nodes_of(ask);
  return nodes.each && ask->ranks % nodes.each == 0 ? NULL : "scatter wants nodes of one size";
}

/* Returns the number of parts among the ranks of a node, multiplied by the number of parts among the leaders. */
static uint32_t twolevel_blocks(const tt_ask *ask) {
  const tt_nodes nodes = tt_nodes_of(ask);
  return (uint32_t)((tt_param_given(ask, "scatter") ? nodes.each : 1) *
                    (tt_param_given(ask, "doubling") ? 1 : nodes.count));
}

/* Converts a span of another algorithm, whose blocks are `times` as long as the blocks of this algorithm. */
static tt_span finer(tt_span span, uint32_t times) {
  span.base *= times;
  span.first *= times;
  span.count *= times;
  span.ring *= times;
  return span;
}

/* Inserts steps [lo, hi) of a schedule for fewer ranks. Its ranks are either the leaders or consecutive ranks from `first` up. */
static void embed(tt_builder *b, const tt_sched *s, uint32_t lo, uint32_t hi, int first,
                  const tt_nodes *leaders) {
  const uint32_t times = b->s->blocks / s->blocks;
  for (uint32_t i = lo; i < hi; i++) {
    tt_step step = s->steps[i];
    step.peers.first =
        leaders ? tt_node_first(leaders, step.peers.first) : first + step.peers.first;
    step.completes = step.completes && (leaders || s->ranks == b->s->ranks);
    step.dst = finer(step.dst, times);
    step.own = finer(step.own, times);
    step.in = finer(step.in, times);
    step.in_step *= times;
    tt_build_step(b, &step);
  }
}

/* Runs the leaders' two-shot on vectors in `have`. Operands are received one by one, because leaders have no fixed stride. */
static void each_a_part(tt_builder *b, const tt_nodes *nodes, int me, tt_buf have) {
  const int n = nodes->count;
  const uint32_t times = b->s->blocks / (uint32_t)n;
  const tt_span sum = finer(tt_block(TT_DST, (uint32_t)me), times);
  tt_span own = finer(tt_block(have, (uint32_t)me), times);
  for (int i = 1; i < n; i++) {
    const int to = (me + i) % n;
    tt_send(b, tt_node_first(nodes, to), finer(tt_block(have, (uint32_t)to), times));
  }
  for (int i = 1; i < n; i++) {
    tt_recv_reduce(b, tt_node_first(nodes, tt_mod(me - i, n)), sum, own, TT_OWN_FIRST);
    own = sum;
  }
  tt_mark_completes(b);
  for (int i = 1; i < n; i++) tt_send(b, tt_node_first(nodes, (me + i) % n), sum);
  for (int i = 1; i < n; i++) {
    const int from = tt_mod(me - i, n);
    tt_recv(b, tt_node_first(nodes, from), finer(tt_block(TT_DST, (uint32_t)from), times));
  }
}

/* Appends the steps of the leaders, built by an algorithm with one peer per step. If a leader is alone in its node, its
 * vector is still in src. */
static void among_leaders(tt_builder *b, const tt_ask *ask, const tt_nodes *nodes, bool alone) {
  const char *name = tt_param_given(ask, "doubling")  ? "doubling"
                     : tt_param_given(ask, "halving") ? "fold(halving)"
                                                      : "fold(ring)";
  const tt_ask leaders = {.coll = TUTTI_ALLREDUCE,
                          .ranks = nodes->count,
                          .rank = tt_node_at(nodes, ask->rank),
                          .in_place = ask->in_place || !alone};
  tt_sched *s;
  if (tt_param_given(ask, "two-shot")) {
    each_a_part(b, nodes, leaders.rank, alone ? TT_SRC : TT_DST);
    return;
  }
  b->status = tt_algo_build_named(name, &leaders, &s);
  if (b->status) return;
  embed(b, s, 0, s->nsteps, 0, nodes);
  tt_sched_free(s);
}

/* Folds the vector within the node and sends the parts to the leader. Later distributes the results in the reverse order. */
static void scattered(tt_builder *b, const tt_ask *ask, const tt_nodes *nodes, int leader) {
  const uint32_t each = b->s->blocks / (uint32_t)nodes->each;
  const tt_ask node = {.coll = TUTTI_ALLREDUCE,
                       .ranks = nodes->each,
                       .rank = ask->rank - leader,
                       .in_place = ask->in_place};
  const tt_span own = finer(tt_block(TT_DST, (uint32_t)node.rank), each);
  tt_sched *s;
  uint32_t down = 0;
  b->status = tt_algo_build_named("fold(halving)", &node, &s);
  if (b->status) return;
  while (!s->steps[down].completes) down++;
  embed(b, s, 0, ++down, leader, NULL);
  if (node.rank) tt_send(b, leader, own);
  for (int i = 1; i < nodes->each && !node.rank; i++)
    tt_recv(b, leader + i, finer(tt_block(TT_DST, (uint32_t)i), each));
  if (!node.rank && nodes->count > 1) among_leaders(b, ask, nodes, false);
  for (int i = 1; i < nodes->each && !node.rank; i++)
    tt_send(b, leader + i, finer(tt_block(TT_DST, (uint32_t)i), each));
  if (node.rank) tt_recv(b, leader, own);
  embed(b, s, down, s->nsteps, leader, NULL);
  tt_sched_free(s);
}

static void twolevel_build(tt_builder *b, const tt_ask *ask) {
  const tt_nodes nodes = tt_nodes_of(ask);
  const int here = tt_node_at(&nodes, ask->rank), leader = tt_node_first(&nodes, here);
  const int size = tt_node_first(&nodes, here + 1) - leader;
  const uint32_t blocks = twolevel_blocks(ask);
  if (tt_param_given(ask, "scatter") && size > 1) {
    scattered(b, ask, &nodes, leader);
    return;
  }
  const tt_span src = tt_range(TT_SRC, 0, blocks, blocks),
                dst = tt_range(TT_DST, 0, blocks, blocks);
  if (ask->rank != leader) {
    tt_send(b, leader, src);
    tt_recv(b, leader, dst);
    return;
  }
  const tt_peers node = {leader, size, 1};
  if (size > 1) tt_recv_reduce_all(b, node, dst, src, TT_OWN_AMONG);
  if (nodes.count > 1)
    among_leaders(b, ask, &nodes, size == 1);
  else
    tt_mark_completes(b);
  if (size > 1) tt_send_all(b, node, dst);
}

void tt_rounding_twice_nodes_text(tt_text *name, const int *ranks, int nodes) {
  tt_text_add(name, "two-level(node:(");
  for (int i = 0; i < nodes; i++) tt_text_add(name, "%s%d", i ? "," : "", ranks[i]);
  tt_text_add(name, "),two-shot)");
}

const tt_algo tt_twolevel_algo = {
    .name = "two-level",
    .does = TT_DOES_ALLREDUCE,
    .params = {TT_PARAM_NODE,
               {"LEVEL:N", TT_PARAM_LEVELS},
               {"ring"},
               {"halving"},
               {"doubling"},
               {"two-shot"},
               {"scatter"}},
    .refuse = twolevel_refuse,
    .blocks = twolevel_blocks,
    .build = twolevel_build,
    .plan = {{"LEVELS,ring", 0}, {"LEVELS,halving", 0}, {"LEVELS,doubling", 0}},
    .entries = {{"two-level(node=4)", TT_NAMED, "nodes of 4 add up, their leaders run a ring",
                 "Jia et al. 2018"}},
};
