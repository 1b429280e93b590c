/* order_sample.c - finds blocks that represent all others if spans repeat.
 *
 * Idea       On machine levels with many ranks, a plan sends the same blocks of each node, so that a span has one piece
 *            for each of ten thousand nodes. If all such spans repeat with periods whose least common multiple is L, then
 *            the steps that use a block also use the block L after it. The order of steps therefore follows from the
 *            first L blocks of each section. Sections are bounded by the starts and ends of spans.
 * Invariant  For each set of steps that use some block together, the sample contains a block that they all use.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "order_sample.h"

enum { FEW_PIECES = 1024, MOST_EXTENTS = 512 };

/* A range of blocks with a span that repeats. If the period is 1, the span contains every block of the range. */
typedef struct extent {
  uint32_t lo, hi, period;
} extent;

typedef struct extents {
  extent *at;
  uint32_t n, capacity;
  bool failed;
} extents;

static bool repeats(const tt_span *span) {
  return span->repeat > 1 || span->stride > 1;
}

static void add_extent(extents *x, uint32_t lo, uint32_t hi, uint32_t period) {
  if (hi <= lo) return;
  for (uint32_t i = 0; i < x->n; i++)
    if (x->at[i].lo == lo && x->at[i].hi == hi && x->at[i].period == period) return;
  if (x->n == MOST_EXTENTS || !tt_grow(&x->at, &x->capacity, x->n + 1, sizeof *x->at))
    x->failed = true;
  else
    x->at[x->n++] = (extent){lo, hi, period};
}

static void add_span(extents *x, const tt_span *s) {
  const uint32_t row = s->stride * s->ring;
  if (s->repeat > 1) {
    add_extent(x, s->base, s->base + row * s->repeat, row);
    return;
  }
  const uint32_t ahead = (uint32_t)tt_min(s->count, s->ring - s->first);
  const uint32_t at = s->base + s->stride * s->first;
  add_extent(x, at, at + s->stride * ahead, s->stride);
  add_extent(x, s->base, s->base + s->stride * (s->count - ahead), s->stride);
}

/* Lists the ranges of all spans in this buffer. Returns the approximate number of pieces into which they divide it. */
static uint64_t find_extents(const tt_sched *s, uint32_t buf, extents *x) {
  uint64_t pieces = 0;
  for (uint32_t i = 0; i < s->nsteps; i++) {
    const tt_step *step = &s->steps[i];
    x->failed |= step->split;
    for (uint32_t k = 0; k <= tt_step_operands(step) && !x->failed; k++) {
      const bool write = k == tt_step_operands(step);
      const tt_span span = write ? step->dst : tt_step_operand(step, k);
      if ((write && step->kind == TT_SEND) || span.buf != buf) continue;
      pieces += span.stride > 1 ? tt_span_size(&span) : span.repeat;
      add_span(x, &span);
    }
  }
  return pieces;
}

static uint64_t gcd(uint64_t a, uint64_t b) {
  while (b) {
    const uint64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

/* Returns the number of blocks after which all spans in a section repeat. It is at most the length of the section. */
static uint32_t period_within(const extents *x, uint32_t lo, uint32_t hi) {
  uint64_t all = 1;
  for (uint32_t i = 0; i < x->n; i++) {
    const extent *e = &x->at[i];
    if (e->lo > lo || e->hi < hi) continue;
    all = all / gcd(all, e->period) * e->period;
    if (all > hi - lo) return hi - lo;
  }
  return (uint32_t)all;
}

static int compare(const void *a, const void *b) {
  const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

tutti_status tt_order_sample(const tt_sched *s, uint32_t buf, tt_sample *sample) {
  extents x = {0};
  *sample = (tt_sample){0};
  if ((buf == TT_TMP ? s->tmp_blocks : s->blocks) < FEW_PIECES)
    return TUTTI_OK; /* the sample would not be smaller */
  if (find_extents(s, buf, &x) < FEW_PIECES || x.failed) {
    free(x.at);
    return TUTTI_OK;
  }
  uint32_t *cut = malloc(2 * x.n * sizeof *cut);
  sample->window = malloc(2 * x.n * sizeof *sample->window);
  for (uint32_t i = 0; cut && i < x.n; i++) cut[2 * i] = x.at[i].lo, cut[2 * i + 1] = x.at[i].hi;
  if (cut) qsort(cut, 2 * x.n, sizeof *cut, compare);
  for (uint32_t i = 0; cut && sample->window && i + 1 < 2 * x.n; i++) {
    const uint32_t n = cut[i] < cut[i + 1] ? period_within(&x, cut[i], cut[i + 1]) : 0;
    if (n) sample->window[sample->n++] = (tt_window){cut[i], cut[i] + n};
  }
  const bool ok = cut && sample->window;
  free(cut);
  free(x.at);
  return ok ? TUTTI_OK : tt_fail(TUTTI_ERR_MEMORY, "out of memory while ordering a schedule");
}

/* Visits `count` evenly spaced blocks, except those outside the window. */
static void visit_line(const tt_window *w, uint64_t start, uint32_t stride, uint32_t count,
                       tt_visit *visit, void *of) {
  const uint64_t from = start >= w->lo ? 0 : (w->lo - start + stride - 1) / stride;
  const uint64_t end = start >= w->hi ? 0 : tt_min((w->hi - start + stride - 1) / stride, count);
  if (stride == 1 && from < end) visit(of, (uint32_t)(start + from), (uint32_t)(start + end));
  for (uint64_t i = from; stride > 1 && i < end; i++)
    visit(of, (uint32_t)(start + i * stride), (uint32_t)(start + i * stride + 1));
}

bool tt_sample_visit(const tt_sample *sample, const tt_span *s, tt_visit *visit, void *of) {
  if (!sample->n || !repeats(s)) return false;
  const uint64_t row = (uint64_t)s->stride * s->ring;
  const uint32_t ahead = (uint32_t)tt_min(s->count, s->ring - s->first);
  for (uint32_t i = 0; i < sample->n; i++) {
    const tt_window *w = &sample->window[i];
    uint64_t k = w->lo > s->base ? (w->lo - s->base) / row : 0;
    for (; k < s->repeat && s->base + k * row < w->hi; k++) {
      const uint64_t start = s->base + k * row;
      visit_line(w, start + (uint64_t)s->stride * s->first, s->stride, ahead, visit, of);
      visit_line(w, start, s->stride, s->count - ahead, visit, of);
    }
  }
  return true;
}
