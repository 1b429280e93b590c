/* topology_tree.c - a tree: one link connects each domain of a level to its parent.
 *
 * Idea       All messages that leave or enter a domain share its link.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "topologies.h"

static tt_links the_link(const tt_cost_model *model, int level, const tt_sim_message *d,
                         bool inward) {
  (void)model, (void)level, (void)d, (void)inward;
  return (tt_links){0, 1};
}

const tt_topology tt_topology_tree = {.links_of = the_link, .same_numbers = true};
