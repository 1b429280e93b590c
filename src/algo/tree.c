/* tree.c - sums move up a tree and the result moves down. There may be two trees, with half of the vector each.
 *
 * Idea       Every member adds its children's sums to its own and sends the sum up; the root sends the result down.
 *            Segments are pipelined through the tree. `double` uses two trees, each with half of the vector, such that
 *            every member is a leaf of one of them. The second tree is the mirror image of the first or, if the number of
 *            members is odd, the first shifted by one. If nodes are given, each is a chain and the tree connects them.
 *            The first rank of a node sends up, and its second rank receives from other nodes, so that no rank does both.
 *            `leaders` uses a tree on every level (pattern/leaders.c), so that a vector also enters each rack only once.
 *            Broadcast and reduce rotate the ranks so that the root is first; with two trees the root is above both.
 * Cost       The number of messages in sequence, which counts twice for an allreduce, is floor(log2 P) for binomial; for
 *            radix=K the largest number of digits 1 in a number below P in base K; P-1 for a chain; ceil(log2 P) for
 *            double, and one more below a root; and for leaders the sum over the levels. The busiest rank sends ceil(log2
 *            P) vectors with binomial, 3 with binary and nodes, 2 with chain and double.
 * Scratch    None; reduce: one vector on inner members.
 * Invariant  The ranks of a subtree are consecutive and are added in their order. Rank order is kept unless the ranks are
 *            rotated or shifted.
 * Parameters binomial | radix=2..16 | chain | binary | double; segments=S; the nodes, as in algo_pattern.h; leaders,
 *            which needs levels.
 * Source     double: Sanders, Speck, Traeff, Parallel Computing 35(12), 2009; with nodes: NCCL's split tree; leaders:
 *            Karonis et al., IPDPS 2000.
 * See        tutti plan draw 'tree(double,segments=2)' -n 6
 * SPDX-License-Identifier: BSD-3-Clause */
#include "algo_pattern.h"

static int trees(const tt_ask *ask) {
  return tt_param_given(ask, "double") ? 2 : 1;
}

/* ---- shapes ---- */

static tt_tree_node chain_shape(int p, int n, int radix) {
  (void)radix;
  return tt_tree_chain(p, n);
}

static tt_tree_node binary_shape(int p, int n, int radix) {
  (void)radix;
  return tt_tree_binary(p, n);
}

static int radix_of(const tt_ask *ask) {
  return tt_param_number(ask, "radix", 2);
}

static tt_tree_shape *shape_of(const tt_ask *ask) {
  if (tt_param_given(ask, "chain")) return chain_shape;
  return tt_param_given(ask, "binary") ? binary_shape : tt_tree_knomial;
}

static const char *leaders_refuse(const tt_ask *ask) {
  if (!tt_coll_rooted(ask->coll)) return "leaders are for broadcast and reduce";
  if (trees(ask) > 1) return "leaders and double exclude each other";
  if (!tt_param_levels(ask))
    return "leaders need the levels of the machine, as in tree(leaders,node:4 core:8)";
  const char *wrong = tt_param_levels_refuse(ask);
  if (wrong) return wrong;
  return tt_tree_leaders_most(tt_param_levels(ask), shape_of(ask), radix_of(ask)) > TT_DOWN
             ? "its levels are too many and too large for leaders"
             : NULL;
}

static const char *tree_refuse(const tt_ask *ask) {
  static const char *const shapes[] = {"binomial", "radix", "chain", "binary", "double"};
  if (tt_param_count(ask, shapes, 5) > 1)
    return "binomial, radix=, chain, binary and double exclude each other";
  const char *wrong = tt_nodes_refuse(ask);
  return wrong || !tt_param_given(ask, "leaders") ? wrong : leaders_refuse(ask);
}

static uint32_t tree_blocks(const tt_ask *ask) {
  return (uint32_t)(trees(ask) * tt_param_number(ask, "segments", 1));
}

/* ---- nodes in a tree: numbered relative to the root's node ---- */

typedef struct layout {
  const tt_ask *ask;
  tt_nodes nodes;
  int tree;          /* 0 for the first tree, 1 for the second */
  int node,
      behind; /* this rank's node; its index there, relative to the root if that is in the node */
  int root, root_in; /* the root's node, and its index there */
} layout;

