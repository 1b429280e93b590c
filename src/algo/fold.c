/* fold.c - fold the ranks' blocks around a group, for any P.
 *
 * Idea       On a circle, vector k of rank g is block g-k. A fold sequence P = N0 > N1 > ... > 1, with N(i+1)
 *            >= N(i)/2, lists how many vectors are live. In each step, every rank sends vectors N(i+1)..N(i)-1
 *            a distance d = N(i)-N(i+1) down the circle, where they are added to vectors N(i+1)-d..N(i+1)-1. At
 *            the end rank g owns the sum of block g. The same sequence in reverse distributes the sums. If N
 *            falls by one, this is the ring. If N halves, it is the bandwidth-optimal generalized allreduce.
 *            Any sequence in between is valid. A product of circles is folded circle by circle: 2x2x2 is
 *            recursive halving and doubling.
 * Cost       One message per step in each phase; 2(P-1)/P of the vector in total.
 * Scratch    None for allreduce and all-gather; for reduce-scatter, the partial sums.
 * Invariant  Vectors `touched` and above are partial sums in the work buffer; those below are still in the
 *            input. If one message needs both, the few inputs are first copied next to the sums.
 * Parameters ring | halving | seq=7.4.2.1 (with a group, one for all levels or one for each: seq=ring/4.2.1);
 *            group=3x2x2, outermost level first, folded in that order or, with inner, last level first; or
 *            stride=S: rank S*p has position p (S has no common factor with P; -1 reverses the direction);
 *            rings=R: R circles with strides 1, -1, 2, -2 ..., each for a part of the vector.
 * Source     Kolmakov and Zhang, A Generalization of the Allreduce Operation,
 *            2020; ring: Patarasuk and Yuan, J. Par. Distrib. Comput. 69(2), 2009;
 *            levels: Cho et al., BlueConnect, SysML 2019.
 * See        tutti plan draw 'fold(halving)' -n 7
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "algo_group.h"

enum { RINGS = 16, MOST = 1 << 20 };

static int stride_of(const tt_ask *ask) {
  return tt_param_number(ask, "stride", 1);
}

static int rings_of(const tt_ask *ask) {
  return tt_param_number(ask, "rings", 1);
}

/* Returns the stride of the i-th of several simultaneous rings. The strides are 1, -1, then the other generators of the
 * circle, after which they repeat. */
static int ring_generator(int ranks, int i) {
  for (int s = 1;; s = 2 * (s + 1) < ranks ? s + 1 : 1) {
    if (tt_gcd(s, ranks) != 1) continue;
    if (i < 2) return i ? -s : s;
    i -= 2;
  }
}

static tt_group group_of_ring(const tt_ask *ask, int ring) {
  const int64_t stride = (int64_t)stride_of(ask) * ring_generator(ask->ranks, ring);
  tt_group g = tt_group_of(ask, tt_mod(stride, ask->ranks));
  g.base = (uint32_t)(ring * ask->ranks);
  return g;
}

static const char *fold_refuse(const tt_ask *ask) {
  const int stride = stride_of(ask);
  const bool cyclic = !tt_param_given(ask, "group");
  const int rings = rings_of(ask);
  if (stride == 0 || tt_gcd(abs(stride), ask->ranks) != 1)
    return "stride must have no common factor with P";
  if ((stride != 1 || rings > 1) && tt_coll_owned(ask->coll))
    return "stride and rings are for allreduce only";
  if ((stride != 1 || rings > 1) && !cyclic) return "stride and rings go without a group";
  const char *wrong = tt_group_refuse(ask);
  if (wrong) return wrong;
  const tt_group g = group_of_ring(ask, 0);
  const tt_fold_spec how = tt_fold_spec_of(ask);
  return tt_fold_spec_refuse_all(&how, &g);
}

static uint32_t fold_blocks(const tt_ask *ask) {
  return (uint32_t)(ask->ranks * rings_of(ask));
}

static void fold_build(tt_builder *b, const tt_ask *ask) {
  const tt_fold_spec how = tt_fold_spec_of(ask);
  uint32_t from[RINGS];
  for (int ring = 0; ring < rings_of(ask) && !b->status; ring++) {
    const tt_group g = group_of_ring(ask, ring);
    from[ring] = b->s->nsteps;
    tt_fold_whole(b, ask, &g, &how);
  }
  tt_build_weave(b, from, rings_of(ask));
}

/* Proposes two simultaneous rings, a sequence that falls by a quarter in each step, and circles of prime sizes. */
static bool fold_plans(int ranks, const char *levels, int i, tt_text *params) {
  int sizes[TT_LEVELS];
  (void)levels;
  if (i == 0) {
    tt_text_add(params, "ring,rings=2");
    return true;
  }
  if (i == 1) {
    tt_text_add(params, "seq=%d", ranks);
    for (int n = ranks; n > 1;) tt_text_add(params, ".%d", n -= n > 4 ? n / 4 : 1);
    return true;
  }
  const int n = i > 2 ? 0 : tt_group_split(ranks, 0, sizes);
  tt_group_print(params, sizes, n);
  tt_text_add(params, ",inner");
  return n;
}

/* Only the first ring is checked, because rings with other strides look the same from every rank as well. */
static bool fold_uniform(const tt_ask *ask, const tt_tree *tree) {
  const tt_group g = group_of_ring(ask, 0);
  return tt_group_fits(&g, tree);
}

static int fold_rounds(const tt_ask *ask) {
  if (!tt_param_given(ask, "ring") || tt_param_given(ask, "group")) return 0;
  return (tt_coll_owned(ask->coll) ? 1 : 2) * (ask->ranks - 1);
}

const tt_algo tt_fold_algo = {
    .name = "fold",
    .does = TT_DOES_ALLREDUCE | TT_DOES_BLOCKS,
    .params = {{"ring"},
               {"halving"},
               TT_PARAM_SEQ,
               {"stride", TT_PARAM_NUMBER, true, -MOST, MOST,
                "stride must have no common factor with P"},
               {"rings", TT_PARAM_NUMBER, false, 1, RINGS, "rings go from 1 to 16"},
               TT_PARAM_GROUP,
               {"inner"}},
    .refuse = fold_refuse,
    .blocks = fold_blocks,
    .build = fold_build,
    .plans = fold_plans,
    .uniform = fold_uniform,
    .rounds = fold_rounds,
    .stage = {{"halving", TT_STAGE_MIDDLE | TT_STAGE_INNER | TT_STAGE_FITS},
              {"ring", TT_STAGE_FITS}},
    .entries = {{"fold(ring)", TT_CANDIDATE, "blocks walk a ring: least bytes, 2(P-1) steps",
                 "Patarasuk and Yuan 2009; Gibiansky 2017"},
                {"fold(halving)", TT_CANDIDATE,
                 "bandwidth-optimal for any P in 2 ceil(log2 P) steps", "Kolmakov and Zhang 2020"},
                {"fold(ring,rings=2)", TT_NAMED,
                 "two rings, one each way round, half of the vector each",
                 "Patarasuk and Yuan 2009, as in NCCL"}},
};
