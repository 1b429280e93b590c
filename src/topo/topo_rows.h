/* topo_rows.h - which helper serves which group of the machine's levels.
 *
 * Helpers are ranks without data, numbered after the others. They form rows, the lowest first: a row has
 * `trees` helpers at each group of a level. Level -1 is one group of all ranks with data.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_TOPO_ROWS_H
#define TT_TOPO_ROWS_H

#include "topo_tree.h"

typedef struct tt_helper_row {
  int level;  /* of the tree of ranks with data */
  int groups; /* in all */
  int before; /* groups of the rows below */
} tt_helper_row;

typedef struct tt_helper_rows {
  int trees, n;
  tt_helper_row row[TT_TREE_LEVELS + 1];
} tt_helper_rows;

/* The first group of an inner level in group g of an outer one; past the last group: past the last. */
int tt_group_within(const tt_tree *tree, int outer, int g, int inner);
/* The group of a level that holds a rank. */
int tt_group_around(const tt_tree *tree, int level, int rank);

/* The outermost level within a node: below a level called node, or from the first that is called as a level
 * within a machine is; else the innermost. If nodes are ranks, adds a level of one rank per node; the tree has
 * fewer than TT_TREE_LEVELS. */
int tt_level_in_node(tt_tree *tree);
/* Adds that level, and returns it. */
int tt_ranks_as_nodes(tt_tree *tree);

/* The rows for that number of helpers, the lowest at this level; trees: 0, if it follows from the number.
 * False: they do not fit. */
bool tt_helper_rows_set(const tt_tree *tree, int level, int helpers, int trees,
                        tt_helper_rows *rows);
/* The number of helpers of a tree. */
int tt_helper_rows_each(const tt_helper_rows *rows);
/* A helper's number, counted from 0. */
static inline int tt_helper_number(const tt_helper_rows *rows, int row, int group, int tree) {
  return (rows->row[row].before + group) * rows->trees + tree;
}

#endif
