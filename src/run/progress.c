/* progress.c - starts and drives operations in flight.
 *
 * Idea       A call drives the operations of its communicator, in start order, then those of the other listed
 *            communicators that are not busy.
 * Invariant  Operations start in the order of issue, each when its slot in the window is free. A broken communicator fails
 *            all its requests.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>

#include "flight.h"

/* ---- starting ---- */

/* each busy, abort, in_flight_count: order: seq_cst, a lock of one process (check-tsan) */

void tt_request_complete(tutti_request *r, tutti_status status) {
  tutti_comm *comm = r->comm;
  tutti_request *whole = r->whole;
  if (!status && r->ops->unpack) r->ops->unpack(r);
  if (r->staged) status = tt_device_end(r, status);
  r->status = status;
  r->state = TT_COMPLETE;
  if (whole && status) whole->status = status;
  const bool over = whole && whole->ops->part_done(whole);
  if (--comm->flight->unfinished == 0) tt_comm_list(comm, false);
  if (over) tt_request_complete(whole, whole->status);
}

static void start_request(tutti_comm *comm, tutti_request *r) {
  tt_place *place = &comm->flight->places[comm->flight->seq % TT_WINDOW];
  r->state = TT_RUNNING;
  comm->flight->stuck = false;
  place->by = r;
  if (!place->begun) tt_place_begin(comm, place, &r->call, &r->plan, 0);
  place->begun = false;
  r->seq = comm->flight->seq++;
  if (place->operation.status) tt_break_operation(comm, &place->operation);
}

static void start_queued(tutti_comm *comm) {
  while (comm->flight->queue && !comm->broken &&
         !comm->flight->places[comm->flight->seq % TT_WINDOW].by) {
    tutti_request *r = comm->flight->queue;
    bool last = true;
    tutti_request *part =
        r->ops->next_part ? r->ops->next_part(r, comm->flight->seq % TT_WINDOW, &last) : r;
    if (!part) break;
    if (last) comm->flight->queue = r->next;
    if (!comm->flight->queue) comm->flight->queue_end = NULL;
    if (part != r) comm->flight->unfinished++;
    start_request(comm, part);
  }
}

void tt_request_issue(tutti_request *r) {
  r->state = TT_RUNNING;
  r->status = TUTTI_OK;
  r->comm->flight->unfinished++;
  if (r->staged) tt_device_begin(r);
  r->ops->issue(r);
}

void tt_request_enqueue(tutti_request *r) {
  tutti_comm *comm = r->comm;
  if (comm->flight->seq % TT_LOOK_FOR_LAUNCHER == 0) tt_look_for_launcher(comm);
  r->state = TT_QUEUED;
  r->next = NULL;
  if (comm->flight->queue_end)
    comm->flight->queue_end->next = r;
  else
    comm->flight->queue = r;
  comm->flight->queue_end = r;
  start_queued(comm);
}

/* ---- driving ---- */

/* Stops other ranks from accessing the callers' vectors. Other ranks write to dst only if a specialized loop runs, and such loops
 * work on whole vectors. */
static void take_back(tutti_comm *comm) {
  const tt_outside *out = comm->wire->outside;
  if (out) out->ops->quit(out->wire);
  bool quiet = comm->wire->memory->quiesce(comm->wire);
  for (int i = 0; i < TT_WINDOW && !quiet; i++)
    if (comm->flight->places[i].by && comm->flight->places[i].operation.loop) {
      const tt_call *call = &comm->flight->places[i].by->call;
      comm->wire->memory->revoke(comm->wire, call->dst, call->count * tutti_type_size(call->type));
    }
}

static void complete_messages(tt_p2p_message *over, tutti_status status) {
  for (tt_p2p_message *m = over, *next; m; m = next) {
    next = m->next;
    tt_request_complete(m->owner, status);
  }
}

