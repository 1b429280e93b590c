/* algo_uneven.h - the blocks that two ranks exchange if levels are uneven.
 *
 * Idea       On every level a block has a digit, which is its column. A level's row of C columns is divided among the n
 *            members of a group: member a owns columns a*C/n to (a+1)*C/n. In an allreduce every level has one row. In a
 *            reduce-scatter or an all-gather block r belongs to rank r, so a row is a group of domains and its columns
 *            are the members of that group.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_ALGO_UNEVEN_H
#define TT_ALGO_UNEVEN_H

#include "algo_group.h"

/* The columns of a row that are owned both by member a of n members and by member b of m members. */
typedef struct tt_share {
  int a, n, b, m;
} tt_share;

/* The blocks that two ranks exchange while a level is folded. On that level, these are the columns of a run of members,
 * which may wrap at the end of the circle. On each level inside it, they are the columns of one share. On the levels
 * outside, any column is included. */
typedef struct tt_uneven_set {
  int level, first, members, of;
  tt_share inner[TT_TREE_LEVELS];
} tt_uneven_set;

/* How the vector is divided into blocks. */
typedef struct tt_uneven_cut {
  const tt_tree *tree;
  bool owned;                  /* block r belongs to rank r; if so, the fields below are unused */
  int columns[TT_TREE_LEVELS]; /* number of columns of each level's row */
  uint32_t width[TT_TREE_LEVELS]; /* distance of neighbouring columns, in blocks */
} tt_uneven_cut;

tt_uneven_cut tt_uneven_cut_of(const tt_inner *in, tutti_coll coll);

/* Replaces the list with the spans of the set. Equal sets have equal lists, so sender and receiver agree. */
void tt_uneven_spans(const tt_uneven_cut *cut, const tt_uneven_set *set, tt_buf buf,
                     tt_span_list *list);
/* Replaces the list with the spans of these shares on level `from` and inside it. Levels outside have one column. */
void tt_uneven_shares(const tt_uneven_cut *cut, int from, const tt_share *shares, tt_buf buf,
                      tt_span_list *list);

#endif
