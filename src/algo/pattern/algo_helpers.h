/* algo_helpers.h - helpers that stand where the machine's levels say (helper_tree.c).
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_ALGO_HELPERS_H
#define TT_ALGO_HELPERS_H

#include "algo_group.h"
#include "topo_rows.h"

typedef struct tt_helpers {
  tt_tree tree; /* of the ranks with data; its last level is within a node */
  int data;
  int from;    /* the outermost level within a node */
  bool owned;  /* each rank with data owns a block */
  bool differ; /* ... and nodes differ in size */
  bool spread; /* the root's node trades with helpers, a part each */
  tt_helper_rows rows;
} tt_helpers;

/* Neighbouring blocks lo .. hi - 1. */
typedef struct tt_owned {
  int lo, hi;
} tt_owned;

/* The part of one of `trees` trees, where each of `data` ranks owns a block. */
static inline tt_owned tt_owned_of_tree(int data, int trees, int tree) {
  const int64_t D = data;
  return (tt_owned){(int)(D * tree / trees), (int)(D * (tree + 1) / trees)};
}

static inline tt_owned tt_owned_both(tt_owned a, tt_owned b) {
  return (tt_owned){a.lo > b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi};
}

static inline bool tt_owned_none(tt_owned x) {
  return x.lo >= x.hi;
}

/* Of a vector of `blocks`. */
static inline tt_span tt_owned_span(tt_buf buf, tt_owned x, uint32_t blocks) {
  return tt_range(buf, (uint32_t)x.lo, (uint32_t)(x.hi - x.lo), blocks);
}

/* Reads the levels, per= and trees=. NULL, or an error about them. */
const char *tt_helpers_of(const tt_ask *ask, tt_helpers *h);
/* All that follow need helpers that are not refused. */
uint32_t tt_helpers_blocks(const tt_helpers *h);
void tt_helpers_build(tt_builder *b, const tt_ask *ask, const tt_helpers *h);

/* ---- a share of the vector, and a fold of the rest (helper_share.c): where share= is given ---- */

#define TT_SHARE_WRONG "share is a fraction such as 3/16, with at most 64 below"
const char *tt_share_refuse(const tt_ask *ask);
uint32_t tt_share_blocks(const tt_ask *ask);
void tt_share_build(tt_builder *b, const tt_ask *ask);
/* The i-th sample; *i counts down otherwise. */
bool tt_share_sample(int ranks, int *i, tt_text *params);

/* ---- what ranks have (helper_parts.c) ---- */

/* The first rank of a node; past the last node: the number of ranks with data. The node of a rank. */
int tt_helpers_first_of(const tt_helpers *h, int node);
int tt_helpers_node_of(const tt_helpers *h, int rank);
/* Replaces the list by the spans of a tree's part that the rank exchanges with its helper. */
void tt_helpers_parts(const tt_helpers *h, int rank, int tree, tt_buf buf, tt_span_list *list);
tt_span tt_helpers_whole(const tt_helpers *h, int tree, tt_buf buf);
/* If blocks belong to ranks: the levels within a node, as the first that are folded. Returns how many. */
int tt_helpers_in_node(const tt_helpers *h, const tt_ask *ask, tt_group *g);

/* The i-th levels and parameters as a sample for this number of ranks in all; and as a plan for these
 * levels of the ranks with data. False past the last. */
bool tt_helpers_sample(int ranks, int i, tt_text *params);
bool tt_helpers_plan(int ranks, const char *levels, int i, tt_text *params);

#endif
