/* naive.c - a single reducer: every rank sends its vector to one rank, which adds them in one pass and sends the result
 * to all ranks.
 *
 * Cost       2 steps, but the root moves 2(P-1) vectors, which is linear in P.
 * Scratch    None.
 * Invariant  The root adds the operands in rank order.
 * Source     the baseline of Gibiansky, Bringing HPC Techniques to Deep Learning,
 *            2017 (the ring allreduce of Baidu).
 * See        tutti plan draw naive -n 4
 * SPDX-License-Identifier: BSD-3-Clause */
#include "algo.h"

static void naive_build(tt_builder *b, const tt_ask *ask) {
  const tt_peers all = {0, ask->ranks, 1};
  const tt_span src = tt_block(TT_SRC, 0), dst = tt_block(TT_DST, 0);
  const bool root = ask->rank == ask->root;
  if (tt_coll_reduces(ask->coll)) {
    if (root)
      tt_recv_reduce_all(b, all, dst, src, TT_OWN_AMONG);
    else
      tt_send(b, ask->root, src);
    if (root) tt_mark_completes(b);
  }
  if (ask->coll == TUTTI_REDUCE) return;
  tt_span result = ask->coll == TUTTI_BROADCAST ? src : dst;
  if (root)
    tt_send_all(b, all, result);
  else
    tt_recv(b, ask->root, dst);
  if (root && ask->coll == TUTTI_BROADCAST) tt_copy(b, dst, src);
}

const tt_algo tt_naive_algo = {
    .name = "naive",
    .does = TT_DOES_ALLREDUCE | TT_DOES_ROOTED,
    .blocks = tt_one_block,
    .build = naive_build,
    .entries = {{"naive", TT_CANDIDATE, "one reducer: everyone sends to one rank, which answers",
                 "Gibiansky 2017, the baseline"}},
};
