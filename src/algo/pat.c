/* pat.c - parallel aggregated trees: binomial trees, far ranks first, and few blocks per message.
 *
 * Idea       In the all-gather, rank r counts blocks relative to its own. Block k moves down a binomial tree: it is
 *            received from the rank whose distance is the lowest set bit of k, where it has the number k without that
 *            bit. Therefore the farthest ranks exchange first, one block each, and the nearest ranks last, with most
 *            blocks. A message contains at most A blocks: blocks a distance U apart, where U is a power of two, travel
 *            together. Between these U-trees, each step doubles the blocks of a rank. Within them, steps process the
 *            members of a tree of size U one by one, starting with the farthest branch. The reduce-scatter runs the same
 *            steps in reverse: a rank sends where it would receive, and adds the blocks that it receives. An allreduce
 *            runs both.
 * Cost       ceil(log2 ceil(P/U)) + min(U, P) - 1 messages in each phase, of which at most ceil(log2 P) are in a chain,
 *            with P-1 blocks; U is 1 unless A is below P/2. If P is not a power of two and a message has several blocks,
 *            the vector is copied once in each phase.
 * Scratch    None; reduce-scatter: one vector; with these copies two vectors, the second of which continues the blocks
 *            past P, so that the blocks of a message are evenly spaced. Blocks keep their positions, so sums that are
 *            pending at the same time are not contiguous.
 * Invariant  Only the owner of a block completes its sum. If k is even and k + 1 < P, the first operand added to block k
 *            is received from the next rank, which calls it block k + 1.
 * Parameters buffer=A, the number of blocks in a message; unlimited by default.
 * Source     Jeaugey, PAT: a new algorithm for all-gather and reduce-scatter operations at
 *            scale, arXiv 2506.20252, 2025.
 * See        tutti plan draw 'pat(buffer=2)' -n 8 -c allgather
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>

#include "algo.h"

/* An edge between ranks that are `hop` apart. It carries blocks first, first + stride and so on, up to P - 1. */
typedef struct edge {
  int first, hop, stride;
} edge;

typedef struct pat {
  tt_builder *b;
  const tt_ask *ask;
  int apart;     /* U */
  bool unrolled; /* blocks are in tmp and do not wrap at P */
} pat;

/* Returns ceil(n / d), also for d > n. */
static int parts(int n, int d) {
  return n / d + (n % d > 0);
}

/* Returns the smallest distance with messages of at most `most` blocks. */
static int distance_of(int ranks, int most) {
  int U = 1;
  while (parts(ranks, U) / 2 > most || (U > 1 && parts(ranks - 1, U) > most)) U *= 2;
  return U;
}

static int rank_at_distance(const pat *x, int apart) {
  return tt_mod((int64_t)x->ask->rank + apart, x->ask->ranks);
}

/* Returns a span of `count` blocks that are `stride` apart. The first is `from` blocks after the block of this rank. */
static tt_span spaced(const pat *x, tt_buf buf, int from, int stride, int count) {
  const uint32_t at = (uint32_t)(x->ask->rank + from), P = (uint32_t)x->ask->ranks;
  const uint32_t n = (uint32_t)count, apart = (uint32_t)stride;
  if (buf == TT_TMP && x->unrolled) return (tt_span){buf, at, 0, n, n, apart, 1};
  if (count == 1) return tt_block(buf, at % P);
  return (tt_span){buf, at % apart, at % P / apart, n, P / apart, apart, 1};
}

/* Copies the whole vector from src to tmp, where its spans do not wrap, or from tmp to dst. */
static void copy_vector(const pat *x, bool in) {
  const uint32_t P = (uint32_t)x->ask->ranks, r = (uint32_t)x->ask->rank;
  const tt_span upper = tt_range(TT_TMP, r, P - r, P), lower = tt_range(TT_TMP, 0, r, P);
  tt_span high = upper, low = lower;
  high.buf = low.buf = in ? TT_SRC : TT_DST;
  tt_copy(x->b, in ? upper : high, in ? high : upper);
  if (r == 0) return;
  tt_copy(x->b, in ? tt_layer(lower, 1, P) : low, in ? low : tt_layer(lower, 1, P));
}

