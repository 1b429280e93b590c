/* helper_tree.c - helpers stand where the machine's levels say: one per node, or per rack, and a tree of
 * them above.
 *
 * Idea       the ranks of a node first reduce-scatter, as in BlueConnect; so each of them has a
 *            part of the node's sum, and sends it to the helper of its node, or of its rack. A
 *            helper adds up what the nodes below send, then sends the sum up, to the helper at the
 *            group of the next level; the top one has the result. On the way down a rank gets the
 *            part of the sum that it sent, and an all-gather in the node ends it. With several
 *            trees every group has a helper for each, which sums a part of the vector.
 * Cost       a node's link carries one vector each way, however many ranks a node has; so does a
 *            helper's link up, and its link down one per group below. 2 ceil(log2 N) steps in a
 *            node of N ranks, and 2 for each row of helpers.
 * Scratch    on helpers, up to a vector.
 * Invariant  helpers are numbered after the ranks with data, row by row, the lowest first; in a row
 *            group by group, in a group tree by tree. The groups below a helper are added in their
 *            order. All ranks that have data of a tree's part get all of its sum, in a node.
 * Parameters the levels of the ranks with data, such as "rack:2 node:3 core:4"; what is within a level
 *            called node is one node, without such a level the innermost one is. per=LEVEL: the
 *            lowest level whose groups have helpers; trees=T. What is not given follows from the
 *            number of helpers: the innermost level that fits.
 * Source     Graham et al., SHARP, 2016; within nodes Cho et al., BlueConnect, SysML 2019.
 * See        tutti plan draw 'aggregate(rack:2 node:2 core:2)' -P 11
 * SPDX-License-Identifier: BSD-3-Clause */
#include "algo_helpers.h"

#include <stdio.h>
#include <string.h>

enum { MOST_TREES = 1024, MOST_BLOCKS = 1 << 22 };

/* ---- parameters ---- */

static const char *say(const char *format, int a, int b, int c) {
  size_t size;
  char *text = tt_thread_text(&size);
  snprintf(text, size, format, a, b, c);
  return text;
}

/* The level that per= names; -2: none. */
static int level_named(const tt_helpers *h, const char *name) {
  int l = h->from - 1;
  while (l >= 0 && strcmp(h->tree.level[l].name, name) != 0) l--;
  return l >= 0 ? l : -2;
}

/* Finds the level of the lowest row, and the number of trees. NULL, or why no choice fits. */
static const char *fit(tt_helpers *h, int helpers, const char *per, int trees) {
  const int named = level_named(h, per);
  if (*per && named < -1) return "per= names the level of nodes, or one that holds them";
  for (int l = *per ? named : h->from - 1; l >= (*per ? named : -1); l--) {
    if (tt_helper_rows_set(&h->tree, l, helpers, trees, &h->rows)) return NULL;
  }
  if (*per)
    return say("there are %d helpers, and a tree has %d at these levels", helpers,
               tt_helper_rows_each(&h->rows), 0);
  return say("no level of these has %d helpers for %d trees over %d ranks with data", helpers,
             trees, h->data);
}

const char *tt_helpers_of(const tt_ask *ask, tt_helpers *h) {
  char levels[TT_NAME], per[TT_NAME] = "";
  int trees;
  memset(h, 0, sizeof *h);
  tt_param_levels(ask, levels, sizeof levels);
  if (tt_tree_parse(levels, &h->tree)) return tt_param_tree(ask, levels, &h->tree);
  if (h->tree.levels >= TT_TREE_LEVELS - 1) return "helpers take at most 10 levels";
  h->data = h->tree.ranks;
  if (h->data >= ask->ranks)
    return say("its levels hold %d ranks with data, so of %d ranks none helps", h->data, ask->ranks,
               0);
  if (!tt_param_int(ask, "trees", 1, MOST_TREES, 0, &trees)) return "trees go from 1 to 1024";
  tt_param_value(ask, "per", per, sizeof per);
  h->from = tt_level_in_node(&h->tree);
  const char *wrong = fit(h, ask->ranks - h->data, per, trees);
  if (ask->coll == TUTTI_BARRIER && h->rows.trees == 1) /* nothing to scatter */
    h->from = tt_ranks_as_nodes(&h->tree);
  if (!wrong && h->rows.trees > MOST_TREES) return "trees go from 1 to 1024";
  if (!wrong && tt_helpers_blocks(h) > MOST_BLOCKS)
    return "its nodes are too uneven: too many blocks";
  return wrong;
}

