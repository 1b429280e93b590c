/* collective.c - blocking, nonblocking and persistent collectives: checked, planned and run.
 *
 * Idea       a call is checked and gets a plan, then runs at once or becomes a request. A blocking
 *            call that equals the last one needs neither check nor plan.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "collective.h"
#include "request.h"

#include "comm_wisdom.h"
#include "tracing.h"

/* Checks and plans a call, and makes its request. The comm is entered. */
static tutti_status plan_request(tutti_comm *comm, const char *function, const void *what,
                                 tutti_request **request) {
  const tt_call *call = what;
  bool in_place;
  const tt_plan *plan;
  tutti_status status = tt_call_check(comm, function, call, &in_place);
  if (!status && tt_call_is_exact(comm, call)) {
    status = tt_exact_new(comm, function, call, request);
  } else {
    if (!status) status = tt_plan_for(comm, call, in_place, &plan);
    if (!status) status = tt_request_new(comm, function, call, plan, request);
  }
  return tt_break_if_memory(comm, status);
}

/* The same for a persistent request: its call may be measured first. */
static tutti_status measure_and_plan_request(tutti_comm *comm, const char *function,
                                             const void *what, tutti_request **request) {
  bool in_place;
  tutti_status status = tt_call_check(comm, function, what, &in_place);
  if (!status && comm->settings.measures) status = tt_measure_first(comm, what);
  return status ? status : plan_request(comm, function, what, request);
}

/* An exact sum needs a request even if it blocks. */
static tutti_status run_exact(tutti_comm *comm, const char *function, const tt_call *call) {
  tutti_request *r;
  tutti_status status = plan_request(comm, function, call, &r);
  if (status) return status;
  tt_request_issue(r);
  status = tt_request_finish(r);
  r->ops->free(r);
  return status;
}

static tutti_status check_plan_and_run(tutti_comm *comm, const char *function,
                                       const tt_call *call) {
  bool in_place;
  const tt_plan *plan;
  if (tt_call_is_exact(comm, call)) return run_exact(comm, function, call);
  tutti_status status = tt_call_check(comm, function, call, &in_place);
  if (!status && comm->settings.measures) status = tt_measure_first(comm, call);
  if (!status) status = tt_break_if_memory(comm, tt_plan_for(comm, call, in_place, &plan));
  if (status) return status;
  /* a user's op may be freed meanwhile, and counts may change */
  if (call->op < TUTTI_OP_USER && !call->varied) tt_call_keep(comm, call, plan);
  return tt_call_run(comm, call, plan);
}

tutti_status tt_collective(tutti_comm *comm, const char *function, const tt_call *call) {
  tutti_status status = tt_comm_enter(comm, function);
  if (status) return status;
  if (__builtin_expect(comm->trace != NULL, 0)) tt_trace_call(comm->trace);
  if (!tt_call_again(comm, call, &status)) status = check_plan_and_run(comm, function, call);
  tt_trace_out(comm->trace, TT_EVENT_CALL);
  tt_comm_leave(comm);
  return status;
}

tutti_status tt_collective_start(tutti_comm *comm, const char *function, const tt_call *call,
                                 tutti_request **request) {
  return tt_request_make(comm, function, plan_request, call, false, request);
}

tutti_status tt_collective_init(tutti_comm *comm, const char *function, const tt_call *call,
                                tutti_request **request) {
  return tt_request_make(comm, function, measure_and_plan_request, call, true, request);
}
