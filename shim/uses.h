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
/* Ends a use, and frees ops and types that no other collective needs. */
void use_end(use *u);
/* If a collective needs an op or a type that the program frees, the free is deferred. Then these return true. */
bool uses_keep_op(MPI_Op *op);
bool uses_keep_type(MPI_Datatype *type);
/* Returns true if this is the request of a collective in progress. */
bool uses_have(MPI_Request request);

#endif
