/* call.h - inside the API: the checks of a call (call.c), and requests of several parts (exact.c,
 * many.c).
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_CALL_H
#define TT_CALL_H

#include "comm_view.h"

/* Checks a call without its buffers: collective, type and op. Fills in the buffers of a barrier. */
tutti_status tt_call_check_kind(const char *function, tt_call *call);
/* Checks that an array of `count` elements can exist at `at`. */
tutti_status tt_vector_check(const char *function, const char *name, const void *at, size_t count,
                             tutti_type type);
/* Checks the arguments; *in_place: whether they are in place. */
tutti_status tt_call_check(const tutti_comm *comm, const char *function, const tt_call *call,
                           bool *in_place);

/* TUTTI_ERR_UNSUPPORTED: the contract is 'exact', and the op rounds, and is not a sum (exact.c). */
tutti_status tt_exact_check(const tutti_comm *comm, const char *function, const tt_call *call);

/* ---- requests of several parts ---- */

/* The arguments of tutti_allreduce_many: a list of buffers as one operation. */
typedef struct tt_list {
  size_t n;
  const void *const *srcs;
  void *const *dsts;
  const size_t *counts;
  tutti_type type;
  tutti_op op;
} tt_list;
/* Exact sums (exact.c): makes the request of a checked call, or of a list. The comm is entered. */
tutti_status tt_exact_new(tutti_comm *comm, const char *function, const tt_call *call,
                          tutti_request **whole);
tutti_status tt_exact_list(tutti_comm *comm, const char *function, const tt_list *list,
                           uint32_t also, tutti_request **whole);

#endif
