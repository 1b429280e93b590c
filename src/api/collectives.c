/* collectives.c - the public collectives, blocking and nonblocking. The other forms take a tutti_call (calls.c).
 *
 * Idea       Collectives differ only in their parameters, so each is defined by two lists: the parameters, and the
 *            fields of the tt_call built from them. A call is checked and gets a plan. Then it runs immediately
 *            or becomes a request. A blocking call that equals the previous call needs no check and no plan.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "call.h"

#include "measure.h"

static tutti_status check_and_measure(tutti_comm *comm, const char *function, const tt_call *call,
                                      bool *in_place) {
  const tutti_status status = tt_call_check(comm, function, call, in_place);
  return status ? status : tt_measure_first(comm, call);
}

static tutti_status run_blocking(tutti_comm *comm, const char *function, const tt_call *call) {
  return tt_call_block(comm, function, call, check_and_measure);
}

static tutti_status make(tutti_comm *comm, const char *function, const void *call,
                         tutti_request **request) {
  bool in_place;
  const tutti_status status = tt_call_check(comm, function, call, &in_place);
  return status ? status : tt_collective_new(comm, function, call, in_place, request);
}

static tutti_status start_nonblocking(tutti_comm *comm, const char *function, const tt_call *call,
                                      tutti_request **request) {
  return tt_request_make(comm, function, make, call, false, request);
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
  }

#define VECTORS .src = src, .dst = dst, .type = type
#define EACH    VECTORS, .count = count
#define VARIED  VECTORS, .varied = true, .counts = counts

COLLECTIVE(allreduce, LIST(const void *src, void *dst, size_t count, tutti_type type, tutti_op op),
           LIST(.coll = TUTTI_ALLREDUCE, EACH, .op = op))
COLLECTIVE(reduce_scatter,
           LIST(const void *src, void *dst, size_t count, tutti_type type, tutti_op op),
           LIST(.coll = TUTTI_REDUCE_SCATTER, EACH, .op = op))
COLLECTIVE(reduce_scatterv,
           LIST(const void *src, void *dst, const size_t *counts, tutti_type type, tutti_op op),
           LIST(.coll = TUTTI_REDUCE_SCATTER, VARIED, .op = op))
COLLECTIVE(allgather, LIST(const void *src, void *dst, size_t count, tutti_type type),
           LIST(.coll = TUTTI_ALLGATHER, EACH))
COLLECTIVE(allgatherv, LIST(const void *src, void *dst, const size_t *counts, tutti_type type),
           LIST(.coll = TUTTI_ALLGATHER, VARIED))
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
COLLECTIVE(gatherv,
           LIST(const void *src, void *dst, const size_t *counts, tutti_type type, int root),
           LIST(.coll = TUTTI_GATHER, VARIED, .root = root))
COLLECTIVE(scatterv,
           LIST(const void *src, void *dst, const size_t *counts, tutti_type type, int root),
           LIST(.coll = TUTTI_SCATTER, VARIED, .root = root))
COLLECTIVE(alltoallv,
           LIST(const void *src, const size_t *counts, void *dst, const size_t *recv_counts,
                tutti_type type),
           LIST(.coll = TUTTI_ALLTOALL, VARIED, .recv_counts = recv_counts))
COLLECTIVE(alltoall, LIST(const void *src, void *dst, size_t count, tutti_type type),
           LIST(.coll = TUTTI_ALLTOALL, EACH))

tutti_status tutti_barrier(tutti_comm *comm) {
  const tt_call call = tt_barrier_call(comm);
  return run_blocking(comm, "tutti_barrier", &call);
}

tutti_status tutti_barrier_start(tutti_comm *comm, tutti_request **request) {
  const tt_call call = tt_barrier_call(comm);
  return start_nonblocking(comm, "tutti_barrier_start", &call, request);
}
