/* helper_tree.c - helpers at the levels of the machine: one per node or per rack, and a tree of helpers above them.
 *
 * Idea       The ranks of a node first reduce-scatter, as in BlueConnect. Each rank then has a part of the node's sum,
 *            and sends it to the helper of its node or rack. A helper adds the sums of the nodes below it, then sends its
 *            sum up to the helper of the group at the next level; the top helper has the result. On the way down a rank
 *            receives the part of the sum that it sent, and an all-gather in the node follows. With several trees every
 *            group has one helper for each tree, which reduces a part of the vector.
 * Cost       The link of a node, and the link from a helper up, carry one vector in each direction, however many ranks a
 *            node has. The link from a helper down carries one per group below. The total is 2 ceil(log2 N) steps in a
 *            node of N ranks, and 2 for each row of helpers. A reduce-scatter and an all-gather exchange whole blocks
 *            (helper_parts.c). A root exchanges whole trees' parts; with `spread`, each rank of its node exchanges a
 *            part.
 * Scratch    Up to one vector on each helper, and in a reduce-scatter on each rank.
 * Invariant  Helpers are numbered after the ranks with data, row by row, lowest first; within a row group by group, and
 *            within a group tree by tree. The groups below a helper are added in their order. The ranks of a node that
 *            have data of a tree's part together receive all of its sum.
 * Parameters the levels of the ranks with data, such as "rack:2 node:3 core:4". Everything within the level called node
 *            is one node; without such a level, the innermost level is. per=LEVEL: the lowest level whose groups have
 *            helpers; trees=T. If these are not given, the number of helpers determines them: the innermost level that
 *            fits is used. spread: see above.
 * Source     Graham et al., SHARP, 2016; within nodes Cho et al., BlueConnect, SysML 2019.
 * See        tutti plan draw 'aggregate(rack:2 node:2 core:2)' -n 11
 * SPDX-License-Identifier: BSD-3-Clause */
#include "algo_helpers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TREES = 1024, MOST_BLOCKS = 1 << 22 };

/* ---- parameters ---- */

static const char *say_numbers(const char *format, int a, int b, int c) {
  size_t size;
  char *text = tt_thread_text(&size);
  snprintf(text, size, format, a, b, c);
  return text;
}

/* Returns the level that per= names, or -2 if it names none. */
static int level_named(const tt_helpers *h, const tt_arg *per) {
  int l = per ? h->from - 1 : -1;
  while (l >= 0 && !tt_arg_is(per, h->tree.level[l].name)) l--;
  return l >= 0 ? l : -2;
}

/* Determines the level of the lowest row and the number of trees. Returns NULL, or an error message if no choice is possible. */
static const char *fit(tt_helpers *h, int helpers, const tt_arg *per, int trees) {
  const int named = level_named(h, per);
  if (per && named < -1) return "per= names the level of nodes, or one that holds them";
  for (int l = per ? named : h->from - 1; l >= (per ? named : -1); l--) {
    if (tt_helper_rows_set(&h->tree, l, helpers, trees, &h->rows)) return NULL;
  }
  if (per)
    return say_numbers("there are %d helpers, and a tree has %d at these levels", helpers,
                       tt_helper_rows_each(&h->rows), 0);
  return say_numbers(
      "there are %d helpers, and %d trees over %d ranks with data have more or fewer", helpers,
      trees, h->data);
}

const char *tt_helpers_of(const tt_ask *ask, tt_helpers *h) {
  memset(h, 0, sizeof *h);
  h->tree = *tt_param_levels(ask);
  if (h->tree.levels >= TT_TREE_LEVELS - 1) return "helpers take at most 10 levels";
  h->data = h->tree.ranks;
  if (h->data >= ask->ranks)
    return say_numbers("its levels hold %d ranks with data, so of %d ranks none helps", h->data,
                       ask->ranks, 0);
  h->from = tt_level_in_node(&h->tree);
  const char *wrong =
      fit(h, ask->ranks - h->data, tt_param_of(ask, "per"), tt_param_number(ask, "trees", 0));
  if (ask->coll == TUTTI_BARRIER && h->rows.trees == 1) /* there is nothing to scatter */
    h->from = tt_ranks_as_nodes(&h->tree);
  h->owned = tt_coll_owned(ask->coll);
  h->spread = tt_coll_rooted(ask->coll) && tt_param_given(ask, "spread");
  for (int l = h->from; l < h->tree.levels; l++) h->differ |= h->owned && !h->tree.level[l].each;
  if (!wrong && h->rows.trees > MOST_TREES) return "trees go from 1 to 1024";
  if (!wrong && tt_helpers_blocks(h) > MOST_BLOCKS)
    return "its nodes are too uneven: too many blocks";
  return wrong;
}

