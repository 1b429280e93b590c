/* halving_doubling.c - recursive halving and doubling in binary blocks, for any P.
 *
 * Idea       P is a sum of powers of two, and the ranks form groups of these sizes, largest first. Every group halves the
 *            vector among its members. Then the smallest group sends its sums to the next larger one, whose members hold
 *            the same parts in larger pieces or the same size, and so on up to the largest. The results return in the
 *            opposite order, and every group reassembles the vector.
 * Cost       2 floor(log2 P) steps. The busiest rank sends 2 vectors. From one group to the next, a step has up to P_i /
 *            P_(i+1) messages.
 * Scratch    None.
 * Invariant  The ranks of a group precede those of smaller groups, and partners' sums are of neighbours, so rank order is
 *            kept.
 * Source     binary blocks: Thakur, Rabenseifner, Gropp, Int. J. HPC Appl. 19(1),
 *            2005; Goyal et al., Accurate, Large Minibatch SGD, 2017.
 * See        tutti plan draw halving-doubling -n 7
 * SPDX-License-Identifier: BSD-3-Clause */
#include "algo_pattern.h"

static int top_bit(int n) {
  return 1 << tt_floor_log2(n);
}

static uint32_t halvingdoubling_blocks(const tt_ask *ask) {
  return (uint32_t)top_bit(ask->ranks);
}

/* A group of consecutive ranks, empty if size is 0. */
typedef struct group {
  int first, size;
} group;

static int rank_in_group(const void *of, int member) {
  return ((const group *)of)->first + member;
}

static group next_group(int ranks, group g) {
  const int left = ranks - g.first - g.size;
  return (group){g.first + g.size, left ? top_bit(left) : 0};
}

static void halvingdoubling_build(tt_builder *b, const tt_ask *ask) {
  const uint32_t blocks = halvingdoubling_blocks(ask);
  group larger = {0, 0}, mine = {0, (int)blocks};
  while (ask->rank >= mine.first + mine.size) {
    larger = mine;
    mine = next_group(ask->ranks, mine);
  }
  const group smaller = next_group(ask->ranks, mine);
  const tt_halving halving = {b,
                              tt_ceil_log2((uint64_t)mine.size),
                              ask->rank - mine.first,
                              blocks,
                              rank_in_group,
                              &mine,
                              TT_DST,
                              -1};
  const tt_span part = tt_halving_part(TT_DST, blocks, halving.member, halving.n);
  const int below = smaller.size ? smaller.first + halving.member % smaller.size : -1;
  tt_buf have = mine.size > 1 ? TT_DST : TT_SRC;
  tt_halving_scatter(&halving, TT_SRC);
  if (below >= 0) tt_recv_reduce(b, below, part, part, TT_OWN_FIRST);
  if (larger.size == 0) tt_mark_completes(b);
  const int steps = tt_ceil_log2((uint64_t)(larger.size ? larger.size : 1));
  for (int m = halving.member; m < larger.size; m += mine.size)
    tt_send(b, larger.first + m, tt_halving_part(have, blocks, m, steps));
  for (int m = halving.member; m < larger.size; m += mine.size)
    tt_recv(b, larger.first + m, tt_halving_part(TT_DST, blocks, m, steps));
  if (below >= 0) tt_send(b, below, part);
  tt_halving_gather(&halving);
}

const tt_algo tt_halvingdoubling_algo = {
    .name = "halving-doubling",
    .does = TT_DOES_ALLREDUCE,
    .blocks = halvingdoubling_blocks,
    .build = halvingdoubling_build,
    .uniform = tt_uniform_power_of_two,
    .stage = {{"", 0}},
    .entries = {{"halving-doubling", TT_CANDIDATE, "halve and double in binary blocks, for any P",
                 "Thakur, Rabenseifner, Gropp 2005; Goyal et al. 2017"}},
};
