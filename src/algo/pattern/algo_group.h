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

/* Returns a group with a single circle of all ranks, in which position p is rank `stride` * p mod P. */
tt_group tt_group_cyclic(const tt_ask *ask, int stride);
/* Returns a group of circles with these sizes, whose product must be the number of ranks. The sizes are listed from the outermost
 * circle, whose members are farthest apart. The circles are folded in the order of the list or, with inner_first, in reverse. */
tt_group tt_group_product(const tt_ask *ask, const int *sizes, int n, bool inner_first);
/* Returns the group that the parameters group= and inner describe. Without group=, returns a single circle with this stride. */
tt_group tt_group_of(const tt_ask *ask, int stride);
/* Returns NULL, or the reason why group= is invalid. */
const char *tt_group_refuse(const tt_ask *ask);
#define TT_PARAM_GROUP                                                                  \
  {                                                                                     \
    "group", TT_PARAM_SIZES, .grows = true,                                             \
                             .wrong = "group must be sizes as 3x2x2 whose product is P" \
  }
/* Stores those sizes in the parameter group= that exceed 1, and returns their number. Returns 0 if the parameter is
 * missing, or if the product of its sizes differs from the number of ranks. */
int tt_group_sizes(const tt_ask *ask, int sizes[TT_LEVELS]);
/* Stores the sizes of the machine's levels. Returns their number, or 0 if they are uneven or fewer than two exceed 1. */
int tt_group_of_levels(int ranks, const char *levels, int sizes[TT_LEVELS]);
/* Returns true if each circle ends where a domain of the machine ends. This always holds if tree is NULL or has a
 * single level. */
bool tt_group_fits(const tt_group *g, const tt_tree *tree);
/* Stores the i-th way to write `ranks` as an ordered product of two or more factors, such as 3x2x2. Returns the number
 * of factors, or 0 if i is too large. */
int tt_group_split(int ranks, int i, int sizes[TT_LEVELS]);
/* Appends the sizes as in group=3x2x2. */
void tt_group_print(tt_text *params, const int *sizes, int n);

/* Returns the rank `by` positions up the circle of a level. */
int tt_group_peer(const tt_group *g, int level, int by);
/* Returns the span of vectors lo..hi-1 on a level. If the circle has fewer vectors, returns all of them. */
tt_span tt_group_vectors(const tt_group *g, tt_buf buf, int level, int lo, int hi);
/* Returns whether this rank's operand is the first or the last. On a circle of two, both partners add in the same order. */
tt_side tt_group_side(const tt_group *g, int level);

/* ---- one step of a fold ---- */

typedef struct tt_fold {
  tt_builder *b;
  tt_group g;
  tt_buf work; /* buffer of the partial sums */
  int touched; /* vectors from this one up are partial sums; those below are input */
} tt_fold;

/* Reduces the number of live vectors from n to m, where n/2 <= m < n. Vectors m..n-1 are sent n-m positions down the
 * circle. There they are added to vectors 2m-n..m-1, and the sums are stored in `to`. */
void tt_fold_down(tt_fold *f, int level, int n, int m, tt_span to);
/* Reverses tt_fold_down. Sends the sums 2m-n..m-1 in `from` up the circle, where they become vectors m..n-1. */
void tt_fold_up(tt_fold *f, int level, int n, int m, tt_buf from);
/* Returns the buffer that contains vectors lo..hi-1. If they are spread over two buffers, first copies them into one. */
tt_buf tt_fold_gather(tt_fold *f, int level, int lo, int hi);

/* ---- the sequence for each level, and a whole fold ---- */

/* The sequences in which levels are folded: ring, halving, or numbers such as 7.4.2.1. There is either one sequence for
 * all levels or one for each level, outermost first, encoded like the items of the parameter seq=. */
typedef struct tt_fold_spec {
  const int *of;
  int n;
} tt_fold_spec;
extern const tt_fold_spec tt_fold_ring, tt_fold_halving;

/* Returns the sequences that the parameters ring, halving or seq= select. The default is halving. */
tt_fold_spec tt_fold_spec_of(const tt_ask *ask);
#define TT_PARAM_SEQ                                                                      \
  {                                                                                       \
    "seq", TT_PARAM_SEQUENCES,                                                            \
        .grows = true,                                                                    \
        .wrong = "seq must fall from P to 1, each number at least half of the one before" \
  }
/* Returns NULL if the i-th of `levels` levels, counted from the outermost, can be folded with its sequence. Otherwise
 * returns the reason why the sequence is invalid for this size. */
const char *tt_fold_spec_refuse(const tt_fold_spec *how, int levels, int i, int size);
/* Stores in `live` the numbers of live vectors of that level, from N0 at the start down to 1, and returns how many
 * there are. `live` must have space for as many numbers as the level has members. */
int tt_fold_spec_sequence(const tt_fold_spec *how, int levels, int i, int size, int *live);
/* Returns NULL if all levels of the group can be folded with these sequences, or else an error message. */
const char *tt_fold_spec_refuse_all(const tt_fold_spec *how, const tt_group *g);
/* Folds all levels and then reverses the fold, for an allreduce. Other collectives run only the phases that they need. */
void tt_fold_whole(tt_builder *b, const tt_ask *ask, const tt_group *g, const tt_fold_spec *how);
/* tt_fold_first runs a reduce-scatter in tmp by folding only the first levels. It returns the buffer with the rank's
 * part of the sum, which is tmp, or src if nothing was added. tt_unfold_first is the reverse phase, in dst. */
tt_buf tt_fold_first(tt_builder *b, const tt_group *g, int levels, const tt_fold_spec *how);
void tt_unfold_first(tt_builder *b, const tt_group *g, int levels, const tt_fold_spec *how);

/* ---- as above, for levels whose groups differ in size (uneven.c) ---- */

const char *tt_uneven_refuse(const tt_ask *ask, const tt_tree *tree, const tt_fold_spec *how);
uint32_t tt_uneven_blocks(const tt_tree *tree);
void tt_uneven_build(tt_builder *b, const tt_ask *ask, const tt_tree *tree,
                     const tt_fold_spec *how);

/* ---- as above, for the inner levels only; other steps compute the sum over the groups ---- */

/* Describes a fold of level `from` and all levels inside it. The vector is divided into `parts` parts, and the sums of
 * each part over the groups are computed by other steps. */
typedef struct tt_inner {
  const tt_tree *tree;
  int from, parts;
} tt_inner;

uint32_t tt_inner_blocks(const tt_inner *in);
/* Runs a reduce-scatter in the rank's group; partial sums are stored in `work`. Returns the buffer with the rank's part
 * of the sum, which is `work`, or src if the group has only one rank. */
tt_buf tt_inner_down(tt_builder *b, const tt_inner *in, int rank, const tt_fold_spec *how,
                     tt_buf work);
/* Runs an all-gather within the group. Each rank starts with the part that it owns, and the result is in dst. */
void tt_inner_up(tt_builder *b, const tt_inner *in, int rank, const tt_fold_spec *how);
typedef struct tt_span_list { /* the user must free `at` */
  tt_span *at;
  uint32_t n, capacity;
  bool failed; /* ran out of memory */
} tt_span_list;

/* Replaces the contents of the list with the spans of the rank's share of a part. */
void tt_inner_part(const tt_inner *in, int rank, int part, tt_buf buf, tt_span_list *list);
tt_span tt_inner_whole(const tt_inner *in, int part, tt_buf buf);

#endif