/* ---- who is where ---- */

static tt_inner inner_of(const tt_helpers *h) {
  return (tt_inner){&h->tree, h->from, h->rows.trees};
}

uint32_t tt_helpers_blocks(const tt_helpers *h) {
  const tt_inner in = inner_of(h);
  return tt_inner_blocks(&in);
}

static int helper_at(const tt_helpers *h, int row, int group, int tree) {
  return h->data + tt_helper_number(&h->rows, row, group, tree);
}

/* The group of a row that a rank with data belongs to. */
static int group_of_rank(const tt_helpers *h, int row, int rank) {
  return tt_group_around(&h->tree, h->rows.row[row].level, rank);
}

/* A helper, and its group. */
typedef struct post {
  int row, group, tree;
  int lo, hi; /* nodes below, in the lowest row; else groups of the row below */
  bool top;
} post;

static post post_of(const tt_helpers *h, int rank) {
  const int at = (rank - h->data) / h->rows.trees;
  post p = {.tree = (rank - h->data) % h->rows.trees};
  while (at >= h->rows.row[p.row].before + h->rows.row[p.row].groups) p.row++;
  p.group = at - h->rows.row[p.row].before;
  const int inner = p.row ? h->rows.row[p.row - 1].level : h->from - 1,
            own = h->rows.row[p.row].level;
  p.lo = tt_group_within(&h->tree, own, p.group, inner);
  p.hi = tt_group_within(&h->tree, own, p.group + 1, inner);
  p.top = p.row == h->rows.n - 1;
  return p;
}

static int rank_of_node(const tt_helpers *h, int node) {
  return tt_tree_rank(&h->tree, h->from - 1, node);
}

/* How many nodes from this one on, up to `end`, have ranks that own the same parts. */
static int alike_from(const tt_helpers *h, int node, int end) {
  const int size = rank_of_node(h, node + 1) - rank_of_node(h, node);
  int n = 1;
  if (!h->tree.even && h->from + 1 < h->tree.levels) return 1;
  while (node + n < end && rank_of_node(h, node + n + 1) - rank_of_node(h, node + n) == size) n++;
  return n;
}

/* Which ranks send to their helpers, and get from them. */
static bool brings(const tt_ask *ask, int rank) {
  return tt_coll_reduces(ask->coll) || rank == ask->root;
}
static bool receives(const tt_ask *ask, int rank) {
  return ask->coll != TUTTI_REDUCE || rank == ask->root;
}

/* Is the root below this group? */
static bool holds_root(const tt_helpers *h, const tt_ask *ask, int row, int group) {
  return group_of_rank(h, row, ask->root) == group;
}
static bool passes_up(const tt_helpers *h, const tt_ask *ask, int row, int group) {
  return tt_coll_reduces(ask->coll) || holds_root(h, ask, row, group);
}
static bool passes_down(const tt_helpers *h, const tt_ask *ask, int row, int group) {
  return ask->coll != TUTTI_REDUCE || holds_root(h, ask, row, group);
}

/* ---- ranks with data ---- */

/* With a root, it alone trades whole parts with its helpers. */
static void trade_whole(tt_builder *b, const tt_ask *ask, const tt_helpers *h, bool sends) {
  const tt_inner in = inner_of(h);
  const int group = group_of_rank(h, 0, ask->rank);
  for (int t = 0; t < h->rows.trees; t++) {
    const tt_span part = tt_inner_whole(&in, t, sends ? TT_SRC : TT_DST);
    if (sends) tt_send(b, helper_at(h, 0, group, t), part);
    if (!sends) tt_recv(b, helper_at(h, 0, group, t), part);
  }
}

static void trade_parts(tt_builder *b, const tt_ask *ask, const tt_helpers *h, tt_buf buf,
                        bool sends) {
  const tt_inner in = inner_of(h);
  const int group = group_of_rank(h, 0, ask->rank);
  tt_span part;
  for (int t = 0; t < h->rows.trees; t++)
    for (int i = 0; tt_inner_part(&in, ask->rank, t, i, buf, &part); i++) {
      if (sends) tt_send(b, helper_at(h, 0, group, t), part);
      if (!sends) tt_recv(b, helper_at(h, 0, group, t), part);
    }
}

