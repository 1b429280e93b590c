/* reduction.h - maps MPI's types and ops to tutti's.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SHIM_REDUCTION_H
#define SHIM_REDUCTION_H

#include "datatype.h"
#include "report.h"

typedef struct reduction {
  tutti_type type;
  tutti_op op;
  size_t element; /* size in bytes; also the extent */
  shim_why why;   /* if not WHY_SERVED, the reduction is not possible on any rank */
} reduction;

/* Fills the tables. Call this first. */
void reduction_begin(void);
/* Returns the tutti type and op for an MPI type and op. The result is valid only for the next call of this thread, because
 * the MPI may have to compute the op. */
reduction reduction_of(MPI_Datatype type, MPI_Op op);

#endif