bool tt_messages_progress(tutti_comm *comm) {
  bool moved = false;
  tutti_status status = TUTTI_OK;
  tt_p2p_message *over = tt_p2p_progress(comm->flight->p2p, &moved, &status);
  if (status) tt_break_messages(comm, status);
  complete_messages(over, TUTTI_OK);
  return moved;
}

/* Lets all streams that wait for calls of this communicator continue. */
static void release_streams(tutti_comm *comm) {
  for (int i = 0; i < TT_WINDOW; i++) {
    const tutti_request *r = comm->flight->places[i].by;
    if (r && r->staged) tt_staged_release(r->staged);
  }
  for (const tutti_request *r = comm->flight->queue; r; r = r->next)
    if (r->staged) tt_staged_release(r->staged);
}

static void fail_all(tutti_comm *comm) {
  if (comm->flight->stager) release_streams(comm);
  take_back(comm);
  if (comm->flight->p2p) complete_messages(tt_p2p_drop(comm->flight->p2p), comm->broken);
  for (int i = 0; i < TT_WINDOW; i++) {
    tutti_request *r = comm->flight->places[i].by;
    comm->flight->places[i].by = NULL;
    if (r) tt_request_complete(r, comm->broken);
  }
  for (tutti_request *r = comm->flight->queue; r;) {
    tutti_request *next = r->next;
    tt_request_complete(r, comm->broken);
    r = next;
  }
  comm->flight->queue = comm->flight->queue_end = NULL;
  comm->flight->oldest = comm->flight->seq;
}

static void hear_abort(tutti_comm *comm) {
  char reason[TT_WHY];
  tutti_status status = comm->wire->peer->aborted(comm->wire, reason, sizeof reason);
  if (!status || comm->broken) return;
  snprintf(comm->why, sizeof comm->why, "%s", reason);
  tt_comm_break(comm, status, false);
}

static bool others_in_flight(const tutti_comm *mine) {
  const int listed = mine && mine->listed;
  return atomic_load_explicit(&tt_process.in_flight_count, memory_order_relaxed) > listed;
}

void tt_net_progress(tutti_comm *comm, bool *moved) {
  if (comm->broken) return;
  const bool wait = comm->flight->waits && !comm->flight->on_devices && !others_in_flight(comm);
  const tutti_status status =
      (wait ? comm->net->net->wait : comm->net->net->poll)(comm->net, moved);
  if (status) tt_break_messages(comm, status);
}

/* Returns true if this rank has data that it has not sent yet. Peers may wait for the data, and the next call of this rank may
 * come much later. */
static bool is_leaving(const tutti_comm *comm) {
  return tt_over_net(comm) && comm->net->net->has_unsent(comm->net);
}

static bool drive_operations(tutti_comm *comm) {
  bool moved = false;
  for (uint64_t seq = comm->flight->oldest; seq != comm->flight->seq && !comm->broken; seq++) {
    tt_place *place = &comm->flight->places[seq % TT_WINDOW];
    if (!place->by || place->by->seq != seq) continue;
    if (tt_operation_progress(&place->operation)) moved = true;
    if (place->operation.status) {
      tt_break_operation(comm, &place->operation);
    } else if (tt_operation_is_over(&place->operation) && !is_leaving(comm)) {
      tutti_request *r = place->by;
      place->by = NULL;
      if (place->operation.trace) tt_trace_over(comm->trace, seq);
      tt_request_complete(r, TUTTI_OK);
    }
  }
  const uint64_t before = comm->flight->oldest;
  while (comm->flight->oldest != comm->flight->seq &&
         !comm->flight->places[comm->flight->oldest % TT_WINDOW].by)
    comm->flight->oldest++;
  if (comm->flight->oldest != before) tt_show_over(comm, true);
  if (comm->flight->p2p && !comm->broken && tt_messages_progress(comm)) moved = true;
  return moved;
}

/* A rank that only sends never waits for others, so once in this many operations it checks whether it was aborted. */
enum { LOOK_EVERY = 16 };

