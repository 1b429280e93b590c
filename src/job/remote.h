/* remote.h - reads of a peer's private memory, if the system allows them.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_REMOTE_H
#define TT_REMOTE_H

#include "heap.h"

/* TUTTI_COPIES selects the memory whose contents are copied through shared memory. In order of the values: private memory, if
 * that is cheaper than a direct read; private memory that peers cannot read; all private memory; all memory. */
typedef enum tt_copies {
  TT_COPIES_CHEAPEST,
  TT_COPIES_NONE,
  TT_COPIES_PRIVATE,
  TT_COPIES_ALL
} tt_copies;
tt_copies tt_copies_wanted(void);
/* Decisions that are adapted to the measured times of calls (TUTTI_LEARN). All other decisions are based on estimates alone. */
enum { TT_LEARNS_ROUTES = 1, TT_LEARNS_PLANS = 2 };
unsigned tt_learns_wanted(void);
/* tt_remote_reads returns true if this peer can read the private memory of all ranks; tt_remote_cheaper, if such a
 * read of `bytes` bytes is expected to be cheaper than two copies. */
bool tt_remote_reads(const tt_head *peer);
bool tt_remote_cheaper(const tt_head *mine, size_t bytes);
size_t tt_remote_gulp(int ranks);
tutti_status tt_remote_read(int pid, uint64_t at, void *to, size_t n);

/* Returns true if other processes may read the memory of this process. In small segments always returns true,
 * because there every rank tries to read the memory of every other rank. */
bool tt_remote_readable(const tt_segment *segment);
/* Finds out whether this rank can read the private memory of every rank of the segment, and publishes the result in
 * the rank's heap header. All headers must be complete before this call. */
void tt_remote_probe(const tt_segment *segment, int index);

#endif