static void gather_over_edge(const pat *x, edge e) {
  const tt_buf buf = x->unrolled ? TT_TMP : TT_DST;
  const int count = parts(x->ask->ranks - e.first, e.stride);
  const bool own = x->ask->coll == TUTTI_ALLGATHER && e.first == e.hop && count == 1;
  tt_send(x->b, rank_at_distance(x, -e.hop),
          spaced(x, own ? TT_SRC : buf, e.first - e.hop, e.stride, count));
  tt_recv(x->b, rank_at_distance(x, e.hop), spaced(x, buf, e.first, e.stride, count));
}

/* Reduces over an edge. Blocks that have not been added to yet are read from src, unless the vector was copied to tmp. */
static void reduce_over_edge(const pat *x, edge e, bool last) {
  const int P = x->ask->ranks, count = parts(P - e.first, e.stride);
  const bool ends = x->ask->coll == TUTTI_REDUCE_SCATTER;
  const tt_buf sums = x->unrolled || ends ? TT_TMP : TT_DST;
  const bool sent = x->unrolled || (e.hop > 1 && e.first + 1 < P), own = x->unrolled || e.hop > 1;
  tt_send(x->b, rank_at_distance(x, e.hop),
          spaced(x, sent ? sums : TT_SRC, e.first, e.stride, count));
  tt_recv_reduce(x->b, rank_at_distance(x, -e.hop),
                 spaced(x, last && ends ? TT_DST : sums, e.first - e.hop, e.stride, count),
                 spaced(x, own ? sums : TT_SRC, e.first - e.hop, e.stride, count), TT_OWN_FIRST);
  if (last) tt_mark_completes(x->b);
}

/* Gathers the blocks of member p from its branches, starting with the most distant branch. `bit` is the lowest set bit of p. */
static void gather_in_tree(const pat *x, int p, int bit) {
  for (int hop = bit / 2; hop >= 1; hop /= 2) {
    if (p + hop >= x->ask->ranks) continue;
    gather_over_edge(x, (edge){p + hop, hop, x->apart});
    gather_in_tree(x, p + hop, hop);
  }
}

static void reduce_in_tree(const pat *x, int p, int bit) {
  for (int hop = 1; hop < bit && p + hop < x->ask->ranks; hop *= 2) {
    reduce_in_tree(x, p + hop, hop);
    const bool last = p == 0 && 2 * hop >= x->ask->ranks;
    reduce_over_edge(x, (edge){p + hop, hop, x->apart}, last);
  }
}

static void pat_build(tt_builder *b, const tt_ask *ask) {
  const int P = ask->ranks;
  const bool gathers = ask->coll == TUTTI_ALLGATHER;
  const int apart = distance_of(P, tt_param_number(ask, "buffer", 1 << 20));
  int top = 1;
  const pat x = {b, ask, apart, apart < P && (P & (P - 1))};
  while (top < P - top) top *= 2; /* the farthest hop */
  if (x.unrolled && !gathers) copy_vector(&x, true);
  if (!gathers) reduce_in_tree(&x, 0, apart);
  for (int hop = apart; hop <= top && !gathers; hop *= 2)
    reduce_over_edge(&x, (edge){hop, hop, 2 * hop}, hop == top);
  if (ask->coll == TUTTI_REDUCE_SCATTER) return;
  if (gathers)
    tt_copy(b, spaced(&x, x.unrolled ? TT_TMP : TT_DST, 0, 1, 1), spaced(&x, TT_SRC, 0, 1, 1));
  for (int hop = top; hop >= apart; hop /= 2) gather_over_edge(&x, (edge){hop, hop, 2 * hop});
  gather_in_tree(&x, 0, apart);
  if (x.unrolled) copy_vector(&x, false);
}

const tt_algo tt_pat_algo = {
    .name = "pat",
    .does = TT_DOES_ALLREDUCE | TT_DOES_BLOCKS,
    .params = {{"buffer", TT_PARAM_NUMBER, .lo = 1, .hi = 1 << 20,
                .wrong = "buffer goes from 1 to 1048576"}},
    .blocks = tt_block_per_rank,
    .build = pat_build,
    .plan = {{"buffer=4", 9}, {"buffer=16", 33}},
    .uniform = tt_uniform_power_of_two,
    .stage = {{"", 0}},
    .entries = {{"pat", TT_CANDIDATE,
                 "binomial trees, far ranks first; buffer=4: 4 blocks in a message",
                 "Jeaugey 2025, as in NCCL"}},
};