/* Makes one pass over the operations of a communicator, oldest first. If nothing moves, and periodically,
 * also polls the network, which may yield the core. */
static bool progress_comm(tutti_comm *comm) {
  if (atomic_load_explicit(&comm->flight->abort, memory_order_relaxed) == 2)
    tt_comm_send_abort(comm);
  if (tt_comm_is_over(comm)) hear_abort(comm);
  const tt_outside *out = comm->wire->outside;
  bool moved = out && !comm->broken && out->ops->drive(out->wire);
  if (!comm->flight->stuck && drive_operations(comm)) moved = true;
  const bool leaving = is_leaving(comm);
  /* data from outside the job move this rank, but show nothing about the other ranks */
  const bool looks = !moved || out || (!comm->flight->waits && comm->flight->seq % LOOK_EVERY == 0);
  if (tt_over_net(comm) && looks) tt_net_progress(comm, &moved);
  /* nothing can arrive by another transport */
  comm->flight->stuck =
      !moved && !leaving && comm->wire == comm->net && !out && !comm->flight->on_devices;
  if (comm->broken) {
    fail_all(comm);
    if (!comm->flight->unfinished) tt_comm_list(comm, false);
  } else if (comm->flight->queue) {
    start_queued(comm);
  }
  moved |= comm->broken != TUTTI_OK;
  if (moved && comm->flight->wait_policy.looks) tt_wait_anew(comm, &comm->flight->wait_policy);
  return moved;
}

void tt_comm_list(tutti_comm *comm, bool on) {
  if (comm->listed == on) return;
  pthread_mutex_lock(&tt_process.lock);
  tutti_comm **link = &tt_process.in_flight;
  while (*link && *link != comm) link = &(*link)->flight->next_listed;
  if (on) { /* at the end, because they are driven in the order of listing */
    *link = comm;
    comm->flight->next_listed = NULL;
    atomic_fetch_add(&tt_process.in_flight_count, 1);
    if (!tt_over_net(comm) || comm->net->traits.any_thread) tt_thread_wake();
  } else {
    *link = comm->flight->next_listed;
    atomic_fetch_sub(&tt_process.in_flight_count, 1);
  }
  comm->listed = on;
  pthread_mutex_unlock(&tt_process.lock);
}

enum { AT_ONCE = 64 }; /* maximum number of communicators in one pass */

/* Acquires a listed communicator that this thread may drive, starting the search at index i. Returns NULL if no communicator is
 * free, or if another thread holds the list. Sets *next to the index where the next search starts. Only one communicator is
 * acquired at a time, so the owners of the others never wait for this thread. */
static tutti_comm *hold_listed(const tutti_comm *mine, int i, int *next) {
  tutti_comm *taken = NULL;
  int held, at = 0;
  if (pthread_mutex_trylock(&tt_process.lock) != 0) return NULL;
  for (tutti_comm *c = tt_process.in_flight; c && !taken; c = c->flight->next_listed, at++) {
    if (at < i || c == mine) continue;
    if (tt_over_net(c) && !(mine && mine->net) && !c->net->traits.any_thread) continue;
    if (tt_comm_hold(c, TT_DRIVER, &held)) taken = c;
  }
  *next = at;
  pthread_mutex_unlock(&tt_process.lock);
  return taken;
}

bool tt_progress_others(const tutti_comm *mine) {
  if (!others_in_flight(mine)) return false;
  bool moved = false;
  tutti_comm *c;
  for (int i = 0; i < AT_ONCE && (c = hold_listed(mine, i, &i));) {
    if (progress_comm(c))
      moved = true;
    else if (!mine && c->flight->on_streams.first)
      tt_watch_peers(c);
    tt_comm_leave(c);
  }
  return moved;
}

bool tt_progress(tutti_comm *comm) {
  bool moved = progress_comm(comm);
  return tt_progress_others(comm) || moved;
}
