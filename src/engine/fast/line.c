/* line.c - small vectors: each is stored beside its flag, and summed with those of its group.
 *
 * Idea       Write the vector next to its flag in the flag slot, wait for the flags of the group, and
 *            sum the vectors beside them in the order of the group, in one pass. In one-shot all ranks
 *            are one group. If there are more rounds, the sum goes beside the flag of the next round,
 *            where another group reads it: of 64 ranks in groups of 8, a rank reads 14 lines, not 63.
 * Cost       A line written in each round, and one read of each peer; no allocation, division or
 *            search. At its end a call fetches the next one's lines, because peers have read them.
 * Invariant  The same operands in the same order as the schedule's reductions, so the same bits; a
 *            flag's data stay until its slot is reused.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "engine.h"

/* ---- flags, for both loops: a call goes on where the one before it stopped ---- */

tutti_status tt_flags_begin(tt_operation *o) {
  const size_t ranks = (size_t)o->wire->ranks;
  o->flag_get = false;
  o->round = 0;
  o->next = 0;
  if (o->inputs_capacity >= o->wire->ranks) return TUTTI_OK;
  const void **more = realloc(o->slots, 2 * ranks * sizeof *more);
  if (!more) return o->status = tt_fail(TUTTI_ERR_MEMORY, "out of memory for an operation");
  o->slots = more;
  o->inputs = more + ranks;
  o->inputs_capacity = o->wire->ranks;
  return TUTTI_OK;
}

/* The rank of an entry; the peers of a loop's schedule do not go round the ranks. */
static int rank_of(const tt_operation *o, const tt_peers *peers, int entry) {
  const int place = peers->first + entry * peers->stride;
  return o->program->order ? o->program->order[place] : place;
}

bool tt_flags_ready(tt_operation *o, const tt_peers *peers, size_t n, bool *moved) {
  tt_wire *w = o->wire;
  for (; o->next < peers->count; o->next++) {
    uint32_t hash = 0;
    const int peer = rank_of(o, peers, o->next);
    if (peer == w->rank) {
      o->slots[o->next] = o->own;
      continue;
    }
    const void *data = w->memory->flag_get(w, peer, o->stamp.seq, o->round, n, &hash);
    o->slots[o->next] = data;
    if (!data) {
      if (__builtin_expect(o->trace != NULL, 0)) o->trace->awaits = peer;
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

/* The step is the receiving one of the round. */
bool tt_flags_await(const tt_operation *o, const tt_peers *peers, size_t n, tt_awaits_fn *show,
                    void *ctx) {
  tt_wire *w = o->wire;
  uint32_t hash;
  for (int i = 0; i < peers->count; i++) {
    const int peer = rank_of(o, peers, i);
    if (peer != w->rank && !w->memory->flag_get(w, peer, o->stamp.seq, o->round, n, &hash) &&
        show(ctx, peer, 2 * o->round + 1))
      return true;
  }
  return false;
}

/* ---- the loop ---- */

static size_t line_bytes(const tt_operation *o) {
  return o->call.count * o->reducer.element;
}

static bool line_fits(const tt_operation *o) {
  const tt_shape shape = o->program->shape;
  size_t most = o->wire->flag_bytes;
  if (shape == TT_SHAPE_ROUNDS) most = tt_min(most, o->wire->later_bytes);
  return (shape == TT_SHAPE_ONE_SHOT || shape == TT_SHAPE_ROUNDS) && o->slices == 1 &&
         o->call.count <= most && line_bytes(o) <= most;
}

/* The schedule is a send and a receiving step for each round, and perhaps a copy. */
static uint32_t rounds_of(const tt_operation *o) {
  return o->program->sched->nsteps / 2;
}

static const tt_peers *group_of(const tt_operation *o) {
  return &o->program->sched->steps[2 * o->round + 1].peers;
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
  void *place = o->wire->memory->flag_slot(o->wire, o->stamp.seq, 0, n);
  if (!place) return false;
  o->own = o->call.src;
  if (o->reducer.times) {
    tt_times(&o->reducer, place, o->call.src, o->call.count);
    o->own = place;
  } else {
    copy(place, o->call.src, n);
  }
  o->wire->memory->flag_set(o->wire, o->stamp, 0, o->oldest);
  return o->flag_get = true;
}

static void sum_group(tt_operation *o, void *to) {
  tt_reduce(&o->reducer, to, o->slots, group_of(o)->count, o->call.count);
}

/* Shows the group's sum to the next group. The slot is free, as that of the first round was. */
static bool line_go_on(tt_operation *o) {
  void *place = o->wire->memory->flag_slot(o->wire, o->stamp.seq, o->round + 1, line_bytes(o));
  if (!place) return false;
  sum_group(o, place);
  o->wire->memory->flag_set(o->wire, o->stamp, ++o->round, o->oldest);
  o->own = place;
  o->next = 0;
  return true;
}

static bool line_end(tt_operation *o) {
  sum_group(o, o->call.dst);
  if (o->call.op == TUTTI_AVG) tt_scale(o->call.type, o->call.dst, o->call.count, o->wire->ranks);
  for (uint32_t round = 0; round <= o->round; round++) /* of the next call */
    o->wire->memory->flag_ahead(o->wire, o->stamp.seq + 1, round, line_bytes(o));
  return true;
}

/* Run a part; trace it if tracing is on. */
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
    for (bool more = true; more;) {
      if (!tt_flags_ready(o, group_of(o), line_bytes(o), &moved)) return moved || o->status;
      const uint32_t step = 2 * o->round + 1;
      more = o->round + 1 < rounds_of(o);
      if (!line_traced(o, more ? line_go_on : line_end, step)) return moved;
    }
  }
  o->finished = 1;
  return true;
}

static bool line_awaits(const tt_operation *o, tt_awaits_fn *show, void *ctx) {
  return !o->status && !o->finished && o->call.count > 0 &&
         tt_flags_await(o, group_of(o), line_bytes(o), show, ctx);
}

const tt_loop tt_line_loop = {line_fits, tt_flags_begin, line_progress, line_awaits, NULL};
