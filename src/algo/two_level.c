/* two_level.c - leaders: a node adds up, the nodes' first ranks allreduce, and tell.
 *
 * Idea       the ranks of a node send their vectors to its first rank, the leader, who
 *            sums them in one pass; the leaders run a ring (or another algorithm)
 *            among themselves; each sends the result to its node. Nodes may differ in
 *            size: 4 ranks here, 3 there.
 * Cost       2 steps, and those among the leaders; that of N ranks moves N-1 vectors
 *            each way in its node, and what the leaders' algorithm moves between.
 * Scratch    the leaders' algorithm's.
 * Invariant  what the leaders run, they run in place on dst, where a node's sum is.
 * Parameters the nodes, as in algo_nodes.h; ring (if nothing is said) | halving | doubling: the
 * leaders'. Source     Jia et al., Highly Scalable Deep Learning Training System with
 *            Mixed-Precision, 2018.
 * See        tutti plan draw 'two-level(node=4)' -P 7
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>

#include "algo_nodes.h"

const char *tt_twolevel_refuse(const tt_ask *ask);
uint32_t tt_twolevel_blocks(const tt_ask *ask);
void tt_twolevel_build(tt_builder *b, const tt_ask *ask);
bool tt_twolevel_samples(int ranks, int i, char *params, size_t size);

const char *tt_twolevel_refuse(const tt_ask *ask) {
  const char *wrong = tt_param_refuse(ask, "node= LEVEL:N ring halving doubling");
  if (wrong) return wrong;
  if (tt_param_word(ask, "ring") + tt_param_word(ask, "halving") + tt_param_word(ask, "doubling") >
      1)
    return "ring, halving and doubling exclude each other";
  return tt_nodes_refuse(ask);
}

uint32_t tt_twolevel_blocks(const tt_ask *ask) {
  const tt_nodes nodes = tt_nodes_of(ask);
  return tt_param_word(ask, "doubling") ? 1 : (uint32_t)nodes.count;
}

/* The steps that the leaders take: of an algorithm that speaks with one rank at a time.
 * Alone in its node, a leader still has its vector in src. */
static void among_leaders(tt_builder *b, const tt_ask *ask, const tt_nodes *nodes, bool alone) {
  const char *name = tt_param_word(ask, "doubling")  ? "doubling"
                     : tt_param_word(ask, "halving") ? "fold(halving)"
                                                     : "fold(ring)";
  const tt_ask leaders = {.coll = TUTTI_ALLREDUCE,
                          .ranks = nodes->count,
                          .rank = tt_node_at(nodes, ask->rank),
                          .in_place = ask->in_place || !alone};
  tt_sched *s;
  b->status = tt_algo_build(name, &leaders, &s);
  if (b->status) return;
  for (uint32_t i = 0; i < s->nsteps; i++) {
    tt_step step = s->steps[i];
    step.peers.first = tt_node_first(nodes, step.peers.first);
    tt_build_step(b, &step);
  }
  tt_sched_free(s);
}

void tt_twolevel_build(tt_builder *b, const tt_ask *ask) {
  const tt_nodes nodes = tt_nodes_of(ask);
  const int here = tt_node_at(&nodes, ask->rank), leader = tt_node_first(&nodes, here);
  const int size = tt_node_first(&nodes, here + 1) - leader;
  const uint32_t blocks = tt_twolevel_blocks(ask);
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
    tt_mark_last(b);
  if (size > 1) tt_send_all(b, node, dst);
}

bool tt_twolevel_samples(int ranks, int i, char *params, size_t size) {
  static const char *const how[] = {"ring", "halving", "doubling"};
  const int a = ranks / 3, c = ranks - 2 * a;
  if (i < 9 || a < 2)
    snprintf(params, size, "node=%d,%s", 1 + (i + ranks) % 9, how[i % 3]);
  else
    snprintf(params, size, "node:(%d,1,%d,%d),%s", a - 1, a, c, how[i % 3]);
  return i < 12;
}
