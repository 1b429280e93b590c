/* circulant_rounds.c - who sends which block in each round of a broadcast in a circulant graph.
 *
 * Invariant  a rank gets each block once, after its sender got it. The root may get all but the last one in the
 *            same rounds, from ranks that have nothing else to send then.
 * Source     Traeff, Optimal Broadcast Schedules in Logarithmic Time, arXiv 2407.18004, 2024; the
 *            search is its algorithm, with a set of bits in place of a list.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "algo_circulant.h"

/* ---- the schedule of q rounds ---- */

/* The number of the last skip in the sum for rank r > 0. */
static int base_of(const tt_circulant *c, int r) {
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
  const tt_circulant *c;
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
static void blocks_received(const tt_circulant *c, int r, int block[TT_SKIPS]) {
  const int q = c->q, base = r ? base_of(c, r) : q;
  search s = {c, c->P + r, 2 * c->P, 0, 0, block};
  s.bases = (uint32_t)(UINT64_C(2) << q) - 1;
  s.bases &= ~(UINT32_C(1) << base);
  find_blocks(&s, 0, q + 1);
  for (int k = 0; k < q; k++) block[k] = block[k] == q ? base : block[k] - q;
}

/* ---- all rounds ---- */

tt_circulant tt_circulant_of(int ranks, int rank, int root, int n, bool back) {
  const int q = tt_ceil_log2((uint64_t)ranks);
  tt_circulant c = {.P = ranks, .q = q, .root = root, .n = n, .back = back};
  c.skip[c.q] = ranks;
  for (int k = c.q; k > 0; k--) c.skip[k - 1] = (c.skip[k] + 1) / 2;
  c.me = tt_mod((int64_t)rank - root, ranks);
  if (c.me || back) blocks_received(&c, c.me, c.below);
  for (int k = 0; k < c.q; k++) {
    int theirs[TT_SKIPS] = {0};
    const int peer = (int)(((int64_t)c.me + c.skip[k]) % c.P);
    if (peer || back) blocks_received(&c, peer, theirs);
    c.above[k] = theirs[k];
  }
  return c;
}

int tt_circulant_rounds(const tt_circulant *c) {
  return c->n - 1 + c->q;
}

/* The block in round t. The rounds are counted such that the last one is the last of q: then all
 * blocks from n - 1 on are block n - 1. */
static int block_in(const tt_circulant *c, const int blocks[TT_SKIPS], int t) {
  const int q = c->q, from = tt_mod(1 - c->n, q), round = from + t;
  const int block = blocks[round % q] + round / q * q - from;
  return block < c->n ? block : c->n - 1;
}

static int skip_in(const tt_circulant *c, int t) {
  return c->skip[(tt_mod(1 - c->n, c->q) + t) % c->q];
}

tt_circulant_message tt_circulant_up(const tt_circulant *c, int t) {
  const int peer = tt_mod((int64_t)c->me + skip_in(c, t), c->P);
  return (tt_circulant_message){tt_mod((int64_t)peer + c->root, c->P),
                                peer > 0 || c->back ? block_in(c, c->above, t) : -1};
}

tt_circulant_message tt_circulant_in(const tt_circulant *c, int t) {
  const int peer = tt_mod((int64_t)c->me - skip_in(c, t), c->P);
  return (tt_circulant_message){tt_mod((int64_t)peer + c->root, c->P),
                                c->me > 0 || c->back ? block_in(c, c->below, t) : -1};
}
