/* operation.c - a collective in progress: its vector is divided into slices, of which up to TT_FLIGHT run concurrently,
 * each on a separate lane.
 *
 * Invariant  Slice s runs on lane s mod TT_FLIGHT of the operation's window slot, and starts when slice s - TT_FLIGHT has
 *            ended on this rank; slice.c states the same for the prover.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "engine.h"

static tutti_status start_slice(tt_operation *o, int slice) {
  const int flight = slice % TT_FLIGHT;
  tt_run *r = o->runs[flight];
  if (!r) {
    r = o->runs[flight] = calloc(1, sizeof *r);
    if (!r) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for an operation");
  }
  r->o = o;
  r->lane = o->window * TT_FLIGHT + flight;
  return tt_run_begin(r, slice);
}

tutti_status tt_operation_begin(tt_operation *o, tt_wire *wire, const tt_execution *how,
                                const tt_call *call, tt_stamp stamp, uint64_t oldest) {
  o->wire = wire;
  o->program = how->program;
  o->if_exported = how->if_exported;
  o->call = *call;
  o->table = how->table;
  o->coding = how->coding;
  o->stamp = stamp;
  o->window = (int)(stamp.seq % TT_WINDOW);
  o->oldest = oldest;
  o->status = TUTTI_OK;
  o->finished = 0;
  o->slices = tt_coll_owned(call->coll) || how->slices < 1 ? 1 : how->slices;
  o->reducer = how->reducer;
  const tt_user_op *user = o->reducer.user;
  if (user && (!user->used || user->serial != o->reducer.serial))
    return o->status = tt_fail(TUTTI_ERR_OP, "op %d has been freed", (int)call->op);
  o->near = (tt_near){.stage = TT_NEAR_SETTLED};
  o->role = (tt_role){.known = false};
  o->loop = tt_line_loop.fits(o) ? &tt_line_loop : tt_arena_loop.fits(o) ? &tt_arena_loop : NULL;
  if (o->loop) return o->loop->begin(o);
  o->slicing = tt_partition_even(call->count, o->reducer.element,
                                 tt_slice_quarters((uint32_t)o->slices, (uint32_t)o->slices));
  tt_near_begin(o);
  for (int i = 0; i < TT_FLIGHT && i < o->slices; i++) {
    tutti_status status = start_slice(o, i);
    if (status) return o->status = status;
  }
  return TUTTI_OK;
}

tutti_status tt_operation_begin_again(tt_operation *o, tt_stamp stamp, uint64_t oldest) {
  o->stamp = stamp;
  o->oldest = oldest;
  o->status = TUTTI_OK;
  o->finished = 0;
  return o->loop->begin(o);
}

/* Returns the number of ranks whose values are combined in this rank's result, or 0 if this rank has no result. */
static int summands(const tt_operation *o) {
  const tt_sched *s = o->program->sched;
  if (!tt_coll_reduces(s->coll) || s->rank >= s->data) return 0;
  if (tt_coll_prefix(s->coll)) return s->rank + (s->coll == TUTTI_SCAN);
  return s->data;
}

/* Returns true for a logical op with values from only one rank. No step reduces them, but the result must still be 0 or 1. */
static bool finishes_alone(const tt_operation *o) {
  return o->call.op >= TUTTI_LAND && o->call.op <= TUTTI_LXOR && summands(o) == 1;
}

static void finish_alone(tt_operation *o) {
  if (!finishes_alone(o)) return;
  tt_truths(o->call.type, o->call.dst, o->table ? o->table[1] : o->call.count);
}

/* Returns true if the input of a slice has arrived from the device, or is in host memory anyway. */
static bool slice_landed(const tt_operation *o, int slice) {
  if (!o->call.staged) return true;
  if (o->near.kernels) return tt_near_landed(o, slice);
  const uint64_t landed = tt_staged_landed(o->call.staged);
  if (landed == UINT64_MAX) return true;
  return o->slices > 1 && tt_slice_at(o, (uint32_t)slice + 1) * o->reducer.element <= landed;
}

static bool progress_slices(tt_operation *o) {
  bool moved = false;
  if (!o->wire->memory->enter(o->wire)) return false;
  for (int i = 0; i < TT_FLIGHT && !o->status; i++) {
    tt_run *r = o->runs[i];
    if (!r || !r->active || !slice_landed(o, r->slice)) continue;
    if (tt_run_progress(r, &o->status)) moved = true;
    if (!tt_share_over(r, &o->status) || o->status || r->left) continue;
    r->active = false;
    o->finished++;
    moved = true;
    if (r->slice + TT_FLIGHT < o->slices) o->status = start_slice(o, r->slice + TT_FLIGHT);
  }
  o->wire->memory->leave(o->wire);
  return moved;
}

