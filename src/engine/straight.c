/* straight.c - the loops that replace the steps of recognised schedules.
 *
 * Idea       one-shot: write the vector next to its flag on the board, wait for
 *            everybody's flag, sum what they announce in rank order in one pass.
 * Cost       a line written, P-1 lines read; nothing allocated, divided, searched.
 * Invariant  the same operands in the same order as the schedule's reduction, so
 *            the same bits; a post stays until its place comes round again.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "engine.h"

bool tt_straight_fits(const tt_operation *o) {
  return o->program->shape == TT_SHAPE_ONE_SHOT && o->slices == 1 &&
         o->call.count <= o->wire->board && o->call.count * o->reducer.element <= o->wire->board;
}

tutti_status tt_straight_begin(tt_operation *o) {
  o->posted = false;
  o->next = o->wire->rank == 0;
  if (o->inputs_room >= o->wire->ranks) return TUTTI_OK;
  const void **more = realloc(o->inputs, (size_t)o->wire->ranks * sizeof *more);
  if (!more) return o->status = tt_fail(TUTTI_ERR_MEMORY, "out of memory for an operation");
  o->inputs = more;
  o->inputs_room = o->wire->ranks;
  return TUTTI_OK;
}

static bool post(tt_operation *o) {
  const size_t n = o->call.count * o->reducer.element;
  void *place = o->wire->ops->board_slot(o->wire, o->stamp.seq, n);
  if (!place) return false;
  memcpy(place, o->call.src, n);
  o->wire->ops->post(o->wire, o->stamp, o->oldest);
  return o->posted = true;
}

bool tt_straight_progress(tt_operation *o) {
  tt_wire *w = o->wire;
  const size_t n = o->call.count * o->reducer.element;
  bool moved = false;
  if (o->finished) return false;
  if (o->call.count > 0) {
    if (!o->posted && !(moved = post(o))) return false;
    for (int peer = o->next; peer < w->ranks; peer++) {
      if (peer == w->rank) continue;
      uint32_t hash = 0;
      o->next = peer;
      o->inputs[peer] = w->ops->posted(w, peer, o->stamp.seq, n, &hash);
      if (!o->inputs[peer]) return moved;
      moved = true;
      if (hash != o->stamp.hash) {
        o->status = TUTTI_ERR_MISMATCH;
        return true;
      }
    }
    o->inputs[w->rank] = o->call.src;
    tt_reduce(&o->reducer, o->call.dst, o->inputs, w->ranks, o->call.count);
    if (o->call.op == TUTTI_AVG) tt_scale(o->call.type, o->call.dst, o->call.count, w->ranks);
  }
  o->finished = 1;
  return true;
}

/* Who has not posted yet; the step is the one that receives. */
bool tt_straight_awaits(const tt_operation *o, tt_awaits_fn *show, void *ctx) {
  const size_t n = o->call.count * o->reducer.element;
  uint32_t hash;
  for (int peer = 0; !tt_operation_done(o) && peer < o->wire->ranks; peer++)
    if (peer != o->wire->rank && !o->wire->ops->posted(o->wire, peer, o->stamp.seq, n, &hash) &&
        show(ctx, peer, 1))
      return true;
  return false;
}
