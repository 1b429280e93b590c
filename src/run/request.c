/* request.c - nonblocking and persistent collectives.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flight.h"

const tt_request_ops tt_collective_ops = {.issue = tt_request_enqueue};

void tt_request_tag(tutti_request *r, const char *tag) {
  r->call.tag = tag ? r->tag : NULL;
  if (tag) snprintf(r->tag, sizeof r->tag, "%s", tag);
}

static tutti_status new_planned(tutti_comm *comm, const char *function, const tt_call *call,
                                const tt_plan *plan, tutti_request **request) {
  const size_t tables = !plan->table        ? 0
                        : call->recv_counts ? 2
                                            : 1,
               table = tables * ((size_t)comm->ranks + 1) * sizeof *plan->table;
  tutti_request *r = malloc(sizeof *r + table + (call->override ? sizeof *call->override : 0));
  if (!r) return tt_fail(TUTTI_ERR_MEMORY, "%s: out of memory for a request", function);
  *r = (tutti_request){.ops = &tt_collective_ops, .comm = comm, .call = *call, .plan = *plan};
  r->staged = call->staged;
  tt_request_tag(r, call->tag);
  if (call->override) /* the caller's may end before the request */
    r->call.override = memcpy((char *)(r + 1) + table, call->override, sizeof *call->override);
  if (call->code) r->wish = *call->code, r->call.code = &r->wish;
  if (table) r->plan.exec.table = memcpy(r + 1, plan->table, table);
  *request = r;
  return TUTTI_OK;
}

static tutti_status new_on_host(tutti_comm *comm, const char *function, const tt_call *call,
                                bool in_place, tutti_request **request) {
  const bool exact = tt_call_is_exact(comm, call);
  const tt_plan *plan;
  tutti_status status = exact ? tt_exact_new(comm, function, call, request)
                              : tt_plan_for(comm, call, in_place, &plan);
  if (!status && !exact) status = new_planned(comm, function, call, plan, request);
  return status;
}

tutti_status tt_collective_new(tutti_comm *comm, const char *function, const tt_call *call,
                               bool in_place, tutti_request **request) {
  tt_call hosted = *call;
  tt_staged *staged = NULL;
  tutti_status status = TUTTI_OK;
  if (tt_device()) status = tt_device_call(comm, function, call, in_place, &hosted, &staged);
  if (!status) status = new_on_host(comm, function, &hosted, in_place, request);
  if (status)
    tt_staged_free(staged);
  else
    (*request)->staged = staged;
  return tt_break_if_memory(comm, status);
}

tutti_status tt_request_make(tutti_comm *comm, const char *function, tt_ready_fn *get_ready,
                             const void *what, bool persistent, tutti_request **request) {
  if (!request) return tt_fail(TUTTI_ERR_ARG, "%s: request is NULL", function);
  *request = NULL;
  tutti_status status = tt_comm_enter(comm, function);
  if (status) return status;
  tt_trace_in(comm->trace, false);
  tutti_request *r = NULL;
  status = tt_group_open(comm) ? tt_fail(TUTTI_ERR_STATE,
                                         "%s: in a group calls have no request; take the blocking "
                                         "one, which returns immediately",
                                         function)
                               : get_ready(comm, function, what, &r);
  if (!status) {
    r->persistent = persistent;
    comm->flight->requests++;
    if (!persistent) {
      tt_comm_list(comm, true);
      tt_request_issue(r);
      tt_progress(comm);
    }
    *request = r;
  }
  tt_trace_out(persistent || status ? NULL : comm->trace, TT_EVENT_START);
  tt_comm_leave(comm);
  return status;
}

tutti_status tutti_request_start(tutti_request *r) {
  if (!r) return tt_fail(TUTTI_ERR_ARG, "tutti_request_start: request is NULL");
  tutti_status status = tt_comm_enter(r->comm, "tutti_request_start");
  if (status) return status;
  tt_trace_in(r->comm->trace, false);
  if (r->state != TT_IDLE || !r->persistent) {
    status = tt_fail(TUTTI_ERR_STATE, "tutti_request_start: the request is %s",
                     r->persistent ? "running; wait for it first" : "not persistent");
  } else {
    tt_comm_list(r->comm, true);
    tt_request_issue(r);
    tt_progress(r->comm);
    tt_trace_out(r->comm->trace, TT_EVENT_START);
  }
  tt_comm_leave(r->comm);
  return status;
}

