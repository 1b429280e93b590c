/* many.h - inside the API: a list of buffers as one operation (many.c).
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_MANY_H
#define TT_MANY_H

#include "request.h"

/* The arguments of tutti_allreduce_many. */
typedef struct tt_list {
  size_t n;
  const void *const *srcs;
  void *const *dsts;
  const size_t *counts;
  tutti_type type;
  tutti_op op;
} tt_list;

/* Checks the list, cuts it into parts and makes their request. The comm is entered. */
tutti_status tt_many_new(tutti_comm *comm, const char *function, const void *list,
                         tutti_request **whole);

/* Checks every buffer, and that none overlaps another (overlaps.c). */
tutti_status tt_list_check(const tutti_comm *comm, const char *function, const tt_list *list);

#endif
