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

/* Opaque colours. Two ranks are in the same domain if their colours at that level and all outer levels are equal. */
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

/* The layout of all ranks. The caller owns the arrays, which have one element per rank. */
typedef struct tt_layout {
  char levels[TT_TREE_TEXT]; /* the tree; "" if it has no levels */
  int inside;                /* number of innermost levels that are within a node */
  int nodes;
  int *order;   /* rank at each position of the tree */
  int *node_of; /* node of each rank, numbered from 0 in the order of first appearance */
} tt_layout;

/* Arranges the ranks. A pure function of data that is equal on all ranks. `topology` may be NULL; messages call it `name`.
 * Uninformative levels are omitted, and also the innermost levels if the text would otherwise be too long. Returns
 * TUTTI_ERR_ARG if the topology is invalid or does not match these ranks. */
tutti_status tt_placement_arrange(const tt_placement *placements, int ranks, const char *topology,
                                  const char *name, tt_layout *layout);

/* Arranges the first `data` ranks, and appends the helpers to the order, each at the group where it runs, if the rows
 * include that group (topo_rows.h). layout->order has an element for each of the `ranks` ranks, node_of for the first
 * `data`. */
tutti_status tt_helpers_arrange(const tt_placement *placements, int ranks, int data,
                                tt_layout *layout);

/* Finds the levels of all ranks, and the position of each rank in them. `levels` are those of the ranks with data, and each
 * helper is placed next to the group that it serves (helpers_beside.c). `all` has room for TT_TREE_TEXT characters. Returns
 * TUTTI_ERR_ARG if the text would be longer. */
tutti_status tt_helpers_beside(const char *levels, int ranks, char *all, int *position);

/* Sets colours that reproduce the layout without the topology, also for a subset of the ranks. Only the innermost of the
 * levels outside a node is kept. Levels inside a node become the package, the NUMA node and the cache, outermost first. A
 * level with one of these names becomes that one, any other level the next free one, until all three are used. */
tutti_status tt_placement_color(const tt_layout *layout, int ranks, tt_placement *placements);

/* The names of levels within a machine, outermost first, terminated by NULL. */
extern const char *const *const tt_inner_levels;
/* Returns the number of levels, counted from the innermost, that are within a machine. These are the levels below "node"
 * or, without such a level, the first one with a name in tt_inner_levels and those inside it. Returns 0 if there are
 * none. */
int tt_levels_inside(const tt_tree *tree);
/* Returns true if a topology starts with a level within a machine. All its levels are then within it. */
bool tt_topology_inside(const char *topology);

/* Finds the rack of every rank by its host (racks.c), as a colour. */
tutti_status tt_racks_read(const char *text, const char *name, const tt_placement *placements,
                           int ranks, int32_t *rack);

/* Applies a list such as "0,1,0": rank r pretends to be on the node whose number is entry r modulo 3 of the list, on a host
 * called n0 or n1. Ranks that do not share a node remain on different nodes. */
tutti_status tt_placement_fake(const char *text, int ranks, tt_placement *placements);

#endif
