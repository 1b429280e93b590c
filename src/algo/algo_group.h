/* algo_group.h - ranks as an abelian group, and the step that folds are made of.
 *
 * Idea       a rank is a row of digits, one per level; every level is a circle of
 *            its own. One level is the cyclic group, levels of two are Z_2^n. Levels
 *            are folded in their order: while a level is folded, the digits before it
 *            are settled and those behind it are all still there.
 * Blocks     a rank holds, as its vector k of a level, the blocks whose digit there
 *            is its own less k: one span, whatever the levels.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_ALGO_GROUP_H
#define TT_ALGO_GROUP_H

#include "algo.h"

enum { TT_LEVELS = 20 };

typedef struct tt_group {
  int ranks, rank, levels;
  uint32_t base;             /* the first block of its part of the vector */
  bool nested;               /* blocks are numbered by the digits in the order of folding */
  int size[TT_LEVELS];       /* of the circle */
  int apart[TT_LEVELS];      /* ranks from one digit to the next */
  int digit[TT_LEVELS];      /* of this rank */
  uint32_t width[TT_LEVELS]; /* blocks from one digit to the next */
} tt_group;

/* A circle of all ranks: rank `stride` * p mod P stands at position p. */
tt_group tt_group_cyclic(const tt_ask *ask, int stride);
/* Circles of the sizes given, outermost (most ranks apart) first; they are folded in
 * that order, or from the last to the first. Their product is the number of ranks. */
tt_group tt_group_product(const tt_ask *ask, const int *sizes, int n, bool inner_first);
/* Sizes as in "3x2x2" whose product is `ranks`; how many, or 0 if it is none. */
int tt_group_sizes(const char *text, int ranks, int sizes[TT_LEVELS]);
/* Do circles of these sizes, outermost first, end where the machine's things do? NULL, or
 * one level: always. */
bool tt_group_fits(const int *sizes, int n, const tt_tree *tree);
/* The i-th of the ways to write `ranks` as an ordered product of at least two
 * factors, as "3x2x2"; false past the last. */
bool tt_group_split(int ranks, int i, char *text, size_t size);

/* The rank `by` positions up the circle of a level. */
int tt_group_peer(const tt_group *g, int level, int by);
/* Vectors lo..hi-1 of a level; all of them if there are more than the circle has. */
tt_span tt_group_vectors(const tt_group *g, tt_buf buf, int level, int lo, int hi);
/* On circles of two, partners add in the same order. */
tt_side tt_group_side(const tt_group *g, int level);

/* ---- one step of a fold ---- */

typedef struct tt_fold {
  tt_builder *b;
  tt_group g;
  tt_buf work; /* where partial sums live */
  int touched; /* vectors from here on are partial sums, those below only the input */
} tt_fold;

/* Of n live vectors m stay, n/2 <= m < n: m..n-1 go n-m down the circle, where they
 * are summed into vectors 2m-n..m-1, which come to stand in `to`. */
void tt_fold_down(tt_fold *f, int level, int n, int m, tt_span to);
/* The way back: sums 2m-n..m-1 of `from` go up, to be vectors m..n-1. */
void tt_fold_up(tt_fold *f, int level, int n, int m, tt_buf from);
/* Where vectors lo..hi-1 stand, after making them stand in one buffer. */
tt_buf tt_fold_gather(tt_fold *f, int level, int lo, int hi);

/* ---- how every level is folded, and a whole fold ---- */

/* "ring", "halving" or a sequence "7.4.2.1", for all levels or, with slashes
 * between, for each, outermost first. */
typedef struct tt_fold_spec {
  char text[TT_NAME];
} tt_fold_spec;

/* From the parameters: ring, halving (if nothing is said), seq=. */
tt_fold_spec tt_fold_spec_of(const tt_ask *ask);
/* NULL, or why it says nothing legal for the i-th of `levels` levels, of this size. */
const char *tt_fold_spec_refuse(const tt_fold_spec *how, int levels, int i, int size);
/* The numbers of live vectors of that level, N0 .. 1, in `live`, and how many: at most
 * its size. */
int tt_fold_spec_sequence(const tt_fold_spec *how, int levels, int i, int size, int *live);
/* NULL, or why the levels of the group cannot be folded so. */
const char *tt_fold_spec_refuse_all(const tt_fold_spec *how, const tt_group *g, bool inner_first);
/* Every level down, and back: allreduce, or what of it the collective asks for. */
void tt_fold_whole(tt_builder *b, const tt_ask *ask, const tt_group *g, const tt_fold_spec *how,
                   bool inner_first);

#endif
