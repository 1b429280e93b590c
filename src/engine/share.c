/* share.c - the data that a run sends outside the job, and receives from there.
 *
 * Idea       In a plan for a process outside the job, the ranks after those of the communicator are virtual: no rank runs
 *            their schedules. The messages to them, in the order of the schedule, are the data that this rank provides; the
 *            messages from them are the data that it wants. Each virtual rank has a part of the vector.
 * Invariant  A rank provides all of every part, or wants all of it, or both. If it provides or wants less than all, this
 *            is one stretch. Each rank thus knows the length of the session's vector, and the positions of its stretches,
 *            part after part. If all ranks are in one session, its vector is the run's; the data that a rank provides are
 *            one stretch, as are the data that it wants. If blocks belong to ranks, the session's vector consists of the
 *            blocks of its members, one after the other; in the run's vector they are `sessions` blocks apart.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "position.h"

/* Extends a stretch by the data of one message. */
static void add_message(const tt_run *r, const tt_transfer *t, const tt_step *step,
                        tt_stretch *all) {
  const tt_span *cargo = tt_step_cargo(step);
  const uint64_t bytes = tt_run_span_bytes(r, cargo, t->lo, t->hi);
  if (!bytes) return;
  const uint32_t block = tt_span_block(cargo, t->lo) % r->program->sched->blocks;
  const uint64_t at = tt_partition_at(&r->partition[TT_DST], block) * r->o->reducer.element;
  if (!all->bytes || at < all->at) all->at = at;
  all->bytes += bytes;
}

/* Adds a stretch of one part to `all`. The part starts at `begin` in the run's vector and at `to` in the session's vector. Blocks
 * are `sessions` times as far apart in the run's vector as in the session's. */
static void add_stretch(tt_stretch *all, const tt_stretch *part, uint64_t begin, uint64_t to,
                        uint64_t sessions) {
  const uint64_t at = to + (part->at - begin) / sessions;
  if (part->bytes && (!all->bytes || at < all->at)) all->at = at;
  all->bytes += part->bytes;
}

/* Returns true if this message is a send to a rank on another host. */
static bool leaves_host(const tt_run *r, const tt_transfer *t) {
  const tt_wire *w = r->o->wire;
  return r->program->sched->steps[t->step].kind == TT_SEND && t->peer < w->ranks &&
         !(w->near.wire && w->near.rank[t->peer] >= 0);
}

/* Returns the first of the virtual ranks that exchange data with this rank. They have consecutive numbers, and one process
 * outside the job hosts them all. */
static int first_virtual(const tt_run *r) {
  const tt_program *p = r->program;
  int first = p->sched->ranks;
  for (uint32_t k = 0; k < p->ntransfers; k++)
    if (p->transfers[k].peer >= r->o->wire->ranks && p->transfers[k].peer < first)
      first = p->transfers[k].peer;
  return first;
}

void tt_share_begin(const tt_run *r) {
  const tt_operation *o = r->o;
  const tt_program *p = r->program;
  const bool reduces = tt_coll_reduces(o->call.coll);
  const tt_outside *out = o->wire->outside;
  const bool one = out->one_session;
  const uint64_t sessions = tt_coll_owned(o->call.coll) ? (uint64_t)out->sessions : 1;
  tt_stretch given[TT_PARTS] = {{0}}, wanted[TT_PARTS] = {{0}};
  tt_share share = {.lane = r->lane,
                    .stamp = o->stamp,
                    .slice = (uint32_t)r->slice,
                    .slices = (uint32_t)o->slices,
                    .type = (uint32_t)(reduces ? o->call.type : TUTTI_UINT8),
                    .op = (uint32_t)(reduces ? o->call.op : TUTTI_MAX),
                    .data = (uint32_t)p->sched->data};
  share.first = first_virtual(r);
  for (uint32_t k = 0; k < p->ntransfers; k++) {
    const tt_transfer *t = &p->transfers[k];
    const tt_step *step = &p->sched->steps[t->step];
    const int part = t->peer - share.first;
    if (t->peer >= o->wire->ranks)
      add_message(r, t, step, step->kind == TT_SEND ? &given[part] : &wanted[part]);
    else if (leaves_host(r, t))
      share.beside += tt_run_span_bytes(r, tt_step_cargo(step), t->lo, t->hi);
  }
  for (int k = 0; k < TT_PARTS; k++) {
    const tt_stretch *all = given[k].bytes > wanted[k].bytes ? &given[k] : &wanted[k];
    const uint64_t begin = one ? 0 : all->at, to = one ? 0 : share.bytes;
    add_stretch(&share.gives, &given[k], begin, to, sessions);
    add_stretch(&share.wants, &wanted[k], begin, to, sessions);
    share.given[k] = given[k].bytes;
    share.wanted[k] = wanted[k].bytes;
    share.bytes += all->bytes;
  }
  if (one)
    share.bytes = tt_partition_at(&r->partition[TT_DST], p->sched->blocks) * o->reducer.element;
  out->ops->begin(out->wire, &share);
}

bool tt_share_over(const tt_run *r, tutti_status *status) {
  const tt_outside *out = r->o->wire->outside;
  return r->program->sched->ranks <= r->o->wire->ranks ||
         out->ops->over(out->wire, r->lane, status);
}