/* Returns how many bytes at the start of the result are final. These are all bytes before the first slice in progress. */
static uint64_t final_bytes(const tt_operation *o) {
  if (o->finished == o->slices) return UINT64_MAX;
  if (o->loop) return o->loop->final ? o->loop->final(o) : 0;
  if (finishes_alone(o)) return 0;
  int first = o->slices;
  for (int i = 0; i < TT_FLIGHT; i++)
    if (o->runs[i] && o->runs[i]->active && o->runs[i]->slice < first) first = o->runs[i]->slice;
  return tt_slice_at(o, (uint32_t)first) * o->reducer.element;
}

static bool progress_on_host(tt_operation *o);

/* Returns true if the devices compute the sum, or may do so once all ranks have agreed. No data are then copied to the host. */
static bool stays_there(const tt_operation *o) {
  const tt_pieces *p = &o->pieces;
  if (o->near.stage != TT_NEAR_SETTLED) return true;
  return o->loop == &tt_arena_loop && p->cut.count &&
         (p->gets == TT_GETS_ON_DEVICES ||
          (p->mine.comes == TT_REACHED && p->put_by_all == UINT32_MAX));
}

/* Makes one pass over the copies between device and host, and records them in the trace. A recorded copy lasts as long as the
 * rank has nothing else to do. */
static bool progress_copies(tt_operation *o) {
  tt_staged *s = o->call.staged;
  if (__builtin_expect(!o->trace, 1)) return tt_staged_progress(s, &o->status);
  const uint64_t begin = tt_trace_mark(o->trace), before = tt_staged_came(s);
  const bool was_over = tt_staged_over(s), moved = tt_staged_progress(s, &o->status);
  const uint64_t came = tt_staged_came(s) - before;
  if (came) tt_trace_step(o->trace, TT_EVENT_FROM_DEVICE, begin, o->stamp.seq, -1, came, 0);
  if (!was_over && tt_staged_over(s))
    tt_trace_step(o->trace, TT_EVENT_TO_DEVICE, came ? tt_trace_mark(o->trace) : begin,
                  o->stamp.seq, -1, tt_staged_goes(s), 0);
  return moved;
}

/* Makes progress on vectors that are copied from a device and back. Among fast paths, only the arena's allreduce starts before
 * the whole vector has arrived. */
static bool progress_staged(tt_operation *o) {
  tt_staged *s = o->call.staged;
  if (stays_there(o)) {
    const bool moved = progress_on_host(o);
    if (o->status || stays_there(o)) return moved;
  }
  tt_staged_decided(s);
  bool moved = o->near.kernels && tt_near_bring(o);
  moved |= progress_copies(o);
  const bool in_parts = !o->loop || (o->loop == &tt_arena_loop && o->call.coll == TUTTI_ALLREDUCE);
  const bool begins = in_parts || tt_staged_landed(s) == UINT64_MAX;
  if (!o->status && o->finished < o->slices && begins && progress_on_host(o)) moved = true;
  if (o->status) return moved;
  tt_staged_final(s, final_bytes(o));
  return progress_copies(o) || moved;
}

bool tt_operation_progress(tt_operation *o) {
  return __builtin_expect(o->call.staged != NULL, 0) ? progress_staged(o) : progress_on_host(o);
}

bool tt_operation_is_over(const tt_operation *o) {
  return o->finished == o->slices && (!o->call.staged || tt_staged_over(o->call.staged));
}

static bool progress_on_host(tt_operation *o) {
  if (o->loop) return o->loop->progress(o);
  if (o->near.stage != TT_NEAR_SETTLED) {
    const bool agreed = tt_near_progress(o);
    if (o->near.stage != TT_NEAR_SETTLED || o->status) return agreed;
  }
  const bool moved = progress_slices(o);
  if (moved && !o->status && o->finished == o->slices) finish_alone(o);
  return moved;
}

bool tt_operation_awaits(const tt_operation *o, tt_awaits_fn *show, void *ctx) {
  if (o->loop) return o->loop->awaits(o, show, ctx);
  if (tt_near_awaits(o, show, ctx)) return true;
  for (int i = 0; i < TT_FLIGHT; i++)
    if (o->runs[i] && o->runs[i]->active && tt_run_awaits(o->runs[i], show, ctx)) return true;
  return false;
}

void tt_operation_release(tt_operation *o) {
  for (int i = 0; i < TT_FLIGHT; i++) {
    tt_run_free(o->runs[i], o->wire);
    o->runs[i] = NULL;
  }
  free(o->slots); /* includes the inputs */
  o->slots = NULL;
  o->inputs_capacity = 0;
}
