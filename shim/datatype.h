/* datatype.h - the program's types as bytes.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SHIM_DATATYPE_H
#define SHIM_DATATYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "next.h"
#include "tutti.h"

/* What MPI's ops may do with a predefined type (MPI-3.1, 5.9.2). */
typedef enum type_class {
  CLASS_NONE,
  CLASS_C_INTEGER,
  CLASS_FORTRAN_INTEGER,
  CLASS_FLOATING,
  CLASS_LOGICAL,
  CLASS_COMPLEX,
  CLASS_BYTE,
  CLASS_ADDRESS, /* MPI_AINT, MPI_OFFSET, MPI_COUNT */
  CLASS_PAIR
} type_class;

typedef struct named_type {
  MPI_Datatype handle;
  type_class class;
  tutti_type type; /* that is the same; TUTTI_TYPE_COUNT: none is */
  size_t size;
  MPI_Aint extent;
} named_type;

/* Elements of a type: `size` bytes each, `extent` apart, the first at the buffer's address
 * plus `lower`. Plain: one behind another without holes, in the order of the type. */
typedef struct layout {
  size_t size;
  MPI_Aint lower, extent;
  bool plain, dense; /* dense: without holes, in whatever order */
} layout;

/* Fills the table of predefined types; before anything else. */
void datatype_begin(void);
/* NULL: it is none of the predefined types. */
const named_type *datatype_named(MPI_Datatype type);
/* False: it is no type. */
bool datatype_layout(MPI_Datatype type, layout *l);
/* Where its bytes begin; MPI_BOTTOM is address 0. */
static inline char *datatype_start(const void *buffer, const layout *l) {
  return (char *)((uintptr_t)buffer + (uintptr_t)l->lower);
}
/* `count` elements into a row of bytes, and back; MPI's error. */
int datatype_pack(const void *from, size_t count, MPI_Datatype type, const layout *l, char *bytes,
                  MPI_Comm comm);
int datatype_unpack(char *bytes, void *to, size_t count, MPI_Datatype type, const layout *l,
                    MPI_Comm comm);

#endif