static void be_member(tt_builder *b, const tt_ask *ask, const tt_helpers *h) {
  const tt_inner in = inner_of(h);
  const tt_fold_spec how = {"halving"};
  if (tt_coll_reduces(ask->coll)) {
    const tt_buf work = receives(ask, ask->rank) ? TT_DST : TT_TMP;
    trade_parts(b, ask, h, tt_inner_down(b, &in, ask->rank, &how, work), true);
  } else if (brings(ask, ask->rank)) {
    trade_whole(b, ask, h, true);
  }
  if (ask->coll == TUTTI_REDUCE) {
    if (receives(ask, ask->rank)) trade_whole(b, ask, h, false);
    return;
  }
  trade_parts(b, ask, h, TT_DST, false);
  tt_inner_up(b, &in, ask->rank, &how);
}

/* ---- helpers ---- */

typedef struct helper {
  tt_builder *b;
  const tt_ask *ask;
  const tt_helpers *h;
  post at;
  tt_span sum;
} helper;

/* Adds what ranks send, or takes it if it is the first. */
static void add_in(const helper *x, tt_peers from, tt_span part, bool first, bool last) {
  if (first) {
    tt_recv(x->b, from.first, part);
    return;
  }
  tt_recv_reduce_all(x->b, from, part, part, TT_OWN_FIRST);
  if (last && x->at.top) tt_mark_completes(x->b);
}

/* The ranks of `n` nodes that are alike, each with its part: adds, or sends back. */
static void trade_with_nodes(const helper *x, int node, int n, bool sends, bool first, bool last) {
  const tt_inner in = inner_of(x->h);
  const int begin = rank_of_node(x->h, node), size = rank_of_node(x->h, node + 1) - begin;
  tt_span part;
  for (int a = 0; a < size; a++)
    for (int i = 0; tt_inner_part(&in, begin + a, x->at.tree, i, TT_TMP, &part); i++) {
      const tt_peers ranks = {begin + a, n, size};
      if (sends)
        tt_send_all(x->b, ranks, part);
      else
        add_in(x, ranks, part, first, last);
    }
}

static void sum_nodes(const helper *x) {
  for (int node = x->at.lo, n; node < x->at.hi; node += n) {
    const bool first = node == x->at.lo;
    n = first ? 1 : alike_from(x->h, node, x->at.hi);
    trade_with_nodes(x, node, n, false, first, node + n == x->at.hi);
  }
}

static void serve_nodes(const helper *x) {
  for (int node = x->at.lo, n; node < x->at.hi; node += n) {
    n = alike_from(x->h, node, x->at.hi);
    trade_with_nodes(x, node, n, true, false, false);
  }
}

/* The helpers of the row below, as far as they pass a sum up, or down. */
static void sum_helpers(const helper *x) {
  const int below = x->at.row - 1, n = x->at.hi - x->at.lo;
  const tt_peers all = {helper_at(x->h, below, x->at.lo, x->at.tree), n, x->h->rows.trees};
  add_in(x, all, x->sum, true, false);
  const tt_peers rest = {all.first + all.stride, n - 1, all.stride};
  if (n > 1) add_in(x, rest, x->sum, false, true);
}

static void serve_helpers(const helper *x) {
  const int below = x->at.row - 1;
  const tt_peers all = {helper_at(x->h, below, x->at.lo, x->at.tree), x->at.hi - x->at.lo,
                        x->h->rows.trees};
  tt_send_all(x->b, all, x->sum);
}

/* With a root: the one group below that holds it, or the root itself. */
static int way_to_root(const helper *x) {
  if (x->at.row == 0) return x->ask->root;
  return helper_at(x->h, x->at.row - 1, group_of_rank(x->h, x->at.row - 1, x->ask->root),
                   x->at.tree);
}

/* The helper above; -1: none. */
static int helper_above(const helper *x) {
  const int row = x->at.row + 1;
  if (x->at.top) return -1;
  const int first = tt_tree_rank(&x->h->tree, x->h->rows.row[row - 1].level, x->at.group);
  return helper_at(x->h, row, group_of_rank(x->h, row, first), x->at.tree);
}

