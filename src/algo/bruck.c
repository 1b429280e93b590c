/* bruck.c - Bruck's all-gather, the reduce-scatter that mirrors it, both in sequence as an allreduce, and Bruck's
 * all-to-all (the index operation). Blocks travel in few steps, and many of them share a message.
 *
 * Idea       In the all-gather, rank r starts with its own block. When it has blocks r .. r+h-1, it receives the next h
 *            blocks from each of r + h, r + 2h ..., up to K-1 of them in one step, and then has K times as many. The
 *            reduce-scatter is the mirror image: a rank sends back the blocks beyond its first h, and the receiver adds
 *            them. Blocks are counted from the rank's own block and wrap, so no final rotation is needed. In the
 *            all-to-all, a block that must move up k ranks is in slot k. The digits of k in base K are processed one
 *            after the other: all blocks with digit j move up j * K^i ranks together, into the same slots. At the end,
 *            the block in slot k is from the rank k below. Blocks are packed before they are sent, because received
 *            blocks reuse their slots.
 * Cost       ceil(log_K P) steps in each phase, with up to K-1 messages per step and P-1 blocks in total. With K = 2 this
 *            equals a fold with seq = P, ..., 8, 4, 2, 1. The all-to-all takes ceil(log_K P) rounds of K-1 messages, or
 *            twice that if P is not a power of K. Each round sends and copies about (K-1)/K of the vector, and the vector
 *            is copied twice more.
 * Scratch    None; reduce-scatter: the vector; all-to-all: two vectors.
 * Invariant  Only the owner of a block completes its sum.
 * Parameters radix=2..16 (2).
 * Source     Bruck et al., IEEE Trans. Par. Distrib. Syst. 8(11), 1997.
 * See        tutti plan draw bruck -n 7
 * SPDX-License-Identifier: BSD-3-Clause */
#include "algo.h"

/* ---- all-gather and reduce-scatter ---- */

/* A step from h blocks per rank to at most `radix` * h. Each of `full` ranks sends h blocks, and one more rank sends
 * the `rest`. */
typedef struct stage {
  int P, rank, h, full, rest;
} stage;

static stage stage_of(const tt_ask *ask, int h, int radix) {
  stage s = {ask->ranks, ask->rank, h, ask->ranks / h - 1, ask->ranks % h};
  if (s.full >= radix - 1) s.full = radix - 1, s.rest = 0;
  return s;
}

/* Returns a span of `count` blocks. It starts `from` blocks after the block of this rank. */
static tt_span blocks_after_rank(const stage *s, tt_buf buf, int from, int count) {
  return tt_range(buf, (uint32_t)tt_mod((int64_t)s->rank + from, s->P), (uint32_t)count,
                  (uint32_t)s->P);
}

static tt_peers peers_at_distance(const stage *s, int step, int count) {
  return (tt_peers){tt_mod((int64_t)s->rank + step, s->P), count, step};
}

static void bruck_reduce_scatter(tt_builder *b, const stage *s, tt_buf have, tt_buf sum) {
  const int h = s->h, beyond = (s->full + 1) * h;
  if (s->full)
    tt_send_split(b, peers_at_distance(s, h, s->full), blocks_after_rank(s, have, h, s->full * h));
  if (s->rest)
    tt_send(b, tt_mod(s->rank + beyond, s->P), blocks_after_rank(s, have, beyond, s->rest));
  if (s->full) {
    tt_recv_reduce_all(b, peers_at_distance(s, -h, s->full), blocks_after_rank(s, sum, 0, h),
                       blocks_after_rank(s, have, 0, h), TT_OWN_FIRST);
    have = sum;
  }
  if (!s->rest) return;
  tt_recv_reduce(b, tt_mod(s->rank - beyond, s->P), blocks_after_rank(s, sum, 0, s->rest),
                 blocks_after_rank(s, have, 0, s->rest), TT_OWN_FIRST);
  if (!s->full)
    tt_copy(b, blocks_after_rank(s, sum, s->rest, h - s->rest),
            blocks_after_rank(s, have, s->rest, h - s->rest));
}

static void bruck_allgather(tt_builder *b, const stage *s, tt_buf have) {
  const int h = s->h, beyond = (s->full + 1) * h;
  if (s->full) {
    tt_send_all(b, peers_at_distance(s, -h, s->full), blocks_after_rank(s, have, 0, h));
    tt_recv_split(b, peers_at_distance(s, h, s->full),
                  blocks_after_rank(s, TT_DST, h, s->full * h));
  }
  if (!s->rest) return;
  tt_send(b, tt_mod(s->rank - beyond, s->P), blocks_after_rank(s, have, 0, s->rest));
  tt_recv(b, tt_mod(s->rank + beyond, s->P), blocks_after_rank(s, TT_DST, beyond, s->rest));
}

