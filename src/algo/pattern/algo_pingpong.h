/* algo_pingpong.h - a whole vector that grows by received vectors, while it is being sent.
 *
 * Idea       a vector that is being sent must stay unchanged until it is consumed, so the next
 *            sum goes to another buffer: from src, alternately to dst and tmp, n times, to
 *            end in dst.
 * Scratch    one vector, two in place for some n.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_ALGO_PINGPONG_H
#define TT_ALGO_PINGPONG_H

#include "algo.h"

typedef struct tt_pingpong {
  tt_builder *b;
  int n, i;
  bool in_place, held; /* held: a peer may still read the sum so far */
  tt_span have;        /* the sum so far */
} tt_pingpong;

/* The vector is one block. */
tt_pingpong tt_pingpong_begin(tt_builder *b, const tt_ask *ask, int n);
/* Sends the sum so far. */
void tt_pingpong_send(tt_pingpong *t, tt_peers to);
/* Adds what `from` send to the sum so far. The n-th call completes it, in dst. */
void tt_pingpong_add(tt_pingpong *t, tt_peers from, tt_side side);

#endif
