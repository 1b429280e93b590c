/* rabenseifner.c - halve the vector, double the distance; then back. Extra ranks folded.
 *
 * Idea       a reduce-scatter by recursive halving and an all-gather by recursive
 *            doubling among the largest power of two of ranks, Q; each of the others
 *            hands its vector to its neighbour first and gets the result last.
 * Cost       2 log2 Q steps and 2(Q-1)/Q vectors; if P is no power of two, 2 steps and a
 *            vector more each way.
 * Scratch    none.
 * Invariant  partners' sums are of neighbouring ranks: rank order is kept.
 * Source     Rabenseifner, ICCS 2004; Thakur, Rabenseifner, Gropp, Int. J. HPC Appl.
 *            19(1), 2005.
 * See        tutti plan draw rabenseifner -P 6
 * SPDX-License-Identifier: BSD-3-Clause */
#include "algo_halves.h"

const char *tt_rabenseifner_refuse(const tt_ask *ask);
uint32_t tt_rabenseifner_blocks(const tt_ask *ask);
void tt_rabenseifner_build(tt_builder *b, const tt_ask *ask);
bool tt_rabenseifner_uniform(const tt_ask *ask, const tt_tree *tree);

const char *tt_rabenseifner_refuse(const tt_ask *ask) {
  return tt_param_refuse(ask, "");
}

static int log_of(int ranks) {
  int n = 0;
  while (ranks >> (n + 1)) n++;
  return n;
}

uint32_t tt_rabenseifner_blocks(const tt_ask *ask) {
  return 1u << log_of(ask->ranks);
}

/* Of the first 2 * extra ranks the odd ones take part. */
static int rank_of(const void *of, int member) {
  const int extra = *(const int *)of;
  return member < extra ? 2 * member + 1 : member + extra;
}

void tt_rabenseifner_build(tt_builder *b, const tt_ask *ask) {
  const int n = log_of(ask->ranks), extra = ask->ranks - (1 << n), r = ask->rank;
  const uint32_t Q = 1u << n;
  const tt_span src = tt_range(TT_SRC, 0, Q, Q), dst = tt_range(TT_DST, 0, Q, Q);
  const bool folded = r < 2 * extra;
  if (folded && r % 2 == 0) {
    tt_send(b, r + 1, src);
    tt_recv(b, r + 1, dst);
    return;
  }
  if (folded) tt_recv_reduce(b, r - 1, dst, src, TT_OWN_LAST);
  const tt_halves halves = {b, n, folded ? r / 2 : r - extra, Q, rank_of, &extra};
  tt_halves_scatter(&halves, folded ? TT_DST : TT_SRC);
  tt_mark_last(b);
  tt_halves_gather(&halves);
  if (folded) tt_send(b, r - 1, dst);
}

/* With no rank to fold in. */
bool tt_rabenseifner_uniform(const tt_ask *ask, const tt_tree *tree) {
  return !tree && (ask->ranks & (ask->ranks - 1)) == 0;
}
