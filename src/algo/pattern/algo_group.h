/* algo_group.h - ranks as an abelian group, and the fold step on it.
 *
 * Idea       A rank is a row of digits, one per level, and every level is a circle. A single level is the cyclic group;
 *            levels of two are Z_2^n. Levels are folded in their order: while a level is folded, the digits of earlier
 *            levels are fixed, and those of later levels still have all values.
 * Blocks     Vector k of a rank at a level consists of the blocks whose digit at that level is the rank's digit minus k.
 *            They form a single span for any levels.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_ALGO_GROUP_H
#define TT_ALGO_GROUP_H

#include "algo.h"

enum { TT_LEVELS = 20 };

typedef struct tt_group {
  int ranks, rank, levels;
  uint32_t base; /* first block of the part of the vector that is folded */
  bool inner;    /* levels are listed and folded innermost first */
  bool nested;   /* blocks are numbered by the digits in the order of folding */
  uint32_t runs; /* blocks that the first circle divides evenly; 0 if digits select blocks */
  int size[TT_LEVELS];       /* members of each circle */
  int apart[TT_LEVELS];      /* distance of neighbouring digits, in ranks */
  int digit[TT_LEVELS];      /* digits of this rank */
  uint32_t width[TT_LEVELS]; /* distance of neighbouring digits, in blocks */
} tt_group;

/* Returns a circle of all ranks, on which rank `stride` * p mod P has position p. */
tt_group tt_group_cyclic(const tt_ask *ask, int stride);
/* Returns circles of these sizes, outermost (most ranks apart) first. They are folded in that order or, with inner_first,
 * from the last to the first. The product of the sizes is the number of ranks. */
tt_group tt_group_product(const tt_ask *ask, const int *sizes, int n, bool inner_first);
/* As above, from the parameters group= and inner. Without group=, returns the circle with this stride. */
tt_group tt_group_of(const tt_ask *ask, int stride);
/* Returns NULL, or the reason why group= is invalid. */
const char *tt_group_refuse(const tt_ask *ask);
#define TT_PARAM_GROUP                                                                  \
  {                                                                                     \
    "group", TT_PARAM_SIZES, .grows = true,                                             \
                             .wrong = "group must be sizes as 3x2x2 whose product is P" \
  }
/* Stores the sizes above 1 of the parameter group= and returns their number. Returns 0 if the parameter is missing or if
 * the product of the sizes is not the number of ranks. */
int tt_group_sizes(const tt_ask *ask, int sizes[TT_LEVELS]);
/* Stores the sizes of the levels of the machine. Returns 0 if they are uneven, or if fewer than two have more than one member. */
int tt_group_of_levels(int ranks, const char *levels, int sizes[TT_LEVELS]);
/* Returns true if the group's circles end at the boundaries of the machine's domains, which is always the case if tree is
 * NULL or has one level. */
bool tt_group_fits(const tt_group *g, const tt_tree *tree);
/* Stores the i-th ordered product of at least two factors that equals `ranks`, such as 3x2x2. Returns the number of
 * factors, or 0 past the last product. */
int tt_group_split(int ranks, int i, int sizes[TT_LEVELS]);
/* Appends the sizes as in group=3x2x2. */
void tt_group_print(tt_text *params, const int *sizes, int n);

/* Returns the rank `by` positions up the circle of a level. */
int tt_group_peer(const tt_group *g, int level, int by);
/* Returns the span of vectors lo..hi-1 of a level, or of all vectors if the circle has fewer. */
tt_span tt_group_vectors(const tt_group *g, tt_buf buf, int level, int lo, int hi);
/* Returns the order of the operands, which is the same for both partners on circles of two. */
tt_side tt_group_side(const tt_group *g, int level);

/* ---- one step of a fold ---- */

typedef struct tt_fold {
  tt_builder *b;
  tt_group g;
  tt_buf work; /* buffer of the partial sums */
  int touched; /* vectors from this one up are partial sums; those below are input */
} tt_fold;

/* Folds n live vectors to m, n/2 <= m < n: vectors m..n-1 are sent n-m down the circle, where they are added to vectors
 * 2m-n..m-1. The sums are stored in `to`. */
