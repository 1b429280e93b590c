/* topo_tree.h - nested groups of ranks, parsed from a string.
 *
 * rack:3 node:2 core:2    3 racks of 2 nodes of 2 cores; a core is a rank
 * rack:2 node:(3,1) core:4    3 nodes in the first rack, 1 in the second
 * node:(4,3,4)            3 nodes of 4, 3 and 4 ranks
 * Ranks are numbered along the innermost level first.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_TOPO_TREE_H
#define TT_TOPO_TREE_H

#include "core.h"

enum { TT_TREE_LEVELS = 12, TT_TREE_LIST = 128, TT_TREE_TEXT = 256 };

typedef struct tt_tree {
  int ranks, levels; /* level 0 is the outermost; the domains of the last are ranks */
  bool even;         /* it has no list */
  struct {
    int each;  /* in every domain of the level above; 0: see the list */
    int at, n; /* the list of this level */
    int most;  /* the largest entry */
    char name[16];
  } level[TT_TREE_LEVELS];
  int list[TT_TREE_LIST];
} tt_tree;

/* TUTTI_ERR_ARG: the message says where and what is wrong. */
tutti_status tt_tree_parse(const char *text, tt_tree *tree);
/* The number of domains of a level in the g-th domain of the level above (level 0: in all, g = 0),
 * and the index of the first of them in the whole level. */
int tt_tree_count(const tt_tree *tree, int level, int g);
int tt_tree_first(const tt_tree *tree, int level, int g);

#endif
