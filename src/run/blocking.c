/* blocking.c - runs blocking calls, either directly or as requests.
 *
 * Idea       A call that equals a recent one uses the plan of that call. If a slot still contains its operation, only the
 *            number changes. If the plan has a specialized fast path and nothing else is in flight, the operation runs
 *            directly in its slot. If a peer is late, a request takes over the operation, and waits.
 * Invariant  An operation is published once, under the number that its request gets.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <sched.h>

#include "flight.h"

static tt_record record_of(const tutti_comm *comm, const tt_call *call, const tt_plan *plan) {
  const tt_call *said = call->said ? call->said : call;
  const uint64_t *table = plan->exec.table;
  return (tt_record){.coll = (uint32_t)said->coll,
                     .type = (uint32_t)said->type,
                     .op = tt_op_kind(said->op),
                     .root = tt_coll_rooted(said->coll) ? (uint32_t)said->root
                             : table                    ? plan->counts
                                                        : said->buffers,
                     .count = table ? table[comm->ranks] : said->count};
}

enum { RIVAL = 0x2545f491 }; /* part of the hash of a call that runs the rival of its plan */

/* Adds a call to the hash of all calls so far. Two ranks have made the same calls if their hashes are equal. Each step is a
 * bijection, so after the hashes of two ranks differ, equal calls never make them equal again. */
static uint32_t chain_of(uint32_t chain, uint32_t hash) {
  return ((chain << 5 | chain >> 27) ^ hash) * 0x9e3779b1u;
}

/* Starts an operation with the plan or with its rival. */
static void begin_operation(tutti_comm *comm, tt_operation *o, const tt_call *call,
                            const tt_plan *plan, bool rival, tt_stamp stamp) {
  if (!rival) {
    tt_operation_begin(o, comm->wire, &plan->exec, call, stamp, comm->flight->oldest);
    return;
  }
  tt_execution how = plan->exec;
  how.program = plan->rival->program;
  how.if_exported = how.program->shape;
  tt_operation_begin(o, comm->wire, &how, call, stamp, comm->flight->oldest);
}

void tt_place_begin(tutti_comm *comm, tt_place *place, const tt_call *call, const tt_plan *plan,
                    uint32_t serial) {
  tt_flight *f = comm->flight;
  tt_operation *o = &place->operation;
  const bool rival = plan->rival && tt_rival_runs(comm, call, plan);
  const bool again = serial && serial == place->holds && rival == place->rival;
  f->chain = chain_of(f->chain, plan->hash ^ call->also ^ (rival ? RIVAL : 0));
  place->rival = rival;
  if (!again) place->record = record_of(comm, call, plan);
  place->record.stamp = (tt_stamp){f->seq, f->chain};
  comm->wire->peer->record(comm->wire, &place->record);
  place->begun = true;
  o->trace = comm->trace ? tt_trace_begin(comm, call, plan, rival) : NULL;
  if (again) {
    tt_operation_begin_again(o, place->record.stamp, f->oldest);
  } else {
    begin_operation(comm, o, call, plan, rival, place->record.stamp);
    place->holds = o->loop ? serial : 0;
  }
}

void tt_show_over(tutti_comm *comm, bool wakes) {
  comm->wire->peer->over(comm->wire, comm->flight->oldest, wakes);
}

enum { TURNS = 16 }; /* polls, each with a yield, if there are more ranks than cores */

/* Tries to run a whole operation without a request. This requires a plan with a specialized fast path, no other operation in
 * flight, and peers that arrive in time. Returns false if nothing was done, or if the operation has started in its slot. In the
 * latter case the next request takes the operation over. */
static bool finish_at_once(tutti_comm *comm, const tt_call *call, const tt_plan *plan,
                           uint32_t serial) {
  tt_flight *f = comm->flight;
  if (f->unfinished || !plan->prepared->program->shape) return false;
  if (f->seq % TT_LOOK_FOR_LAUNCHER == 0) tt_look_for_launcher(comm);
  if (tt_comm_is_over(comm)) return false; /* publish nothing more */
  tt_place *place = &f->places[f->seq % TT_WINDOW];
  tt_operation *o = &place->operation;
  tt_place_begin(comm, place, call, plan, serial);
  if (o->status) return false; /* nothing was sent, so no peer knows of it yet */
  const bool crowded = comm->load.crowded;
  const uint32_t looks = crowded ? TURNS : f->spins;
  for (uint32_t look = 0; o->loop && look < looks; look++) {
    tt_operation_progress(o);
    if (o->status) return false;
    if (o->finished == o->slices) {
      place->begun = false;
      f->oldest = ++f->seq;
      tt_show_over(comm, !o->role.gives);
      f->spins = f->spins + look < TT_SPINS ? f->spins + look : TT_SPINS;
      return true;
    }
    if (crowded)
      sched_yield();
    else if (look > 64)
      tt_relax();
  }
  return false;
}