void tt_fold_down(tt_fold *f, int level, int n, int m, tt_span to);
/* Reverses tt_fold_down: sends sums 2m-n..m-1 of `from` up the circle, where they become vectors m..n-1. */
void tt_fold_up(tt_fold *f, int level, int n, int m, tt_buf from);
/* Copies vectors lo..hi-1 into one buffer if they are in two, and returns the buffer. */
tt_buf tt_fold_gather(tt_fold *f, int level, int lo, int hi);

/* ---- the sequence for each level, and a whole fold ---- */

/* Ring, halving or a sequence such as 7.4.2.1: one for all levels or one for each, outermost first, in the form of the
 * items of the parameter seq=. */
typedef struct tt_fold_spec {
  const int *of;
  int n;
} tt_fold_spec;
extern const tt_fold_spec tt_fold_ring, tt_fold_halving;

/* Returns the sequences from the parameters ring, halving (the default) or seq=. */
tt_fold_spec tt_fold_spec_of(const tt_ask *ask);
#define TT_PARAM_SEQ                                                                      \
  {                                                                                       \
    "seq", TT_PARAM_SEQUENCES,                                                            \
        .grows = true,                                                                    \
        .wrong = "seq must fall from P to 1, each number at least half of the one before" \
  }
/* Returns NULL, or the reason why the sequence is invalid for a level of this size: the i-th of `levels` levels,
 * outermost first. */
const char *tt_fold_spec_refuse(const tt_fold_spec *how, int levels, int i, int size);
/* Stores the numbers of live vectors of that level, N0 .. 1, in `live`, which must have space for as many numbers as the
 * level has members. Returns how many there are. */
int tt_fold_spec_sequence(const tt_fold_spec *how, int levels, int i, int size, int *live);
/* Returns NULL, or the reason why the levels of the group cannot be folded with these sequences. */
const char *tt_fold_spec_refuse_all(const tt_fold_spec *how, const tt_group *g);
/* Folds every level and runs the reverse phase: an allreduce, or the part of it that the collective needs. */
void tt_fold_whole(tt_builder *b, const tt_ask *ask, const tt_group *g, const tt_fold_spec *how);
/* Folds only the first levels, in the order of folding: a reduce-scatter that uses tmp. Returns the buffer with the
 * rank's part of the sum: tmp, or src if nothing was added. tt_unfold_first is the reverse phase, in dst. */
tt_buf tt_fold_first(tt_builder *b, const tt_group *g, int levels, const tt_fold_spec *how);
void tt_unfold_first(tt_builder *b, const tt_group *g, int levels, const tt_fold_spec *how);

/* ---- as above, for levels whose groups differ in size (uneven.c) ---- */

const char *tt_uneven_refuse(const tt_ask *ask, const tt_tree *tree, const tt_fold_spec *how);
uint32_t tt_uneven_blocks(const tt_tree *tree);
void tt_uneven_build(tt_builder *b, const tt_ask *ask, const tt_tree *tree,
                     const tt_fold_spec *how);

/* ---- as above, for the inner levels only; other steps compute the sum over the groups ---- */

/* Level `from` and those inside it are folded. The vector consists of `parts` parts, and other steps sum each part over
 * the groups. */
typedef struct tt_inner {
  const tt_tree *tree;
  int from, parts;
} tt_inner;

uint32_t tt_inner_blocks(const tt_inner *in);
/* Runs a reduce-scatter in the rank's group, with partial sums in `work`. Returns the buffer with its part of the sum:
 * `work`, or src if the group is a single rank. */
tt_buf tt_inner_down(tt_builder *b, const tt_inner *in, int rank, const tt_fold_spec *how,
                     tt_buf work);
/* Runs an all-gather, in dst, of the parts that the ranks of the group own. */
void tt_inner_up(tt_builder *b, const tt_inner *in, int rank, const tt_fold_spec *how);
typedef struct tt_span_list { /* the user must free `at` */
  tt_span *at;
  uint32_t n, capacity;
  bool failed; /* ran out of memory */
} tt_span_list;

/* Replaces the list by the spans of the rank's share of a part. */
void tt_inner_part(const tt_inner *in, int rank, int part, tt_buf buf, tt_span_list *list);
tt_span tt_inner_whole(const tt_inner *in, int part, tt_buf buf);

#endif
