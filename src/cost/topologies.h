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

/* The links that a message uses at a domain. `which` is the number of the link among those of the domain, and `count` is the
 * number of such links on the route (0: none). */
typedef struct tt_links {
  size_t which;
  double count;
} tt_links;

typedef struct tt_topology {
  /* Returns the links that a message uses at the sender's domain or, if `inward`, at the reader's domain. The two ranks are
   * in different domains at this level or at an outer level. */
  tt_links (*links_of)(const tt_cost_model *model, int level, const tt_sim_message *d, bool inward);
  /* Returns the number of links of a domain that have separate numbers. NULL: one link. */
  size_t (*numbered)(const tt_cost_model *model, int level);
  /* Returns the number of parallel links that messages leaving a domain use. NULL: one link. */
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

/* Returns the links of this level that a message uses: none if both ranks are in the same domain of the level. */
tt_links tt_links_of(const tt_cost_model *model, int level, const tt_sim_message *d, bool inward);
size_t tt_links_numbered(const tt_cost_model *model, int level);
double tt_links_parallel(const tt_cost_model *model, int level);
/* Return the level whose domains own this level's links, and the largest number of ranks that use one owner's links. */
int tt_links_owner(const tt_cost_model *model, int level);
double tt_links_ranks(const tt_cost_model *model, int level);
/* Returns the number of ranks that share a link, if all ranks are symmetric and all send in the same direction. */
double tt_links_sharers(const tt_cost_model *model, int level);
/* Returns the time in seconds that a message spends in intermediate nodes. */
double tt_links_transit(const tt_cost_model *model, const tt_sim_message *d);

/* Returns the number of a rank's domain among the domains with the same parent. The levels must form an even tree. */
uint32_t tt_number_at(const tt_cost_model *model, int level, uint32_t rank);

#endif
