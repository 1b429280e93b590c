/* circulant.c - n blocks follow each other through a circulant graph, and none waits.
 *
 * Idea       q = ceil(log2 P). Ranks are counted from the root on, around a circle. Skip q is P, and
 *            each lower one is half of the next, rounded up, down to skip 0, which is 1. In round t
 *            each rank sends a block to the rank that is skip t mod q above, and receives one from
 *            the rank as far below. The root sends block t. The first block that rank r gets is r's
 *            base: r is a sum of skips, the largest first, and its base is the number of the last.
 *            From then on it gets q blocks in q rounds, each once, and each after its sender got
 *            it. Every q rounds the same is repeated, with q added to the blocks' numbers. The
 *            reduce is the broadcast in reverse: a block is sent where it came from, and added
 *            where it was sent.
 * Cost       n - 1 + q rounds of a message of 1/n of the vector in each direction, which is the
 *            least for n blocks. The price falls to nearly one vector for long vectors, where a
 *            scatter and an all-gather send two.
 * Scratch    reduce: the vector, except at the root.
 * Invariant  a rank gets each block once, so a block's way is a tree.
 * Parameters n=BLOCKS (4).
 * Source     Traeff, Optimal Broadcast Schedules in Logarithmic Time, arXiv 2407.18004, 2024
 *            (pattern/circulant_rounds.c).
 * See        tutti plan draw 'circulant(n=3)' -P 7 -c broadcast
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "algo_circulant.h"

static const tt_number circulant_number = {"n", 1, 1 << 16, 4, "n goes from 1 to 65536"};

enum { MOST_BLOCKS = 256, MOST_SENT = 1 << 14 };

static uint32_t circulant_blocks(const tt_ask *ask) {
  return (uint32_t)tt_param_number(ask, &circulant_number);
}

static void circulant_broadcast(tt_builder *b, const tt_circulant *c) {
  const tt_buf have = c->me ? TT_DST : TT_SRC;
  const uint32_t n = (uint32_t)c->n;
  for (int t = 0; t < tt_circulant_rounds(c); t++) {
    const tt_circulant_message up = tt_circulant_up(c, t), in = tt_circulant_in(c, t);
    if (up.block >= 0) tt_send(b, up.peer, tt_block(have, (uint32_t)up.block));
    if (in.block >= 0) tt_recv(b, in.peer, tt_block(TT_DST, (uint32_t)in.block));
  }
  if (!c->me) tt_copy(b, tt_range(TT_DST, 0, n, n), tt_range(TT_SRC, 0, n, n));
}

/* The root sends block n - 1 more than once, first in round n - 1, where in reverse its sum is
 * complete. */
static void circulant_reduce(tt_builder *b, const tt_circulant *c) {
  const tt_buf sums = c->me ? TT_TMP : TT_DST;
  bool *added = calloc((size_t)c->n, sizeof *added);
  if (!added) {
    b->status = tt_fail(TUTTI_ERR_MEMORY, "out of memory while building a schedule");
    return;
  }
  for (int t = tt_circulant_rounds(c) - 1; t >= 0; t--) {
    const tt_circulant_message out = tt_circulant_in(c, t), in = tt_circulant_up(c, t);
    if (out.block >= 0)
      tt_send(b, out.peer, tt_block(added[out.block] ? sums : TT_SRC, (uint32_t)out.block));
    if (in.block < 0) continue;
    const uint32_t block = (uint32_t)in.block;
    tt_recv_reduce(b, in.peer, tt_block(sums, block), tt_block(added[block] ? sums : TT_SRC, block),
                   TT_OWN_FIRST);
    if (!c->me && t < c->n) tt_mark_completes(b);
    added[block] = true;
  }
  free(added);
}

static void circulant_build(tt_builder *b, const tt_ask *ask) {
  const tt_circulant c =
      tt_circulant_of(ask->ranks, ask->rank, ask->root, (int)circulant_blocks(ask), false);
  (ask->coll == TUTTI_BROADCAST ? circulant_broadcast : circulant_reduce)(b, &c);
}

static bool circulant_samples(int ranks, int i, char *params, size_t size) {
  static const int n[] = {1, 2, 3, 5, 6, 7, 12, 17};
  (void)ranks;
  if (i >= (int)(sizeof n / sizeof *n)) return false;
  snprintf(params, size, "n=%d", n[i]);
  return true;
}

/* 2, 8, 16, 32 ...: 4 is what its entry says. All ranks' messages are simulated: few enough. */
static bool circulant_plans(int ranks, const char *levels, int i, char *params, size_t size) {
  const int n = i ? 4 << i : 2;
  (void)levels;
  snprintf(params, size, "n=%d", n);
  return n <= MOST_BLOCKS && (int64_t)n * ranks <= MOST_SENT;
}

const tt_algo tt_circulant_algo = {
    .name = "circulant",
    .does = TT_DOES_ROOTED,
    .params = "n=",
    .number = &circulant_number,
    .blocks = circulant_blocks,
    .build = circulant_build,
    .samples = circulant_samples,
    .plans = circulant_plans,
    .entries = {{"circulant", TT_CANDIDATE,
                 "n blocks in n - 1 + ceil(log2 P) rounds, each rank busy in all", "Traeff 2024"}},
};
