/* reduction.h - a type and an op of MPI's as those of tutti's.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SHIM_REDUCTION_H
#define SHIM_REDUCTION_H

#include "datatype.h"
#include "report.h"

typedef struct reduction {
  tutti_type type;
  tutti_op op;
  size_t element; /* bytes, also between one and the next */
  shim_why why;   /* not WHY_SERVED: it cannot be done so, on no rank */
} reduction;

/* Fills the tables; before anything else. */
void reduction_begin(void);
/* Of this thread's next call, for an op may be one that the MPI computes. */
reduction reduction_of(MPI_Datatype type, MPI_Op op);

#endif
