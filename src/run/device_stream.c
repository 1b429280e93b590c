/* device_stream.c - collectives in the order of a device's stream (tutti_call.h).
 *
 * Idea       Such a call is a request for which the caller's stream waits, instead of the caller. tutti's own thread drives
 *            it. The next such call, or tutti_stream_wait, frees it.
 * Cost       A thread that uses a core while such calls are in flight.
 * Invariant  The stream continues even if the call fails, so nothing on the device waits forever. At most TT_STREAM_CALLS
 *            are in flight: another call waits for the oldest one, which no later work of any stream delays.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <sched.h>

#include "flight.h"

/* ---- calls that have completed ---- */

static void free_those_over(tutti_comm *comm) {
  tt_flight *f = comm->flight;
  for (tutti_request *r; (r = f->on_streams.first) && r->state == TT_COMPLETE; f->on_streams.n--) {
    f->on_streams.first = r->later;
    tt_request_drop(r);
  }
}

/* Waits until at most `most` calls are in flight. Returns false if interrupted. The caller has entered the communicator. */
static bool wait_for_streams(tutti_comm *comm, int most) {
  free_those_over(comm);
  while (comm->flight->on_streams.n > most) {
    if (!tt_request_await(comm->flight->on_streams.first, false)) return false;
    free_those_over(comm);
  }
  return true;
}

tutti_status tt_streams_wait(tutti_comm *comm, const char *function) {
  return wait_for_streams(comm, 0) ? TUTTI_OK : tt_say_interrupted(function);
}

/* ---- a new call ---- */

static void append(tutti_comm *comm, tutti_request *r) {
  tt_flight *f = comm->flight;
  r->later = NULL;
  if (f->on_streams.first)
    f->on_streams.last->later = r;
  else
    f->on_streams.first = r;
  f->on_streams.last = r;
  f->on_streams.n++;
}

/* Returns true if tutti's progress thread may drive this communicator. If it may, requests the thread. */
static bool has_driver(tutti_comm *comm) {
  if (tt_over_net(comm) && !comm->net->traits.any_thread) return false;
  if (!comm->flight->on_streams.thread) tt_thread_want(true);
  comm->flight->on_streams.thread = true;
  return true;
}

/* Makes the stream wait for the call. If the devices may compute the sum, they map each other's memory before that. */
static void hold_when_decided(tutti_comm *comm, tutti_request *r) {
  while (tt_staged_undecided(r->staged) && r->state != TT_COMPLETE)
    if (!tt_progress(comm)) tt_watch_peers(comm), sched_yield();
  if (r->state != TT_COMPLETE && tt_staged_hold(r->staged))
    tt_break_by_error(comm, TUTTI_ERR_SYSTEM);
}

static tutti_status issue(tutti_comm *comm, tutti_request *r, void *stream) {
  r->stream = stream;
  const bool learns = r->call.coll == TUTTI_ALLREDUCE && r->staged &&
                      tt_call_bytes(comm, &r->call) / 2 >
                          comm->wire->size.flag && /* the host sums shorter vectors */
                      tt_staged_learns(r->staged);
  r->detached = r->ops == &tt_collective_ops && !learns && has_driver(comm);
  if (!r->detached) { /* return when the result has arrived, which keeps the stream's order, too */
    tt_request_issue(r);
    const tutti_status status = tt_request_finish(r);
    tt_request_drop(r);
    return status;
  }
  append(comm, r);
  tt_comm_list(comm, true);
  tt_request_issue(r);
  tt_progress(comm);
  if (r->staged) hold_when_decided(comm, r);
  return TUTTI_OK;
}

tutti_status tt_call_on_stream(tutti_comm *comm, const char *function, const tt_call *call,
                               void *stream, tt_check_fn *check) {
  tutti_status status = tt_comm_enter(comm, function);
  if (status) return status;
  bool in_place;
  tutti_request *r = NULL;
  status = check(comm, function, call, &in_place);
  if (!status && !wait_for_streams(comm, TT_STREAM_CALLS - 1))
    status = tt_say_interrupted(function);
  if (!status) status = tt_collective_new(comm, function, call, in_place, &r);
  if (!status && !r->staged && tt_call_bytes(comm, call)) {
    tt_request_drop(r);
    status = tt_fail(TUTTI_ERR_ARG,
                     "%s: its vectors are in host memory, which streams do not order; use the "
                     "blocking function",
                     function);
  } else if (!status) {
    status = issue(comm, r, stream);
  }
  tt_comm_leave(comm);
  return status;
}

tutti_status tutti_stream_wait(tutti_comm *comm) {
  tutti_status status = tt_comm_enter(comm, "tutti_stream_wait");
  if (status) return status;
  status = tt_streams_wait(comm, "tutti_stream_wait");
  if (!status && comm->broken) status = tt_fail(comm->broken, "%s", comm->why);
  tt_comm_leave(comm);
  return status;
}

void tt_streams_drop(tutti_comm *comm) {
  free_those_over(comm);
  if (comm->flight->on_streams.thread) tt_thread_want(false);
  comm->flight->on_streams.thread = false;
}
