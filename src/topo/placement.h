/* placement.h - from each rank's placement to levels and an order of the ranks.
 *
 * A topology, if given, is either
 *   rack:2 node:2 core:4      all ranks in order (topo_tree.h). It is the tree; its level
 *                             called "node" defines which ranks share one
 *   row-a: n[01-16] login     or racks, one per line: a name, ':', a blank, and hosts. Brackets
 *   row-b: n[17-32,40]        hold lists and ranges of numbers; # begins a comment. A host may
 *                             be written with its domain or without it.
 *   package:2 numa:4 cache:8 core:8    levels within a machine are called package, numa, cache
 * The text after the first ':' tells which: a level's name is followed by a number.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_PLACEMENT_H
#define TT_PLACEMENT_H

#include "topo_tree.h"

/* Opaque colours: equal colours denote the same domain, within equal outer ones. */
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

/* The placement of all ranks. The caller owns the arrays, which have an element per rank. */
typedef struct tt_layout {
  char levels[TT_TREE_TEXT]; /* the tree; "" if it has no levels */
  int inside;                /* number of its levels, from the innermost, within a node */
  int nodes;
  int *order;   /* the rank at each position of the tree */
  int *node_of; /* of each rank: numbers from 0, in the order of first appearance */
} tt_layout;

/* A pure function of data that is equal on all ranks. `topology` may be NULL; `name` is its name in
 * messages. Uninformative levels are omitted, and if the text grows too long, the innermost ones too.
 * TUTTI_ERR_ARG: the topology is invalid, or does not fit these ranks. */
tutti_status tt_placement_arrange(const tt_placement *placements, int ranks, const char *topology,
                                  const char *name, tt_layout *layout);

/* The layout of the first `data` ranks; then, in its order, the helpers, each at the group where it runs,
 * if the rows include that group (topo_rows.h). layout->order has an element for each of `ranks`, node_of for
 * the first ones. */
tutti_status tt_helpers_arrange(const tt_placement *placements, int ranks, int data,
                                tt_layout *layout);

/* The levels of all ranks, and the position of each in them, if `levels` are those of the ranks with data
 * and each helper is next to the group that it serves (helpers_beside.c). `all` has TT_TREE_TEXT characters.
 * TUTTI_ERR_ARG: the text grows too long. */
tutti_status tt_helpers_beside(const char *levels, int ranks, char *all, int *position);

/* Colours equivalent to the layout, without the topology, also for a part of the ranks. The nearest level
 * outside a node is kept, the others are not. Levels inside a node become the package, the NUMA
 * node and the cache, outermost first: a level with one of these names becomes that one, any other level the
 * next free one, until the three are taken. */
tutti_status tt_placement_color(const tt_layout *layout, int ranks, tt_placement *placements);

/* Levels within a machine, from the outermost: their names, and NULL. */
extern const char *const *const tt_inner_levels;
/* The number of levels, from the innermost, that are within a machine: those below "node"; without
 * such a level, the first one with a name from tt_inner_levels, and those inside it. 0: no level is. */
int tt_levels_inside(const tt_tree *tree);
/* Does a topology begin with a level within a machine? Then all its levels are. */
bool tt_topology_inside(const char *topology);

/* The rack of every rank, by its host (racks.c): colours. */
tutti_status tt_racks_read(const char *text, const char *name, const tt_placement *placements,
                           int ranks, int32_t *rack);

/* "0,1,0": rank r pretends to be on node number r modulo 3 of the list, on a host called n0 or n1
 * . Ranks that do not share a node still do not. */
tutti_status tt_placement_fake(const char *text, int ranks, tt_placement *placements);

#endif
