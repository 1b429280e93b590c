/* table.h - the rows of all ranks in one round of a bootstrap, in memory shared by the ranks of a host.
 *
 * Idea       A table consists of P + 1 offsets and then the rows. An agent receives it into a memfd, seals it, and
 *            sends the descriptor to the ranks of its host, so a host stores each table once.
 * Invariant  No process can change, truncate or extend a sealed table. A rank that maps a table checks the seals, and
 *            then the offsets.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_TABLE_H
#define TT_TABLE_H

#include "core.h"

typedef struct tt_table {
  char *base; /* NULL: none */
  size_t bytes;
  int fd; /* of the memfd; -1: not shared, or closed after mapping */
} tt_table;

static inline size_t tt_row_bytes(size_t bytes) { /* size of a row in a table */
  return (bytes + 7) / 8 * 8;
}
/* Returns the row of a rank, which is aligned to 8 bytes. *bytes: size of the row, rounded up to a multiple of 8. */
static inline const void *tt_table_row(const tt_table *t, int rank, size_t *bytes) {
  const uint32_t *at = (const uint32_t *)(const void *)t->base + rank;
  if (bytes) *bytes = at[1] - at[0];
  return t->base + at[0];
}

/* A row in the format that is sent to the process that makes the table. It is padded to a multiple of 8 bytes. */
typedef struct tt_row {
  int32_t
      of; /* its rank. If rows are sent in rank order: the rank's status; after a failure, the text
             is then the error message, with its terminating 0 */
  uint32_t bytes; /* size of the text */
  char text[];
} tt_row;
enum { TT_ROW_WHY = 300 /* maximum length of an error message */ };

/* Creates a row to be sent. The row contains the bytes at `mine`, or, after a failure, the text of tutti_error. *n:
 * the total size of the row. Returns NULL if out of memory. */
tt_row *tt_row_new(tutti_status failed, const void *mine, size_t bytes, size_t *n);
/* Sets the error that a row reports, and returns its status. Returns TUTTI_OK if the row reports no error. */
tutti_status tt_row_failure(int rank, const tt_row *row);
/* Makes a table from copies of these rows. Returns TUTTI_ERR_MEMORY if out of memory, or if it would exceed 4 GiB. */
tutti_status tt_table_make(int ranks, const tt_row *const *rows, tt_table *t);
/* Creates a writable table with a total size of `bytes` bytes. */
tutti_status tt_table_new(size_t bytes, tt_table *t);
/* Called when a table has been written completely. Seals the memfd of the table, and maps it read-only. */
tutti_status tt_table_seal(tt_table *t);
/* Maps the table in a file descriptor. Takes over the descriptor. Returns TUTTI_ERR_SYSTEM if the descriptor does
 * not contain a sealed table. */
tutti_status tt_table_map(int fd, size_t bytes, tt_table *t);
/* Returns true if the table has valid offsets for `ranks` ranks. Must be called for every table received from another process. */
bool tt_table_valid(const tt_table *t, int ranks);
/* Unmaps the table and closes its descriptor. Does nothing if the table has no memory. */
void tt_table_drop(tt_table *t);

#endif
