/* pingpong.c - chooses the buffer for each sum while a vector is accumulated.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "algo_pattern.h"

tt_pingpong tt_pingpong_begin(tt_builder *b, const tt_ask *ask, int n) {
  return tt_pingpong_part(b, tt_block(TT_SRC, 0), ask->in_place, n);
}

tt_pingpong tt_pingpong_part(tt_builder *b, tt_span part, bool in_dst, int n) {
  return (tt_pingpong){b, n, 0, in_dst, false, part};
}

/* Returns the same blocks in dst, or in a layer of tmp. */
static tt_span in_dst(const tt_pingpong *t) {
  tt_span span = t->have;
  if (span.buf == TT_TMP) span.base %= t->b->s->blocks;
  span.buf = TT_DST;
  return span;
}
static tt_span in_tmp(const tt_pingpong *t, uint32_t layer) {
  return tt_layer(in_dst(t), layer, t->b->s->blocks);
}

void tt_pingpong_send(tt_pingpong *t, tt_peers to) {
  tt_send_all(t->b, to, t->have);
  t->held = true;
}

/* Returns the buffer for the next sum. Sets *late if dst is still in use, so that the sum must be copied to dst later. */
static tt_span next_place(tt_pingpong *t, bool *late) {
  const bool first = t->in_dst && t->i == 0 && t->held, last = ++t->i == t->n;
  tt_span to = (t->n - t->i) % 2 ? in_tmp(t, 0) : in_dst(t);
  if (first && to.buf == TT_DST) to = in_tmp(t, last ? 0 : 1);
  *late = last && first;
  t->held = false;
  return to;
}

void tt_pingpong_add(tt_pingpong *t, tt_peers from, tt_side side) {
  bool late;
  const tt_span to = next_place(t, &late);
  tt_recv_reduce_all(t->b, from, to, t->have, side);
  if (t->i == t->n) tt_mark_completes(t->b);
  if (late) tt_copy(t->b, in_dst(t), to);
  t->have = to;
}

void tt_pingpong_take(tt_pingpong *t, int from) {
  bool late;
  const tt_span to = next_place(t, &late);
  tt_recv(t->b, from, to);
  if (late) tt_copy(t->b, in_dst(t), to);
  t->have = to;
}
