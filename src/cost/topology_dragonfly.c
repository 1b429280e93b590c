/* topology_dragonfly.c - a dragonfly: a link connects each domain of a level to each other domain within the same
 * parent, as between the routers of a group, and between groups.
 *
 * Idea       Routes are minimal. A message to a domain of an outer level leaves through the sibling whose number equals
 *            that of the other domain, where the outer link starts. It arrives through the sibling whose number equals
 *            that of the sender's domain. If the message is already in that sibling, it uses no link of this level.
 * Source     Kim et al., "Technology-driven, highly-scalable dragonfly topology", 2008.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "topologies.h"

static size_t siblings_of(const tt_cost_model *model, int level) {
  return (size_t)model->tree.level[level].each;
}

static double to_all_siblings(const tt_cost_model *model, int level) {
  const int others = model->tree.level[level].each - 1;
  return others > 0 ? others : 1;
}

static tt_links to_sibling(const tt_cost_model *model, int level, const tt_sim_message *d,
                           bool inward) {
  const uint32_t here = inward ? d->reader : d->sender, there = inward ? d->sender : d->reader;
  const size_t to = tt_number_at(model, d->level, there) % siblings_of(model, level);
  return (tt_links){to, to != tt_number_at(model, level, here)};
}

const tt_topology tt_topology_dragonfly = {
    .links_of = to_sibling, .numbered = siblings_of, .parallel = to_all_siblings};
