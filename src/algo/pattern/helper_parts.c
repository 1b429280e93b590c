/* helper_parts.c - the part of every tree that a rank exchanges with its helpers.
 *
 * Idea       The ranks of a node divide the vector. If its blocks belong to ranks and all nodes have the same size, a
 *            rank has the blocks of all ranks with its index in their nodes. If nodes differ in size, it has a run of
 *            blocks, about as long as those of the others in its node: of D blocks, member a of n has D*a/n .. D*(a+1)/n.
 * Invariant  The ranks of a node together have every block exactly once. Ranks with the same index in nodes of the same
 *            size have the same blocks.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "algo_helpers.h"

static tt_inner inner_of(const tt_helpers *h) {
  return (tt_inner){&h->tree, h->from, h->rows.trees};
}

uint32_t tt_helpers_blocks(const tt_helpers *h) {
  const tt_inner in = inner_of(h);
  return tt_inner_blocks(&in);
}

int tt_helpers_first_of(const tt_helpers *h, int node) {
  return tt_tree_rank(&h->tree, h->from - 1, node);
}

int tt_helpers_node_of(const tt_helpers *h, int rank) {
  return tt_group_around(&h->tree, h->from - 1, rank);
}

static tt_owned blocks_of_tree(const tt_helpers *h, int tree) {
  return tt_owned_of_tree(h->data, h->rows.trees, tree);
}

static tt_span strided(const tt_helpers *h, int rank, int tree, tt_buf buf) {
  const int each = tt_helpers_first_of(h, 1), own = rank % each;
  const tt_owned x = blocks_of_tree(h, tree);
  const int first = x.lo > own ? (x.lo - own + each - 1) / each : 0;
  const int end = x.hi > own ? (x.hi - own + each - 1) / each : 0;
  const int count = end > first ? end - first : 0;
  return (tt_span){
      buf, (uint32_t)own, (uint32_t)first, (uint32_t)count, (uint32_t)end, (uint32_t)each, 1};
}

static tt_span run_of_blocks(const tt_helpers *h, int rank, int tree, tt_buf buf) {
  const int node = tt_helpers_node_of(h, rank), first = tt_helpers_first_of(h, node);
  const int64_t n = tt_helpers_first_of(h, node + 1) - first, a = rank - first, all = h->data;
  const tt_owned mine = {(int)(all * a / n), (int)(all * (a + 1) / n)};
  const tt_owned both = tt_owned_both(mine, blocks_of_tree(h, tree));
  return tt_owned_none(both) ? (tt_span){.count = 0} : tt_owned_span(buf, both, (uint32_t)all);
}

void tt_helpers_parts(const tt_helpers *h, int rank, int tree, tt_buf buf, tt_span_list *list) {
  const tt_inner in = inner_of(h);
  list->n = 0;
  if (!h->owned) {
    tt_inner_part(&in, rank, tree, buf, list);
    return;
  }
  const tt_span own = h->differ ? run_of_blocks(h, rank, tree, buf) : strided(h, rank, tree, buf);
  if (!own.count) return;
  if (list->capacity || tt_grow(&list->at, &list->capacity, 1, sizeof *list->at))
    list->at[list->n++] = own;
  else
    list->failed = true;
}

tt_span tt_helpers_whole(const tt_helpers *h, int tree, tt_buf buf) {
  const tt_inner in = inner_of(h);
  return h->owned ? tt_owned_span(buf, blocks_of_tree(h, tree), (uint32_t)h->data)
                  : tt_inner_whole(&in, tree, buf);
}

/* Describes the ranks of a node as a circle. Each member of the circle owns a run of blocks. */
static int runs_in_node(const tt_helpers *h, int rank, tt_group *g) {
  const int node = tt_helpers_node_of(h, rank), first = tt_helpers_first_of(h, node);
  const int n = tt_helpers_first_of(h, node + 1) - first;
  *g = (tt_group){.ranks = h->data,
                  .rank = rank,
                  .levels = n < h->data ? 2 : 1, /* the sum over the nodes is computed later */
                  .inner = true,
                  .nested = true,
                  .runs = (uint32_t)h->data,
                  .size = {n, 1},
                  .apart = {1, 1},
                  .digit = {rank - first}};
  return n > 1;
}

int tt_helpers_in_node(const tt_helpers *h, const tt_ask *ask, tt_group *g) {
  const tt_ask own = {.coll = ask->coll, .ranks = h->data, .rank = ask->rank};
  const int nodes = tt_group_within(&h->tree, -1, 1, h->from - 1);
  int sizes[TT_TREE_LEVELS + 1] = {1}, n = 0;
  if (h->differ) return runs_in_node(h, ask->rank, g);
  if (nodes > 1) sizes[n++] = nodes;
  for (int l = h->from; l < h->tree.levels; l++)
    if (h->tree.level[l].each > 1) sizes[n++] = h->tree.level[l].each;
  *g = tt_group_product(&own, sizes, n ? n : 1, true);
  return n - (nodes > 1);
}
