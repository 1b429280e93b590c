/* algo_tree.h - trees: parents and children of their members.
 *
 * Idea       a tree node has its parent and its children in groups, the nearest first. The
 *            members of a group are evenly spaced, so that one step receives from, or sends
 *            to, all of them.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_ALGO_TREE_H
#define TT_ALGO_TREE_H

#include "algo.h"

enum { TT_RADIX = 16, TT_DOWN = 96 }; /* most children of a level; groups of a node */

typedef struct tt_tree_node {
  int up; /* -1: the root */
  int n;
  tt_peers down[TT_DOWN];
} tt_tree_node;

/* Member p of a tree of n members, whose root is member 0. */
tt_tree_node tt_tree_chain(int p, int n);
/* k-nomial: p's children are p + j * radix^i, j < radix. A subtree is a range of members. */
tt_tree_node tt_tree_knomial(int p, int n, int radix);
/* Binary, in order: odd members are leaves, a subtree is a range of members. */
tt_tree_node tt_tree_binary(int p, int n);
void tt_tree_node_add(tt_tree_node *k, tt_peers group);

#endif