static int node_rank_count(const layout *x, int node) {
  return tt_node_first(&x->nodes, node + 1) - tt_node_first(&x->nodes, node);
}

static layout layout_of(const tt_ask *ask, int tree) {
  layout x = {.ask = ask, .tree = tree, .nodes = tt_nodes_of(ask)};
  const int root = tt_coll_rooted(ask->coll) ? ask->root : 0;
  x.root = tt_node_at(&x.nodes, root);
  x.root_in = root - tt_node_first(&x.nodes, x.root);
  x.node = tt_node_at(&x.nodes, ask->rank);
  x.behind = ask->rank - tt_node_first(&x.nodes, x.node);
  if (x.node == x.root) x.behind = tt_mod(x.behind - x.root_in, node_rank_count(&x, x.node));
  return x;
}

/* Converts a member number p of the first tree over `n` nodes into a member number of the second tree. */
static int second_tree_member(const layout *x, int p, int n, int by) {
  if (x->tree == 0 || p < 0) return p;
  return n % 2 ? tt_mod(p + by, n) : n - 1 - p;
}

/* Returns the tree node of a member, if there are two trees. In a collective with a root, the root's node is above both trees. */
static tt_tree_node one_of_two(const layout *x, int p) {
  const int top = tt_coll_rooted(x->ask->coll), n = x->nodes.count - top;
  tt_tree_node k = {.up = -1}, inner;
  if (top && p == 0) {
    if (n > 0) tt_tree_node_add(&k, tt_peer(top + second_tree_member(x, 0, n, 1)));
    return k;
  }
  inner = tt_tree_binary(second_tree_member(x, p - top, n, -1), n);
  k.up = inner.up < 0 ? top - 1 : top + second_tree_member(x, inner.up, n, 1);
  for (int i = 0; i < inner.n; i++)
    tt_tree_node_add(&k, tt_peer(top + second_tree_member(x, inner.down[i].first, n, 1)));
  return k;
}

static tt_tree_node among_nodes(const layout *x) {
  const int n = x->nodes.count, p = tt_mod(x->node - x->root, n);
  if (trees(x->ask) == 2) return one_of_two(x, p);
  return shape_of(x->ask)(p, n, radix_of(x->ask));
}

/* Returns the rank with index `behind` in the p-th node after the root's node. If that node is too small, returns its
 * last rank. */
static int rank_at(const layout *x, int p, int behind) {
  const int node = tt_mod(p + x->root, x->nodes.count), size = node_rank_count(x, node);
  if (behind >= size) behind = size - 1;
  return tt_node_first(&x->nodes, node) + (behind + (node == x->root ? x->root_in : 0)) % size;
}

/* Returns the tree node of this rank. Each machine node is a chain of ranks, and the tree connects these chains. */
static tt_tree_node node_of_member(const layout *x) {
  const int p = tt_mod(x->node - x->root, x->nodes.count), size = node_rank_count(x, x->node);
  const tt_tree_node around = among_nodes(x);
  tt_tree_node k = {.up = -1};
  if (x->behind > 0)
    k.up = rank_at(x, p, x->behind - 1);
  else if (around.up >= 0)
    k.up = rank_at(x, around.up, 1);
  if (x->behind + 1 < size) tt_tree_node_add(&k, tt_peer(rank_at(x, p, x->behind + 1)));
  if (x->behind != (size > 1)) return k; /* neither the second rank of the node nor its only rank */
  const bool flat = x->nodes.count == x->nodes.ranks;
  for (int i = 0; i < around.n; i++) {
    const tt_peers *d = &around.down[i];
    if (flat) tt_tree_node_add(&k, (tt_peers){rank_at(x, d->first, 0), d->count, d->stride});
    for (int j = 0; !flat && j < d->count; j++)
      tt_tree_node_add(&k, tt_peer(rank_at(x, d->first + j * d->stride, 0)));
  }
  return k;
}

/* Returns the position of this rank in the t-th tree. */
static tt_tree_node node_in_tree(const tt_ask *ask, int t) {
  if (tt_param_given(ask, "leaders"))
    return tt_tree_leaders(tt_param_levels(ask), ask->rank, ask->root, shape_of(ask),
                           radix_of(ask));
  const layout x = layout_of(ask, t);
  return node_of_member(&x);
}

/* ---- one segment ---- */

