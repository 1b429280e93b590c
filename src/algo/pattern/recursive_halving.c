/* recursive_halving.c - recursive halving and doubling among 2^n members.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "algo_pattern.h"

tt_span tt_halving_part(tt_buf buf, uint32_t blocks, int m, int i) {
  uint32_t first = 0, count = blocks;
  for (int k = 0; k < i; k++) {
    count /= 2;
    if (m >> k & 1) first += count;
  }
  return tt_range(buf, first, count, first + count);
}

static tt_span member_part_span(const tt_halving *h, tt_buf buf, int member, int i) {
  return tt_halving_part(buf, h->blocks, member, i);
}

void tt_halving_scatter(const tt_halving *h, tt_buf have) {
  for (int i = 0; i < h->n; i++) {
    const int other = h->member ^ 1 << i, peer = h->rank(h->of, other);
    tt_send(h->b, peer, member_part_span(h, have, other, i + 1));
    tt_recv_reduce(h->b, peer, member_part_span(h, h->buf, h->member, i + 1),
                   member_part_span(h, have, h->member, i + 1),
                   other < h->member ? TT_OWN_LAST : TT_OWN_FIRST);
    have = h->buf;
  }
}

/* Returns true if the member already received its part of step i in a spread. */
static bool has(const tt_halving *h, int member, int i) {
  return h->root >= 0 && (member ^ h->root) >> i == 0;
}

void tt_halving_gather(const tt_halving *h) {
  for (int i = h->n - 1; i >= 0; i--) {
    const int other = h->member ^ 1 << i, peer = h->rank(h->of, other);
    if (!has(h, other, i)) tt_send(h->b, peer, member_part_span(h, h->buf, h->member, i + 1));
    if (!has(h, h->member, i)) tt_recv(h->b, peer, member_part_span(h, h->buf, other, i + 1));
  }
}

void tt_halving_collect(const tt_halving *h) {
  for (int i = h->n - 1; i >= 0; i--) {
    const int other = h->member ^ 1 << i, peer = h->rank(h->of, other);
    if ((h->member ^ h->root) >> i) {
      tt_send(h->b, peer, member_part_span(h, h->buf, h->member, i + 1));
      return;
    }
    tt_recv(h->b, peer, member_part_span(h, h->buf, other, i + 1));
  }
}

void tt_halving_spread(const tt_halving *h) {
  for (int i = 0; i < h->n; i++) {
    const int other = h->member ^ 1 << i, peer = h->rank(h->of, other);
    if (has(h, h->member, i))
      tt_send(h->b, peer, member_part_span(h, h->buf, other, i + 1));
    else if (has(h, h->member, i + 1))
      tt_recv(h->b, peer, member_part_span(h, h->buf, h->member, i + 1));
  }
}
