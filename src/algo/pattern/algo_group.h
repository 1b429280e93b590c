/* algo_group.h - ranks as an abelian group, and the step that folds are made of.
 *
 * Idea       a rank is a row of digits, one per level; every level is a circle. One level
 *            is the cyclic group, levels of two are Z_2^n. Levels are folded in their
 *            order: while a level is folded, the digits before it are fixed already, and
 *            those after it still have all values.
 * Blocks     a rank holds, as its vector k of a level, the blocks whose digit there
 *            is its own minus k: one span, whatever the levels.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_ALGO_GROUP_H
#define TT_ALGO_GROUP_H

#include "algo.h"

enum { TT_LEVELS = 20 };

typedef struct tt_group {
  int ranks, rank, levels;
  uint32_t base; /* the first block of its part of the vector */
  bool inner;    /* levels are listed innermost first, and folded in that order */
  bool nested;   /* blocks are numbered by the digits in the order of folding */
  uint32_t
      runs; /* blocks that the first level's circle of n divides: a*runs/n .. are those of member a; 0: as above */
  int size[TT_LEVELS];       /* of the circle */
  int apart[TT_LEVELS];      /* distance in ranks of two neighbouring digits */
  int digit[TT_LEVELS];      /* of this rank */
  uint32_t width[TT_LEVELS]; /* distance in blocks of two neighbouring digits */
} tt_group;

/* A circle of all ranks: rank `stride` * p mod P has position p. */
tt_group tt_group_cyclic(const tt_ask *ask, int stride);
/* Circles of these sizes, outermost (most ranks apart) first; they are folded in that order, or
 * from the last to the first. Their product is the number of ranks. */
tt_group tt_group_product(const tt_ask *ask, const int *sizes, int n, bool inner_first);
/* The same from the parameters group= and inner; without a group the circle with this stride. */
tt_group tt_group_of(const tt_ask *ask, int stride);
/* NULL, or why group= is invalid. */
const char *tt_group_refuse(const tt_ask *ask);
#define TT_PARAM_GROUP                                                                  \
  {                                                                                     \
    "group", TT_PARAM_SIZES, .grows = true,                                             \
                             .wrong = "group must be sizes as 3x2x2 whose product is P" \
  }
/* The sizes in the parameter group= that are more than 1; returns how many, or 0 if the parameter is missing
 * or their product is not the number of ranks. */
int tt_group_sizes(const tt_ask *ask, int sizes[TT_LEVELS]);
/* Those of the machine's levels; 0: they are uneven, fewer than two, or no levels. */
int tt_group_of_levels(int ranks, const char *levels, int sizes[TT_LEVELS]);
/* Do the group's circles end at the borders of the machine's domains? Always true for tree NULL, or
 * one level. */
bool tt_group_fits(const tt_group *g, const tt_tree *tree);
/* The i-th way to write `ranks` as an ordered product of at least two factors, such as 3x2x2; returns
 * how many, or 0 past the last. */
int tt_group_split(int ranks, int i, int sizes[TT_LEVELS]);
/* Appends group=3x2x2. */
void tt_group_print(tt_text *params, const int *sizes, int n);

/* The rank `by` positions up the circle of a level. */
int tt_group_peer(const tt_group *g, int level, int by);
/* Vectors lo..hi-1 of a level; all of them if that is more than the circle has. */
tt_span tt_group_vectors(const tt_group *g, tt_buf buf, int level, int lo, int hi);
/* The order of operands: on circles of two, both partners add in the same order. */
tt_side tt_group_side(const tt_group *g, int level);

/* ---- one step of a fold ---- */

typedef struct tt_fold {
  tt_builder *b;
  tt_group g;
  tt_buf work; /* where partial sums are */
  int touched; /* vectors at and above this one are partial sums; those below are only input */
} tt_fold;

/* Of n live vectors m stay, n/2 <= m < n: m..n-1 are sent n-m down the circle, where they are added
 * to vectors 2m-n..m-1; the sums are stored in `to`. */
