/* halves.c - recursive halving and doubling among 2^n members.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "algo_halves.h"

tt_part tt_halves_part(uint32_t blocks, int m, int i) {
  tt_part part = {0, blocks};
  for (int k = 0; k < i; k++) {
    part.count /= 2;
    if (m >> k & 1) part.first += part.count;
  }
  return part;
}

tt_span tt_part_span(tt_buf buf, tt_part part) {
  return tt_range(buf, part.first, part.count, part.first + part.count);
}

void tt_halves_scatter(const tt_halves *h, tt_buf have) {
  for (int i = 0; i < h->n; i++) {
    const int other = h->member ^ 1 << i, peer = h->rank(h->of, other);
    const tt_part mine = tt_halves_part(h->blocks, h->member, i + 1);
    tt_send(h->b, peer, tt_part_span(have, tt_halves_part(h->blocks, other, i + 1)));
    tt_recv_reduce(h->b, peer, tt_part_span(TT_DST, mine), tt_part_span(have, mine),
                   other < h->member ? TT_OWN_LAST : TT_OWN_FIRST);
    have = TT_DST;
  }
}

void tt_halves_gather(const tt_halves *h) {
  for (int i = h->n - 1; i >= 0; i--) {
    const int other = h->member ^ 1 << i, peer = h->rank(h->of, other);
    tt_send(h->b, peer, tt_part_span(TT_DST, tt_halves_part(h->blocks, h->member, i + 1)));
    tt_recv(h->b, peer, tt_part_span(TT_DST, tt_halves_part(h->blocks, other, i + 1)));
  }
}
