/* request.c - nonblocking and persistent collectives.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "collective.h"
#include "comm_wisdom.h"
#include "exact.h"

static void free_collective(tutti_request *r) {
  free(r);
}

static const tt_request_ops collective_request = {.issue = tt_request_enqueue,
                                                  .free = free_collective};

/* Checks and plans a call, and makes its request. */
static tutti_status plan_request(tutti_comm *comm, const char *function, const void *what,
                                 tutti_request **request) {
  const tt_call *call = what;
  bool in_place;
  const tt_plan *plan;
  tutti_status status = tt_call_check(comm, function, call, &in_place);
  if (!status && tt_exact_concerns(comm, call)) return tt_exact_new(comm, function, call, request);
  if (!status) status = tt_plan_for(comm, call, in_place, &plan);
  if (status) return status;
  const size_t table = plan->table ? ((size_t)comm->ranks + 1) * sizeof *plan->table : 0;
  tutti_request *r = malloc(sizeof *r + table);
  if (!r) return tt_fail(TUTTI_ERR_MEMORY, "%s: out of memory for a request", function);
  *r = (tutti_request){.ops = &collective_request, .comm = comm, .call = *call, .plan = *plan};
  if (table) r->plan.exec.table = memcpy(r + 1, plan->table, table);
  *request = r;
  return TUTTI_OK;
}

/* The same; if this rank is out of memory, the others are informed. The comm is entered. */
static tutti_status plan_or_report_memory(tutti_comm *comm, const char *function, const void *what,
                                          tutti_request **request) {
  return tt_break_if_memory(comm, plan_request(comm, function, what, request));
}

/* The same for a persistent request: its call may be measured first. */
static tutti_status ready_to_last(tutti_comm *comm, const char *function, const void *what,
                                  tutti_request **request) {
  bool in_place;
  tutti_status status = tt_call_check(comm, function, what, &in_place);
  if (!status && comm->measures) status = tt_measure_first(comm, what);
  return status ? status : plan_or_report_memory(comm, function, what, request);
}

/* A blocking exact sum, which needs a request. The comm is entered. */
static tutti_status finish_exact(tutti_comm *comm, const char *function, const tt_call *call) {
  tutti_request *r;
  tutti_status status = plan_or_report_memory(comm, function, call, &r);
  if (status) return status;
  tt_request_issue(r);
  status = tt_request_finish(r);
  r->ops->free(r);
  return status;
}

tutti_status tt_call_run(tutti_comm *comm, const tt_call *call, const tt_plan *plan) {
  if (tt_finish_at_once(comm, call, plan)) return TUTTI_OK;
  tutti_request r = {.ops = &collective_request, .comm = comm, .call = *call, .plan = *plan};
  tt_request_issue(&r);
  return tt_request_finish(&r);
}

tutti_status tt_collective(tutti_comm *comm, const char *function, const tt_call *call) {
  tutti_status status = tt_comm_enter(comm, function);
  if (status) return status;
  tt_trace *trace = call->everyone ? NULL : comm->trace;
  if (trace) tt_trace_call(trace);
  bool in_place;
  const tt_plan *plan = comm->last_plan;
  const bool again = tt_call_is_last(comm, call);
  if (!again && tt_exact_concerns(comm, call)) {
    status = finish_exact(comm, function, call);
    tt_trace_out(trace, TT_EVENT_CALL);
    tt_comm_leave(comm);
    return status;
  }
  if (!again) {
    status = tt_call_check(comm, function, call, &in_place);
    if (!status && comm->measures) status = tt_measure_first(comm, call);
    if (!status) status = tt_break_if_memory(comm, tt_plan_for(comm, call, in_place, &plan));
    /* a user's op may be freed meanwhile, and counts may change */
    if (!status && call->op < TUTTI_OP_USER && !call->varied && !call->said) {
      comm->last = *call;
      comm->last_plan = plan;
      comm->changes++;
    }
  }
  if (!status) status = tt_call_run(comm, again ? &comm->last : call, plan);
  tt_trace_out(trace, TT_EVENT_CALL);
  tt_comm_leave(comm);
  return status;
}

tutti_status tt_request_make(tutti_comm *comm, const char *function, tt_ready_fn *get_ready,
                             const void *what, bool persistent, tutti_request **request) {
  if (!request) return tt_fail(TUTTI_ERR_ARG, "%s: request is NULL", function);
  *request = NULL;
  tutti_status status = tt_comm_enter(comm, function);
  if (status) return status;
  tt_trace_in(comm->trace, false);
  tutti_request *r = NULL;
  status = get_ready(comm, function, what, &r);
  if (!status) {
    r->persistent = persistent;
    comm->requests++;
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

tutti_status tt_collective_start(tutti_comm *comm, const char *function, const tt_call *call,
                                 tutti_request **request) {
  return tt_request_make(comm, function, plan_or_report_memory, call, false, request);
}

tutti_status tt_collective_init(tutti_comm *comm, const char *function, const tt_call *call,
                                tutti_request **request) {
  return tt_request_make(comm, function, ready_to_last, call, true, request);
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

static void free_request(tutti_request **request) {
  tutti_request *r = *request;
  r->comm->requests--;
  r->ops->free(r);
  *request = NULL;
}

/* Returns the status of a complete request, and frees the request or makes it idle. */
static tutti_status retire_request(tutti_request **request) {
  tutti_request *r = *request;
  tutti_status status = r->status ? tt_fail(r->status, "%s", r->comm->why) : TUTTI_OK;
  r->state = TT_IDLE;
  if (r->persistent) return status;
  free_request(request);
  return status;
}

/* again: if interrupted, the request continues and may be waited for again. */
static tutti_status wait_and_retire(tutti_request **request, bool again) {
  tutti_status status = tt_alive(), ended = TUTTI_OK;
  if (status) return status;
  if (!request) return tt_fail(TUTTI_ERR_ARG, "tutti_request_wait: request is NULL");
  tutti_request *r = *request;
  if (!r) return TUTTI_OK;
  if ((status = tt_comm_enter_failed_too(r->comm, "tutti_request_wait"))) return status;
  tutti_comm *comm = r->comm;
  if (r->state == TT_RUNNING && r->message && tt_p2p_is_alone(comm->p2p, r->message)) {
    tt_comm_leave(comm);
    return tt_fail(TUTTI_ERR_STATE,
                   "tutti_request_wait: rank %d %s itself, and has not started the other half of "
                   "it: it would wait for ever",
                   comm->rank, r->message->sends ? "sends to" : "receives from");
  }
  tt_trace_in(comm->trace, true);
  const bool running = r->state == TT_QUEUED || r->state == TT_RUNNING;
  if (running && !again) ended = tt_request_finish(r);
  if (running && again && !tt_request_await(r)) status = tt_say_interrupted("tutti_request_wait");
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
  if (r->state == TT_QUEUED || r->state == TT_RUNNING) {
    status = tt_fail(TUTTI_ERR_STATE, "tutti_request_free: it is running; wait for it first");
  } else {
    free_request(request);
  }
  tt_comm_leave(comm);
  return status;
}
