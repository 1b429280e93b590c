/* circulant.c - n blocks follow each other through a circulant graph, and none waits.
 *
 * Idea       q = ceil(log2 P). Ranks are numbered relative to the root, around a circle. Skip q is P,
 *            and each lower skip is half of the next, rounded up, down to skip 0, which is 1. In round
 *            t each rank sends a block to the rank that is skip t mod q above, and receives one from
 *            the rank as far below. The root sends block t. The first block that rank r gets is r's
 *            base: r is a sum of skips, the largest first, and its base is the number of the last.
 *            After that it gets q blocks in q rounds, each once, and each after its sender got
 *            it. Every q rounds the same is repeated, with q added to the blocks' numbers. The
 *            reduce is the broadcast in reverse: a block is sent to the rank that it came from,
 *            which adds it.
 * Cost       n - 1 + q rounds of a message of 1/n of the vector in each direction, which is the
 *            minimum for n blocks. The time for long vectors approaches that of sending one
 *            vector, where a scatter and an all-gather send two.
 * Scratch    reduce: the vector, except at the root.
 * Invariant  a rank gets each block once, so the route of a block is a tree.
 * Parameters n=BLOCKS (4).
 * Source     Traeff, Optimal Broadcast Schedules in Logarithmic Time, arXiv 2407.18004, 2024; the
 *            search is its algorithm, with a set of bits instead of a list.
 * See        tutti plan draw 'circulant(n=3)' -n 7 -c broadcast
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "algo.h"

enum { MOST_BLOCKS = 256, MOST_SENT = 1 << 14 };

static uint32_t circulant_blocks(const tt_ask *ask) {
  return (uint32_t)tt_param_number(ask, "n", 4);
}

enum { SKIPS = 31 };

/* A rank of the broadcast. */
typedef struct circulant {
  int P, q, skip[SKIPS + 1];
  int me, root, n;                /* this rank, counted from the root; blocks */
  int above[SKIPS], below[SKIPS]; /* the blocks that it sends up, and gets from below, in q
                                           rounds */
} circulant;

/* A message of a round: its peer and block. A block below 0 means no message. */
typedef struct circulant_message {
  int peer, block;
} circulant_message;

/* ---- the schedule of q rounds ---- */

/* The number of the last skip in the sum for rank r > 0. */
static int base_of(const circulant *c, int r) {
  int k = c->q;
  do {
    k--;
    if (c->skip[k] <= r) r -= c->skip[k];
  } while (r > 0);
  return k;
}

/* The search for the blocks that a rank gets. A block comes by way of a place on the circle that is
 * a sum of skips, and the block has the number of the last of them. No number is used twice. */
typedef struct search {
  const circulant *c;
  int rank;       /* a turn after the root, which is at 0 and at P */
  int last;       /* the place of the round before: that of the next round is below it */
  int round;      /* the first one that has no block yet */
  uint32_t bases; /* numbers that are not used yet: a set of bits */
  int *block;     /* of each round */
} search;

/* Visits the places at `from` plus a sum of skips with numbers less than `below`, the highest place
 * first. A round takes the highest that is at least its skip below the rank. */
static void find_blocks(search *s, int from, int below) {
  const int *skip = s->c->skip;
  for (int e = below - 1; e >= 0; e--) {
    const int here = from + skip[e];
    if (!(s->bases >> e & 1) || here >= s->last || here > s->rank - skip[s->round]) continue;
    if (here <= s->rank - skip[s->round + 1]) find_blocks(s, here, e);
    if (from > s->rank - skip[s->round + 1]) return;
    s->last = here;
    s->block[s->round++] = e;
    s->bases &= ~(UINT32_C(1) << e);
  }
}

/* The blocks that rank r gets in q rounds, where the root sends block t in round t; those
 * below 0 are of the q rounds before. The root's base is q, so it would get only such. */
static void blocks_received(const circulant *c, int r, int block[SKIPS]) {
  const int q = c->q, base = r ? base_of(c, r) : q;
  search s = {c, c->P + r, 2 * c->P, 0, 0, block};
  s.bases = (uint32_t)(UINT64_C(2) << q) - 1;
  s.bases &= ~(UINT32_C(1) << base);
  find_blocks(&s, 0, q + 1);
  for (int k = 0; k < q; k++) block[k] = block[k] == q ? base : block[k] - q;
}

/* ---- all rounds ---- */

