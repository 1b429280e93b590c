/* topo_tree.h - how ranks sit in nested groups, read from a string.
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
  int ranks, levels; /* level 0 is the outermost; those of the last are ranks */
  bool even;         /* no list in it */
  struct {
    int each;  /* in every thing of the level above; 0: as the list says */
    int at, n; /* the list of this level */
    int most;  /* the most of any */
    char name[16];
  } level[TT_TREE_LEVELS];
  int list[TT_TREE_LIST];
} tt_tree;

/* TUTTI_ERR_ARG: the sentence says where and what. */
tutti_status tt_tree_parse(const char *text, tt_tree *tree);
/* How many things of a level are in the g-th thing of the level above (level 0: in
 * all, g = 0), and the number of the first of them, counted over the whole level. */
int tt_tree_count(const tt_tree *tree, int level, int g);
int tt_tree_first(const tt_tree *tree, int level, int g);

#endif
