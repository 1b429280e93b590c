/* bruck.c - Bruck's all-gather, its mirror the reduce-scatter, and both in sequence. The
 * all-to-all is in index.c.
 *
 * Idea       all-gather: with h blocks from its own on, rank r receives the next h from
 *            each of r + h, r + 2h ..., up to K-1 at once, and has K times as many. The
 *            mirror sends back what a rank has beyond its first h, and adds. Blocks
 *            are counted from the own one on and wrap, so no final rotation is needed.
 * Cost       ceil(log_K P) steps each way, of up to K-1 messages; P-1 blocks. For K = 2 that
 *            is a fold by seq = P, ..., 8, 4, 2, 1.
 * Scratch    none; reduce-scatter: the vector.
 * Invariant  a block's sum is completed on its owner alone.
 * Parameters radix=2..16 (2).
 * Source     Bruck et al., IEEE Trans. Par. Distrib. Syst. 8(11), 1997.
 * See        tutti plan draw bruck -P 7
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>

#include "algo_index.h"

static const char *bruck_refuse(const tt_ask *ask) {
  int radix;
  return tt_param_int(ask, "radix", 2, 16, 2, &radix) ? NULL : "radix goes from 2 to 16";
}

/* From h blocks to at most `radix` times as many: `full` ranks have h to give each, and one more
 * has the rest. */
typedef struct stage {
  int P, rank, h, full, rest;
} stage;

static stage stage_of(const tt_ask *ask, int h, int radix) {
  stage s = {ask->ranks, ask->rank, h, ask->ranks / h - 1, ask->ranks % h};
  if (s.full >= radix - 1) s.full = radix - 1, s.rest = 0;
  return s;
}

/* `count` blocks, from number `from` as rank r counts. */
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

static void bruck_build(tt_builder *b, const tt_ask *ask) {
  const tt_buf work = ask->coll == TUTTI_REDUCE_SCATTER ? TT_TMP : TT_DST;
  tt_buf have = TT_SRC;
  int radix, h = 1;
  tt_param_int(ask, "radix", 2, 16, 2, &radix);
  if (ask->coll == TUTTI_ALL_TO_ALL) {
    tt_bruck_index(b, ask, radix);
    return;
  }
  while ((int64_t)h * radix < ask->ranks) h *= radix;
  for (int down = h; down && ask->coll != TUTTI_ALL_GATHER; down /= radix) {
    const stage s = stage_of(ask, down, radix);
    bruck_reduce_scatter(b, &s, have, down == 1 ? TT_DST : work);
    have = work;
  }
  if (ask->coll != TUTTI_ALL_GATHER) tt_mark_completes(b);
  if (ask->coll == TUTTI_REDUCE_SCATTER) return;
  if (ask->coll == TUTTI_ALL_GATHER)
    tt_copy(b, tt_block(TT_DST, (uint32_t)ask->rank), tt_block(TT_SRC, (uint32_t)ask->rank));
  for (int up = 1; up <= h; up *= radix) {
    const stage s = stage_of(ask, up, radix);
    bruck_allgather(b, &s, up == 1 && ask->coll == TUTTI_ALL_GATHER ? TT_SRC : TT_DST);
  }
}

static bool bruck_samples(int ranks, int i, char *params, size_t size) {
  (void)ranks;
  snprintf(params, size, "radix=%d", 3 + i);
  return i < 6;
}

static bool bruck_plans(int ranks, const char *levels, int i, char *params, size_t size) {
  (void)levels;
  snprintf(params, size, "radix=%d", 4 << i);
  return i < 2 && ranks > 2 << i;
}

const tt_algo tt_bruck_algo = {
    .name = "bruck",
    .does = TT_DOES_ALLREDUCE | TT_DOES_BLOCKS | TT_DOES(ALL_TO_ALL),
    .params = "radix=",
    .refuse = bruck_refuse,
    .blocks = tt_block_per_rank,
    .build = bruck_build,
    .samples = bruck_samples,
    .plans = bruck_plans,
    .uniform = tt_uniform_without_levels,
    .entries = {{"bruck", TT_CANDIDATE, "Bruck's all-gather, behind its mirror; his all-to-all",
                 "Bruck et al. 1997"}},
};
