/* trace_call.c - records in a communicator's trace which call an operation runs, and from when to when.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>

#include "flight.h"

/* Returns the index of the call in the trace's table of calls, or 0 if the table is full. */
static uint16_t trace_call_index(const tutti_comm *comm, tt_trace *t, const tt_call *c,
                                 const tt_plan *plan, bool rival) {
  const tt_sched *sched = rival ? plan->rival->program->sched : plan->prepared->sched;
  const uint64_t tag = c->tag ? tt_mix_text(1, c->tag) : 0;
  const uint64_t key = tt_mix(plan->key ^ (uintptr_t)sched) ^ (uint64_t)plan->exec.slices ^ tag;
  const uint16_t last = t->open[t->seq % TT_WINDOW].what; /* usually the same call again */
  if (t->calls[last].key == key) return last;
  for (uint32_t i = t->ncalls; i-- > 1;)
    if (t->calls[i].key == key) return (uint16_t)i;
  if (t->ncalls == TT_TRACE_CALLS) return 0;
  const uint64_t count = plan->exec.table ? plan->exec.table[comm->ranks] : c->count;
  const size_t blocks =
      tt_coll_owned(c->coll) && !plan->exec.table ? (size_t)tt_call_data(comm, c) : 1;
  tt_traced_call *call = &t->calls[t->ncalls];
  *call = (tt_traced_call){key,
                           (uint32_t)c->coll,
                           (uint32_t)c->type,
                           (uint32_t)c->op,
                           (uint32_t)plan->exec.slices,
                           count,
                           0,
                           strdup(sched->name),
                           ""};
  if (c->tag) snprintf(call->tag, sizeof call->tag, "%s", c->tag);
  call->bytes = count * blocks * tutti_type_size(c->type);
  return (uint16_t)t->ncalls++;
}

tt_trace *tt_trace_begin(tutti_comm *comm, const tt_call *call, const tt_plan *plan, bool rival) {
  tt_trace *t = comm->trace;
  if (call->everyone) return NULL;
  const uint16_t what = trace_call_index(comm, t, call, plan, rival);
  const bool known = t->blocking && !t->begun && what && what == t->again; /* no planning */
  const uint64_t now = known ? t->entered : tt_trace_cut(t);
  t->again = what;
  t->seq = comm->flight->seq;
  t->begun = true;
  t->open[comm->flight->seq % TT_WINDOW].begin = now;
  t->open[comm->flight->seq % TT_WINDOW].what = what;
  t->open[comm->flight->seq % TT_WINDOW].blocking = t->blocking;
  return t;
}

void tt_trace_over(tt_trace *t, uint64_t seq) {
  if (t->open[seq % TT_WINDOW].blocking) return; /* the event of the call covers it */
  const tt_event e = {.begin = t->open[seq % TT_WINDOW].begin,
                      .end = tt_trace_now(t),
                      .seq = seq,
                      .peer = -1,
                      .kind = TT_EVENT_FLIGHT,
                      .what = t->open[seq % TT_WINDOW].what};
  tt_trace_add(&t->steps, &e);
}
