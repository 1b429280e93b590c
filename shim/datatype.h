/* datatype.h - the program's types as bytes.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SHIM_DATATYPE_H
#define SHIM_DATATYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "next.h"
#include "tutti.h"

/* Classes of predefined types: they determine the ops allowed on them (MPI-3.1, 5.9.2). */
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
  tutti_type type; /* the equal tutti type; TUTTI_TYPE_COUNT: none */
  size_t size;
  MPI_Aint extent;
} named_type;

/* Elements of a type: `size` bytes each, `extent` apart, the first at the buffer's address plus
 * `lower`. Plain: consecutive, without holes, in the order of the type. */
typedef struct layout {
  size_t size;
  MPI_Aint lower, extent;
  bool plain, dense; /* dense: without holes, in any order */
} layout;

/* Fill the table of predefined types; call first. */
void datatype_begin(void);
/* Types that the MPI does not take in reductions are only moved. */
void datatype_check(bool takes(const named_type *type));
/* NULL: not a predefined type. */
const named_type *datatype_named(MPI_Datatype type);
/* False: not a valid type. */
bool datatype_layout(MPI_Datatype type, layout *l);
/* The address of its first byte; MPI_BOTTOM is address 0. */
static inline char *datatype_start(const void *buffer, const layout *l) {
  return (char *)((uintptr_t)buffer + (uintptr_t)l->lower);
}
/* Pack `count` elements into consecutive bytes, and unpack them; returns MPI's error. */
int datatype_pack(const void *from, size_t count, MPI_Datatype type, const layout *l, char *bytes,
                  MPI_Comm comm);
int datatype_unpack(char *bytes, void *to, size_t count, MPI_Datatype type, const layout *l,
                    MPI_Comm comm);

#endif
