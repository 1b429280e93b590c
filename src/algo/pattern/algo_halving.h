/* algo_halving.h - 2^n ranks halve a vector of 2^n blocks among them, and reassemble it.
 *
 * Idea       in step i, partners 2^i apart, which have the same part of the vector, take
 *            half of it each: the lower rank the lower half. So member m's part after i
 *            steps depends only on its lowest i bits. With a root the same steps are a
 *            tree: a member whose highest bit that differs from the root's is bit i gets its
 *            part in step i.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_ALGO_HALVING_H
#define TT_ALGO_HALVING_H

#include "algo.h"

typedef struct tt_halving {
  tt_builder *b;
  int n, member;                  /* 2^n members; this one's number */
  uint32_t blocks;                /* of the vector: a multiple of 2^n */
  int (*rank)(const void *, int); /* the rank of a member */
  const void *of;
  tt_buf buf; /* where its part is */
  int root;   /* the member that has all, or gets all; -1: none */
} tt_halving;

/* The part of member m after i steps. */
tt_span tt_halving_part(tt_buf buf, uint32_t blocks, int m, int i);
/* Reduce-scatter: from the whole vector in `have` to the member's part. */
void tt_halving_scatter(const tt_halving *h, tt_buf have);
/* All-gather; parts that a member got from a spread are not sent to it again. */
void tt_halving_gather(const tt_halving *h);
/* Gathers all parts at the root. */
void tt_halving_collect(const tt_halving *h);
/* Scatters the root's vector; inner members get more than their own part on the way. */
void tt_halving_spread(const tt_halving *h);

#endif
