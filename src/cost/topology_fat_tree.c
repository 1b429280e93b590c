/* topology_fat_tree.c - a fat tree: several parallel links leave each domain of a level.
 *
 * Idea       A message uses the link whose number is the position of its reader modulo the number of links (d-mod-k).
 * Source     Zahavi, "Fat-tree routing and node ordering", 2012.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "topologies.h"

static size_t paths_of(const tt_cost_model *model, int level) {
  return (size_t)model->link[level].paths;
}

static double over_all_paths(const tt_cost_model *model, int level) {
  return model->link[level].paths;
}

static tt_links by_reader(const tt_cost_model *model, int level, const tt_sim_message *d,
                          bool inward) {
  (void)inward;
  return (tt_links){(size_t)tt_cost_position(model, (int)d->reader) % paths_of(model, level), 1};
}

const tt_topology tt_topology_fat_tree = {
    .links_of = by_reader, .numbered = paths_of, .parallel = over_all_paths, .spreads = true};
