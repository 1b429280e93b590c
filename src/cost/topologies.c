/* topologies.c - the topology of each level, and its properties.
 *
 * Idea       The parameters of a level determine its topology: `torus` that of all levels, `pairs` or `paths` that of
 *            one level.
 * Limit      Routes of a dragonfly depend on the numbers of domains. On an uneven tree its levels are therefore treated
 *            as levels of a tree.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "topologies.h"

#include <math.h>

const tt_topology *tt_topology_at(const tt_cost_model *model, int level) {
  const tt_link *link = &model->link[level];
  if (level == model->levels - 1) return &tt_topology_tree; /* a rank's own link */
  if (model->torus) return &tt_topology_torus;
  if (link->pairs > 0) return model->tree.even ? &tt_topology_dragonfly : &tt_topology_tree;
  return link->paths > 1 ? &tt_topology_fat_tree : &tt_topology_tree;
}

tt_links tt_links_of(const tt_cost_model *model, int level, const tt_sim_message *d, bool inward) {
  if (d->level > level) return (tt_links){0, 0};
  return tt_topology_at(model, level)->links_of(model, level, d, inward);
}

size_t tt_links_numbered(const tt_cost_model *model, int level) {
  const tt_topology *topology = tt_topology_at(model, level);
  return topology->numbered ? topology->numbered(model, level) : 1;
}

double tt_links_parallel(const tt_cost_model *model, int level) {
  const tt_topology *topology = tt_topology_at(model, level);
  return topology->parallel ? topology->parallel(model, level) : 1;
}

int tt_links_owner(const tt_cost_model *model, int level) {
  const int node = model->levels - 2;
  return tt_topology_at(model, level)->of_nodes && level < node ? node : level;
}

double tt_links_ranks(const tt_cost_model *model, int level) {
  double ranks = 1;
  for (int l = tt_links_owner(model, level) + 1; l < model->levels; l++)
    ranks *= model->tree.level[l].most;
  return ranks;
}

double tt_links_sharers(const tt_cost_model *model, int level) {
  const double ranks = tt_links_ranks(model, level);
  if (!tt_topology_at(model, level)->spreads) return ranks;
  return ceil(ranks / tt_links_parallel(model, level));
}

double tt_links_transit(const tt_cost_model *model, const tt_sim_message *d) {
  double links = 0;
  if (model->hop <= 0 || !model->tree.even) return 0;
  for (int l = d->level; l < model->levels - 1; l++) links += tt_links_of(model, l, d, false).count;
  return links > 1 ? (links - 1) * model->hop : 0;
}

uint32_t tt_number_at(const tt_cost_model *model, int level, uint32_t rank) {
  uint32_t below = 1;
  for (int l = level + 1; l < model->levels; l++) below *= (uint32_t)model->tree.level[l].each;
  const uint32_t position = (uint32_t)tt_cost_position(model, (int)rank);
  return position / below % (uint32_t)model->tree.level[level].each;
}
