/* late_rank.c - straggler: one rank is late, and the others sum while they wait for it.
 *
 * Idea       The others do an allreduce of their own, a fold by halving and its mirror. When rank r arrives, only the
 *            last exchange is left: each of them needs r's vector, and r needs the sum. It is a broadcast of n
 *            blocks from r in a circulant graph (circulant.c). In round t, r sends its block t to the rank above,
 *            which adds it to the others' sum and passes the full sum on. The rank below r has nothing to send in
 *            that round of a broadcast; here it sends r a block of the full sum. In one more round r gets the last
 *            block.
 *            ring: the blocks go around from rank to rank instead, from r on and back to it. A rank then has one
 *            sender. In the graph it has several, and messages that come too early share its link with those that
 *            are due.
 * Cost       from the arrival on: n + ceil(log2 P) rounds of a message of 1/n of the vector in each direction; ring:
 *            n - 1 + P. A rank cannot do with less than ceil(log2 P) messages and one vector in. Before: the allreduce
 *            of P - 1 ranks. If no rank is late this costs about one vector more than a fold.
 * Scratch    none.
 * Invariant  the others have the same bits of their sum. Every rank that adds r's block adds it on the right, so all have
 *            the same bits in the end.
 * Parameters late=RANK (0), n=BLOCKS (4), ring. With s bytes, sqrt(s beta ceil(log2 P) / alpha) blocks are about the
 *            best; ring: sqrt(s beta P / alpha). late=r is late=0 turned by r ranks.
 * Source     the idea that the others sum meanwhile: Devraj et al., StragglAR, arXiv 2505.23523, 2025; the
 *            exchange is ours, after Traeff's broadcast, arXiv 2407.18004, 2024.
 * See        tutti plan draw 'straggler(late=2,n=3)' -P 5
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>

#include "algo_circulant.h"
#include "algo_group.h"

enum { MOST_PARTS = 1 << 16, EACH = 24, SPREAD = 8 };

static bool straggler_params(const tt_ask *ask, int *late, int *n) {
  return tt_param_int(ask, "late", 0, ask->ranks - 1, 0, late) &&
         tt_param_int(ask, "n", 1, MOST_PARTS, 4, n);
}

static const char *straggler_refuse(const tt_ask *ask) {
  int late, n;
  return straggler_params(ask, &late, &n) ? NULL : "late is a rank, and n goes from 1 to 65536";
}

/* Each of the others owns a block at least. */
static uint32_t blocks_of_part(const tt_ask *ask) {
  int late, n;
  straggler_params(ask, &late, &n);
  return (uint32_t)((ask->ranks - 2) / n + 1);
}

static uint32_t straggler_blocks(const tt_ask *ask) {
  int late, n;
  straggler_params(ask, &late, &n);
  return (uint32_t)n * blocks_of_part(ask);
}

/* ---- the sum of the others ---- */

/* A circle of the others, from the rank after the late one on. */
static tt_group circle_of_others(const tt_ask *ask, int late) {
  tt_group g = {.ranks = ask->ranks, .rank = ask->rank, .levels = 1, .nested = true};
  g.size[0] = ask->ranks - 1;
  g.apart[0] = 1;
  g.width[0] = 1;
  g.digit[0] = tt_mod((int64_t)ask->rank - late - 1, ask->ranks);
  g.runs = straggler_blocks(ask);
  return g;
}

/* An allreduce in dst; a single rank's operand stays in src. */
static void sum_others(tt_builder *b, const tt_ask *ask, int late) {
  tt_fold f = {b, circle_of_others(ask, late), TT_DST, ask->ranks - 1};
  int live[34] = {ask->ranks - 1}, steps = 0;
  for (; live[steps] > 1; steps++) live[steps + 1] = (live[steps] + 1) / 2;
  for (int i = 0; i < steps; i++) {
    const int n = live[i], m = live[i + 1];
    tt_fold_down(&f, 0, n, m, tt_group_vectors(&f.g, TT_DST, 0, 2 * m - n, m));
  }
  for (int i = steps - 1; i >= 0; i--) tt_fold_up(&f, 0, live[i], live[i + 1], TT_DST);
}