static void be_helper(tt_builder *b, const tt_ask *ask, const tt_helpers *h) {
  const tt_inner in = inner_of(h);
  const post at = post_of(h, ask->rank);
  const helper x = {b, ask, h, at, tt_inner_whole(&in, at.tree, TT_TMP)};
  const int up = helper_above(&x);
  const bool gives = passes_up(h, ask, at.row, at.group),
             gets = passes_down(h, ask, at.row, at.group);
  if (tt_coll_reduces(ask->coll)) {
    if (at.row == 0) sum_nodes(&x);
    if (at.row > 0) sum_helpers(&x);
  } else if (gives) {
    tt_recv(b, way_to_root(&x), x.sum);
  }
  if (gives && !at.top) tt_send(b, up, x.sum);
  if (gets && !at.top) tt_recv(b, up, x.sum);
  if (!gets) return;
  if (ask->coll == TUTTI_REDUCE)
    tt_send(b, way_to_root(&x), x.sum);
  else if (at.row == 0)
    serve_nodes(&x);
  else
    serve_helpers(&x);
}

void tt_helpers_build(tt_builder *b, const tt_ask *ask, const tt_helpers *h) {
  tt_build_data(b, h->data);
  if (ask->rank < h->data)
    be_member(b, ask, h);
  else
    be_helper(b, ask, h);
}

/* ---- proposals ---- */

/* Writes levels whose `nodes` nodes hold `data` ranks as evenly as may be, then what follows. */
static bool write_levels(const char *outer, int nodes, int data, const char *per, int trees,
                         char *params, size_t size) {
  const int each = data / nodes, more = data % nodes;
  size_t at = (size_t)snprintf(params, size, "%s core:", outer);
  if (at < size && more)
    at += (size_t)snprintf(params + at, size - at, "(%d*%d,%d*%d)", each + 1, more, each,
                           nodes - more);
  else if (at < size)
    at += (size_t)snprintf(params + at, size - at, "%d", each);
  if (at < size && *per) at += (size_t)snprintf(params + at, size - at, ",per=%s", per);
  if (at < size && (!*per || trees > 1))
    at += (size_t)snprintf(params + at, size - at, ",trees=%d", trees);
  return at < size;
}

/* How nodes stand in n groups, and at which of their levels there are helpers. */
static const struct {
  const char *outer, *per;
  int nodes;            /* per group */
  int helpers, further; /* per group, and beside */
} shapes[] = {
    {"node:%d", "node", 1, 1, 1},
    {"node:%d package:2", "node", 2, 1, 1},
    {"rack:%d node:2", "rack", 2, 1, 1},
    {"rack:%d node:2", "node", 2, 3, 1},
    {"node:%d", "", 1, 0, 1},
};

bool tt_helpers_sample(int ranks, int i, char *params, size_t size) {
  char outer[64];
  for (int trees = 1; trees <= 3; trees++)
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
      for (int n = 2; n <= ranks; n++) {
        const int data = ranks - trees * (shapes[k].helpers * n + shapes[k].further);
        if (data < n * shapes[k].nodes) break;
        if (i-- > 0) continue;
        snprintf(outer, sizeof outer, shapes[k].outer, n);
        return write_levels(outer, n * shapes[k].nodes, data, shapes[k].per, trees, params, size);
      }
  return false;
}

bool tt_helpers_plan(int ranks, const char *levels, int i, char *params, size_t size) {
  tt_helpers h = {.data = 0};
  if (!*levels || tt_tree_parse(levels, &h.tree) || h.tree.ranks >= ranks) return false;
  if (h.tree.levels >= TT_TREE_LEVELS - 1) return false;
  const int helpers = ranks - h.tree.ranks;
  h.from = tt_level_in_node(&h.tree);
  for (int l = h.from - 1; l >= 0; l--) {
    if (!tt_helper_rows_set(&h.tree, l, helpers, 0, &h.rows)) continue;
    if (h.rows.row[0].groups == 1 || i-- > 0) continue;
    return (size_t)snprintf(params, size, "%s,per=%s", levels, h.tree.level[l].name) < size;
  }
  return i == 0 && (size_t)snprintf(params, size, "%s,trees=%d", levels, helpers) < size;
}
