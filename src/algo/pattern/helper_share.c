/* helper_share.c - helpers reduce a share of the vector while the ranks with data reduce the remainder among themselves.
 *
 * Idea       The links of the helpers and the links between the ranks transfer data simultaneously. The share is sent to
 *            the helpers as in aggregate(data=D): each rank sends each helper its part once, and receives the sum. At the
 *            same time, the remainder is folded as in fold.
 * Cost       With a share f, a rank sends and receives f + 2 (1-f) (D-1)/D vectors, and all helpers together D f. If the
 *            links of all helpers together have k times the bandwidth of a rank's link, both finish at the same time for
 *            f = R / (D/k + R - 1), R = 2 (D-1)/D. For D = 7 and k = 1, this takes 10 % less time than the fold alone.
 * Scratch    Up to one vector on each helper.
 * Invariant  The blocks of the fold are first, M - N for each rank, followed by the N D blocks of the helpers. A helper
 *            adds in the order of the ranks. The ranks with data have the lowest numbers.
 * Parameters data=D as in aggregate.c; share=N/M; ring, halving or seq= as in fold.c.
 * Source     Jiang et al., A Unified Architecture for Accelerating Distributed DNN Training (BytePS), 2020, in which
 *            servers and workers share the bytes so that no link is idle.
 * See        tutti plan draw 'aggregate(data=4,share=1/2)' -n 5
 * SPDX-License-Identifier: BSD-3-Clause */
#include "algo_helpers.h"

enum { FINEST = 64 };
#define DATA_WRONG "it needs two ranks with data and some that only help: data=6 in its name"

typedef struct shares {
  int data, helpers;
  int given, of; /* the helpers' share is given / of */
} shares;

/* Returns false if the share is invalid. */
static bool share_of(const tt_ask *ask, shares *s) {
  const tt_arg *x = tt_param_of(ask, "share");
  if (x->n != 2) return false;
  s->given = x->list[0];
  s->of = x->list[1];
  return s->given >= 1 && s->of > s->given && s->of <= FINEST;
}

/* Returns the fold of the ranks with data. */
static tt_group fold_of(const tt_ask *ask, const shares *s) {
  return (tt_group){.ranks = s->data,
                    .rank = ask->rank,
                    .levels = 1,
                    .nested = true,
                    .size = {s->data},
                    .apart = {1},
                    .digit = {ask->rank},
                    .width = {(uint32_t)(s->of - s->given)}};
}

/* Returns NULL, or an error message about the parameters. */
static const char *shares_of(const tt_ask *ask, shares *s) {
  const int known = ask->data < ask->ranks ? ask->data : 0;
  *s = (shares){0};
  s->data = tt_param_number(ask, "data", known);
  if (s->data < 2 || s->data >= ask->ranks) return DATA_WRONG;
  if (!share_of(ask, s)) return TT_SHARE_WRONG;
  if (ask->coll != TUTTI_ALLREDUCE) return "helpers take a share of an allreduce only";
  s->helpers = ask->ranks - s->data;
  if (s->helpers > s->data * s->given)
    return "so many helpers need a larger share: each sums at least one block";
  const tt_fold_spec how = tt_fold_spec_of(ask);
  const tt_group g = fold_of(ask, s);
  return tt_fold_spec_refuse_all(&how, &g);
}

const char *tt_share_refuse(const tt_ask *ask) {
  shares s;
  return shares_of(ask, &s);
}

uint32_t tt_share_blocks(const tt_ask *ask) {
  shares s;
  return shares_of(ask, &s) ? 1 : (uint32_t)(s.data * s.of);
}

/* Returns the part that a helper reduces. */
static tt_span part_of(const tt_builder *b, const shares *s, int helper, tt_buf buf) {
  tt_owned part = tt_owned_of_tree(s->data * s->given, s->helpers, helper);
  const int before = s->data * (s->of - s->given);
  part.lo += before, part.hi += before;
  return tt_owned_span(buf, part, b->s->blocks);
}

static void help(tt_builder *b, const shares *s, int helper) {
  const tt_span sum = part_of(b, s, helper, TT_TMP);
  tt_recv(b, 0, sum);
  tt_recv_reduce_all(b, (tt_peers){1, s->data - 1, 1}, sum, sum, TT_OWN_FIRST);
  tt_mark_completes(b);
  tt_send_all(b, (tt_peers){0, s->data, 1}, sum);
}

void tt_share_build(tt_builder *b, const tt_ask *ask) {
  const tt_fold_spec how = tt_fold_spec_of(ask);
  shares s;
  if (shares_of(ask, &s)) return;
  tt_build_data(b, s.data);
  if (ask->rank >= s.data) {
    help(b, &s, ask->rank - s.data);
    return;
  }
  const tt_group g = fold_of(ask, &s);
  for (int h = 0; h < s.helpers; h++) tt_send(b, s.data + h, part_of(b, &s, h, TT_SRC));
  tt_fold_whole(b, ask, &g, &how);
  for (int h = 0; h < s.helpers; h++) tt_recv(b, s.data + h, part_of(b, &s, h, TT_DST));
}