/* ---- all-to-all ---- */

/* Lists the slots below P whose digit of weight `unit` is j, as spans. The complete periods form one span and the
 * incomplete last period another. Returns the number of spans. */
static int spans_with_digit(const tt_ask *ask, int radix, int unit, int j, tt_span spans[2]) {
  const int P = ask->ranks, period = radix * unit, from = j * unit, whole = P / period;
  const int rest = P - whole * period - from;
  int n = 0;
  if (whole)
    spans[n++] = (tt_span){.buf = TT_TMP,
                           .first = (uint32_t)from,
                           .count = (uint32_t)unit,
                           .ring = (uint32_t)period,
                           .stride = 1,
                           .repeat = (uint32_t)whole};
  if (rest > 0)
    spans[n++] = tt_range(TT_TMP, (uint32_t)(whole * period + from),
                          (uint32_t)(rest < unit ? rest : unit), (uint32_t)P);
  return n;
}

static void index_round(tt_builder *b, const tt_ask *ask, int radix, int unit) {
  const int P = ask->ranks, r = ask->rank;
  tt_span spans[2];
  for (int j = 1; j < radix && j * unit < P; j++)
    for (int i = 0, n = spans_with_digit(ask, radix, unit, j, spans); i < n; i++) {
      const tt_span packed = tt_layer(spans[i], 1, (uint32_t)P);
      tt_copy(b, packed, spans[i]);
      tt_send(b, tt_mod((int64_t)r + j * unit, P), packed);
    }
  for (int j = 1; j < radix && j * unit < P; j++)
    for (int i = 0, n = spans_with_digit(ask, radix, unit, j, spans); i < n; i++)
      tt_recv(b, tt_mod((int64_t)r - j * unit, P), spans[i]);
}

static void bruck_index(tt_builder *b, const tt_ask *ask, int radix) {
  const uint32_t P = (uint32_t)ask->ranks, r = (uint32_t)ask->rank;
  tt_copy(b, tt_range(TT_TMP, 1, P - 1, P), tt_range(TT_SRC, r + 1, P - 1, P));
  tt_copy(b, tt_block(TT_DST, r), tt_block(TT_SRC, r));
  for (int64_t unit = 1; unit < ask->ranks; unit *= radix) index_round(b, ask, radix, (int)unit);
  for (uint32_t k = 1; k < P; k++)
    tt_copy(b, tt_block(TT_DST, (r + P - k) % P), tt_block(TT_TMP, k));
}

static void bruck_build(tt_builder *b, const tt_ask *ask) {
  const tt_buf work = ask->coll == TUTTI_REDUCE_SCATTER ? TT_TMP : TT_DST;
  tt_buf have = TT_SRC;
  const int radix = tt_param_number(ask, "radix", 2);
  int h = 1;
  if (ask->coll == TUTTI_ALLTOALL) {
    bruck_index(b, ask, radix);
    return;
  }
  while ((int64_t)h * radix < ask->ranks) h *= radix;
  for (int down = h; down && ask->coll != TUTTI_ALLGATHER; down /= radix) {
    const stage s = stage_of(ask, down, radix);
    bruck_reduce_scatter(b, &s, have, down == 1 ? TT_DST : work);
    have = work;
  }
  if (ask->coll != TUTTI_ALLGATHER) tt_mark_completes(b);
  if (ask->coll == TUTTI_REDUCE_SCATTER) return;
  if (ask->coll == TUTTI_ALLGATHER)
    tt_copy(b, tt_block(TT_DST, (uint32_t)ask->rank), tt_block(TT_SRC, (uint32_t)ask->rank));
  for (int up = 1; up <= h; up *= radix) {
    const stage s = stage_of(ask, up, radix);
    bruck_allgather(b, &s, up == 1 && ask->coll == TUTTI_ALLGATHER ? TT_SRC : TT_DST);
  }
}

const tt_algo tt_bruck_algo = {
    .name = "bruck",
    .does = TT_DOES_ALLREDUCE | TT_DOES_BLOCKS | TT_DOES(ALLTOALL),
    .params = {{"radix", TT_PARAM_NUMBER, .lo = 2, .hi = 16, .wrong = "radix goes from 2 to 16"}},
    .blocks = tt_block_per_rank,
    .build = bruck_build,
    .plan = {{"radix=4", 3}, {"radix=8", 5}},
    .uniform = tt_uniform_without_levels,
    .stage = {{"", TT_STAGE_FITS}, {"radix=4", 0}},
    .entries = {{"bruck", TT_CANDIDATE, "Bruck's all-gather, behind its mirror; his all-to-all",
                 "Bruck et al. 1997"}},
};
