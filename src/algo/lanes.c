/* lanes.c - n lanes, each folded separately, followed by recursive doubling across the lanes.
 *
 * Idea       Rank r is member r / n of lane r mod n. The vector has q = floor(P/n) blocks. A lane folds by halving
 *            (fold.c) on the circle of its members, after which member p has the lane's sum of block p. The n ranks that
 *            have the same block exchange it by recursive doubling, in which partners differ in one bit of the lane
 *            number. For n = 3 * 2^k three sums remain, and all of their ranks compute (x0 + x1) + x2 in two rounds. The
 *            reverse of the fold follows. A lane with q + 1 members does the same, but its last member owns no block.
 * Cost       2 ceil(log2 ceil(P/n)) + ceil(log2 n) rounds of one message, and at most 2 + ceil(log2 n) / q vectors sent.
 *            With n = P this is recursive doubling for any P of this form; with few lanes it is close to a fold.
 * Scratch    Up to 2 vectors.
 * Invariant  A lane's sum of a block is computed on one rank, and all ranks add the lanes' sums in the same order. All
 *            ranks therefore get the same bits.
 * Parameters n=N lanes; N is 2^k or 3 * 2^k.
 * Source     ours; the fold is Kolmakov and Zhang's, 2020.
 * See        tutti plan draw 'lanes(n=3)' -n 11
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>

#include "algo.h"

#define WRONG "n is 2^k or 3 * 2^k, and at least 2"

/* Returns the largest power of two that divides n. */
static int twos_of(int n) {
  return n & -n;
}

static const char *lanes_refuse(const tt_ask *ask) {
  const int n = tt_param_number(ask, "n", 2), odd = n / twos_of(n);
  if (odd != 1 && odd != 3) return WRONG;
  return n > ask->ranks ? "there are more lanes than ranks" : NULL;
}

/* Proposes n = 3, 4, 6, 8, 12 and so on; n = 2 is already an entry. */
static bool lanes_plans(int ranks, const char *levels, int i, tt_text *params) {
  (void)levels;
  const int n = i % 2 ? 4 << i / 2 : 3 << i / 2;
  tt_text_add(params, "n=%d", n);
  return n <= ranks;
}

static uint32_t lanes_blocks(const tt_ask *ask) {
  return (uint32_t)(ask->ranks / tt_param_number(ask, "n", 2));
}

typedef struct lane {
  tt_builder *b;
  bool in_place;
  int lanes, q;
  int me, member, size; /* this rank's lane, its number in the lane, and the lane's size */
  int touched; /* vectors from this one up are partial sums in dst; those below are input */
} lane;

static lane lane_of(tt_builder *b, const tt_ask *ask) {
  const int n = tt_param_number(ask, "n", 2);
  lane l = {b, ask->in_place, n, ask->ranks / n, ask->rank % n, ask->rank / n, 0, 0};
  l.size = l.touched = l.q + (l.me < ask->ranks % n);
  return l;
}

/* ---- within a lane ---- */

static int member_at(const lane *l, int by) {
  return tt_mod(l->member + by, l->size) * l->lanes + l->me;
}

/* Returns the span of this rank's vectors lo..hi-1. Vector k is block (member - k) mod size. Block q is left out
 * because it does not exist. */
static tt_span lane_vectors(const lane *l, tt_buf buf, int lo, int hi) {
  int first = tt_mod(l->member - hi + 1, l->size), count = hi - lo;
  if (l->size > l->q && first <= l->q && l->q < first + count) count--;
  if (first == l->q) first = 0;
  return tt_range(buf, (uint32_t)first, (uint32_t)count, (uint32_t)l->q);
}

/* Returns the buffer that contains vectors lo..hi-1. If they are spread over two buffers, first copies them into one. */
static tt_buf gather(lane *l, int lo, int hi) {
  if (l->touched >= hi) return TT_SRC;
  if (l->touched > lo) {
    const tt_span input = lane_vectors(l, TT_SRC, lo, l->touched);
    if (input.count) tt_copy(l->b, lane_vectors(l, TT_DST, lo, l->touched), input);
    l->touched = lo;
  }
  return TT_DST;
}

/* Runs a step of the fold, which reduces the number of live vectors from n to m. Vectors m..n-1 are sent to the rank
 * n-m members below and added there. `to` is the buffer for the sums. */
static void down(lane *l, int n, int m, tt_buf to) {
  const int d = n - m;
  const tt_span away = lane_vectors(l, gather(l, m, n), m, n);
  const tt_span own = lane_vectors(l, gather(l, m - d, m), m - d, m);
  if (away.count) tt_send(l->b, member_at(l, -d), away);
  if (own.count)
    tt_recv_reduce(l->b, member_at(l, d), lane_vectors(l, to, m - d, m), own, TT_OWN_FIRST);
  if (l->touched > m - d) l->touched = m - d;
}

static void up(const lane *l, int n, int m) {
  const int d = n - m;
  const tt_span away = lane_vectors(l, TT_DST, m - d, m), in = lane_vectors(l, TT_DST, m, n);
  if (away.count) tt_send(l->b, member_at(l, d), away);
  if (in.count) tt_recv(l->b, member_at(l, -d), in);
}

/* ---- across the lanes, on this rank's block ---- */

