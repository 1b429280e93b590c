/* uses.h - keeps ops and types that unfinished collectives need, because the program may free them
 * earlier.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SHIM_USES_H
#define SHIM_USES_H

#include "async.h"

typedef struct use {
  struct use *next;
  const async_call *call;
  MPI_Request request; /* of a collective in progress, or MPI_REQUEST_NULL */
} use;

void use_begin(use *u, const async_call *call, MPI_Request request);
/* Records that a collective no longer uses its op and types, and frees those that no other collective uses. */
void use_end(use *u);
/* Called when the program frees an op or a type. If a collective still uses the object, these functions postpone the free and
 * return true. */
bool uses_keep_op(MPI_Op *op);
bool uses_keep_type(MPI_Datatype *type);
/* Returns true if the request belongs to a collective in progress. */
bool uses_have(MPI_Request request);

#endif
