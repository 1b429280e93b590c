/* remote.h - reads of a peer's private memory, if the system allows them.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_REMOTE_H
#define TT_REMOTE_H

#include "heap.h"

/* TUTTI_COPIES selects which memory is copied through shared memory. In this order: private memory, if the copy is
 * cheaper; private memory, if peers cannot read it; all private memory; all memory. */
typedef enum tt_copies {
  TT_COPIES_CHEAPEST,
  TT_COPIES_NONE,
  TT_COPIES_PRIVATE,
  TT_COPIES_ALL
} tt_copies;
tt_copies tt_copies_wanted(void);
/* What is adapted to measured call times (TUTTI_LEARN). Everything else follows the estimates. */
enum { TT_LEARNS_ROUTES = 1, TT_LEARNS_PLANS = 2 };
unsigned tt_learns_wanted(void);
/* tt_remote_reads returns true if this peer can read the private memory of all ranks; tt_remote_cheaper, if such a
 * read of `bytes` bytes is expected to be cheaper than two copies. */
bool tt_remote_reads(const tt_head *peer);
bool tt_remote_cheaper(const tt_head *mine, size_t bytes);
size_t tt_remote_gulp(int ranks);
tutti_status tt_remote_read(int pid, uint64_t at, void *to, size_t n);

/* Returns true if other processes may read this process's memory. Also true in small segments, where every rank tries
 * to read every other. */
bool tt_remote_readable(const tt_segment *segment);
/* Publishes in this rank's heap header whether it can read the private memory of every rank of the segment. All
 * headers must be complete. */
void tt_remote_probe(const tt_segment *segment, int index);

#endif
