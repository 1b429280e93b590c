/* fold.c - fold the ranks' blocks together around a cyclic group, for any P.
 *
 * Idea       rank g holds block g-k as its vector k. A fold sequence
 *            P = N0 > N1 > ... > 1, N(i+1) >= N(i)/2, says how many vectors are
 *            live: every rank sends vectors N(i+1)..N(i)-1 a distance
 *            d = N(i)-N(i+1) down the group, where they are summed into vectors
 *            N(i+1)-d..N(i+1)-1. At the end rank g owns block g; run backwards
 *            it shares the sums. N falls by one: the ring. N halves: the
 *            bandwidth-optimal generalized allreduce. All between is legal.
 * Cost       one message a step each way; 2(P-1)/P of the vector in all.
 * Scratch    none for allreduce and all-gather; partial sums for reduce-scatter.
 * Invariant  vectors from `touched` on are partial sums in the work buffer, those
 *            below are still only the input. Where one message needs both, the
 *            few inputs are copied next to the sums first.
 * Parameters ring | halving | seq=7.4.2.1, and stride=S: rank S*p stands at
 *            position p of the group (S without common factor with P).
 * Source     Kolmakov and Zhang, A Generalization of the Allreduce Operation,
 *            2020; ring: Patarasuk and Yuan, J. Par. Distrib. Comput. 69(2), 2009.
 * See        tutti plan show 'fold(halving)' -P 7
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "algo.h"

const char *tt_fold_refuse(const tt_ask *ask);
uint32_t tt_fold_blocks(const tt_ask *ask);
void tt_fold_build(tt_builder *b, const tt_ask *ask);

typedef struct fold {
  tt_builder *b;
  const tt_ask *ask;
  int P, at, stride; /* at: this rank's position in the group */
  int *seq, length;  /* N0 .. 1 */
  int touched;
  tt_buf work; /* where partial sums live */
} fold;

static int stride_of(const tt_ask *ask) {
  char value[16];
  return tt_param_value(ask, "stride", value, sizeof value) ? atoi(value) : 1;
}

static int gcd(int a, int b) {
  return b ? gcd(b, a % b) : a;
}

/* The number that follows n in the sequence; 0 if there is none that is legal. */
static int next_live(const tt_ask *ask, int n) {
  char value[64];
  if (!tt_param_value(ask, "seq", value, sizeof value))
    return tt_param_word(ask, "ring") ? n - 1 : (n + 1) / 2;
  const char *text = value;
  for (char *end; *text; text = *end == '.' ? end + 1 : end) {
    int here = (int)strtol(text, &end, 10);
    if (end == text) return 0;
    if (here == n && *end == '.') {
      int next = atoi(end + 1);
      return next < n && 2 * next >= n ? next : 0;
    }
  }
  return 0;
}

const char *tt_fold_refuse(const tt_ask *ask) {
  const char *wrong = tt_param_refuse(ask, "ring halving seq= stride=");
  if (wrong) return wrong;
  if (tt_coll_rooted(ask->coll)) return "it has no root; naive has";
  int stride = stride_of(ask);
  if (stride < 1 || gcd(stride, ask->ranks) != 1)
    return "stride must be positive and have no common factor with P";
  if (stride != 1 && tt_coll_owned(ask->coll)) return "stride is for allreduce only";
  char seq[64];
  bool wrong_start = tt_param_value(ask, "seq", seq, sizeof seq) && atoi(seq) != ask->ranks;
  for (int n = ask->ranks; n > 1; n = next_live(ask, n))
    if (wrong_start || next_live(ask, n) < 1)
      return "seq must fall from P to 1, each number at least half of the one before";
  return NULL;
}

uint32_t tt_fold_blocks(const tt_ask *ask) {
  return (uint32_t)ask->ranks;
}

static int rank_at(const fold *f, int position) {
  return (int)((int64_t)tt_mod(position, f->P) * f->stride % f->P);
}

/* Vectors lo..hi-1 of this rank: blocks at-(hi-1) .. at-lo. */
static tt_span vectors(const fold *f, tt_buf buf, int lo, int hi) {
  return tt_range(buf, (uint32_t)tt_mod(f->at - hi + 1, f->P), (uint32_t)(hi - lo), (uint32_t)f->P);
}

/* Where vectors lo..hi-1 stand, after making them stand in one buffer. */
static tt_buf gather(fold *f, int lo, int hi) {
  if (f->touched >= hi) return TT_SRC;
  if (f->touched > lo) {
    tt_copy(f->b, vectors(f, f->work, lo, f->touched), vectors(f, TT_SRC, lo, f->touched));
    f->touched = lo;
  }
  return f->work;
}

static void reduce_scatter(fold *f) {
  f->touched = f->P;
  for (int i = 0; i + 1 < f->length; i++) {
    int n = f->seq[i], m = f->seq[i + 1], d = n - m;
    tt_buf from = gather(f, m, n), own = gather(f, m - d, m);
    tt_send(f->b, rank_at(f, f->at - d), vectors(f, from, m, n));
    tt_recv_reduce(f->b, rank_at(f, f->at + d), vectors(f, m == 1 ? TT_DST : f->work, m - d, m),
                   vectors(f, own, m - d, m), TT_OWN_FIRST);
    if (m == 1) tt_mark_last(f->b);
    f->touched = (int)tt_min((size_t)f->touched, (size_t)(m - d));
  }
}

static void all_gather(fold *f) {
  tt_buf mine = f->ask->coll == TUTTI_ALL_GATHER ? TT_SRC : TT_DST;
  if (mine == TT_SRC) tt_copy(f->b, vectors(f, TT_DST, 0, 1), vectors(f, TT_SRC, 0, 1));
  for (int i = f->length - 2; i >= 0; i--) {
    int n = f->seq[i], m = f->seq[i + 1], d = n - m;
    tt_send(f->b, rank_at(f, f->at + d), vectors(f, m == 1 ? mine : TT_DST, m - d, m));
    tt_recv(f->b, rank_at(f, f->at - d), vectors(f, TT_DST, m, n));
  }
}

void tt_fold_build(tt_builder *b, const tt_ask *ask) {
  fold f = {.b = b, .ask = ask, .P = ask->ranks, .stride = stride_of(ask)};
  while (rank_at(&f, f.at) != ask->rank) f.at++;
  f.seq = malloc((size_t)ask->ranks * sizeof *f.seq);
  if (!f.seq) {
    b->status = TUTTI_ERR_MEMORY;
    return;
  }
  for (int n = ask->ranks; n >= 1; n = n > 1 ? next_live(ask, n) : 0) f.seq[f.length++] = n;
  f.work = ask->coll == TUTTI_REDUCE_SCATTER ? TT_TMP : TT_DST;
  if (ask->coll != TUTTI_ALL_GATHER) reduce_scatter(&f);
  if (ask->coll != TUTTI_REDUCE_SCATTER) all_gather(&f);
  free(f.seq);
}
