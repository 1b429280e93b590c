/* line.c - one-shot on small vectors: the vector is stored beside its flag.
 *
 * Idea       Write the vector next to its flag in the flag slot, wait for all flags, and sum the
 *            vectors beside them in rank order in one pass.
 * Cost       A line written, P-1 lines read; no allocation, division or search. At its end a call
 *            fetches the next one's lines, because peers have read them.
 * Invariant  The same operands in the same order as the schedule's reduction, so the same bits; a
 *            flag's data stay until its slot is reused.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "engine.h"

/* ---- flags, for both loops ---- */

tutti_status tt_flags_begin(tt_operation *o) {
  const size_t ranks = (size_t)o->wire->ranks;
  o->flag_get = false;
  o->next = o->wire->rank == 0;
  if (o->inputs_capacity >= o->wire->ranks) return TUTTI_OK;
  const void **more = realloc(o->slots, 2 * ranks * sizeof *more);
  if (!more) return o->status = tt_fail(TUTTI_ERR_MEMORY, "out of memory for an operation");
  o->slots = more;
  o->inputs = more + ranks;
  o->inputs_capacity = o->wire->ranks;
  return TUTTI_OK;
}

bool tt_flags_ready(tt_operation *o, size_t n, bool *moved) {
  tt_wire *w = o->wire;
  for (; o->next < w->ranks; o->next++) {
    uint32_t hash = 0;
    if (o->next == w->rank) continue;
    o->slots[o->next] = w->memory->flag_get(w, o->next, o->stamp.seq, n, &hash);
    if (!o->slots[o->next]) {
      if (__builtin_expect(o->trace != NULL, 0)) o->trace->awaits = o->next;
      return false;
    }
    *moved = true;
    if (hash != o->stamp.hash) {
      o->status = TUTTI_ERR_MISMATCH; /* the communicator's progress reports the differing calls */
      return false;
    }
  }
  return true;
}

/* Show the peers whose flags are not set; the step is the receiving one. */
bool tt_flags_await(const tt_operation *o, size_t n, tt_awaits_fn *show, void *ctx) {
  tt_wire *w = o->wire;
  uint32_t hash;
  for (int peer = 0; peer < w->ranks; peer++)
    if (peer != w->rank && !w->memory->flag_get(w, peer, o->stamp.seq, n, &hash) &&
        show(ctx, peer, 1))
      return true;
  return false;
}

/* ---- the loop ---- */

static size_t line_bytes(const tt_operation *o) {
  return o->call.count * o->reducer.element;
}

static bool line_fits(const tt_operation *o) {
  return o->program->shape == TT_SHAPE_ONE_SHOT && o->slices == 1 &&
         o->call.count <= o->wire->flag_bytes && line_bytes(o) <= o->wire->flag_bytes;
}

/* Copy 4 and 8 bytes as one word. */
static void copy(void *to, const void *from, size_t n) {
  if (n == 4)
    memcpy(to, from, 4);
  else if (n == 8)
    memcpy(to, from, 8);
  else
    memcpy(to, from, n);
}

static bool line_publish(tt_operation *o) {
  const size_t n = line_bytes(o);
  void *place = o->wire->memory->flag_slot(o->wire, o->stamp.seq, n);
  if (!place) return false;
  o->own = o->call.src;
  if (o->reducer.times) {
    tt_times(&o->reducer, place, o->call.src, o->call.count);
    o->own = place;
  } else {
    copy(place, o->call.src, n);
  }
  o->wire->memory->flag_set(o->wire, o->stamp, o->oldest);
  return o->flag_get = true;
}

static bool line_sum(tt_operation *o) {
  o->slots[o->wire->rank] = o->own;
  tt_reduce(&o->reducer, o->call.dst, o->slots, o->wire->ranks, o->call.count);
  if (o->call.op == TUTTI_AVG) tt_scale(o->call.type, o->call.dst, o->call.count, o->wire->ranks);
  o->wire->memory->flag_ahead(o->wire, o->stamp.seq + 1, line_bytes(o)); /* of the next call */
  return true;
}

/* Run a part; trace it if tracing is on: step 0 publishes, step 1 sums. */
static bool line_traced(tt_operation *o, bool (*part)(tt_operation *), uint32_t step) {
  if (__builtin_expect(!o->trace, 1)) return part(o);
  const uint64_t begin = tt_trace_mark(o->trace);
  if (!part(o)) return false;
  tt_trace_step(o->trace, step ? TT_EVENT_REDUCE : TT_EVENT_COPY, begin, o->stamp.seq, -1,
                line_bytes(o), step);
  return true;
}

static bool line_progress(tt_operation *o) {
  bool moved = false;
  if (o->finished) return false;
  if (o->call.count > 0) {
    if (!o->flag_get && !(moved = line_traced(o, line_publish, 0))) return false;
    if (!tt_flags_ready(o, line_bytes(o), &moved)) return moved || o->status;
    line_traced(o, line_sum, 1);
  }
  o->finished = 1;
  return true;
}

static bool line_awaits(const tt_operation *o, tt_awaits_fn *show, void *ctx) {
  return !o->status && !o->finished && tt_flags_await(o, line_bytes(o), show, ctx);
}

const tt_loop tt_line_loop = {line_fits, tt_flags_begin, line_progress, line_awaits};
