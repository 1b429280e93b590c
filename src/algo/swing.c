/* swing.c - halving and doubling with partners that are close to each other on a ring or torus.
 *
 * Idea       In step s rank r exchanges with rank r + d if r is even, and r - d if it is odd, with d = 1, -1, 3, -5, 11
 *            ..., whereas in recursive doubling the partner is 2^s away. Messages therefore cross a third fewer links.
 *            Partners have the same part of the vector, and each keeps one half of it. At the end each rank owns a block,
 *            and the reverse phase gathers them. With `short`, partners exchange whole vectors.
 * Cost       2 log2 P messages with 2(P-1)/P of the vector in total; short: log2 P messages of one vector each.
 * Scratch    None; short: as in doubling.c.
 * Invariant  The owners of a part are the ranks that can be reached in the remaining steps, and partners reach the same
 *            ranks. Their blocks are numbered so that each part is contiguous. With whole vectors, ranks group their
 *            operands differently.
 * Parameters short.
 * Source     De Sensi et al., Swing: Short-cutting Rings for Higher Bandwidth Allreduce, NSDI 2024,
 *            arXiv 2401.09356.
 * See        tutti plan draw swing -n 8
 * SPDX-License-Identifier: BSD-3-Clause */
#include "algo_pattern.h"

static const char *swing_refuse(const tt_ask *ask) {
  return ask->ranks & (ask->ranks - 1) ? "it needs a power of two" : NULL;
}

static uint32_t swing_blocks(const tt_ask *ask) {
  return tt_param_given(ask, "short") ? 1 : (uint32_t)ask->ranks;
}

/* Returns the partner of a rank in step s. */
static int partner_of(int rank, int s, int ranks) {
  int distance = 1;
  for (; s > 0; s--) distance = 1 - 2 * distance;
  return tt_mod(rank % 2 ? rank - distance : rank + distance, ranks);
}

/* Returns the lowest rank that the given rank can reach in step s and all later steps. */
static int least_owner(int rank, int s, int ranks) {
  int least = rank;
  for (; 1 << s < ranks; s++)
    least =
        (int)tt_min((size_t)least, (size_t)least_owner(partner_of(rank, s, ranks), s + 1, ranks));
  return least;
}

static void whole_vectors(tt_builder *b, const tt_ask *ask) {
  const int r = ask->rank, steps = tt_floor_log2(ask->ranks);
  tt_pingpong t = tt_pingpong_begin(b, ask, steps);
  for (int s = 0; s < steps; s++) {
    const int peer = partner_of(r, s, ask->ranks);
    tt_pingpong_send(&t, tt_peer(peer));
    tt_pingpong_add(&t, tt_peer(peer), peer < r ? TT_OWN_LAST : TT_OWN_FIRST);
  }
}

static void swing_build(tt_builder *b, const tt_ask *ask) {
  const int P = ask->ranks, r = ask->rank, steps = tt_floor_log2(P);
  const uint32_t blocks = (uint32_t)P;
  uint32_t own[32] = {0}; /* first block of this rank's part after each step */
  if (tt_param_given(ask, "short")) {
    whole_vectors(b, ask);
    return;
  }
  for (int s = 0; s < steps; s++) {
    const int peer = partner_of(r, s, P);
    const uint32_t half = blocks >> (s + 1);
    const bool lower = least_owner(r, s + 1, P) < least_owner(peer, s + 1, P);
    const uint32_t kept = own[s] + (lower ? 0 : half), sent = own[s] + (lower ? half : 0);
    const tt_buf have = s ? TT_DST : TT_SRC;
    tt_send(b, peer, tt_range(have, sent, half, blocks));
    tt_recv_reduce(b, peer, tt_range(TT_DST, kept, half, blocks),
                   tt_range(have, kept, half, blocks), peer < r ? TT_OWN_LAST : TT_OWN_FIRST);
    own[s + 1] = kept;
  }
  tt_mark_completes(b);
  for (int s = steps - 1; s >= 0; s--) {
    const int peer = partner_of(r, s, P);
    const uint32_t half = blocks >> (s + 1);
    const uint32_t theirs = own[s + 1] == own[s] ? own[s] + half : own[s];
    tt_send(b, peer, tt_range(TT_DST, own[s + 1], half, blocks));
    tt_recv(b, peer, tt_range(TT_DST, theirs, half, blocks));
  }
}

const tt_algo tt_swing_algo = {
    .name = "swing",
    .does = TT_DOES_ALLREDUCE,
    .params = {{"short"}},
    .refuse = swing_refuse,
    .blocks = swing_blocks,
    .build = swing_build,
    .uniform = tt_uniform_power_of_two,
    .stage = {{"", 0}},
    .entries = {{"swing", TT_CANDIDATE, "halving and doubling with partners near by on a torus",
                 "De Sensi et al. 2024"},
                {"swing(short)", TT_CANDIDATE, "the same with whole vectors",
                 "De Sensi et al. 2024"}},
};
