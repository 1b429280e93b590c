/* algo_nodes.h - which ranks share a node, by their numbers.
 *
 * node=4 4 ranks a node, the last may have fewer; node:(4,3) or node:2 core:4
 *        the groups of the innermost level (topo_tree.h); neither: one rank each.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_ALGO_NODES_H
#define TT_ALGO_NODES_H

#include "algo.h"
#include "topo_tree.h"

typedef struct tt_nodes {
  int ranks, count;
  int each; /* ranks of every node but the last; 0: as in the tree's last list */
  tt_tree tree;
} tt_nodes;

/* NULL, or an error about the parameters. */
const char *tt_nodes_refuse(const tt_ask *ask);
tt_nodes tt_nodes_of(const tt_ask *ask);
/* The first rank of a node; the number of ranks if node is `count`. */
int tt_node_first(const tt_nodes *nodes, int node);
/* The node of a rank. */
int tt_node_at(const tt_nodes *nodes, int rank);

#endif
