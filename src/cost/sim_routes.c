/* sim_routes.c - which links of its sender's domains, and of its reader's, a message takes.
 *
 * Idea       one link leaves a domain, and all messages out of it share that; or there are several side by side:
 * Paths      a message takes the one of its reader's number, modulo their number (d-mod-k, as fat trees route).
 * Pairs      a link of its own leads to each other domain of the level, as between the routers of a dragonfly's group,
 *            and between its groups. A message to another domain of an outer level leaves through the link to the sibling whose
 *            number is that of the other domain, where the outer link begins.
 * Torus      a node has two links of each level, one to either neighbour on its circle. With hops a message takes all
 *            links on the shorter way round; else the links of each level lead everywhere.
 * Source     Zahavi, Fat-tree routing and node ordering, 2012 (d-mod-k); Kim et al., Technology-driven, highly-scalable
 *            dragonfly topology, 2008 (minimal routes).
 * SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>

#include "sim.h"

int tt_sim_owner(const tt_cost_model *model, int level) {
  const int node = model->levels - 2;
  return model->torus && level < node ? node : level;
}

/* On an uneven tree domains have no numbers that routes could follow. */
static bool takes_a_path(const tt_cost_model *model, int level) {
  return level < model->levels - 1 && !model->torus && model->link[level].paths > 1 &&
         model->link[level].pairs <= 0;
}

static bool takes_a_pair(const tt_cost_model *model, int level) {
  return level < model->levels - 1 && !model->torus && model->link[level].pairs > 0 &&
         model->tree.even;
}

double tt_sim_side_by_side(const tt_cost_model *model, int level) {
  const tt_link *link = &model->link[level];
  if (level == model->levels - 1 || model->torus) return 1;
  const int others = model->tree.level[level].most - 1;
  return link->pairs > 0 && others > 0 ? others : link->paths > 1 ? link->paths : 1;
}

double tt_sim_ranks_of(const tt_cost_model *model, int level) {
  double ranks = 1;
  for (int l = tt_sim_owner(model, level) + 1; l < model->levels; l++)
    ranks *= model->tree.level[l].most;
  return ranks;
}

double tt_sim_sharers(const tt_cost_model *model, int level) {
  const double ranks = tt_sim_ranks_of(model, level);
  return takes_a_path(model, level) ? ceil(ranks / model->link[level].paths) : ranks;
}

/* How far it is from one rank to another along the circle of a level, if that goes up; and the size of the
 * circle. */
static uint32_t distance_up(const tt_cost_model *model, int level, uint32_t from, uint32_t to,
                            uint32_t *size) {
  uint32_t below = 1;
  for (int l = level + 1; l < model->levels; l++) below *= (uint32_t)model->tree.level[l].each;
  const uint32_t n = *size = (uint32_t)model->tree.level[level].each;
  const uint32_t a = (uint32_t)tt_cost_position(model, (int)from) / below % n;
  const uint32_t b = (uint32_t)tt_cost_position(model, (int)to) / below % n;
  return (b + n - a) % n;
}

void tt_sim_way_find(const tt_cost_model *model, int level, uint32_t a, uint32_t b,
                     tt_sim_way *way) {
  double all = 0;
  for (int l = level; l < model->levels - 1; l++) {
    way->links[l] = 1;
    way->down[l] = false;
    if (!model->torus || !model->tree.even) continue;
    uint32_t n;
    const uint32_t up = distance_up(model, l, a, b, &n);
    way->down[l] = up > n - up;
    if (model->hop > 0) all += way->links[l] = way->down[l] ? n - up : up;
  }
  way->transit = all > 1 ? (all - 1) * model->hop : 0;
}

size_t tt_sim_links_each(const tt_cost_model *model, int level) {
  if (takes_a_path(model, level)) return (size_t)model->link[level].paths;
  if (takes_a_pair(model, level)) return (size_t)model->tree.level[level].each;
  return model->torus && model->hop <= 0 ? 2 * (size_t)model->levels : 2;
}

/* The number of a rank's domain of a level among its siblings. */
static uint32_t number_of(const tt_cost_model *model, const uint32_t *domains, int level,
                          uint32_t rank) {
  return domains[(size_t)level * (size_t)model->ranks + rank] %
         (uint32_t)model->tree.level[level].each;
}

/* Inward, the link to the reader's domain comes from the sibling of the sender's number. */
static tt_sim_taken take_a_pair(const tt_cost_model *model, const uint32_t *domains, int level,
                                const tt_sim_message *d, bool inward) {
  const uint32_t here = inward ? d->reader : d->sender, there = inward ? d->sender : d->reader;
  const uint32_t siblings = (uint32_t)model->tree.level[level].each;
  const uint32_t to = number_of(model, domains, d->level, there) % siblings;
  return (tt_sim_taken){to, to != number_of(model, domains, level, here)};
}

static tt_sim_taken take_on_a_torus(const tt_cost_model *model, int level,
                                    const tt_sim_message *d) {
  uint32_t n;
  if (level >= model->levels - 1 || !model->tree.even) return (tt_sim_taken){0, 1};
  const bool hops = model->hop > 0;
  const uint32_t up = distance_up(model, hops ? level : d->level, d->sender, d->reader, &n);
  const bool down = up > n - up;
  return (tt_sim_taken){2 * (hops ? 0u : d->level) + down, !hops ? 1 : down ? n - up : up};
}

tt_sim_taken tt_sim_take(const tt_cost_model *model, const uint32_t *domains, int level,
                         const tt_sim_message *d, bool inward) {
  if (d->level > level) return (tt_sim_taken){0, 0};
  if (model->torus) return take_on_a_torus(model, level, d);
  if (takes_a_pair(model, level)) return take_a_pair(model, domains, level, d, inward);
  if (!takes_a_path(model, level)) return (tt_sim_taken){0, 1};
  const uint32_t reader = (uint32_t)tt_cost_position(model, (int)d->reader);
  return (tt_sim_taken){reader % (uint32_t)model->link[level].paths, 1};
}
