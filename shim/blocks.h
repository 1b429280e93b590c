/* blocks.h - the blocks of all ranks in a buffer of the program, at places of its choice.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SHIM_BLOCKS_H
#define SHIM_BLOCKS_H

#include "serve.h"

typedef struct blocks {
  state *s;
  char *at; /* the buffer */
  MPI_Datatype type;
  layout layout;
  numbers counts, displs; /* .at NULL: all have `count`, consecutively */
  MPI_Aint count;
  size_t *bytes;           /* of each block: room for all ranks, which blocks_measure fills */
  size_t all, own, before; /* bytes: of all blocks, of this rank's, of those before it */
  bool even, in_a_row;     /* even: blocks of one size; in_a_row: laid out as tutti needs them */
} blocks;

/* One block, in a buffer of its own. */
typedef struct block {
  const char *at;
  size_t count;
  MPI_Datatype type;
  layout layout;
} block;

/* Fills in the last fields. False: the MPI refuses it. */
bool blocks_measure(blocks *b);
MPI_Aint blocks_count(const blocks *b, int rank);
char *blocks_place(const blocks *b, int rank);
/* Unpack all from consecutive bytes, and pack them; returns MPI's error. */
int blocks_spread(const blocks *b, char *bytes, MPI_Comm comm);
int blocks_collect(const blocks *b, char *bytes, MPI_Comm comm);

#endif
