/* algo_tree.h - trees as such: who is whose parent.
 *
 * Idea       a knot is one member of a tree, with its parent and its children in
 *            groups, the nearest first; the members of a group are evenly spaced, so
 *            that one step takes in, or serves, all of them.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_ALGO_TREE_H
#define TT_ALGO_TREE_H

#include "algo.h"

enum { TT_RADIX = 16, TT_DOWN = 96 }; /* most children of a level; groups of a knot */

typedef struct tt_knot {
  int up; /* -1: the root */
  int n;
  tt_peers down[TT_DOWN];
} tt_knot;

/* Member p of a tree of n members, whose root is member 0. */
tt_knot tt_knot_chain(int p, int n);
/* k-nomial: p's children are p + j * radix^i, j < radix. A subtree is neighbours. */
tt_knot tt_knot_nomial(int p, int n, int radix);
/* Binary, in order: odd members are leaves, a subtree is neighbours. */
tt_knot tt_knot_binary(int p, int n);
void tt_knot_add(tt_knot *k, tt_peers group);

#endif
