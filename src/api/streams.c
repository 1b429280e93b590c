/* streams.c - the collectives of tutti_stream.h, in the order of a device's stream.
 *
 * Idea       each is the tt_call of its blocking form, and a stream.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "call.h"

static tutti_status check(tutti_comm *comm, const char *function, const tt_call *call,
                          bool *in_place) {
  return tt_call_check(comm, function, call, in_place);
}

#define LIST(...) __VA_ARGS__
#define ON(name, parameters, ...)                                                          \
  tutti_status tutti_##name##_on(tutti_comm *comm, const void *src, void *dst, parameters, \
                                 void *stream) {                                           \
    const tt_call call = {.src = src, .dst = dst, .type = type, __VA_ARGS__};              \
    return tt_call_on_stream(comm, "tutti_" #name "_on", &call, stream, check);            \
  }
#define SUMS  .count = count, .op = op
#define MOVES .count = count
#define V     .varied = true, .counts = counts

ON(allreduce, LIST(size_t count, tutti_type type, tutti_op op), .coll = TUTTI_ALLREDUCE, SUMS)
ON(reduce_scatter, LIST(size_t count, tutti_type type, tutti_op op), .coll = TUTTI_REDUCE_SCATTER,
   SUMS)
ON(all_gather, LIST(size_t count, tutti_type type), .coll = TUTTI_ALL_GATHER, MOVES)
ON(reduce_scatter_v, LIST(const size_t *counts, tutti_type type, tutti_op op),
   .coll = TUTTI_REDUCE_SCATTER, V, .op = op)
ON(all_gather_v, LIST(const size_t *counts, tutti_type type), .coll = TUTTI_ALL_GATHER, V)
ON(broadcast, LIST(size_t count, tutti_type type, int root), .coll = TUTTI_BROADCAST, MOVES,
   .root = root)
ON(reduce, LIST(size_t count, tutti_type type, tutti_op op, int root), .coll = TUTTI_REDUCE, SUMS,
   .root = root)
ON(scan, LIST(size_t count, tutti_type type, tutti_op op), .coll = TUTTI_SCAN, SUMS)
ON(exscan, LIST(size_t count, tutti_type type, tutti_op op), .coll = TUTTI_EXSCAN, SUMS)
ON(gather, LIST(size_t count, tutti_type type, int root), .coll = TUTTI_GATHER, MOVES, .root = root)
ON(scatter, LIST(size_t count, tutti_type type, int root), .coll = TUTTI_SCATTER, MOVES,
   .root = root)
ON(all_to_all, LIST(size_t count, tutti_type type), .coll = TUTTI_ALL_TO_ALL, MOVES)
