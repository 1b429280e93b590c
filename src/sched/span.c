/* span.c - block spans and peer ranges.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "schedule.h"

tt_span tt_range(tt_buf buf, uint32_t first, uint32_t count, uint32_t ring) {
  return (tt_span){buf, 0, first % ring, count, ring, 1, 1};
}

tt_span tt_block(tt_buf buf, uint32_t block) {
  return (tt_span){buf, 0, block, 1, block + 1, 1, 1};
}

tt_span tt_layer(tt_span span, uint32_t layer, uint32_t blocks) {
  span.buf = TT_TMP;
  span.base += layer * blocks;
  return span;
}

void tt_span_tidy(tt_span *span) {
  if (span->repeat > 1 && span->count == span->ring && span->first == 0) { /* contiguous repeats */
    span->count = span->ring *= span->repeat;
    span->repeat = 1;
  }
  bool one = tt_span_size(span) == 1;
  if (one || (span->stride == 1 && span->repeat == 1 && span->first + span->count <= span->ring)) {
    span->first = tt_span_block(span, 0);
    span->base = 0;
    span->stride = 1;
    span->ring = span->first + span->count;
  }
}

bool tt_span_shifted(const tt_span *a, const tt_span *b, uint32_t by) {
  if (a->buf != b->buf || tt_span_size(a) != tt_span_size(b)) return false;
  for (uint32_t i = 0; i < tt_span_size(a); i++)
    if (tt_span_block(b, i) - tt_span_block(a, i) != by) return false;
  return true;
}

uint32_t tt_span_run(const tt_span *s, uint32_t i, uint32_t end) {
  uint32_t n = 0;
  do {
    uint32_t more = 1;
    if (s->stride == 1 && i + n < end) { /* up to the wrap, or to the end of this repeat */
      const uint32_t k = (i + n) % s->count;
      const uint32_t to_wrap = s->first + k < s->ring ? s->ring - s->first - k : s->count - k;
      more = (uint32_t)tt_min(tt_min(to_wrap, s->count - k), end - i - n);
    }
    n += more;
  } while (i + n < end && tt_span_block(s, i + n) == tt_span_block(s, i + n - 1) + 1);
  return n;
}

int tt_send_turn(const tt_sched *s, const tt_step *step, int i) {
  const tt_peers *p = &step->peers;
  if (p->count < 3 || p->stride == 0) return i;
  const int apart = tt_mod((int64_t)s->rank - p->first, s->ranks);
  const int own = p->stride == 1 ? apart : apart % p->stride ? p->count : apart / p->stride;
  return own < p->count ? (own + 1 + i) % p->count : i;
}

void tt_part_of(const tt_step *step, int i, uint32_t *lo, uint32_t *hi) {
  uint32_t size = tt_span_size(tt_step_cargo(step));
  if (!step->split) {
    *lo = 0;
    *hi = size;
    return;
  }
  uint32_t each = size / (uint32_t)step->peers.count;
  *lo = each * (uint32_t)i;
  *hi = *lo + each;
}

tt_gap tt_self_part(const tt_sched *s, const tt_step *step) {
  tt_gap gap = {0, 0};
  for (int i = 0; step->split && i < step->peers.count; i++)
    if (tt_peer_rank(&step->peers, i, s->ranks) == s->rank) tt_part_of(step, i, &gap.lo, &gap.hi);
  return gap;
}
