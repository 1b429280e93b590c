/* placement.h - derives levels and an order of the ranks from each rank's placement.
 *
 * A topology, if given, is either
 *    rack:2 node:2 core:4      all ranks in order (topo_tree.h). It is the tree; its level
 *                              called "node" defines which ranks share one
 *    row-a: n[01-16] login     or racks, one per line: a name, ':', a blank, and hosts. Brackets
 *    row-b: n[17-32,40]        contain lists and ranges of numbers; # starts a comment. A host may
 *                              be written with or without its domain.
 *    package:2 numa:4 cache:8 core:8    levels within a machine are called package, numa, cache
 * The text after the first ':' distinguishes them: the name of a level is followed by a number.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_PLACEMENT_H
#define TT_PLACEMENT_H

#include "topo_tree.h"

/* The colours of a rank, which have no other meaning: ranks are in the same domain of a level if their colours are equal at
 * this level and at all outer levels. */
typedef struct tt_colors {
  int32_t rack, node, package, numa, cache;
} tt_colors;
typedef struct tt_placement {
  union {
    tt_colors colors;
    struct {
      int32_t rack, node, package, numa, cache;
    };
  };
  char host[48];
} tt_placement;

/* The layout of all ranks. The caller owns the arrays, which have one element for each rank. */
typedef struct tt_layout {
  char levels[TT_TREE_TEXT]; /* the tree; "" if it has no levels */
  int inside;                /* number of innermost levels that are within a node */
  int nodes;
  int *order;   /* rank at each position of the tree */
  int *node_of; /* node of each rank, numbered from 0 in the order of first appearance */
} tt_layout;

/* Arranges the ranks. The result depends only on data that is equal on all ranks. `topology` may be NULL, and messages call
 * it `name`. Leaves out levels that add no information and, if the text would be too long, the innermost levels. Returns
 * TUTTI_ERR_ARG if the topology is invalid or does not match these ranks. */
tutti_status tt_placement_arrange(const tt_placement *placements, int ranks, const char *topology,
                                  const char *name, tt_layout *layout);

/* Arranges the first `data` ranks, and appends the helpers to the order. If possible, a helper serves the group where it runs
 * (topo_rows.h). layout->order has an element for each of the `ranks` ranks, layout->node_of only for the first `data`. */
tutti_status tt_helpers_arrange(const tt_placement *placements, int ranks, int data,
                                tt_layout *layout);

/* Finds levels that include the helpers, and the position of each rank in them. `levels` describes the ranks with data. Each
 * helper is placed next to the group that it serves (helpers_beside.c). The buffer `all` has TT_TREE_TEXT characters. Returns
 * TUTTI_ERR_ARG if the text would be longer. */
tutti_status tt_helpers_beside(const char *levels, int ranks, char *all, int *position);

/* Sets colours that reproduce the layout without the topology, even for a subset of the ranks. Outside nodes, only the
 * innermost level is kept. Levels inside a node become the package, the NUMA node and the cache, from the outermost inwards.
 * A level with one of these names becomes that one. Any other level becomes the next free one, until all three are used. */
tutti_status tt_placement_color(const tt_layout *layout, int ranks, tt_placement *placements);

/* The names of the levels within a machine, from the outermost to the innermost. The last element is NULL. */
extern const char *const *const tt_inner_levels;
/* Returns the number of innermost levels that are within a machine. These are the levels below "node". If no level is called
 * "node", they start at the first level with a name in tt_inner_levels. Returns 0 if no level is within a machine. */
int tt_levels_inside(const tt_tree *tree);
/* Returns true if the first level of a topology is within a machine. In that case, all of its levels are. */
bool tt_topology_inside(const char *topology);

/* Sets the colour for the rack of each rank, which depends on the rank's host (racks.c). */
tutti_status tt_racks_read(const char *text, const char *name, const tt_placement *placements,
                           int ranks, int32_t *rack);

/* Makes ranks appear to be on different nodes, for tests. With a list such as "0,1,0", rank r gets entry r modulo 3 as its
 * node number, on a host called n0 or n1. Ranks on different real nodes remain on different nodes. */
tutti_status tt_placement_fake(const char *text, int ranks, tt_placement *placements);

#endif