/* ---- numbers of helpers and groups ---- */

static int helper_at(const tt_helpers *h, int row, int group, int tree) {
  return h->data + tt_helper_number(&h->rows, row, group, tree);
}

/* Returns the group of a row that contains a rank with data. */
static int group_of_rank(const tt_helpers *h, int row, int rank) {
  return tt_group_around(&h->tree, h->rows.row[row].level, rank);
}

/* ---- parts of a vector of any blocks, or of one whose blocks belong to the ranks with data ---- */

static tt_owned blocks_of_tree(const tt_helpers *h, int tree) {
  return tt_owned_of_tree(h->data, h->rows.trees, tree);
}

/* Returns the blocks in one tree that are owned by the ranks of a group of this row. */
static tt_owned blocks_of_group(const tt_helpers *h, int row, int group, int tree) {
  const int level = h->rows.row[row].level;
  const int lo = tt_tree_rank(&h->tree, level, group),
            hi = tt_tree_rank(&h->tree, level, group + 1);
  return tt_owned_both(blocks_of_tree(h, tree), (tt_owned){lo, hi});
}

static tt_span span_of_owned(const tt_helpers *h, tt_owned x, tt_buf buf) {
  return tt_owned_span(buf, x, (uint32_t)h->data);
}

static void free_list(tt_builder *b, tt_span_list *list) {
  if (list->failed) b->status = TUTTI_ERR_MEMORY;
  free(list->at);
}

/* ---- positions of helpers ---- */