static void reduce_up(tt_builder *b, const tt_ask *ask, const tt_tree_node *k, uint32_t block) {
  const bool scratch = ask->coll == TUTTI_REDUCE && k->up >= 0;
  const tt_span sum = tt_block(scratch ? TT_TMP : TT_DST, block);
  tt_span have = tt_block(TT_SRC, block);
  for (int i = 0; i < k->n; i++) {
    tt_recv_reduce_all(b, k->down[i], sum, have,
                       k->down[i].first < ask->rank ? TT_OWN_LAST : TT_OWN_FIRST);
    have = sum;
  }
  if (k->up < 0)
    tt_mark_completes(b);
  else
    tt_send(b, k->up, have);
}

static void broadcast_down(tt_builder *b, const tt_ask *ask, const tt_tree_node *k,
                           uint32_t block) {
  const bool input = k->up < 0 && ask->coll == TUTTI_BROADCAST;
  const tt_span dst = tt_block(TT_DST, block), from = input ? tt_block(TT_SRC, block) : dst;
  if (k->up >= 0) tt_recv(b, k->up, dst);
  for (int i = k->n - 1; i >= 0; i--) tt_send_all(b, k->down[i], from);
  if (input) tt_copy(b, dst, from);
}

/* Builds all upward messages before the downward messages. If both trees use the same pair of ranks, sums then need not
 * wait for results. */
static void tree_build(tt_builder *b, const tt_ask *ask) {
  const uint32_t S = (uint32_t)tt_param_number(ask, "segments", 1);
  tt_tree_node node[2];
  for (int t = 0; t < trees(ask); t++) node[t] = node_in_tree(ask, t);
  for (int way = 0; way < 2; way++)
    for (uint32_t s = 0; s < S; s++)
      for (uint32_t t = 0; t < (uint32_t)trees(ask); t++) {
        if (way == 0 && tt_coll_reduces(ask->coll)) reduce_up(b, ask, &node[t], t * S + s);
        if (way == 1 && ask->coll != TUTTI_REDUCE) broadcast_down(b, ask, &node[t], t * S + s);
      }
}

static bool tree_leaders(const tt_ask *ask, const tt_tree *tree) {
  return tt_param_given(ask, "leaders") && tt_tree_equal(tt_param_levels(ask), tree);
}

const tt_algo tt_tree_algo = {
    .name = "tree",
    .does = TT_DOES_ALLREDUCE | TT_DOES_ROOTED,
    .params = {{"binomial"},
               {"radix", TT_PARAM_NUMBER, .lo = 2, .hi = TT_RADIX,
                .wrong = "radix goes from 2 to 16"},
               {"chain"},
               {"binary"},
               {"double"},
               {"leaders"},
               {"segments", TT_PARAM_NUMBER, .lo = 1, .hi = 256,
                .wrong = "segments go from 1 to 256"},
               TT_PARAM_NODE,
               {"LEVEL:N", TT_PARAM_LEVELS}},
    .refuse = tree_refuse,
    .blocks = tree_blocks,
    .build = tree_build,
    .leaders = tree_leaders,
    .plan = {{"radix=4", 0},
             {"chain,segments=8", 0},
             {"double", 0},
             {"double,segments=4", 0},
             {"radix=4,LEVELS", 0},
             {"chain,segments=8,LEVELS", 0},
             {"double,LEVELS", 0},
             {"double,segments=4,LEVELS", 0},
             {"leaders,LEVELS", 0},
             {"leaders,radix=4,LEVELS", 0},
             {"leaders,binary,segments=8,LEVELS", 0},
             {"leaders,binary,segments=32,LEVELS", 0}},
    .stage = {{"binary", 0}},
    .entries = {{"tree(binomial)", TT_CANDIDATE,
                 "sums go up a binomial tree, the result comes down",
                 "Thakur, Rabenseifner, Gropp 2005"},
                {"tree(chain,segments=8)", TT_NAMED,
                 "a pipeline: segments up a chain and down again", "Sanders, Speck, Traeff 2009"},
                {"tree(double,segments=4)", TT_NAMED, "two binary trees, half of the vector each",
                 "Sanders, Speck, Traeff 2009"},
                {"tree(double,segments=4,node=4)", TT_NAMED,
                 "chains in nodes of 4, two trees between them",
                 "Sanders, Speck, Traeff 2009, as in NCCL"}},
};
