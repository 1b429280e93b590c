/* circulant.c - broadcast and reduce of n blocks, pipelined through a circulant graph without idle rounds.
 *
 * Idea       q = ceil(log2 P). Ranks are numbered around a circle, relative to the root. Skip q is P, and each
 *            lower skip is half of the next one, rounded up, down to skip 0, which is 1. In round t each rank
 *            sends a block to the rank that is skip (t mod q) above it, and receives one from the rank equally
 *            far below. The root sends block t. The first block that rank r receives is called its base: r is a
 *            sum of skips, largest first, and the base is the number of the last skip in that sum. In the q
 *            rounds after that it receives q different blocks, each after its sender has received it. The
 *            pattern repeats every q rounds with block numbers increased by q. The reduce is the broadcast in
 *            reverse: each block is sent back to the rank that it was received from, which adds it.
 * Cost       n - 1 + q rounds, each with a message of 1/n of the vector in each direction, which is the minimum
 *            for n blocks. For long vectors the time approaches that of sending one vector, whereas a scatter
 *            with an all-gather sends two.
 * Scratch    Reduce: one vector, except at the root.
 * Invariant  A rank receives each block once, so the route of a block is a tree.
 * Parameters n=BLOCKS (4).
 * Source     Traeff, Optimal Broadcast Schedules in Logarithmic Time, arXiv 2407.18004, 2024. The search is the
 *            paper's algorithm, with a bit set instead of a list.
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

/* The state of one rank. */
typedef struct circulant {
  int P, q, skip[SKIPS + 1];
  int me, root, n;                /* this rank, counted from the root; number of blocks */
  int above[SKIPS], below[SKIPS]; /* blocks sent up, and received from below, in q rounds */
} circulant;

/* A message in one round. If the round has no message, `block` is negative. */
typedef struct circulant_message {
  int peer, block;
} circulant_message;

/* ---- the schedule of q rounds ---- */

/* Returns the base of rank r, which must not be 0: the number of the last skip when r is written as a sum of skips. */
static int base_of(const circulant *c, int r) {
  int k = c->q;
  do {
    k--;
    if (c->skip[k] <= r) r -= c->skip[k];
  } while (r > 0);
  return k;
}

/* The search for the blocks that a rank receives. A block reaches the rank through some position on the circle. That position is
 * a sum of skips, and the number of its last skip is the number of the block. Each block number is used once. */
typedef struct search {
  const circulant *c;
  int rank;       /* counted from the root one turn earlier; the root is at 0 and at P */
  int last;       /* position found for the previous round; that of the next round is lower */
  int round;      /* first round that has no block yet */
  uint32_t bases; /* bit set of the numbers not used yet */
  int *block;     /* the block of each round */
} search;

/* Visits all positions that are the sum of `from` and of skips with numbers less than `below`, from the highest position
 * down. In each round, takes the highest position whose distance to the rank is at least the skip of that round. */
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

/* Computes the numbers of the blocks that rank r receives in q rounds, if the root sends block t in round t. A negative
 * number is a block of the previous q rounds. For the root the base is set to q, so that all its numbers are negative. */
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

/* Returns the block that is sent in round t. The rounds are numbered such that the last round also ends a group of q
 * rounds. If the pattern yields a block number of n or more, the result is block n - 1. */
static int block_in(const circulant *c, const int blocks[SKIPS], int t) {
  const int q = c->q, from = tt_mod(1 - c->n, q), round = from + t;
  const int block = blocks[round % q] + round / q * q - from;
  return block < c->n ? block : c->n - 1;
}

static int skip_in(const circulant *c, int t) {
  return c->skip[(tt_mod(1 - c->n, c->q) + t) % c->q];
}

/* Returns the message that this rank sends upwards on the circle in round t. */
static circulant_message circulant_up(const circulant *c, int t) {
  const int peer = tt_mod((int64_t)c->me + skip_in(c, t), c->P);
  return (circulant_message){tt_mod((int64_t)peer + c->root, c->P),
                             peer > 0 ? block_in(c, c->above, t) : -1};
}

/* Returns the message that this rank receives in round t from its lower neighbour on the circle. */
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

/* In a broadcast, the root sends block n - 1 several times, first in round n - 1. A reduce is a broadcast in reverse,
 * so there the sum of block n - 1 is complete in round n - 1. */
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

/* Proposes n = 2, 8, 16, 32 and so on; n = 4 is already an entry. The number of ranks is limited because the simulation
 * handles each message of every rank. */
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
    .plans = circulant_plans,
    .entries = {{"circulant", TT_CANDIDATE,
                 "n blocks in n - 1 + ceil(log2 P) rounds, each rank busy in all", "Traeff 2024"}},
};
