/* lists.h - two functions for calls on lists of buffers (tutti_call.h).
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef LISTS_H
#define LISTS_H

#include "call_of.h"

static inline tutti_status allreduce_many_start(tutti_comm *comm, size_t n, const void *const *srcs,
                                                void *const *dsts, const size_t *counts,
                                                tutti_type type, tutti_op op,
                                                tutti_request **request) {
  return tutti_call_start(
      comm,
      CALL(ALLREDUCE, .type = type, .op = op, .counts = counts, .n = n, .srcs = srcs, .dsts = dsts),
      request);
}

static inline tutti_status allreduce_many(tutti_comm *comm, size_t n, const void *const *srcs,
                                          void *const *dsts, const size_t *counts, tutti_type type,
                                          tutti_op op) {
  tutti_request *request;
  const tutti_status status = allreduce_many_start(comm, n, srcs, dsts, counts, type, op, &request);
  return status ? status : tutti_request_wait(&request);
}

#endif
