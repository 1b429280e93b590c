/* turns.c - where each sum of a growing vector goes.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "algo_turns.h"

tt_turns tt_turns_begin(tt_builder *b, const tt_ask *ask, int n) {
  return (tt_turns){b, n, 0, ask->in_place, false, tt_block(TT_SRC, 0)};
}

static tt_span tmp(uint32_t layer) {
  return tt_layer(tt_block(TT_TMP, 0), layer, 1);
}

void tt_turn_send(tt_turns *t, tt_peers to) {
  tt_send_all(t->b, to, t->have);
  t->held = true;
}

void tt_turn(tt_turns *t, tt_peers from, tt_side side) {
  const bool in_dst = t->in_place && t->i == 0 && t->held, last = ++t->i == t->n;
  tt_span to = (t->n - t->i) % 2 ? tmp(0) : tt_block(TT_DST, 0);
  if (in_dst && to.buf == TT_DST) to = tmp(last ? 0 : 1);
  tt_recv_reduce_all(t->b, from, to, t->have, side);
  if (last) tt_mark_last(t->b);
  if (last && in_dst) tt_copy(t->b, tt_block(TT_DST, 0), to); /* nowhere to go but back */
  t->have = to;
  t->held = false;
}
