/* collectives.c - the public collectives: each is a call in three forms.
 *
 * Idea       collectives differ only in their parameters, so each is two lists: the
 *            parameters, and the tt_call that follows from them.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "collective.h"
#include "comm.h"

#define LIST(...) __VA_ARGS__
#define COLLECTIVE(name, parameters, fields)                                                 \
  tutti_status tutti_##name(tutti_comm *comm, parameters) {                                  \
    const tt_call call = {fields};                                                           \
    return tt_collective(comm, "tutti_" #name, &call);                                       \
  }                                                                                          \
  tutti_status tutti_##name##_start(tutti_comm *comm, parameters, tutti_request **request) { \
    const tt_call call = {fields};                                                           \
    return tt_collective_start(comm, "tutti_" #name "_start", &call, request);               \
  }                                                                                          \
  tutti_status tutti_##name##_init(tutti_comm *comm, parameters, tutti_request **request) {  \
    const tt_call call = {fields};                                                           \
    return tt_collective_init(comm, "tutti_" #name "_init", &call, request);                 \
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
  return tt_collective(comm, "tutti_barrier", &call);
}

tutti_status tutti_barrier_start(tutti_comm *comm, tutti_request **request) {
  const tt_call call = barrier_of(comm);
  return tt_collective_start(comm, "tutti_barrier_start", &call, request);
}

tutti_status tutti_barrier_init(tutti_comm *comm, tutti_request **request) {
  const tt_call call = barrier_of(comm);
  return tt_collective_init(comm, "tutti_barrier_init", &call, request);
}
