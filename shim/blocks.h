/* blocks.h - the blocks of all ranks in a buffer of the program, at arbitrary displacements.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SHIM_BLOCKS_H
#define SHIM_BLOCKS_H

#include "serve.h"

typedef struct blocks {
  state *s;
  char *at; /* the buffer */
  MPI_Datatype type;
  layout layout;
  numbers counts, displs; /* if .at is NULL, all blocks have `count` elements and are contiguous */
  MPI_Aint count;
  size_t *bytes;           /* size of each block; has room for all ranks, and is filled in by
                              blocks_measure */
  size_t all, own, before; /* total size, size of this rank's block, and size of the blocks before
                              it, in bytes */
  bool even, in_a_row;     /* even: all blocks have the same size; in_a_row: laid out as tutti
                              requires */
} blocks;

/* One block in a separate buffer. */
typedef struct block {
  const char *at;
  size_t count;
  MPI_Datatype type;
  layout layout;
} block;

/* Fills in the sizes of the blocks, and the fields `even` and `in_a_row`. Returns false if the MPI rejects the arguments. */
bool blocks_measure(blocks *b);
MPI_Aint blocks_count(const blocks *b, int rank);
char *blocks_place(const blocks *b, int rank);
/* blocks_spread unpacks all blocks from consecutive bytes, and blocks_collect packs them. Both return MPI's error code. */
int blocks_spread(const blocks *b, char *bytes, MPI_Comm comm);
int blocks_collect(const blocks *b, char *bytes, MPI_Comm comm);

#endif
