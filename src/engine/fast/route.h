/* route.h - do peers read a vector where it lies, or in the arena?
 *
 * Idea       A vector that peers can map, or read by the system, needs no copy. But peers read the lines of mapped memory
 *            and write sums over them, and the caller writes its next input there: on cores that are far apart each of
 *            these stores waits for its line. And a read by the system costs a call, and on some machines several times
 *            as much a byte as a copy. Which route is shorter depends on the machine, on the cores, which move, and on
 *            what the caller does with the vector. So rank 0 learns it (learn.h) for vectors of about one size, shows which
 *            route the next such vector takes, and all ranks follow.
 * Time       Of mapped vectors, and where not all ranks read: a whole cycle, from the begin of one call to that of the
 *            next such call. Otherwise the time of rank 0 in the call, without its wait for other ranks, because the caller
 *            may work between its calls.
 * Invariant  The route changes no bit of a result. Ranks whose routes differ for a call are still right: each says for
 *            itself where its vector is.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_ROUTE_H
#define TT_ROUTE_H

#include "learn.h"

typedef enum tt_route { TT_DIRECT, TT_STAGED, TT_ROUTES } tt_route;

/* Bytes: longer mapped vectors go directly. */
enum {
  TT_ROUTE_MOST = 64 << 10,
  TT_MAPPED_SIZES = 5,
  TT_PRIVATE_SIZES = 19,
  TT_ROUTE_SIZES = TT_MAPPED_SIZES + TT_PRIVATE_SIZES
};

/* What rank 0 knows about vectors of one size. Zero: nothing. */
typedef struct tt_cycles {
  tt_learner learner;
  bool begun;
  uint8_t route;        /* tt_route of the last such call */
  uint64_t since, took; /* ticks: when the last such call began; its time, if that counts; 0: not known */
} tt_cycles;

/* The index of vectors of that size, one for each power of two, mapped ones first; -1: such vectors always go directly. */
static inline int tt_route_size(size_t bytes, bool private) {
  const int k = tt_ceil_log2(bytes) - 12, at = k < 0 ? 0 : k;
  if (private) return TT_MAPPED_SIZES + tt_min(at, TT_PRIVATE_SIZES - 1);
  return bytes > TT_ROUTE_MOST ? -1 : at;
}

#endif