/* ---- the last exchange ---- */

static tt_span part_at(const tt_circulant *c, uint32_t each, tt_buf buf, int part) {
  return tt_range(buf, (uint32_t)part * each, each, (uint32_t)c->n * each);
}

/* From here on, have: where the sum of the others is; of the late rank its operand. */
static void around_ring(tt_builder *b, const tt_circulant *c, uint32_t each, tt_buf have) {
  const int below = tt_mod((int64_t)c->me - 1 + c->root, c->P);
  const int above = tt_mod((int64_t)c->me + 1 + c->root, c->P);
  for (int u = 0; u < c->n; u++) {
    const tt_span sum = part_at(c, each, TT_DST, u), own = part_at(c, each, have, u);
    if (!c->me) tt_send(b, above, own);
    if (c->me == 1) {
      tt_recv_reduce(b, below, sum, own, TT_OWN_FIRST);
      tt_mark_completes(b);
    } else {
      tt_recv(b, below, sum);
    }
    if (c->me) tt_send(b, above, sum);
  }
}

static void in_graph(tt_builder *b, const tt_circulant *c, uint32_t each, tt_buf have) {
  for (int t = 0; t < tt_circulant_rounds(c); t++) {
    const tt_circulant_message up = tt_circulant_up(c, t), in = tt_circulant_in(c, t);
    if (up.block >= 0) tt_send(b, up.peer, part_at(c, each, c->me ? TT_DST : have, up.block));
    if (in.block < 0) continue;
    const tt_span sum = part_at(c, each, TT_DST, in.block);
    if (in.peer == c->root) {
      tt_recv_reduce(b, in.peer, sum, part_at(c, each, have, in.block), TT_OWN_FIRST);
      tt_mark_completes(b);
    } else {
      tt_recv(b, in.peer, sum);
    }
  }
  const tt_span last = part_at(c, each, TT_DST, c->n - 1);
  if (c->me == c->P - 1) tt_send(b, c->root, last);
  if (!c->me) tt_recv(b, tt_mod((int64_t)c->root - 1, c->P), last);
}

static void straggler_build(tt_builder *b, const tt_ask *ask) {
  int late, n;
  straggler_params(ask, &late, &n);
  const tt_circulant c = tt_circulant_of(ask->ranks, ask->rank, late, n, true);
  const bool sums = c.me && ask->ranks > 2; /* else its operand is the others' sum */
  if (sums) sum_others(b, ask, late);
  (tt_param_word(ask, "ring") ? around_ring : in_graph)(b, &c, blocks_of_part(ask),
                                                        sums ? TT_DST : TT_SRC);
}

/* Every rank of few, some of many; and all kinds of n. */
static bool straggler_samples(int ranks, int i, char *params, size_t size) {
  static const int parts[] = {1, 2, 3, 5, 7, 12};
  if (i >= (ranks <= EACH ? ranks : SPREAD)) return false;
  const int late = ranks <= EACH ? i : (int)((int64_t)i * (ranks - 1) / (SPREAD - 1));
  snprintf(params, size, "late=%d,n=%d%s", late, parts[i % (int)(sizeof parts / sizeof *parts)],
           i % 4 == 2 ? ",ring" : "");
  return true;
}

const tt_algo tt_straggler_algo = {
    .name = "straggler",
    .does = TT_DOES_ALLREDUCE,
    .params = "late= n= ring",
    .refuse = straggler_refuse,
    .blocks = straggler_blocks,
    .build = straggler_build,
    .samples = straggler_samples,
    .entries = {{"straggler", TT_NAMED,
                 "the others sum while they wait for rank late=R; then one exchange of n blocks",
                 "after Devraj et al. 2025, Traeff 2024"},
                {"straggler(ring)", TT_NAMED,
                 "the same, where the blocks go around from rank to rank",
                 "after Devraj et al. 2025"}},
};
