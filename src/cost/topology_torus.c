/* topology_torus.c - a torus: a node has two links of each level, one in each direction of the ring of the level's
 * domains.
 *
 * Idea       With `hop`, links connect neighbors. On each level a message uses all links on the shorter arc of the
 *            ring, dimension by dimension. Without `hop`, links lead to every domain. A message then uses one link of
 *            its level, in the direction of the shorter arc.
 * Numbers    The links of a node are numbered 2 * level + direction; with hops, 0 and 1 on each level.
 * Limit      On an uneven tree, rings have no fixed sizes, so each level has one link.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "topologies.h"

static size_t both_directions(const tt_cost_model *model, int level) {
  (void)level;
  return model->hop > 0 ? 2 : 2 * (size_t)model->levels;
}

static tt_links along_circle(const tt_cost_model *model, int level, const tt_sim_message *d,
                             bool inward) {
  const bool hops = model->hop > 0;
  const int circle = hops ? level : d->level;
  (void)inward; /* the links into the reader's node have the same numbers */
  if (!model->tree.even) return (tt_links){0, 1};
  const uint32_t size = (uint32_t)model->tree.level[circle].each;
  const uint32_t from = tt_number_at(model, circle, d->sender);
  const uint32_t up = (tt_number_at(model, circle, d->reader) + size - from) % size;
  const bool down = up > size - up;
  return (tt_links){(hops ? 0 : 2 * (size_t)circle) + down, !hops ? 1 : down ? size - up : up};
}

const tt_topology tt_topology_torus = {
    .links_of = along_circle, .numbered = both_directions, .same_numbers = true, .of_nodes = true};
