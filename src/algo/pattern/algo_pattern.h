/* algo_pattern.h - what several families of algorithms are made of.
 *
 * Idea       pingpong: a whole vector grows by received vectors, while it is being sent. A vector
 *            that is being sent must stay unchanged until it is consumed, so the next sum goes to
 *            another buffer: from src, alternately to dst and tmp, n times, to end in dst. That
 *            takes one vector of scratch, two in place for some n.
 *            halving: 2^n ranks halve a vector of 2^n blocks among them, and reassemble it. In
 *            step i, partners 2^i apart, which have the same part of the vector, take half of it
 *            each: the lower rank the lower half. The part of member m after i steps therefore
 *            depends only on its lowest i bits. With a root the same steps are a tree: a member
 *            gets its part in step i if bit i is the highest bit that differs from the root.
 *            trees: a node has its parent and its children in groups, the nearest first. The
 *            members of a group are evenly spaced, so that one step receives from, or sends to,
 *            all of them.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_ALGO_PATTERN_H
#define TT_ALGO_PATTERN_H

#include "algo.h"

/* ---- pingpong.c ---- */

typedef struct tt_pingpong {
  tt_builder *b;
  int n, i;
  bool in_dst, held; /* it began in dst; a peer may still read the sum so far */
  tt_span have;      /* the sum so far */
} tt_pingpong;

/* The vector is one block. */
tt_pingpong tt_pingpong_begin(tt_builder *b, const tt_ask *ask, int n);
/* Only a part of the vector, in src or dst; in_dst: or in place. */
tt_pingpong tt_pingpong_part(tt_builder *b, tt_span part, bool in_dst, int n);
/* Sends the sum so far. */
void tt_pingpong_send(tt_pingpong *t, tt_peers to);
/* Adds what `from` send to the sum so far. The n-th call completes it, in dst. */
void tt_pingpong_add(tt_pingpong *t, tt_peers from, tt_side side);
/* What `from` sends takes the place of the sum so far. Counts as one of the n, too. */
void tt_pingpong_take(tt_pingpong *t, int from);

/* ---- recursive_halving.c ---- */

typedef struct tt_halving {
  tt_builder *b;
  int n, member;                  /* 2^n members; this one's number */
  uint32_t blocks;                /* of the vector: a multiple of 2^n */
  int (*rank)(const void *, int); /* the rank of a member */
  const void *of;
  tt_buf buf; /* where its part is */
  int root;   /* the member that has all, or gets all; -1: none */
} tt_halving;

/* The part of member m after i steps. */
tt_span tt_halving_part(tt_buf buf, uint32_t blocks, int m, int i);
/* Reduce-scatter: from the whole vector in `have` to the member's part. */
void tt_halving_scatter(const tt_halving *h, tt_buf have);
/* All-gather; parts that a member got from a spread are not sent to it again. */
void tt_halving_gather(const tt_halving *h);
/* Gathers all parts at the root. */
void tt_halving_collect(const tt_halving *h);
/* Scatters the root's vector; inner members get more than their own part on the way. */
void tt_halving_spread(const tt_halving *h);

/* ---- tree_node.c ---- */

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

/* ---- leaders.c ---- */

/* The node of member p of n; radix: if the shape has one. */
typedef tt_tree_node tt_tree_shape(int p, int n, int radix);
/* A rank in a tree over the levels of a machine: one of that shape on each level. */
tt_tree_node tt_tree_leaders(const tt_tree *tree, int rank, int root, tt_tree_shape *shape,
                             int radix);
/* At most how many children a rank has there. */
int tt_tree_leaders_most(const tt_tree *tree, tt_tree_shape *shape, int radix);

/* ---- nodes.c: which ranks share a node, by their numbers ----
 *
 * node=4 4 ranks a node, the last may have fewer; node:(4,3) or node:2 core:4
 *        the groups of the innermost level (topo_tree.h); neither: one rank each. */

typedef struct tt_nodes {
  int ranks, count;
  int each; /* ranks of every node but the last; 0: as in the tree's last list */
  const tt_tree *tree;
} tt_nodes;

#define TT_PARAM_NODE                                        \
  {                                                          \
    "node", TT_PARAM_NUMBER, true, 1, 1 << 20,               \
        "node= must be how many ranks a node has, from 1 on" \
  }
/* NULL, or why the parameters do not fit. */
const char *tt_nodes_refuse(const tt_ask *ask);
tt_nodes tt_nodes_of(const tt_ask *ask);
/* The first rank of a node; the number of ranks if node is `count`. */
int tt_node_first(const tt_nodes *nodes, int node);
/* The node of a rank. */
int tt_node_at(const tt_nodes *nodes, int rank);

#endif
