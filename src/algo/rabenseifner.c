/* rabenseifner.c - recursive halving, then recursive doubling, on a power of two of ranks. The other ranks are folded.
 *
 * Idea       A reduce-scatter by recursive halving and an all-gather by recursive doubling among Q ranks, the largest
 *            power of two. Each of the other ranks first sends its vector to its neighbour, and receives the result at
 *            the end. A reduce moves the parts up a binomial tree to the root instead of gathering them everywhere. A
 *            broadcast moves the parts down that tree from the root and then runs the all-gather (van de Geijn's
 *            algorithm).
 * Cost       2 log2 Q steps and 2(Q-1)/Q vectors. If P is not a power of two, 2 more steps and one more vector in each
 *            direction (reduce and broadcast: 1 more step, one direction).
 * Scratch    None; reduce: one vector.
 * Invariant  Partners' sums are of neighbouring ranks, so rank order is kept.
 * Source     Rabenseifner, ICCS 2004; Thakur, Rabenseifner, Gropp, Int. J. HPC Appl.
 *            19(1), 2005; broadcast: Barnett et al., SHPCC 1994.
 * See        tutti plan draw rabenseifner -n 6
 * SPDX-License-Identifier: BSD-3-Clause */
#include "algo_pattern.h"

static uint32_t rabenseifner_blocks(const tt_ask *ask) {
  return 1u << tt_floor_log2(ask->ranks);
}

/* The first 2 * extra ranks form pairs. One rank of each pair takes part: the root if it is in the pair, else the odd rank. */
typedef struct folding {
  int extra, root; /* -1 without a root */
} folding;

static int rank_after_fold(const void *of, int member) {
  const folding *f = of;
  if (member >= f->extra) return member + f->extra;
  return f->root == 2 * member ? f->root : 2 * member + 1;
}

/* Builds the schedule of a rank that does not take part. The rank only sends its vector and receives the result. */
static void build_folded_rank(tt_builder *b, const tt_ask *ask, int peer, tt_span src,
                              tt_span dst) {
  if (tt_coll_reduces(ask->coll)) tt_send(b, peer, src);
  if (ask->coll != TUTTI_REDUCE) tt_recv(b, peer, dst);
}

static void build_member(tt_builder *b, const tt_ask *ask, tt_halving *h, int folded, tt_span src) {
  const bool root = h->member == h->root;
  tt_span all = src;
  if (ask->coll == TUTTI_BROADCAST) {
    h->buf = root ? TT_SRC : TT_DST;
    tt_halving_spread(h);
  } else {
    h->buf = ask->coll == TUTTI_REDUCE && !root ? TT_TMP : TT_DST;
    all.buf = h->buf;
    if (folded >= 0)
      tt_recv_reduce(b, folded, all, src, folded < ask->rank ? TT_OWN_LAST : TT_OWN_FIRST);
    tt_halving_scatter(h, folded >= 0 ? h->buf : TT_SRC);
    tt_mark_completes(b);
  }
  all.buf = h->buf;
  if (ask->coll == TUTTI_REDUCE) {
    tt_halving_collect(h);
    return;
  }
  tt_halving_gather(h);
  if (folded >= 0) tt_send(b, folded, all);
  all.buf = TT_DST;
  if (h->buf == TT_SRC) tt_copy(b, all, src);
}

static void rabenseifner_build(tt_builder *b, const tt_ask *ask) {
  const int n = tt_floor_log2(ask->ranks), extra = ask->ranks - (1 << n), r = ask->rank;
  const uint32_t Q = 1u << n;
  const tt_span src = tt_range(TT_SRC, 0, Q, Q), dst = tt_range(TT_DST, 0, Q, Q);
  const folding f = {extra, tt_coll_rooted(ask->coll) ? ask->root : -1};
  const bool folded = r < 2 * extra;
  const int member = folded ? r / 2 : r - extra;
  int root = f.root;
  if (root >= 0) root = root < 2 * extra ? root / 2 : root - extra;
  tt_halving halving = {b, n, member, Q, rank_after_fold, &f, TT_DST, root};
  if (rank_after_fold(&f, member) != r)
    build_folded_rank(b, ask, r ^ 1, src, dst);
  else
    build_member(b, ask, &halving, folded ? r ^ 1 : -1, src);
}

const tt_algo tt_rabenseifner_algo = {
    .name = "rabenseifner",
    .does = TT_DOES_ALLREDUCE | TT_DOES_ROOTED,
    .blocks = rabenseifner_blocks,
    .build = rabenseifner_build,
    .uniform = tt_uniform_power_of_two,
    .stage = {{"", 0}},
    .entries = {{"rabenseifner", TT_CANDIDATE,
                 "halve and double; extra ranks are folded in and out",
                 "Rabenseifner 2004; Barnett et al. 1994"}},
};
