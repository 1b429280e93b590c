/* pingpong.c - chooses the buffer of each sum of a growing vector.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "algo_pattern.h"

tt_pingpong tt_pingpong_begin(tt_builder *b, const tt_ask *ask, int n) {
  return (tt_pingpong){b, n, 0, ask->in_place, false, tt_block(TT_SRC, 0)};
}

void tt_pingpong_send(tt_pingpong *t, tt_peers to) {
  tt_send_all(t->b, to, t->have);
  t->held = true;
}

/* Where the next sum goes. *late: it must be copied to dst in the end, which is in use now. */
static tt_span next_place(tt_pingpong *t, bool *late) {
  const bool in_dst = t->in_place && t->i == 0 && t->held, last = ++t->i == t->n;
  tt_span to = (t->n - t->i) % 2 ? tt_block(TT_TMP, 0) : tt_block(TT_DST, 0);
  if (in_dst && to.buf == TT_DST) to = tt_block(TT_TMP, last ? 0 : 1);
  *late = last && in_dst;
  t->held = false;
  return to;
}

void tt_pingpong_add(tt_pingpong *t, tt_peers from, tt_side side) {
  bool late;
  const tt_span to = next_place(t, &late);
  tt_recv_reduce_all(t->b, from, to, t->have, side);
  if (t->i == t->n) tt_mark_completes(t->b);
  if (late) tt_copy(t->b, tt_block(TT_DST, 0), to);
  t->have = to;
}

void tt_pingpong_take(tt_pingpong *t, int from) {
  bool late;
  const tt_span to = next_place(t, &late);
  tt_recv(t->b, from, to);
  if (late) tt_copy(t->b, tt_block(TT_DST, 0), to);
  t->have = to;
}