static circulant circulant_of(int ranks, int rank, int root, int n) {
  const int q = tt_ceil_log2((uint64_t)ranks);
  circulant c = {.P = ranks, .q = q, .root = root, .n = n};
  c.skip[c.q] = ranks;
  for (int k = c.q; k > 0; k--) c.skip[k - 1] = (c.skip[k] + 1) / 2;
  c.me = tt_mod((int64_t)rank - root, ranks);
  if (c.me) blocks_received(&c, c.me, c.below);
  for (int k = 0; k < c.q; k++) {
    int theirs[SKIPS] = {0};
    const int peer = (int)(((int64_t)c.me + c.skip[k]) % c.P);
    if (peer) blocks_received(&c, peer, theirs);
    c.above[k] = theirs[k];
  }
  return c;
}

static int circulant_rounds(const circulant *c) {
  return c->n - 1 + c->q;
}

/* The block in round t. The rounds are numbered such that the last one is the last of a group of q; any block
 * number of n or above then means block n - 1. */
static int block_in(const circulant *c, const int blocks[SKIPS], int t) {
  const int q = c->q, from = tt_mod(1 - c->n, q), round = from + t;
  const int block = blocks[round % q] + round / q * q - from;
  return block < c->n ? block : c->n - 1;
}

static int skip_in(const circulant *c, int t) {
  return c->skip[(tt_mod(1 - c->n, c->q) + t) % c->q];
}

/* What the rank sends to the rank above in round t. */
static circulant_message circulant_up(const circulant *c, int t) {
  const int peer = tt_mod((int64_t)c->me + skip_in(c, t), c->P);
  return (circulant_message){tt_mod((int64_t)peer + c->root, c->P),
                             peer > 0 ? block_in(c, c->above, t) : -1};
}

/* What it gets from the rank below. */
static circulant_message circulant_in(const circulant *c, int t) {
  const int peer = tt_mod((int64_t)c->me - skip_in(c, t), c->P);
  return (circulant_message){tt_mod((int64_t)peer + c->root, c->P),
                             c->me > 0 ? block_in(c, c->below, t) : -1};
}

/* ---- broadcast and reduce ---- */

static void circulant_broadcast(tt_builder *b, const circulant *c) {
  const tt_buf have = c->me ? TT_DST : TT_SRC;
  const uint32_t n = (uint32_t)c->n;
  for (int t = 0; t < circulant_rounds(c); t++) {
    const circulant_message up = circulant_up(c, t), in = circulant_in(c, t);
    if (up.block >= 0) tt_send(b, up.peer, tt_block(have, (uint32_t)up.block));
    if (in.block >= 0) tt_recv(b, in.peer, tt_block(TT_DST, (uint32_t)in.block));
  }
  if (!c->me) tt_copy(b, tt_range(TT_DST, 0, n, n), tt_range(TT_SRC, 0, n, n));
}

/* The root sends block n - 1 more than once, first in round n - 1, where in reverse its sum is
 * complete. */
static void circulant_reduce(tt_builder *b, const circulant *c) {
  const tt_buf sums = c->me ? TT_TMP : TT_DST;
  bool *added = calloc((size_t)c->n, sizeof *added);
  if (!added) {
    b->status = tt_fail(TUTTI_ERR_MEMORY, "out of memory while building a schedule");
    return;
  }
  for (int t = circulant_rounds(c) - 1; t >= 0; t--) {
    const circulant_message out = circulant_in(c, t), in = circulant_up(c, t);
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
  const circulant c = circulant_of(ask->ranks, ask->rank, ask->root, (int)circulant_blocks(ask));
  (ask->coll == TUTTI_BROADCAST ? circulant_broadcast : circulant_reduce)(b, &c);
}

static bool circulant_samples(int ranks, int i, tt_text *params) {
  static const int n[] = {1, 2, 3, 5, 6, 7, 12, 17};
  (void)ranks;
  if (i >= (int)(sizeof n / sizeof *n)) return false;
  tt_text_add(params, "n=%d", n[i]);
  return true;
}

/* 2, 8, 16, 32 ...: 4 is what its entry says. All ranks' messages are simulated: few enough. */
static bool circulant_plans(int ranks, const char *levels, int i, tt_text *params) {
  const int n = i ? 4 << i : 2;
  (void)levels;
  tt_text_add(params, "n=%d", n);
  return n <= MOST_BLOCKS && (int64_t)n * ranks <= MOST_SENT;
}

const tt_algo tt_circulant_algo = {
    .name = "circulant",
    .does = TT_DOES_ROOTED,
    .params = {{"n", TT_PARAM_NUMBER, .lo = 1, .hi = 1 << 16, .wrong = "n goes from 1 to 65536"}},
    .blocks = circulant_blocks,
    .build = circulant_build,
    .samples = circulant_samples,
    .plans = circulant_plans,
    .entries = {{"circulant", TT_CANDIDATE,
                 "n blocks in n - 1 + ceil(log2 P) rounds, each rank busy in all", "Traeff 2024"}},
};
