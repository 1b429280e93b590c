/* algo_halving.h - 2^n ranks halve a vector of 2^n blocks among them, and put it back.
 *
 * Idea       in step i partners 2^i apart, each with the same part of the vector, take
 *            half of it each: the lower rank the lower half. So member m's part after i
 *            steps depends on its lowest i bits only. With a root the same steps are a
 *            tree: who differs from it in bit i and no higher one gets its part in step i.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_ALGO_HALVING_H
#define TT_ALGO_HALVING_H

#include "algo.h"

typedef struct tt_part {
  uint32_t first, count;
} tt_part;

typedef struct tt_halving {
  tt_builder *b;
  int n, member;                  /* 2^n members, and this one */
  uint32_t blocks;                /* of the vector: a multiple of 2^n */
  int (*rank)(const void *, int); /* of a member */
  const void *of;
  tt_buf buf; /* where its part stands */
  int root;   /* the member that has all, or gets all; -1: there is none */
} tt_halving;

/* What member m has after i steps. */
tt_part tt_halving_part(uint32_t blocks, int m, int i);
tt_span tt_part_span(tt_buf buf, tt_part part);
/* Sums: from all of `have` to the member's part. */
void tt_halving_scatter(const tt_halving *h, tt_buf have);
/* And back; what was spread is not sent again to those who had it. */
void tt_halving_gather(const tt_halving *h);
/* All parts to the root. */
void tt_halving_collect(const tt_halving *h);
/* From the root to all their parts, and some have more on the way. */
void tt_halving_spread(const tt_halving *h);

#endif