/* `serial` is the serial number of a remembered call, or 0. */
static tutti_status run(tutti_comm *comm, const tt_call *call, const tt_plan *plan,
                        uint32_t serial) {
  tutti_status status = TUTTI_OK;
  if (!finish_at_once(comm, call, plan, serial)) {
    tutti_request r = {.ops = &tt_collective_ops, .comm = comm, .call = *call, .plan = *plan};
    tt_request_issue(&r);
    status = tt_request_finish(&r);
  }
  if (plan->rival) tt_rival_over(comm, plan);
  return status;
}

tutti_status tt_call_run(tutti_comm *comm, const tt_call *call, const tt_plan *plan) {
  return run(comm, call, plan, 0);
}

/* ---- from entering to leaving ---- */

/* Returns the slot for a call. Alternating calls differ in collective, root or result, so they usually get different slots. */
static tt_recent *recent_of(tt_flight *f, const tt_call *c) {
  const uintptr_t hash =
      (uintptr_t)c->dst >> 6 ^ (uintptr_t)c->coll * 3 ^ (uintptr_t)(unsigned)c->root;
  return &f->recent[hash % TT_RECENT];
}

void tt_recent_forget(tutti_comm *comm) {
  for (int i = 0; i < TT_RECENT; i++) comm->flight->recent[i].plan = NULL;
}

static bool is_recent(const tt_recent *r, const tt_call *c) {
  const tt_call *l = &r->call;
  return r->plan && c->src == l->src && c->dst == l->dst && c->count == l->count &&
         c->type == l->type && c->op == l->op && c->coll == l->coll && c->root == l->root &&
         !c->varied;
}

/* Exact sums and vectors on a device need a request even if the call blocks. */
static tutti_status run_as_request(tutti_comm *comm, const char *function, const tt_call *call,
                                   bool in_place) {
  tutti_request *r;
  tutti_status status = tt_collective_new(comm, function, call, in_place, &r);
  if (status) return status;
  tt_request_issue(r);
  status = tt_request_finish(r);
  tt_request_drop(r);
  return status;
}

/* Runs a call that differs from all recent calls, and remembers it in *r. */
static tutti_status run_new(tutti_comm *comm, const char *function, const tt_call *call,
                            tt_check_fn *check, tt_recent *r) {
  bool in_place;
  const tt_plan *plan;
  tutti_status status = check(comm, function, call, &in_place);
  if (status) return status;
  if (tt_group_open(comm)) return tt_group_keep_call(comm, function, call, in_place);
  if (tt_call_is_exact(comm, call) || tt_call_on_device(call))
    return run_as_request(comm, function, call, in_place);
  status = tt_break_if_memory(comm, tt_plan_for(comm, call, in_place, &plan));
  if (status) return status;
  /* a user's op may be freed before the next call, and counts may change */
  if (call->op < TUTTI_OP_USER && !call->varied)
    *r = (tt_recent){*call, plan, ++comm->flight->remembered};
  return tt_call_run(comm, call, plan);
}

tutti_status tt_call_block(tutti_comm *comm, const char *function, const tt_call *call,
                           tt_check_fn *check) {
  const bool simple = tt_comm_enter_simply(comm);
  tutti_status status = simple ? TUTTI_OK : tt_comm_enter(comm, function);
  if (status) return status;
  tt_recent *r = recent_of(comm->flight, call);
  if (__builtin_expect(comm->trace != NULL, 0)) tt_trace_call(comm->trace);
  status = is_recent(r, call) ? run(comm, &r->call, r->plan, r->serial)
                              : run_new(comm, function, call, check, r);
  if (__builtin_expect(comm->trace != NULL, 0)) tt_trace_leave(comm->trace, TT_EVENT_CALL);
  if (simple)
    tt_comm_leave_simply(comm);
  else
    tt_comm_leave(comm);
  return status;
}
