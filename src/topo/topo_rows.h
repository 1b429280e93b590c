/* topo_rows.h - which helper serves which group of the machine's levels.
 *
 * Helpers are ranks without data, numbered after the ranks with data. They form rows, numbered from the
 * lowest: a row has `trees` helpers at each group of a level. Level -1 is one group of all ranks with data.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_TOPO_ROWS_H
#define TT_TOPO_ROWS_H

#include "topo_tree.h"

typedef struct tt_helper_row {
  int level;  /* level in the tree of ranks with data */
  int groups; /* number of groups */
  int before; /* total number of groups in the rows below */
} tt_helper_row;

typedef struct tt_helper_rows {
  int trees, n;
  tt_helper_row row[TT_TREE_LEVELS + 1];
} tt_helper_rows;

/* Returns the first group of level `inner` within group g of level `outer`. If g is past the last group, the result is
 * too. */
int tt_group_within(const tt_tree *tree, int outer, int g, int inner);
/* Returns the group of a level that a rank belongs to. */
int tt_group_around(const tt_tree *tree, int level, int rank);

/* Returns the outermost level within a node. It is the level below "node" or, if no level has this name, the first with the
 * name of a level within a machine, and otherwise the innermost. If each node has a single rank, adds a level with one rank
 * per node. The tree must have fewer than TT_TREE_LEVELS levels. */
int tt_level_in_node(tt_tree *tree);
/* Adds a level with one rank per node below the innermost level, and returns its index. */
int tt_ranks_as_nodes(tt_tree *tree);

/* Computes the rows for `helpers` helpers, with the lowest row at `level`. If `trees` is 0, derives it from the number of
 * helpers. Returns false if the helpers do not fit. */
bool tt_helper_rows_set(const tt_tree *tree, int level, int helpers, int trees,
                        tt_helper_rows *rows);
/* Returns the number of helpers per tree. */
int tt_helper_rows_each(const tt_helper_rows *rows);
/* Returns the number of the helper at this row, group and tree, counted from 0. */
static inline int tt_helper_number(const tt_helper_rows *rows, int row, int group, int tree) {
  return (rows->row[row].before + group) * rows->trees + tree;
}

#endif
