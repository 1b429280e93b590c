/* remote.h - reading a peer's private memory, where the system allows it.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_REMOTE_H
#define TT_REMOTE_H

#include "heap.h"

/* TUTTI_COPIES selects what is copied through shared memory: private memory for which that is
 * cheaper; private memory that the system cannot read; all private memory; all memory. */
typedef enum tt_copies {
  TT_COPIES_CHEAPEST,
  TT_COPIES_NONE,
  TT_COPIES_PRIVATE,
  TT_COPIES_ALL
} tt_copies;
tt_copies tt_copies_wanted(void);
/* What follows from the time that calls take (TUTTI_LEARN); the rest is as estimates say. */
enum { TT_LEARNS_ROUTES = 1, TT_LEARNS_PLANS = 2 };
unsigned tt_learns_wanted(void);
/* Can this peer read the private memory of all ranks? Is that expected to be cheaper than two copies? */
bool tt_remote_reads(const tt_head *peer);
bool tt_remote_cheaper(const tt_head *mine, size_t bytes);
size_t tt_remote_gulp(int ranks);
tutti_status tt_remote_read(int pid, uint64_t at, void *to, size_t n);

/* May others read this process's memory? Only many ranks ask: among few each one tries. */
bool tt_remote_readable(const tt_segment *segment);
/* Publish in this rank's heap header whether it can read the private memory of every rank of the
 * segment. All headers must be complete. */
void tt_remote_probe(const tt_segment *segment, int index);

#endif
