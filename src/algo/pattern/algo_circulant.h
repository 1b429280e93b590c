/* algo_circulant.h - n blocks that follow each other from a root through a circulant graph: one block to the rank
 * above and one from the rank below, in each of n - 1 + ceil(log2 P) rounds (circulant_rounds.c).
 *
 * Idea       circulant.c says what the graph is. In round t the root sends block t, or the last one again.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_ALGO_CIRCULANT_H
#define TT_ALGO_CIRCULANT_H

#include "algo.h"

enum { TT_SKIPS = 31 };

/* A rank of the broadcast. */
typedef struct tt_circulant {
  int P, q, skip[TT_SKIPS + 1];
  int me, root, n; /* this rank, counted from the root; blocks */
  bool back;       /* the root gets the blocks back, too, but for the last one */
  int above[TT_SKIPS], below[TT_SKIPS]; /* the blocks that it sends up, and gets from below, in q
                                           rounds */
} tt_circulant;

/* A message of a round: its peer and block. A block below 0 means no message. */
typedef struct tt_circulant_message {
  int peer, block;
} tt_circulant_message;

tt_circulant tt_circulant_of(int ranks, int rank, int root, int n, bool back);
int tt_circulant_rounds(const tt_circulant *c);
/* What the rank sends to the rank above in round t. */
tt_circulant_message tt_circulant_up(const tt_circulant *c, int t);
/* What it gets from the rank below. */
tt_circulant_message tt_circulant_in(const tt_circulant *c, int t);

#endif
