/* algo_helpers.h - helpers that are placed according to the machine's levels (helper_tree.c).
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_ALGO_HELPERS_H
#define TT_ALGO_HELPERS_H

#include "algo_group.h"
#include "topo_rows.h"

typedef struct tt_helpers {
  tt_tree tree; /* the ranks with data; its last level is within a node */
  int data;
  int from;    /* the outermost level within a node */
  bool owned;  /* each rank with data owns one block */
  bool differ; /* `owned`, and nodes differ in size */
  bool spread; /* all ranks of the root's node exchange data with helpers, one part each */
  tt_helper_rows rows;
} tt_helpers;

/* Blocks lo .. hi - 1. */
typedef struct tt_owned {
  int lo, hi;
} tt_owned;

/* Returns the blocks that one of `trees` trees reduces, if each of `data` ranks owns one block. */
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

/* Returns the range of blocks as a span, for a vector of `blocks` blocks. */
static inline tt_span tt_owned_span(tt_buf buf, tt_owned x, uint32_t blocks) {
  return tt_range(buf, (uint32_t)x.lo, (uint32_t)(x.hi - x.lo), blocks);
}

/* Reads the parameters for the levels, per= and trees=. Returns NULL, or an error message if they are invalid. */
const char *tt_helpers_of(const tt_ask *ask, tt_helpers *h);
/* The following functions may be called only after tt_helpers_of has returned NULL. */
uint32_t tt_helpers_blocks(const tt_helpers *h);
void tt_helpers_build(tt_builder *b, const tt_ask *ask, const tt_helpers *h);

/* ---- with share=: helpers reduce a share of the vector, and a fold the remainder (helper_share.c) ---- */

#define TT_SHARE_WRONG "share is a fraction such as 3/16, with at most 64 below"
const char *tt_share_refuse(const tt_ask *ask);
uint32_t tt_share_blocks(const tt_ask *ask);
void tt_share_build(tt_builder *b, const tt_ask *ask);

/* ---- the parts of ranks (helper_parts.c) ---- */

/* tt_helpers_first_of returns the first rank of a node, or the number of ranks with data past the last node.
 * tt_helpers_node_of returns the node of a rank. */
int tt_helpers_first_of(const tt_helpers *h, int node);
int tt_helpers_node_of(const tt_helpers *h, int rank);
/* Replaces the contents of the list with the spans that the rank exchanges with its helper in one tree. */
void tt_helpers_parts(const tt_helpers *h, int rank, int tree, tt_buf buf, tt_span_list *list);
tt_span tt_helpers_whole(const tt_helpers *h, int tree, tt_buf buf);
/* Describes the levels within a node, which are folded first, and returns their number. Used for collectives in which
 * ranks own blocks. */
int tt_helpers_in_node(const tt_helpers *h, const tt_ask *ask, tt_group *g);

/* Appends the i-th plan for these levels of the ranks with data. Returns false past the last. */
bool tt_helpers_plan(int ranks, const char *levels, int i, tt_text *params);

#endif
