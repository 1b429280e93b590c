/* drop_kinds.h - the predefined types of an MPI: how to put a small number into one and how to
 * compare two (padding does not count).
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef DROP_KINDS_H
#define DROP_KINDS_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct drop_kind {
  const char *name;
  char group; /* i integer, f Fortran's, m for addresses, r real, c complex, l logical, b byte, p
               * pair, x character */
  MPI_Datatype type;
  size_t size; /* bytes of an element in memory */
  void (*put)(void *at, size_t i, int value);
  bool (*equal)(const void *a, const void *b, size_t i);
} drop_kind;

/* The number of kinds; MPI must be initialized. Kinds that the MPI lacks are left out. */
int drop_kinds(const drop_kind **kinds);

#endif