void tt_request_drop(tutti_request *r) {
  tt_staged_free(r->staged);
  if (r->ops->free)
    r->ops->free(r);
  else
    free(r);
}

static void free_request(tutti_request **request) {
  (*request)->comm->flight->requests--;
  tt_request_drop(*request);
  *request = NULL;
}

/* Returns the status of a completed request. Frees the request, or makes it idle if it is persistent. */
static tutti_status retire_request(tutti_request **request) {
  tutti_request *r = *request;
  tutti_status status = r->status ? tt_fail(r->status, "%s", r->comm->why) : TUTTI_OK;
  r->state = TT_IDLE;
  if (r->persistent) return status;
  free_request(request);
  return status;
}

/* Waits for a request, and frees it or makes it idle. If `again`, the caller can wait again after an interrupt. */
static tutti_status wait_and_retire(tutti_request **request, bool again) {
  tutti_status status = tt_alive(), ended = TUTTI_OK;
  if (status) return status;
  if (!request) return tt_fail(TUTTI_ERR_ARG, "tutti_request_wait: request is NULL");
  tutti_request *r = *request;
  if (!r) return TUTTI_OK;
  if ((status = tt_comm_enter_failed_too(r->comm, "tutti_request_wait"))) return status;
  tutti_comm *comm = r->comm;
  if (r->state == TT_RUNNING && r->message && tt_p2p_is_alone(comm->flight->p2p, r->message)) {
    tt_comm_leave(comm);
    return tt_fail(TUTTI_ERR_STATE,
                   "tutti_request_wait: rank %d %s itself, and has not started the other half of "
                   "it: it would wait for ever",
                   comm->rank, r->message->sends ? "sends to" : "receives from");
  }
  tt_trace_in(comm->trace, true);
  const bool running = r->state == TT_QUEUED || r->state == TT_RUNNING;
  if (running && !again) ended = tt_request_finish(r);
  if (running && again && !tt_request_await(r, false))
    status = tt_say_interrupted("tutti_request_wait");
  tt_trace_out(comm->trace, TT_EVENT_WAITS);
  if (r->state == TT_COMPLETE) status = retire_request(request);
  tt_comm_leave(comm);
  return ended ? ended : status;
}

tutti_status tutti_request_wait(tutti_request **request) {
  return wait_and_retire(request, true);
}

tutti_status tt_request_end(tutti_request **request) {
  return wait_and_retire(request, false);
}

tutti_status tutti_request_test(tutti_request **request, int *done) {
  tutti_status status = tt_alive();
  if (status) return status;
  if (!request || !done)
    return tt_fail(TUTTI_ERR_ARG, "tutti_request_test: %s is NULL", request ? "done" : "request");
  tutti_request *r = *request;
  *done = 1;
  if (!r || r->state == TT_IDLE) return TUTTI_OK;
  if ((status = tt_comm_enter_failed_too(r->comm, "tutti_request_test"))) return status;
  tutti_comm *comm = r->comm;
  tt_trace_in(comm->trace, false);
  if (r->state != TT_COMPLETE) tt_progress_polled(comm);
  tt_trace_out(comm->trace, TT_EVENT_TEST);
  if (r->state == TT_COMPLETE)
    status = retire_request(request);
  else
    *done = 0;
  tt_comm_leave(comm);
  return status;
}

tutti_status tutti_request_free(tutti_request **request) {
  tutti_status status = tt_alive();
  if (status) return status;
  if (!request || !*request) return TUTTI_OK;
  tutti_request *r = *request;
  if ((status = tt_comm_enter_failed_too(r->comm, "tutti_request_free"))) return status;
  tutti_comm *comm = r->comm;
  if (r->state == TT_RUNNING && r->message && tt_p2p_withdraw(comm->flight->p2p, r->message))
    tt_request_complete(r, TUTTI_ERR_ABORTED);
  if (r->state == TT_QUEUED || r->state == TT_RUNNING) {
    status = tt_fail(TUTTI_ERR_STATE, "tutti_request_free: it is running; wait for it first");
  } else {
    free_request(request);
  }
  tt_comm_leave(comm);
  return status;
}
