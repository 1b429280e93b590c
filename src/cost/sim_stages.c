/* sim_stages.c - predicts the time of a composition (algo_stages.h) as the sum over its stages.
 *
 * Idea       All groups of a level do the same in parallel, each on its own part of the vector. A single group is
 *            simulated, with its share of the links. The times of the stages add up.
 * Torus      A group is a ring of nodes. Each node has two separate links on each level. Only the groups of the node's
 *            ranks share them, one group for each rank. The ring is therefore simulated with links that are slower by
 *            the number of ranks in a node.
 * Cost       Simulates the ranks of one group of each level: a few hundred for 100,000 ranks on three levels.
 * Invariant  Exact if the ranks are symmetric, otherwise approximate. A rank that finishes early can start the next
 *            stage, which makes the plan faster than predicted. However, if the rank's message then occupies the port
 *            of a peer that still waits for a message of this stage, the plan is slower (test_torus_stages.c).
 * SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "topologies.h"

/* Returns the level of the slowest link on a route. A message between domains of `level` crosses links of this level and of
 * all levels inside it, and ends at a port of a rank. On a torus with hops, it crosses only links of `level`. */
static int narrowest(const tt_cost_model *model, int level) {
  int slowest = level;
  for (int l = level + 1; l < model->levels - 1 && model->hop <= 0; l++)
    if (model->link[l].beta * tt_links_sharers(model, l) >
        model->link[slowest].beta * tt_links_sharers(model, slowest))
      slowest = l;
  return slowest;
}

/* Models one group of a level. Each member has its share of the link that leaves its domain, and a port. */
bool tt_cost_stage(const tt_cost_model *model, int level, int ranks, tt_cost_model *stage) {
  const int last = model->levels - 1, slow = narrowest(model, level);
  const bool circle = model->torus && level < last;
  const double sharers = tt_links_sharers(model, slow);
  if (model->shm.cores > 0 || model->shm.copy > 0 || model->shm.migrates || model->position ||
      !model->tree.even || (circle && ranks != model->tree.level[level].each))
    return false;
  *stage = *model;
  stage->hosts = NULL; /* assumes hosts that do not differ */
  stage->ranks = stage->tree.ranks = ranks;
  stage->levels = stage->tree.levels = level < last ? 2 : 1;
  memset(stage->tree.level, 0, sizeof stage->tree.level);
  stage->tree.level[0].each = stage->tree.level[0].most = ranks;
  stage->tree.level[1].each = stage->tree.level[1].most = 1;
  stage->link[0] = model->link[level];
  stage->link[0].beta = model->link[slow].beta * sharers;
  stage->link[0].burst = model->link[slow].burst / sharers;
  stage->link[0].paths = 1; /* the members of a group use the same link of each domain */
  if (level < last) stage->link[1] = model->link[last];
  return true;
}

void tt_sim_append(tt_sim **first, tt_sim *stage, double part, const tt_cost_model *model,
                   int level) {
  tt_sim **end = first;
  stage->part = part;
  stage->staged = true;
  stage->level = (uint8_t)level;
  stage->narrowest = (uint8_t)narrowest(model, level);
  stage->innermost = (uint8_t)(model->levels - 1);
  while (*end) end = &(*end)->next;
  *end = stage;
  if (*first == stage) {
    stage->link_slope *= part;
    stage->link_level = stage->link_level ? stage->innermost : stage->narrowest;
    stage->link_burst = model->link[stage->link_level].burst;
    stage->link_incast = tt_incast_threshold(&model->link[stage->link_level]);
    return;
  }
  (*first)->link_slope += stage->link_slope * part;
  if (stage->link_incast > 0) (*first)->senders += stage->senders;
}

/* Adds the time of a stage to the total, because stages run one after the other. */
static void add_stage(tt_breakdown *all, const tt_breakdown *one, const tt_sim *sim) {
  all->time += one->time;
  all->fixed += one->fixed;
  all->slope += one->slope * sim->part;
  all->o += one->o;
  all->copying += one->copying;
  all->reducing += one->reducing;
  all->latency[sim->level] += one->latency[0];
  all->transfer[sim->narrowest] += one->transfer[0];
  all->transfer[sim->innermost] += one->transfer[1];
  all->messages[sim->level] += one->messages[0];
}

bool tt_sim_unbound(tt_sim *sim, double bytes, tt_breakdown *breakdown) {
  if (!sim->staged) return tt_sim_alone(sim, bytes, breakdown);
  memset(breakdown, 0, sizeof *breakdown);
  for (; sim; sim = sim->next) {
    tt_breakdown one;
    if (!tt_sim_alone(sim, bytes * sim->part, &one)) return false;
    add_stage(breakdown, &one, sim);
  }
  return true;
}
