/* algo_uneven.h - which blocks the ranks of uneven levels send each other.
 *
 * Idea       a block has a digit on every level: its column there. Member a of n owns columns a*C/n to
 *            (a+1)*C/n of a row of C columns. In an allreduce every level has its own row. In a
 *            reduce-scatter and an all-gather block r is that of rank r, so a row is a group of domains, and its
 *            columns are its members.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_ALGO_UNEVEN_H
#define TT_ALGO_UNEVEN_H

#include "algo_group.h"

/* What member a of n and member b of m both own of a row. */
typedef struct tt_share {
  int a, n, b, m;
} tt_share;

/* Blocks that two ranks trade while a level is folded: any digit outside that level; on it the columns of a run
 * of members, which wraps at the end of the circle; and a share of each row inside. */
typedef struct tt_uneven_set {
  int level, first, members, of;
  tt_share inner[TT_TREE_LEVELS];
} tt_uneven_set;

/* How the vector is cut. */
typedef struct tt_uneven_cut {
  const tt_tree *tree;
  bool owned;                     /* block r is that of rank r; else: */
  int columns[TT_TREE_LEVELS];    /* of a level's row */
  uint32_t width[TT_TREE_LEVELS]; /* blocks from a column to the next */
} tt_uneven_cut;

tt_uneven_cut tt_uneven_cut_of(const tt_inner *in, tutti_coll coll);

/* Replaces the list by the set's spans. Equal sets have equal lists, so sender and receiver agree. */
void tt_uneven_spans(const tt_uneven_cut *cut, const tt_uneven_set *set, tt_buf buf,
                     tt_span_list *list);
/* The same for a share of each row at level `from` and inwards; levels outside have one column. */
void tt_uneven_shares(const tt_uneven_cut *cut, int from, const tt_share *shares, tt_buf buf,
                      tt_span_list *list);

#endif
