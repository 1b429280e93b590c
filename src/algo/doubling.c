/* doubling.c - recursive doubling: in step i ranks 2^i apart exchange sums.
 *
 * Idea       Each rank adds its partner's sum to its own until all ranks are included. Each rank beyond the
 *            largest power of two first sends its vector to a neighbour, which sends it the result at the end.
 * Cost       ceil(log2 P) steps and vectors; two more of each if P is not a power of two.
 * Scratch    One vector; two in place if the logarithm is odd.
 * Invariant  A rank's sum covers neighbouring ranks, in rank order. Sums alternate between
 *            dst and tmp, since a vector that is being sent must stay unchanged.
 * Source     Thakur, Rabenseifner, Gropp, Int. J. HPC Appl. 19(1), 2005.
 * See        tutti plan draw doubling -n 6
 * SPDX-License-Identifier: BSD-3-Clause */
#include "algo_pattern.h"

static void doubling_build(tt_builder *b, const tt_ask *ask) {
  const int n = tt_floor_log2(ask->ranks), extra = ask->ranks - (1 << n), r = ask->rank;
  const bool folded = r < 2 * extra;
  if (folded && r % 2 == 0) { /* sends its vector and receives the result */
    tt_send(b, r + 1, tt_block(TT_SRC, 0));
    tt_recv(b, r + 1, tt_block(TT_DST, 0));
    return;
  }
  const int id = folded ? r / 2 : r - extra;
  tt_pingpong t = tt_pingpong_begin(b, ask, n + folded);
  if (folded) tt_pingpong_add(&t, tt_peer(r - 1), TT_OWN_LAST);
  for (int i = 0; i < n; i++) {
    const int other = id ^ 1 << i, peer = other < extra ? 2 * other + 1 : other + extra;
    tt_pingpong_send(&t, tt_peer(peer));
    tt_pingpong_add(&t, tt_peer(peer), other < id ? TT_OWN_LAST : TT_OWN_FIRST);
  }
  if (folded) tt_send(b, r - 1, tt_block(TT_DST, 0));
}

const tt_algo tt_doubling_algo = {
    .name = "doubling",
    .does = TT_DOES_ALLREDUCE,
    .blocks = tt_one_block,
    .build = doubling_build,
    .uniform = tt_uniform_power_of_two,
    .stage = {{"", TT_STAGE_OUTER | TT_STAGE_MIDDLE | TT_STAGE_INNER | TT_STAGE_FITS}},
    .entries = {{"doubling", TT_CANDIDATE, "recursive doubling; extra ranks are folded in and out",
                 "Thakur, Rabenseifner, Gropp 2005"}},
};
