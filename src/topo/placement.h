/* placement.h - from what each rank says of where it sits to levels and an order.
 *
 * A topology, where there is one, is either
 *   rack:2 node:2 core:4      all ranks in order (topo_tree.h). It is the tree; its level
 *                             called "node" says which ranks share one
 *   row-a: n[01-16] login     or racks, a line each: a name, ':', a blank, and hosts. What
 *   row-b: n[17-32,40]        is in brackets is counted; # begins a comment. A host may
 *                             be written with its domain or without it.
 * Which it is, the first ':' says: behind a level's name stands a number.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_PLACEMENT_H
#define TT_PLACEMENT_H

#include "topo_tree.h"

/* Opaque colours: equal ones are the same thing, within equal outer ones. */
typedef struct tt_placement {
  int32_t rack, node, package, cache;
  char host[48];
} tt_placement;

/* How ranks sit. The arrays are the caller's, a place for each rank. */
typedef struct tt_layout {
  char levels[TT_TREE_TEXT]; /* the tree; "" if it has no levels */
  int inside;                /* so many of its levels, the innermost, are within a node */
  int nodes;
  int *order;   /* the rank that stands at each place of the tree */
  int *node_of; /* of each rank: from 0 on, in the order in which they first appear */
} tt_layout;

/* A pure function of what all ranks know. `topology` may be NULL; sentences call it `name`.
 * Levels that say nothing are left out; so are the innermost, where the text grows too long
 * for names of plans. TUTTI_ERR_ARG: the topology is none, or does not fit these ranks. */
tutti_status tt_placement_arrange(const tt_placement *placements, int ranks, const char *topology,
                                  const char *name, tt_layout *layout);

/* Colours that say as much as the seats do, without the topology: of a part of the ranks
 * too. Of the levels beyond a node, and within one, the nearest stay. */
tutti_status tt_placement_color(const tt_layout *layout, int ranks, tt_placement *placements);

/* The rack of every rank, by its host (racks.c): colours. */
tutti_status tt_racks_read(const char *text, const char *name, const tt_placement *placements,
                           int ranks, int32_t *rack);

/* "0,1,0": rank r pretends to sit on node number r modulo 3 of the list, on a host that is
 * called n0 or n1 (fake_nodes.c). Those that do not share a node still do not. */
tutti_status tt_placement_fake(const char *text, int ranks, tt_placement *placements);

#endif
