/* operands.c - checks that the operands of a step are within bounds, have the same shape, and are disjoint.
 *
 * Idea       Position i of a step's result is computed from position i of its operands. The engine processes the
 *            positions in pieces, in an unspecified order. A block that the step writes may therefore be an operand only
 *            at the same position.
 * Cost       Linear in the number of blocks of the step.
 * Source     SEMANTICS.md, "Inside a step".
 * SPDX-License-Identifier: BSD-3-Clause */
#include "prove.h"

static bool skipped(tt_gap skip, uint32_t i) {
  return i >= skip.lo && i < skip.hi;
}

static bool inside(const tt_span *span, uint32_t lo, uint32_t hi, tt_gap skip) {
  for (uint32_t i = 0; i < tt_span_size(span); i++) {
    const uint32_t block = tt_span_block(span, i);
    if (!skipped(skip, i) && (block < lo || block >= hi)) return false;
  }
  return true;
}

static bool readable(const tt_sched *s, const tt_span *span, tt_gap skip) {
  uint32_t lo = 0, hi = s->tmp_blocks;
  if (span->buf == TT_SRC) tt_coll_src(s, &lo, &hi);
  if (span->buf == TT_DST) tt_coll_dst(s, &lo, &hi);
  if (s->in_place && span->buf == TT_DST) hi = s->blocks, lo = 0;
  if (s->in_place && span->buf == TT_SRC) return false; /* in place, src is called dst */
  return inside(span, lo, hi, skip);
}

static bool writable(const tt_sched *s, const tt_span *span, tt_gap skip) {
  uint32_t lo = 0, hi = s->tmp_blocks;
  if (span->buf == TT_SRC) return false;
  if (span->buf == TT_DST) tt_coll_dst(s, &lo, &hi);
  return inside(span, lo, hi, skip);
}

bool tt_same_shape(const tt_sched *s, const tt_span *a, uint32_t a_lo, const tt_span *b,
                   uint32_t b_lo, uint32_t n) {
  for (uint32_t i = 0; i < n && !tt_coll_alike(s->coll); i++)
    if (tt_span_block(a, a_lo + i) % s->blocks != tt_span_block(b, b_lo + i) % s->blocks)
      return false;
  return true;
}

/* Records the position + 1 of each block that the step writes. If it writes one twice, records an error and returns
 * false. */
static bool mark(tt_graph *g, uint32_t id, const tt_span *dst, tt_gap skip) {
  for (uint32_t i = 0; i < tt_span_size(dst); i++) {
    if (skipped(skip, i)) continue;
    uint32_t *place = &g->places[tt_span_block(dst, i)];
    if (*place)
      return tt_graph_refuse(g, id, "it writes %s[%u] twice, at positions %u and %u",
                             tt_buf_names[dst->buf], tt_span_block(dst, i), *place - 1, i);
    *place = i + 1;
  }
  return true;
}

static void unmark(tt_graph *g, const tt_span *dst) {
  for (uint32_t i = 0; i < tt_span_size(dst); i++)
    if (tt_span_block(dst, i) < g->nplaces) g->places[tt_span_block(dst, i)] = 0;
}

/* Checks that no block of the operand is written by the step at a different position. */
static bool operand_is_disjoint(tt_graph *g, uint32_t id, const tt_span *dst,
                                const tt_span *operand) {
  for (uint32_t i = 0; dst->buf == operand->buf && i < tt_span_size(operand); i++) {
    const uint32_t block = tt_span_block(operand, i), place = g->places[block];
    if (place && place != i + 1)
      return tt_graph_refuse(g, id, "it reads %s[%u] at position %u and writes it at position %u",
                             tt_buf_names[dst->buf], block, i, place - 1);
  }
  return true;
}

static bool operand_right(tt_graph *g, uint32_t id, const tt_span *operand) {
  const tt_sched *s = g->all[g->rank_of[id]];
  const tt_step *step = tt_graph_step(g, id);
  const uint32_t n = tt_span_size(&step->dst);
  if (!readable(s, operand, (tt_gap){0, 0}))
    return tt_graph_refuse(g, id, "it reads blocks that this rank does not have");
  if (tt_span_size(operand) != n || !tt_same_shape(s, &step->dst, 0, operand, 0, n))
    return tt_graph_refuse(g, id, "its operands are of different blocks");
  return operand_is_disjoint(g, id, &step->dst, operand);
}

bool tt_operands_right(tt_graph *g, uint32_t id) {
  const tt_sched *s = g->all[g->rank_of[id]];
  const tt_step *step = tt_graph_step(g, id);
  const tt_gap skip = tt_self_part(s, step);
  if (step->kind == TT_SEND)
    return readable(s, &step->own, skip) ||
           tt_graph_refuse(g, id, "it reads blocks that this rank does not have");
  if (!writable(s, &step->dst, skip))
    return tt_graph_refuse(g, id, "it writes blocks that this rank must not write");
  bool ok = mark(g, id, &step->dst, skip);
  for (uint32_t k = 0; ok && k < tt_step_operands(step); k++) {
    const tt_span operand = tt_step_operand(step, k);
    ok = operand_right(g, id, &operand);
  }
  unmark(g, &step->dst);
  return ok;
}
