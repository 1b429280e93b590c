/* share.c - what a run sends to an aggregator.
 *
 * Idea       In a plan for an aggregator the ranks after those of the communicator are virtual: no process of
 *            the job runs their schedules. The messages to them, in the order of the schedule, are this
 *            rank's share of a sum; the messages from them are the sum, and as long.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "position.h"

void tt_share_begin(const tt_run *r) {
  const tt_operation *o = r->o;
  const tt_program *p = r->program;
  tt_wire *aggregator = o->wire->aggregator;
  tt_share share = {.lane = r->lane,
                    .stamp = o->stamp,
                    .slice = (uint32_t)r->slice,
                    .slices = (uint32_t)o->slices,
                    .type = (uint32_t)o->call.type,
                    .op = (uint32_t)o->call.op,
                    .data = (uint32_t)p->sched->data};
  for (uint32_t k = 0; k < p->ntransfers; k++) {
    const tt_transfer *t = &p->transfers[k];
    const tt_step *step = &p->sched->steps[t->step];
    if (t->peer < o->wire->ranks || step->kind != TT_SEND) continue;
    const uint64_t bytes = tt_run_span_bytes(r, tt_step_cargo(step), t->lo, t->hi);
    share.part[t->peer - o->wire->ranks] += bytes;
    share.bytes += bytes;
  }
  aggregator->aggregates->begin(aggregator, &share);
}
