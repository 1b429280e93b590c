/* topologies.h - which links of a network a message takes: one interface, and a file for each topology.
 *
 * Idea       the domains of a level own links. At each level a message takes links of its sender's domain, and of its
 *            reader's. A topology says how many links a domain has, and which of them a message takes. Each level has
 *            its own topology, so a network may be a fat tree of dragonflies.
 * Flat       a tree of one level, where each rank has one link. The innermost level of every topology is flat.
 * Add one    a file topology_NAME.c, and its line in tt_topology_at.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_TOPOLOGIES_H
#define TT_TOPOLOGIES_H

#include "sim.h"

/* Of the links that a domain owns, the one with this number; and how many such links are on the way. 0: none. */
typedef struct tt_links {
  size_t which;
  double count;
} tt_links;

typedef struct tt_topology {
  /* What a message, whose ranks part at this level or outside it, takes at its sender's domain, or (inward) its reader's. */
  tt_links (*links_of)(const tt_cost_model *model, int level, const tt_sim_message *d, bool inward);
  /* The number of links of a domain that are numbered. NULL: one. */
  size_t (*numbered)(const tt_cost_model *model, int level);
  /* Over how many links all messages that leave a domain spread. NULL: one. */
  double (*parallel)(const tt_cost_model *model, int level);
  bool spreads;      /* over these also messages that go the same way */
  bool same_numbers; /* symmetric ranks take links of the same numbers */
  bool of_nodes;     /* nodes own the links of this level, not its domains */
} tt_topology;

extern const tt_topology tt_topology_tree, tt_topology_torus, tt_topology_fat_tree,
    tt_topology_dragonfly;

/* The topology of a level. */
const tt_topology *tt_topology_at(const tt_cost_model *model, int level);

/* ---- what follows from it ---- */

/* Also of a level within which the ranks are: then none. */
tt_links tt_links_of(const tt_cost_model *model, int level, const tt_sim_message *d, bool inward);
size_t tt_links_numbered(const tt_cost_model *model, int level);
double tt_links_parallel(const tt_cost_model *model, int level);
/* The level whose domains own the links of this level, and the most ranks behind those of one owner. */
int tt_links_owner(const tt_cost_model *model, int level);
double tt_links_ranks(const tt_cost_model *model, int level);
/* The number of ranks that share a link, if all are symmetric and send the same way. */
double tt_links_sharers(const tt_cost_model *model, int level);
/* s that a message takes in the nodes between its ends. */
double tt_links_transit(const tt_cost_model *model, const tt_sim_message *d);

/* On an even tree: the number of a rank's domain of a level among its siblings. */
uint32_t tt_number_at(const tt_cost_model *model, int level, uint32_t rank);

#endif
