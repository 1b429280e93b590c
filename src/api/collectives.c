/* collectives.c - the public collectives: blocking, nonblocking and persistent calls.
 *
 * Idea       Collectives differ only in their parameters, so each is two lists: the parameters, and
 *            the tt_call that follows from them. A call is checked and gets a plan, then runs at
 *            once or becomes a request. A blocking call that equals the last one needs neither
 *            check nor plan.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "call.h"

#include "comm_wisdom.h"
#include "request.h"
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
  tt_request_drop(r);
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

static tutti_status run_blocking(tutti_comm *comm, const char *function, const tt_call *call) {
  tutti_status status = tt_comm_enter(comm, function);
  if (status) return status;
  if (__builtin_expect(comm->trace != NULL, 0)) tt_trace_call(comm->trace);
  if (!tt_call_again(comm, call, &status)) status = check_plan_and_run(comm, function, call);
  if (__builtin_expect(comm->trace != NULL, 0)) tt_trace_leave(comm->trace, TT_EVENT_CALL);
  tt_comm_leave(comm);
  return status;
}

static tutti_status start_nonblocking(tutti_comm *comm, const char *function, const tt_call *call,
                                      tutti_request **request) {
  return tt_request_make(comm, function, plan_request, call, false, request);
}

static tutti_status make_persistent(tutti_comm *comm, const char *function, const tt_call *call,
                                    tutti_request **request) {
  return tt_request_make(comm, function, measure_and_plan_request, call, true, request);
}

/* ---- the public functions ---- */

#define LIST(...) __VA_ARGS__
#define COLLECTIVE(name, parameters, fields)                                                 \
  tutti_status tutti_##name(tutti_comm *comm, parameters) {                                  \
    const tt_call call = {fields};                                                           \
    return run_blocking(comm, "tutti_" #name, &call);                                        \
  }                                                                                          \
  tutti_status tutti_##name##_start(tutti_comm *comm, parameters, tutti_request **request) { \
    const tt_call call = {fields};                                                           \
    return start_nonblocking(comm, "tutti_" #name "_start", &call, request);                 \
  }                                                                                          \
  tutti_status tutti_##name##_init(tutti_comm *comm, parameters, tutti_request **request) {  \
    const tt_call call = {fields};                                                           \
    return make_persistent(comm, "tutti_" #name "_init", &call, request);                    \
  }

#define VECTORS .src = src, .dst = dst, .type = type
#define EACH    VECTORS, .count = count
#define VARIED  VECTORS, .varied = true, .counts = counts

COLLECTIVE(allreduce, LIST(const void *src, void *dst, size_t count, tutti_type type, tutti_op op),
           LIST(.coll = TUTTI_ALLREDUCE, EACH, .op = op))
COLLECTIVE(reduce_scatter,
           LIST(const void *src, void *dst, size_t count, tutti_type type, tutti_op op),
           LIST(.coll = TUTTI_REDUCE_SCATTER, EACH, .op = op))
COLLECTIVE(reduce_scatter_v,
           LIST(const void *src, void *dst, const size_t *counts, tutti_type type, tutti_op op),
           LIST(.coll = TUTTI_REDUCE_SCATTER, VARIED, .op = op))
COLLECTIVE(all_gather, LIST(const void *src, void *dst, size_t count, tutti_type type),
           LIST(.coll = TUTTI_ALL_GATHER, EACH))
COLLECTIVE(all_gather_v, LIST(const void *src, void *dst, const size_t *counts, tutti_type type),
           LIST(.coll = TUTTI_ALL_GATHER, VARIED))
COLLECTIVE(broadcast, LIST(const void *src, void *dst, size_t count, tutti_type type, int root),
           LIST(.coll = TUTTI_BROADCAST, EACH, .root = root))
COLLECTIVE(reduce,
           LIST(const void *src, void *dst, size_t count, tutti_type type, tutti_op op, int root),
           LIST(.coll = TUTTI_REDUCE, EACH, .op = op, .root = root))

COLLECTIVE(scan, LIST(const void *src, void *dst, size_t count, tutti_type type, tutti_op op),
           LIST(.coll = TUTTI_SCAN, EACH, .op = op))
COLLECTIVE(exscan, LIST(const void *src, void *dst, size_t count, tutti_type type, tutti_op op),
           LIST(.coll = TUTTI_EXSCAN, EACH, .op = op))
COLLECTIVE(gather, LIST(const void *src, void *dst, size_t count, tutti_type type, int root),
           LIST(.coll = TUTTI_GATHER, EACH, .root = root))
COLLECTIVE(scatter, LIST(const void *src, void *dst, size_t count, tutti_type type, int root),
           LIST(.coll = TUTTI_SCATTER, EACH, .root = root))
COLLECTIVE(all_to_all, LIST(const void *src, void *dst, size_t count, tutti_type type),
           LIST(.coll = TUTTI_ALL_TO_ALL, EACH))

/* A barrier is an allreduce of one byte whose result is ignored. */
static const tt_call barrier = {
    .coll = TUTTI_BARRIER, .count = 1, .type = TUTTI_UINT8, .op = TUTTI_MAX};

static tt_call barrier_of(tutti_comm *comm) {
  tt_call call = barrier;
  call.src = call.dst = comm ? comm->token : NULL;
  return call;
}

tutti_status tutti_barrier(tutti_comm *comm) {
  const tt_call call = barrier_of(comm);
  return run_blocking(comm, "tutti_barrier", &call);
}

tutti_status tutti_barrier_start(tutti_comm *comm, tutti_request **request) {
  const tt_call call = barrier_of(comm);
  return start_nonblocking(comm, "tutti_barrier_start", &call, request);
}

tutti_status tutti_barrier_init(tutti_comm *comm, tutti_request **request) {
  const tt_call call = barrier_of(comm);
  return make_persistent(comm, "tutti_barrier_init", &call, request);
}
