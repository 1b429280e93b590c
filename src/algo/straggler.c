/* straggler.c - one rank is late, and the others sum while they wait for it.
 *
 * Idea       The others do an allreduce of their own, a fold by halving and its mirror. What is left when rank r
 *            arrives is the last exchange: r needs the others' sum, and each of them needs r's vector. It is a
 *            broadcast of n blocks from r in a circulant graph (circulant.c). In round t, r sends its block t to
 *            the rank above, which adds it to the others' sum and passes the full sum on. The rank
 *            below has nothing for r in a broadcast; here it sends r the others' sum of block t.
 * Cost       from the arrival on: n - 1 + ceil(log2 P) rounds of a message of 1/n of the vector in each direction. A
 *            rank cannot do with less than ceil(log2 P) messages and one vector in. Before: the allreduce of
 *            P - 1 ranks. If nobody is late this costs about one vector more than a fold.
 * Scratch    at most a block for each of n, on r in place and on the rank half around the circle.
 * Invariant  the others have the same bits of their sum. Every rank that adds r's block adds it on the right, so all have
 *            the same bits in the end.
 * Parameters late=RANK (0), n=BLOCKS (4). With s bytes, sqrt(s beta ceil(log2 P) / alpha) blocks are about the best.
 *            late=r is late=0 turned by r ranks.
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

typedef struct exchange_of {
  tt_builder *b;
  tt_circulant c;
  uint32_t each;   /* blocks of a part */
  tt_buf have;     /* of the others' sum; the late rank's operand */
  bool overwrites; /* what a rank has lies where the sum goes */
} exchange_of;

static tt_span part_at(const exchange_of *x, tt_buf buf, int part) {
  return tt_range(buf, (uint32_t)part * x->each, x->each, (uint32_t)x->c.n * x->each);
}

/* dst = sum of the others op operand of the late rank, one of which comes from a peer. way: by tmp, because the
 * rank sends what it has of that part at the same time. */
static void add_part(const exchange_of *x, int peer, int part, bool by_tmp) {
  const tt_span have = part_at(x, x->have, part), in = part_at(x, TT_TMP, part);
  const tt_span sum = part_at(x, TT_DST, part);
  if (by_tmp) {
    tt_recv(x->b, peer, in);
    tt_reduce_local(x->b, sum, x->c.me ? have : in, x->c.me ? in : have);
  } else {
    tt_recv_reduce(x->b, peer, sum, have, x->c.me ? TT_OWN_FIRST : TT_OWN_LAST);
  }
  tt_mark_completes(x->b);
}

/* The late rank sends its last part in all rounds from n - 1 on, so it adds to that one in the end. */
static void exchange_late(const exchange_of *x) {
  const int n = x->c.n;
  const bool keeps = x->overwrites; /* until the part is sent */
  for (int t = 0; t < tt_circulant_rounds(&x->c); t++) {
    const tt_circulant_message up = tt_circulant_up(&x->c, t);
    tt_send(x->b, up.peer, part_at(x, x->have, up.block));
    const int below = tt_circulant_in(&x->c, t).peer;
    if (t == n - 1 && keeps)
      tt_recv(x->b, below, part_at(x, TT_TMP, t));
    else if (t < n)
      add_part(x, below, t, keeps);
  }
  if (!keeps) return;
  tt_reduce_local(x->b, part_at(x, TT_DST, n - 1), part_at(x, TT_TMP, n - 1),
                  part_at(x, x->have, n - 1));
  tt_mark_completes(x->b);
}

static void exchange_other(const exchange_of *x) {
  const tt_circulant *c = &x->c;
  for (int t = 0; t < tt_circulant_rounds(c); t++) {
    const tt_circulant_message up = tt_circulant_up(c, t), in = tt_circulant_in(c, t);
    const bool gives = up.peer == c->root && t < c->n;
    if (gives) tt_send(x->b, c->root, part_at(x, x->have, t));
    if (up.block >= 0) tt_send(x->b, up.peer, part_at(x, TT_DST, up.block));
    if (in.block < 0) continue;
    if (in.peer == c->root)
      add_part(x, c->root, in.block, gives && x->overwrites);
    else
      tt_recv(x->b, in.peer, part_at(x, TT_DST, in.block));
  }
}

static void straggler_build(tt_builder *b, const tt_ask *ask) {
  int late, n;
  straggler_params(ask, &late, &n);
  const bool alone = ask->ranks == 2; /* the other one's operand is the others' sum */
  exchange_of x = {b, tt_circulant_of(ask->ranks, ask->rank, late, n), blocks_of_part(ask), TT_SRC,
                   ask->in_place};
  if (x.c.me && !alone) {
    sum_others(b, ask, late);
    x.have = TT_DST;
    x.overwrites = true;
  }
  (x.c.me ? exchange_other : exchange_late)(&x);
}

/* Every rank of few, some of many; and all kinds of n. */
static bool straggler_samples(int ranks, int i, char *params, size_t size) {
  static const int parts[] = {1, 2, 3, 5, 7, 12};
  if (i >= (ranks <= EACH ? ranks : SPREAD)) return false;
  const int late = ranks <= EACH ? i : (int)((int64_t)i * (ranks - 1) / (SPREAD - 1));
  snprintf(params, size, "late=%d,n=%d", late, parts[i % (int)(sizeof parts / sizeof *parts)]);
  return true;
}

const tt_algo tt_straggler_algo = {
    .name = "straggler",
    .does = TT_DOES_ALLREDUCE,
    .params = "late= n=",
    .refuse = straggler_refuse,
    .blocks = straggler_blocks,
    .build = straggler_build,
    .samples = straggler_samples,
    .entries = {{"straggler", TT_NAMED,
                 "the others sum while they wait for rank late=R; then one exchange of n blocks",
                 "after Devraj et al. 2025, Traeff 2024"}},
};
