/* table.h - the rows that all ranks bring to a round of a meeting, in memory that a host's ranks share.
 *
 * Idea       A table is P + 1 offsets and then the rows. An agent receives it into a memfd, seals it,
 *            and hands the descriptor to the ranks of its host: a host has each table once.
 * Invariant  No process can change, cut or extend a sealed table: a rank that maps one checks the seals,
 *            and then the offsets.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_TABLE_H
#define TT_TABLE_H

#include "core.h"

typedef struct tt_table {
  char *base; /* NULL: none */
  size_t bytes;
  int fd; /* of the memfd; -1: not shared, or closed after mapping */
} tt_table;

static inline size_t tt_row_bytes(size_t bytes) { /* of a row in a table */
  return (bytes + 7) / 8 * 8;
}
/* A rank's row, aligned for any number, and its bytes, rounded up to 8. */
static inline const void *tt_table_row(const tt_table *t, int rank, size_t *bytes) {
  const uint32_t *at = (const uint32_t *)(const void *)t->base + rank;
  if (bytes) *bytes = at[1] - at[0];
  return t->base + at[0];
}

/* A row on its way to the process that makes the table, padded to 8 bytes. */
typedef struct tt_row {
  int32_t
      of; /* its rank; or, if rows come in the order of the ranks, the rank's status: unless it is TUTTI_OK, the text is the
                     sentence of the failure, with its 0 */
  uint32_t bytes; /* of the text */
  char text[];
} tt_row;
enum { TT_ROW_WHY = 300 /* characters of a sentence */ };

/* A row to be sent, or tutti_error's sentence; *n: bytes of all of it. NULL: out of memory. */
tt_row *tt_row_new(tutti_status failed, const void *mine, size_t bytes, size_t *n);
/* The failure that a row tells of. */
tutti_status tt_row_failure(int rank, const tt_row *row);
/* A table of these rows, which are copied. TUTTI_ERR_MEMORY, also for more than 4 GiB. */
tutti_status tt_table_make(int ranks, const tt_row *const *rows, tt_table *t);
/* A table to be written, of that many bytes in all. */
tutti_status tt_table_new(size_t bytes, tt_table *t);
/* Written: seal it, if it is a memfd, and map it for reading alone. */
tutti_status tt_table_seal(tt_table *t);
/* Map a table from a descriptor, which it takes over. TUTTI_ERR_SYSTEM: it is none, or not sealed. */
tutti_status tt_table_map(int fd, size_t bytes, tt_table *t);
/* Has it the offsets of that many ranks? Call it for every table that comes from elsewhere. */
bool tt_table_valid(const tt_table *t, int ranks);
/* Unmap it, and close its descriptor; nothing for a table that has no memory. */
void tt_table_drop(tt_table *t);

#endif