static int in_lane(const lane *l, int other) {
  return l->member * l->lanes + other;
}

static bool is_dst(const lane *l, const tt_span *at) {
  return at->buf == TT_DST || (l->in_place && at->buf == TT_SRC);
}

/* Returns this rank's block in a layer of tmp that does not overlap `at`. */
static tt_span elsewhere(const lane *l, const tt_span *at) {
  const tt_span block = tt_block(TT_TMP, (uint32_t)l->member);
  const bool there = at->buf == TT_TMP && tt_span_block(at, 0) == tt_span_block(&block, 0);
  return tt_layer(block, there, (uint32_t)l->q);
}

/* Exchanges the block with the same member of another lane, and returns the span of the sum. The sum of the last
 * exchange is in dst, earlier sums are in tmp. */
static tt_span exchange(const lane *l, int other, tt_span at, bool last) {
  const tt_side side = other < l->me ? TT_OWN_LAST : TT_OWN_FIRST;
  const tt_span tmp = elsewhere(l, &at), dst = tt_block(TT_DST, (uint32_t)l->member);
  tt_send(l->b, in_lane(l, other), at);
  if (last && is_dst(l, &at)) { /* the sum must not overwrite a block that is still being sent */
    tt_recv(l->b, in_lane(l, other), tmp);
    tt_reduce_local(l->b, dst, side == TT_OWN_FIRST ? at : tmp, side == TT_OWN_FIRST ? tmp : at);
  } else {
    tt_recv_reduce(l->b, in_lane(l, other), last ? dst : tmp, at, side);
  }
  return last ? dst : tmp;
}

/* Computes (x0 + x1) + x2 on three ranks in two rounds. This rank is rank g = 0, 1 or 2 of the three, and x is its operand. */
static void join_three(const lane *l, int twos, tt_span x) {
  const int g = l->me / twos, k = l->me % twos;
  const int above = in_lane(l, (g + 1) % 3 * twos + k), below = in_lane(l, (g + 2) % 3 * twos + k);
  const tt_span in = elsewhere(l, &x), dst = tt_block(TT_DST, (uint32_t)l->member);
  tt_send(l->b, above, x);
  if (g == 0) {
    tt_recv(l->b, below, in); /* x2 */
    tt_send(l->b, below, x);
    if (is_dst(l, &x)) { /* x may still be in transit until the sum arrives */
      const tt_span two = elsewhere(l, &in);
      tt_recv(l->b, above, two);
      tt_reduce_local(l->b, dst, two, in);
    } else {
      tt_recv_reduce(l->b, above, dst, in, TT_OWN_LAST);
    }
  } else if (g == 1) {
    tt_recv_reduce(l->b, below, in, x, TT_OWN_LAST);
    tt_send(l->b, below, in); /* x0 + x1 */
    tt_recv_reduce(l->b, above, dst, in, TT_OWN_FIRST);
  } else {
    tt_recv(l->b, below, in); /* x1 */
    tt_send(l->b, below, x);
    tt_recv_reduce(l->b, above, in, in, TT_OWN_LAST);
    tt_reduce_local(l->b, dst, in, x);
  }
}

static void across(const lane *l, tt_span at) {
  const int twos = twos_of(l->lanes);
  const bool three = l->lanes > twos;
  for (int bit = 1; bit < twos; bit *= 2)
    at = exchange(l, l->me ^ bit, at, !three && 2 * bit == twos);
  if (three) join_three(l, twos, at);
  tt_mark_completes(l->b);
}

static void lanes_build(tt_builder *b, const tt_ask *ask) {
  lane l = lane_of(b, ask);
  int live[34] = {l.size}, steps = 0;
  const bool one_round =
      l.lanes <= 3; /* its sum is written to dst, so its input must not be there */
  for (; live[steps] > 1; steps++) live[steps + 1] = (live[steps] + 1) / 2;
  for (int i = 0; i < steps; i++)
    down(&l, live[i], live[i + 1], i + 1 == steps && one_round ? TT_TMP : TT_DST);
  if (l.member < l.q)
    across(&l, tt_block(!steps ? TT_SRC : one_round ? TT_TMP : TT_DST, (uint32_t)l.member));
  for (int i = steps - 1; i >= 0; i--) up(&l, live[i], live[i + 1]);
}

static bool lanes_uniform(const tt_ask *ask, const tt_tree *tree) {
  const int n = tt_param_number(ask, "n", 2);
  return !tree && ask->ranks % n == 0 && twos_of(n) == n;
}

const tt_algo tt_lanes_algo = {
    .name = "lanes",
    .does = TT_DOES_ALLREDUCE,
    .params = {{"n", TT_PARAM_NUMBER, .lo = 2, .hi = 1 << 24, .wrong = WRONG}},
    .refuse = lanes_refuse,
    .blocks = lanes_blocks,
    .build = lanes_build,
    .plans = lanes_plans,
    .uniform = lanes_uniform,
    .stage = {{"n=2", TT_STAGE_OUTER | TT_STAGE_FITS},
              {TT_PROPOSED, TT_STAGE_OUTER | TT_STAGE_FITS}},
    .entries = {{"lanes", TT_CANDIDATE,
                 "folds in lanes, then doubling across them: few steps, the same bits",
                 "tutti's own, after Kolmakov and Zhang 2020"}},
};
