/* collectives.c - the public collectives: each is a call, made in three manners.
 *
 * Idea       a collective differs from the next only in its parameters, so each is
 *            two lists: what it takes, and the tt_call that follows from it.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "collective.h"

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

COLLECTIVE(allreduce, LIST(const void *src, void *dst, size_t count, tutti_type type, tutti_op op),
           LIST(TUTTI_ALLREDUCE, src, dst, count, type, op, 0))
COLLECTIVE(reduce_scatter,
           LIST(const void *src, void *dst, size_t count, tutti_type type, tutti_op op),
           LIST(TUTTI_REDUCE_SCATTER, src, dst, count, type, op, 0))
COLLECTIVE(all_gather, LIST(const void *src, void *dst, size_t count, tutti_type type),
           LIST(TUTTI_ALL_GATHER, src, dst, count, type, TUTTI_SUM, 0))
COLLECTIVE(broadcast, LIST(const void *src, void *dst, size_t count, tutti_type type, int root),
           LIST(TUTTI_BROADCAST, src, dst, count, type, TUTTI_SUM, root))
COLLECTIVE(reduce,
           LIST(const void *src, void *dst, size_t count, tutti_type type, tutti_op op, int root),
           LIST(TUTTI_REDUCE, src, dst, count, type, op, root))

/* A barrier is an allreduce of one byte that nobody looks at. */
static const tt_call barrier = {TUTTI_BARRIER, NULL, NULL, 1, TUTTI_UINT8, TUTTI_MAX, 0};

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
