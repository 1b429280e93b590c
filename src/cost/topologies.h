/* topologies.h - the links of a network that a message uses: one interface, and a file for each topology.
 *
 * Idea       The domains of a level own links. At each level a message uses links of its sender's domain and of its
 *            reader's domain. A topology defines how many links a domain has, and which of them a message uses. Each
 *            level has its own topology, so a network may be a fat tree of dragonflies.
 * Flat       A tree of one level, where each rank has one link. The innermost level of every topology is flat.
 * Add one    A file topology_NAME.c, and its line in tt_topology_at.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_TOPOLOGIES_H
#define TT_TOPOLOGIES_H

#include "sim.h"

/* The links of a domain that a message uses: the number of the link among those that the domain owns, and how many such
 * links are on the route (0: none). */
typedef struct tt_links {
  size_t which;
  double count;
} tt_links;

typedef struct tt_topology {
  /* Returns the links that a message uses at its sender's domain or, if `inward`, at its reader's domain. The message's
   * ranks are in different domains at this level or an outer one. */
  tt_links (*links_of)(const tt_cost_model *model, int level, const tt_sim_message *d, bool inward);
  /* Returns the number of numbered links of a domain. NULL: one link. */
  size_t (*numbered)(const tt_cost_model *model, int level);
  /* Returns the number of links that share the messages leaving a domain. NULL: one link. */
  double (*parallel)(const tt_cost_model *model, int level);
  bool spreads;      /* messages with the same destination domain also spread over them */
  bool same_numbers; /* symmetric ranks use links of the same numbers */
  bool of_nodes;     /* nodes, not the domains of this level, own its links */
} tt_topology;

extern const tt_topology tt_topology_tree, tt_topology_torus, tt_topology_fat_tree,
    tt_topology_dragonfly;

/* Returns the topology of a level. */
const tt_topology *tt_topology_at(const tt_cost_model *model, int level);

/* ---- properties of the topology ---- */

/* May also be called for a level whose domain contains both ranks; the message then uses no link. */
tt_links tt_links_of(const tt_cost_model *model, int level, const tt_sim_message *d, bool inward);
size_t tt_links_numbered(const tt_cost_model *model, int level);
double tt_links_parallel(const tt_cost_model *model, int level);
/* Return the level whose domains own the links of this level, and the largest number of ranks behind the links of one
 * owner. */
int tt_links_owner(const tt_cost_model *model, int level);
double tt_links_ranks(const tt_cost_model *model, int level);
/* Returns the number of ranks that share a link, if all ranks are symmetric and send in the same direction. */
double tt_links_sharers(const tt_cost_model *model, int level);
/* Returns the time that a message spends in the nodes between its ends, in seconds. */
double tt_links_transit(const tt_cost_model *model, const tt_sim_message *d);

/* Returns the number of a rank's domain of a level among its siblings, on an even tree. */
uint32_t tt_number_at(const tt_cost_model *model, int level, uint32_t rank);

#endif
