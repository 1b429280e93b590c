/* datatype.h - layouts of the program's types in memory.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SHIM_DATATYPE_H
#define SHIM_DATATYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "next.h"
#include "tutti.h"

/* Classes of predefined types. The class of a type determines which ops are permitted (MPI-3.1, 5.9.2). */
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
  tutti_type type; /* the corresponding tutti type, or TUTTI_TYPE_COUNT */
  size_t size;
  MPI_Aint extent;
} named_type;

/* The layout of the elements of a type. Each element has `size` bytes, and begins `extent` bytes after the previous one. The
 * first begins `lower` bytes after the buffer's address. plain: the elements are in order, and consecutive without holes. */
typedef struct layout {
  size_t size;
  MPI_Aint lower, extent;
  bool plain, dense; /* dense: without holes, in any order */
} layout;

/* Fills the table of predefined types. Call this first. */
void datatype_begin(void);
/* Marks types that the MPI does not accept in reductions. Calls may then only move elements of these types. */
void datatype_check(bool takes(const named_type *type));
/* Returns NULL if the type is not predefined. */
const named_type *datatype_named(MPI_Datatype type);
/* Returns false if the type is invalid. */
bool datatype_layout(MPI_Datatype type, layout *l);
/* Returns the address of the first byte of the data in a buffer. If the buffer is MPI_BOTTOM, its address counts as 0. */
static inline char *datatype_start(const void *buffer, const layout *l) {
  return (char *)((uintptr_t)buffer + (uintptr_t)l->lower);
}
/* These functions pack `count` elements into consecutive bytes, and unpack them. They return MPI's error code. */
int datatype_pack(const void *from, size_t count, MPI_Datatype type, const layout *l, char *bytes,
                  MPI_Comm comm);
int datatype_unpack(char *bytes, void *to, size_t count, MPI_Datatype type, const layout *l,
                    MPI_Comm comm);

#endif