/* The position of a helper. */
typedef struct post {
  int row, group, tree;
  int lo, hi; /* range of nodes (lowest row) or of groups of the row below (other rows) */
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

/* Returns how many consecutive nodes, from `node` up to `end`, have ranks that own the same parts as those of `node`. */
static int alike_from(const tt_helpers *h, int node, int end) {
  const int size = tt_helpers_first_of(h, node + 1) - tt_helpers_first_of(h, node);
  int n = 1;
  if (!h->tree.even && h->from + 1 < h->tree.levels) return 1;
  while (node + n < end &&
         tt_helpers_first_of(h, node + n + 1) - tt_helpers_first_of(h, node + n) == size)
    n++;
  return n;
}

/* Returns true if the rank receives the result. */
static bool receives(const tt_ask *ask, int rank) {
  return ask->coll != TUTTI_REDUCE || rank == ask->root;
}

/* Returns true if the root is below this group. */
static bool group_has_root(const tt_helpers *h, const tt_ask *ask, int row, int group) {
  return group_of_rank(h, row, ask->root) == group;
}
static bool group_gives(const tt_helpers *h, const tt_ask *ask, int row, int group) {
  return tt_coll_reduces(ask->coll) || group_has_root(h, ask, row, group);
}
static bool group_gets(const tt_helpers *h, const tt_ask *ask, int row, int group) {
  return ask->coll != TUTTI_REDUCE || group_has_root(h, ask, row, group);
}

/* ---- ranks with data ---- */

/* Exchanges the complete part of every tree with its helper. Used only by the root of a collective. */
static void trade_whole(tt_builder *b, const tt_ask *ask, const tt_helpers *h, bool sends) {
  const int group = group_of_rank(h, 0, ask->rank);
  for (int t = 0; t < h->rows.trees; t++) {
    const tt_span part = tt_helpers_whole(h, t, sends ? TT_SRC : TT_DST);
    if (sends) tt_send(b, helper_at(h, 0, group, t), part);
    if (!sends) tt_recv(b, helper_at(h, 0, group, t), part);
  }
}

static void trade_parts(tt_builder *b, const tt_ask *ask, const tt_helpers *h, tt_buf buf,
                        bool sends) {
  const int group = group_of_rank(h, 0, ask->rank);
  tt_span_list parts = {0};
  for (int t = 0; t < h->rows.trees; t++) {
    tt_helpers_parts(h, ask->rank, t, buf, &parts);
    for (uint32_t i = 0; i < parts.n; i++) {
      if (sends) tt_send(b, helper_at(h, 0, group, t), parts.at[i]);
      if (!sends) tt_recv(b, helper_at(h, 0, group, t), parts.at[i]);
    }
  }
  free_list(b, &parts);
}

/* Lets the root scatter its vector to the ranks of its node, or gather the sum from them. Each rank has a separate part. */
static void trade_in_node(tt_builder *b, const tt_ask *ask, const tt_helpers *h, bool scatters) {
  const int node = tt_helpers_node_of(h, ask->root), root = ask->root;
  const bool am_root = ask->rank == root;
  const tt_buf buf = am_root ? scatters ? TT_SRC : TT_DST : TT_TMP;
  tt_span_list parts = {0};
  if (tt_helpers_node_of(h, ask->rank) != node) return;
  for (int r = tt_helpers_first_of(h, node); r < tt_helpers_first_of(h, node + 1); r++)
    for (int t = 0; t < h->rows.trees && r != root && (am_root || r == ask->rank); t++) {
      tt_helpers_parts(h, r, t, buf, &parts);
      for (uint32_t i = 0; i < parts.n; i++) {
        if (am_root == scatters) tt_send(b, am_root ? r : root, parts.at[i]);
        if (am_root != scatters) tt_recv(b, am_root ? r : root, parts.at[i]);
      }
    }
  free_list(b, &parts);
}

/* Returns the helper that sends or receives the block of this rank. */
static int helper_of_block(const tt_ask *ask, const tt_helpers *h) {
  int t = 0;
  while (ask->rank >= blocks_of_tree(h, t).hi) t++;
  return helper_at(h, 0, group_of_rank(h, 0, ask->rank), t);
}

static void be_owner(tt_builder *b, const tt_ask *ask, const tt_helpers *h) {
  const tt_fold_spec how = tt_fold_halving;
  const uint32_t own = (uint32_t)ask->rank;
  tt_group g;
  const int levels = tt_helpers_in_node(h, ask, &g);
  if (ask->coll == TUTTI_REDUCE_SCATTER) {
    trade_parts(b, ask, h, tt_fold_first(b, &g, levels, &how), true);
    tt_recv(b, helper_of_block(ask, h), tt_block(TT_DST, own));
  } else {
    tt_send(b, helper_of_block(ask, h), tt_block(TT_SRC, own));
    trade_parts(b, ask, h, TT_DST, false);
    tt_unfold_first(b, &g, levels, &how);
  }
}

/* Runs a reduce or a broadcast with `spread`: all ranks of the root's node exchange data with the helpers. */
static void be_near_root(tt_builder *b, const tt_ask *ask, const tt_helpers *h) {
  const bool reduces = ask->coll == TUTTI_REDUCE, am_root = ask->rank == ask->root;
  if (tt_helpers_node_of(h, ask->rank) != tt_helpers_node_of(h, ask->root)) return;
  if (!reduces) trade_in_node(b, ask, h, true);
  trade_parts(b, ask, h, reduces ? am_root ? TT_DST : TT_TMP : am_root ? TT_SRC : TT_TMP, !reduces);
  if (reduces) trade_in_node(b, ask, h, false);
}

static void be_member(tt_builder *b, const tt_ask *ask, const tt_helpers *h) {
  const tt_inner in = {&h->tree, h->from, h->rows.trees};
  const tt_fold_spec how = tt_fold_halving;
  if (tt_coll_reduces(ask->coll)) {
    const tt_buf work = receives(ask, ask->rank) ? TT_DST : TT_TMP;
    trade_parts(b, ask, h, tt_inner_down(b, &in, ask->rank, &how, work), true);
  }
  if (h->spread)
    be_near_root(b, ask, h);
  else if (ask->coll == TUTTI_BROADCAST && ask->rank == ask->root)
    trade_whole(b, ask, h, true);
  else if (ask->coll == TUTTI_REDUCE && ask->rank == ask->root)
    trade_whole(b, ask, h, false);
  if (ask->coll == TUTTI_REDUCE) return;
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

/* Receives a part from each of the ranks and adds it to the sum. The very first part is stored without an addition. */
static void add_in(const helper *x, tt_peers from, tt_span part, bool first, bool last) {
  if (first) {
    tt_recv(x->b, from.first, part);
    return;
  }
  tt_recv_reduce_all(x->b, from, part, part, TT_OWN_FIRST);
  if (last && x->at.top) tt_mark_completes(x->b);
}

/* Exchanges parts with all ranks of `n` nodes of equal size. Either adds the parts that they send, or sends them the sums. */
static void trade_with_nodes(const helper *x, int node, int n, bool sends, bool first, bool last) {
  const int begin = tt_helpers_first_of(x->h, node),
            size = tt_helpers_first_of(x->h, node + 1) - begin;
  tt_span_list parts = {0};
  for (int a = 0; a < size; a++) {
    const tt_peers ranks = {begin + a, n, size};
    tt_helpers_parts(x->h, begin + a, x->at.tree, TT_TMP, &parts);
    for (uint32_t i = 0; i < parts.n; i++) {
      if (sends)
        tt_send_all(x->b, ranks, parts.at[i]);
      else
        add_in(x, ranks, parts.at[i], first, last);
    }
  }
  free_list(x->b, &parts);
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

/* Adds the sums of the helpers in the row below. */
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

/* Exchanges blocks with everything directly below this helper: with ranks in the lowest row, otherwise with helpers. */
static void trade_owned(const helper *x, bool sends) {
  const int row = x->at.row, tree = x->at.tree;
  const tt_owned mine = blocks_of_group(x->h, row, x->at.group, tree);
  const int lo = row ? x->at.lo : mine.lo, hi = row ? x->at.hi : mine.hi;
  for (int k = lo; k < hi; k++) {
    const tt_owned its = row ? blocks_of_group(x->h, row - 1, k, tree) : (tt_owned){k, k + 1};
    const int peer = row ? helper_at(x->h, row - 1, k, tree) : k;
    if (tt_owned_none(its)) continue;
    const tt_span here = span_of_owned(x->h, its, TT_TMP);
    if (sends) tt_send(x->b, peer, here);
    if (!sends) tt_recv(x->b, peer, here);
  }
}

/* Exchanges the root's vector with the group below that contains the root. In the lowest row, exchanges it with the
 * root itself or, with `spread`, with all ranks on the root's node. */
static void trade_towards_root(const helper *x, bool sends) {
  const tt_helpers *h = x->h;
  const int row = x->at.row, root = x->ask->root;
  if (!row && h->spread) {
    trade_with_nodes(x, tt_helpers_node_of(h, root), 1, sends, true, false);
    return;
  }
  const int peer = row ? helper_at(h, row - 1, group_of_rank(h, row - 1, root), x->at.tree) : root;
  if (sends) tt_send(x->b, peer, x->sum);
  if (!sends) tt_recv(x->b, peer, x->sum);
}

/* Returns the helper above, or -1 for the top helper. */
static int helper_above(const helper *x) {
  const int row = x->at.row + 1;
  if (x->at.top) return -1;
  const int first = tt_tree_rank(&x->h->tree, x->h->rows.row[row - 1].level, x->at.group);
  return helper_at(x->h, row, group_of_rank(x->h, row, first), x->at.tree);
}

static void sum_below(const helper *x) {
  if (x->at.row)
    sum_helpers(x);
  else
    sum_nodes(x);
}

static void serve_below(const helper *x) {
  if (x->at.row)
    serve_helpers(x);
  else
    serve_nodes(x);
}

static void help_all(const helper *x, int up) {
  const bool gives = group_gives(x->h, x->ask, x->at.row, x->at.group),
             gets = group_gets(x->h, x->ask, x->at.row, x->at.group);
  if (tt_coll_reduces(x->ask->coll))
    sum_below(x);
  else if (gives)
    trade_towards_root(x, false);
  if (gives && up >= 0) tt_send(x->b, up, x->sum);
  if (gets && up >= 0) tt_recv(x->b, up, x->sum);
  if (gets && x->ask->coll == TUTTI_REDUCE)
    trade_towards_root(x, true);
  else if (gets)
    serve_below(x);
}

/* Runs a reduce-scatter or an all-gather. The blocks of the ranks below are sent down in the former and up in the latter. */
static void help_owners(const helper *x, int up) {
  const bool scatters = x->ask->coll == TUTTI_REDUCE_SCATTER;
  const tt_owned mine = blocks_of_group(x->h, x->at.row, x->at.group, x->at.tree);
  const bool some = !tt_owned_none(mine);
  const tt_span own = span_of_owned(x->h, mine, TT_TMP);
  if (scatters)
    sum_below(x);
  else
    trade_owned(x, false);
  if (up >= 0 && (scatters || some)) tt_send(x->b, up, scatters ? x->sum : own);
  if (up >= 0 && (!scatters || some)) tt_recv(x->b, up, scatters ? own : x->sum);
  if (scatters)
    trade_owned(x, true);
  else
    serve_below(x);
}

static void be_helper(tt_builder *b, const tt_ask *ask, const tt_helpers *h) {
  const post at = post_of(h, ask->rank);
  const helper x = {b, ask, h, at, tt_helpers_whole(h, at.tree, TT_TMP)};
  const tt_owned part = blocks_of_tree(h, at.tree);
  if (!h->owned)
    help_all(&x, helper_above(&x));
  else if (!tt_owned_none(part))
    help_owners(&x, helper_above(&x));
}

void tt_helpers_build(tt_builder *b, const tt_ask *ask, const tt_helpers *h) {
  tt_build_data(b, h->data);
  if (ask->rank >= h->data)
    be_helper(b, ask, h);
  else if (h->owned)
    be_owner(b, ask, h);
  else
    be_member(b, ask, h);
}
