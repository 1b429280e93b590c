/* algo_pattern.h - building blocks that several families of algorithms share.
 *
 * Idea       pingpong.c adds received vectors to a whole vector and sends that at the same time. A vector that is being
 *            sent must stay unchanged until it is consumed, so each sum goes to another buffer: starting from src, n sums
 *            alternate between dst and tmp such that the last is in dst. That takes one vector of scratch or, for some n,
 *            two if in place. In recursive_halving.c, 2^n ranks halve a vector of 2^n blocks among them, and reassemble
 *            it. In step i, partners 2^i apart, which have the same part of the vector, take half of it each; the lower
 *            rank takes the lower half. Therefore the part of member m after i steps depends only on its lowest i bits.
 *            With a root the same steps form a tree: a member receives its part in step i if bit i is the highest bit in
 *            which it differs from the root. In tree_node.c, a node has a parent and groups of children, nearest first.
 *            The members of a group are evenly spaced, so that one step can send to, or receive from, all of them.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_ALGO_PATTERN_H
#define TT_ALGO_PATTERN_H

#include "algo.h"

/* ---- pingpong.c ---- */

typedef struct tt_pingpong {
  tt_builder *b;
  int n, i;
  bool in_dst, held; /* in_dst: it started in dst; held: a peer may still be reading `have` */
  tt_span have;      /* the current sum */
} tt_pingpong;

/* Prepares n additions to the input vector, which is a single block. */
tt_pingpong tt_pingpong_begin(tt_builder *b, const tt_ask *ask, int n);
/* Prepares n additions to a part of the vector. in_dst is false if the part is in src, unless the collective is in place. */
tt_pingpong tt_pingpong_part(tt_builder *b, tt_span part, bool in_dst, int n);
/* Sends the current sum. */
void tt_pingpong_send(tt_pingpong *t, tt_peers to);
/* Receives vectors and adds them to the current sum. The n-th call completes the sum, which is then in dst. */
void tt_pingpong_add(tt_pingpong *t, tt_peers from, tt_side side);
/* Receives a vector that replaces the current sum. This counts as one of the n additions. */
void tt_pingpong_take(tt_pingpong *t, int from);

/* ---- recursive_halving.c ---- */

typedef struct tt_halving {
  tt_builder *b;
  int n, member;                  /* there are 2^n members; this is the number of this one */
  uint32_t blocks;                /* blocks of the vector, a multiple of 2^n */
  int (*rank)(const void *, int); /* maps a member to its rank */
  const void *of;
  tt_buf buf; /* buffer with its part */
  int root;   /* member that has, or receives, the whole vector; -1 if none */
} tt_halving;

/* Returns the part that member m has after i steps. */
tt_span tt_halving_part(tt_buf buf, uint32_t blocks, int m, int i);
/* Runs a reduce-scatter of the whole vector in `have`, after which each member has its part. */
void tt_halving_scatter(const tt_halving *h, tt_buf have);
/* Runs an all-gather. Members that received parts in a spread do not receive these parts again. */
void tt_halving_gather(const tt_halving *h);
/* Gathers all parts at the root. */
void tt_halving_collect(const tt_halving *h);
/* Scatters the vector of the root. Inner members receive additional parts, which they forward. */
void tt_halving_spread(const tt_halving *h);

/* ---- tree_node.c ---- */

enum { TT_RADIX = 16, TT_DOWN = 96 }; /* limits: children per level, and groups per node */

typedef struct tt_tree_node {
  int up; /* parent, or -1 for the root */
  int n;
  tt_peers down[TT_DOWN];
} tt_tree_node;

/* Returns member p of a tree of n members with root 0. */
tt_tree_node tt_tree_chain(int p, int n);
/* k-nomial: p's children are p + j * radix^i, j < radix. The members of a subtree are consecutive. */
tt_tree_node tt_tree_knomial(int p, int n, int radix);
/* Describes member p of n in a binary tree. Odd members are leaves, and the members of a subtree are consecutive. */
tt_tree_node tt_tree_binary(int p, int n);
void tt_tree_node_add(tt_tree_node *k, tt_peers group);

/* ---- leaders.c ---- */

/* Returns the tree node for member p of n. `radix` is ignored by shapes that have none. */
typedef tt_tree_node tt_tree_shape(int p, int n, int radix);
/* Returns the position of a rank in a tree over all levels of a machine. The domains of each level form a tree of this shape. */
tt_tree_node tt_tree_leaders(const tt_tree *tree, int rank, int root, tt_tree_shape *shape,
                             int radix);
/* Returns the largest number of children that any rank has in a tree from tt_tree_leaders. */
int tt_tree_leaders_most(const tt_tree *tree, tt_tree_shape *shape, int radix);

/* ---- nodes.c: which ranks share a node, by their numbers ----
 *
 * node=4: nodes of 4 ranks, except that the last may have fewer. node:(4,3) or node:2 core:4: the groups of the
 * innermost level (topo_tree.h). Without these, each rank is a node. */

typedef struct tt_nodes {
  int ranks, count;
  int each; /* ranks of every node except the last; 0 if they are in the tree's last list */
  const tt_tree *tree;
} tt_nodes;

#define TT_PARAM_NODE                                        \
  {                                                          \
    "node", TT_PARAM_NUMBER, true, 1, 1 << 20,               \
        "node= must be how many ranks a node has, from 1 on" \
  }
/* Returns NULL, or the reason why the parameters do not fit. */
const char *tt_nodes_refuse(const tt_ask *ask);
tt_nodes tt_nodes_of(const tt_ask *ask);
/* Returns the first rank of a node. For the index `count`, one past the last node, returns the number of ranks. */
int tt_node_first(const tt_nodes *nodes, int node);
/* Returns the node of a rank. */
int tt_node_at(const tt_nodes *nodes, int rank);

#endif
