/* doubling.c - recursive doubling: in step i ranks 2^i apart exchange sums.
 *
 * Idea       the partner's half joins mine until all ranks are in; ranks beyond
 *            the largest power of two hand their vector to a neighbour first and
 *            get the result last.
 * Cost       ceil(log2 P) steps and vectors, two more if P is no power of two.
 * Scratch    one vector, two in place for odd logarithms.
 * Invariant  a rank's sum covers neighbouring ranks, in rank order; a sum goes to
 *            and fro between dst and tmp, since what is being sent stays as it is.
 * Source     Thakur, Rabenseifner, Gropp, Int. J. HPC Appl. 19(1), 2005.
 * See        tutti plan show doubling -P 6
 * SPDX-License-Identifier: BSD-3-Clause */
#include "algo.h"

const char *tt_doubling_refuse(const tt_ask *ask);
uint32_t tt_doubling_blocks(const tt_ask *ask);
void tt_doubling_build(tt_builder *b, const tt_ask *ask);

const char *tt_doubling_refuse(const tt_ask *ask) {
  if (tt_coll_owned(ask->coll) || tt_coll_rooted(ask->coll))
    return "it gives all ranks everything: allreduce and barrier only";
  return tt_param_refuse(ask, "");
}

uint32_t tt_doubling_blocks(const tt_ask *ask) {
  (void)ask;
  return 1;
}

static tt_span tmp(uint32_t layer) {
  return tt_layer(tt_block(TT_TMP, 0), layer, 1);
}

/* Where the i-th of n exchanges (from 1) puts its sum, the last one in dst. */
static tt_span place(int i, int n, bool starts_in_dst) {
  if ((n - i) % 2 == 1) return tmp(0);
  return starts_in_dst && i == 1 ? tmp(1) : tt_block(TT_DST, 0);
}

static void exchange(tt_builder *b, const tt_ask *ask, int id, int extra, tt_span have) {
  const bool in_dst = ask->in_place && have.buf == TT_SRC;
  const tt_span dst = tt_block(TT_DST, 0);
  int n = 0;
  while ((ask->ranks - extra) >> (n + 1)) n++;
  for (int i = 1; i <= n; i++) {
    int other = id ^ (1 << (i - 1));
    int peer = other < extra ? 2 * other + 1 : other + extra;
    tt_side side = other < id ? TT_OWN_LAST : TT_OWN_FIRST;
    tt_send(b, peer, have);
    if (n == 1 && in_dst) { /* nowhere to go but back: add once the send is consumed */
      tt_recv(b, peer, tmp(0));
      if (side == TT_OWN_FIRST)
        tt_reduce_local(b, dst, have, tmp(0));
      else
        tt_reduce_local(b, dst, tmp(0), have);
    } else {
      tt_span to = place(i, n, in_dst);
      tt_recv_reduce(b, peer, to, have, side);
      have = to;
    }
  }
  tt_mark_last(b);
}

void tt_doubling_build(tt_builder *b, const tt_ask *ask) {
  const tt_span src = tt_block(TT_SRC, 0), dst = tt_block(TT_DST, 0);
  int power = 1;
  while (2 * power <= ask->ranks) power *= 2;
  const int extra = ask->ranks - power, r = ask->rank;
  if (r >= 2 * extra) {
    exchange(b, ask, r - extra, extra, src);
    return;
  }
  if (r % 2 == 0) { /* handed in and out */
    tt_send(b, r + 1, src);
    tt_recv(b, r + 1, dst);
    return;
  }
  tt_span start = tt_ceil_log2((uint64_t)power) % 2 ? tmp(0) : dst;
  tt_recv_reduce(b, r - 1, start, src, TT_OWN_LAST);
  exchange(b, ask, r / 2, extra, start);
  tt_send(b, r - 1, dst);
}