void tt_fold_down(tt_fold *f, int level, int n, int m, tt_span to);
/* The way back: sums 2m-n..m-1 of `from` are sent up and become vectors m..n-1. */
void tt_fold_up(tt_fold *f, int level, int n, int m, tt_buf from);
/* Moves vectors lo..hi-1 to one buffer if needed, and returns it. */
tt_buf tt_fold_gather(tt_fold *f, int level, int lo, int hi);

/* ---- how every level is folded, and a whole fold ---- */

/* Ring, halving or a sequence such as 7.4.2.1: one for all levels, or one per level, outermost first,
 * as the items of the parameter seq=. */
typedef struct tt_fold_spec {
  const int *of;
  int n;
} tt_fold_spec;
extern const tt_fold_spec tt_fold_ring, tt_fold_halving;

/* From the parameters: ring, halving (the default), seq=. */
tt_fold_spec tt_fold_spec_of(const tt_ask *ask);
#define TT_PARAM_SEQ                                                                      \
  {                                                                                       \
    "seq", TT_PARAM_SEQUENCES,                                                            \
        .grows = true,                                                                    \
        .wrong = "seq must fall from P to 1, each number at least half of the one before" \
  }
/* NULL, or why it is invalid for the i-th of `levels` levels from outside, of this size. */
const char *tt_fold_spec_refuse(const tt_fold_spec *how, int levels, int i, int size);
/* Writes the numbers of live vectors of that level, N0 .. 1, to `live` (capacity: the level's
 * size), and returns how many. */
int tt_fold_spec_sequence(const tt_fold_spec *how, int levels, int i, int size, int *live);
/* NULL, or why the levels of the group cannot be folded so. */
const char *tt_fold_spec_refuse_all(const tt_fold_spec *how, const tt_group *g);
/* Folds every level down, and back: an allreduce, or the part of it that the collective needs. */
void tt_fold_whole(tt_builder *b, const tt_ask *ask, const tt_group *g, const tt_fold_spec *how);
/* Only the first levels, in the order of folding: a reduce-scatter that uses tmp. The rank's part of the sum ends
 * in the buffer that is returned: tmp, or src if nothing was added. tt_unfold_first is the way back, in dst. */
tt_buf tt_fold_first(tt_builder *b, const tt_group *g, int levels, const tt_fold_spec *how);
void tt_unfold_first(tt_builder *b, const tt_group *g, int levels, const tt_fold_spec *how);

/* ---- the same over levels whose groups differ in size (uneven.c) ---- */

const char *tt_uneven_refuse(const tt_ask *ask, const tt_tree *tree, const tt_fold_spec *how);
uint32_t tt_uneven_blocks(const tt_tree *tree);
void tt_uneven_build(tt_builder *b, const tt_ask *ask, const tt_tree *tree,
                     const tt_fold_spec *how);

/* ---- only the inner levels of these: other steps sum over the groups ---- */

/* The levels `from` and inwards are folded. The vector consists of `parts` parts, and other steps sum each
 * part over the groups. */
typedef struct tt_inner {
  const tt_tree *tree;
  int from, parts;
} tt_inner;

uint32_t tt_inner_blocks(const tt_inner *in);
/* Reduce-scatter in the rank's group, using `work`; returns the buffer that holds its part of the sum: `work`,
 * or src if the group is a single rank. */
tt_buf tt_inner_down(tt_builder *b, const tt_inner *in, int rank, const tt_fold_spec *how,
                     tt_buf work);
/* All-gather in dst of the parts that the ranks of the group own. */
void tt_inner_up(tt_builder *b, const tt_inner *in, int rank, const tt_fold_spec *how);
typedef struct tt_span_list { /* `at` is freed by its user */
  tt_span *at;
  uint32_t n, capacity;
  bool failed; /* out of memory */
} tt_span_list;

/* Replaces the list by the spans of a part that the rank owns. */
void tt_inner_part(const tt_inner *in, int rank, int part, tt_buf buf, tt_span_list *list);
tt_span tt_inner_whole(const tt_inner *in, int part, tt_buf buf);

#endif
