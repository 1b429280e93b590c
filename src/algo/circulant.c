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
 * Source     Traeff, Optimal Broadcast Schedules in Logarithmic Time, arXiv 2407.18004, 2024; the
 *            search is its algorithm, with a set of bits in place of a list.
 * See        tutti plan draw 'circulant(n=3)' -P 7 -c broadcast
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "algo.h"

static const tt_number circulant_number = {"n", 1, 1 << 16, 4, "n goes from 1 to 65536"};

enum { MOST_SKIPS = 31, MOST_BLOCKS = 256, MOST_SENT = 1 << 14 };

static uint32_t circulant_blocks(const tt_ask *ask) {
  return (uint32_t)tt_param_number(ask, &circulant_number);
}

/* ---- the schedule of q rounds ---- */

typedef struct circle {
  int P, q, skip[MOST_SKIPS + 1];
} circle;

static circle circle_of(int ranks) {
  circle c = {.P = ranks, .q = tt_ceil_log2((uint64_t)ranks)};
  c.skip[c.q] = ranks;
  for (int k = c.q; k > 0; k--) c.skip[k - 1] = (c.skip[k] + 1) / 2;
  return c;
}

/* The number of the last skip in the sum for rank r > 0. */
static int base_of(const circle *c, int r) {
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
  const circle *c;
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

/* The blocks that rank r > 0 gets in q rounds, where the root sends block t in round t; those
 * below 0 are of the q rounds before. */
static void blocks_received(const circle *c, int r, int block[MOST_SKIPS]) {
  const int base = base_of(c, r), q = c->q;
  search s = {c, c->P + r, 2 * c->P, 0, 0, block};
  s.bases = (uint32_t)(UINT64_C(2) << q) - 1;
  s.bases &= ~(UINT32_C(1) << base);
  find_blocks(&s, 0, q + 1);
  for (int k = 0; k < q; k++) block[k] = block[k] == q ? base : block[k] - q;
}

/* ---- all rounds ---- */

typedef struct member {
  tt_builder *b;
  circle c;
  int me, root, n;
  int above[MOST_SKIPS], below[MOST_SKIPS]; /* the blocks that it sends up, and gets from below */
} member;

static member member_of(tt_builder *b, const tt_ask *ask) {
  member m = {b, circle_of(ask->ranks), 0, ask->root, (int)circulant_blocks(ask), {0}, {0}};
  m.me = tt_mod((int64_t)ask->rank - ask->root, ask->ranks);
  if (m.me) blocks_received(&m.c, m.me, m.below);
  for (int k = 0; k < m.c.q; k++) {
    int theirs[MOST_SKIPS] = {0};
    const int peer = (int)(((int64_t)m.me + m.c.skip[k]) % m.c.P);
    if (peer) blocks_received(&m.c, peer, theirs);
    m.above[k] = theirs[k];
  }
  return m;
}

/* A message of a round: its peer and block; none: block < 0. */
typedef struct message {
  int peer, block;
} message;

/* The block in round t. The rounds are counted such that the last one is the last of q: then all
 * blocks from n - 1 on are block n - 1. */
static int block_in(const member *m, const int blocks[MOST_SKIPS], int t) {
  const int q = m->c.q, from = tt_mod(1 - m->n, q), round = from + t;
  const int block = blocks[round % q] + round / q * q - from;
  return block < m->n ? block : m->n - 1;
}

static int skip_in(const member *m, int t) {
  return m->c.skip[(tt_mod(1 - m->n, m->c.q) + t) % m->c.q];
}

/* With the rank above, or with the one below. */
static message message_in(const member *m, int t, bool above) {
  const int P = m->c.P, skip = skip_in(m, t);
  const int peer = tt_mod((int64_t)m->me + (above ? skip : -skip), P);
  const bool any = above ? peer > 0 : m->me > 0; /* the root gets none */
  return (message){tt_mod((int64_t)peer + m->root, P),
                   any ? block_in(m, above ? m->above : m->below, t) : -1};
}

static void circulant_broadcast(const member *m, int rounds) {
  const tt_buf have = m->me ? TT_DST : TT_SRC;
  const uint32_t n = (uint32_t)m->n;
  for (int t = 0; t < rounds; t++) {
    const message up = message_in(m, t, true), in = message_in(m, t, false);
    if (up.block >= 0) tt_send(m->b, up.peer, tt_block(have, (uint32_t)up.block));
    if (in.block >= 0) tt_recv(m->b, in.peer, tt_block(TT_DST, (uint32_t)in.block));
  }
  if (!m->me) tt_copy(m->b, tt_range(TT_DST, 0, n, n), tt_range(TT_SRC, 0, n, n));
}

/* The root sends block n - 1 more than once, first in round n - 1, where in reverse its sum is
 * complete. */
static void circulant_reduce(const member *m, int rounds) {
  const tt_buf sums = m->me ? TT_TMP : TT_DST;
  bool *added = calloc((size_t)m->n, sizeof *added);
  if (!added) {
    m->b->status = tt_fail(TUTTI_ERR_MEMORY, "out of memory while building a schedule");
    return;
  }
  for (int t = rounds - 1; t >= 0; t--) {
    const message out = message_in(m, t, false), in = message_in(m, t, true);
    if (out.block >= 0)
      tt_send(m->b, out.peer, tt_block(added[out.block] ? sums : TT_SRC, (uint32_t)out.block));
    if (in.block < 0) continue;
    const uint32_t block = (uint32_t)in.block;
    tt_recv_reduce(m->b, in.peer, tt_block(sums, block),
                   tt_block(added[block] ? sums : TT_SRC, block), TT_OWN_FIRST);
    if (!m->me && t < m->n) tt_mark_completes(m->b);
    added[block] = true;
  }
  free(added);
}

static void circulant_build(tt_builder *b, const tt_ask *ask) {
  const member m = member_of(b, ask);
  const int rounds = m.n - 1 + m.c.q;
  (ask->coll == TUTTI_BROADCAST ? circulant_broadcast : circulant_reduce)(&m, rounds);
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
