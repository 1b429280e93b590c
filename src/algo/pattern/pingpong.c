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

void tt_pingpong_add(tt_pingpong *t, tt_peers from, tt_side side) {
  const bool in_dst = t->in_place && t->i == 0 && t->held, last = ++t->i == t->n;
  tt_span to = (t->n - t->i) % 2 ? tt_block(TT_TMP, 0) : tt_block(TT_DST, 0);
  if (in_dst && to.buf == TT_DST) to = tt_block(TT_TMP, last ? 0 : 1);
  tt_recv_reduce_all(t->b, from, to, t->have, side);
  if (last) tt_mark_completes(t->b);
  if (last && in_dst) tt_copy(t->b, tt_block(TT_DST, 0), to); /* dst was in use */
  t->have = to;
  t->held = false;
}
