/* route.h - whether peers read a vector in place, or from the arena.
 *
 * Idea       A vector that peers can map, or read by a system call, needs no copy. But if peers read lines of mapped
 *            memory and write sums over them, and the caller writes its next input there, each of these stores has to
 *            wait for its line if the cores are distant. Reading through the kernel takes a system call, and on some
 *            machines several times as long per byte as a copy. The faster route depends on the machine, on the cores,
 *            which may change, and on the caller's use of the vector. Therefore rank 0 learns it (learn.h) for vectors of
 *            similar size and publishes the route of the next such vector, and all ranks follow.
 * Time       For mapped vectors, and if not all ranks read, a whole cycle is measured, from the start of one call to the
 *            start of the next such call. Otherwise it is the time of rank 0 in the call, without its wait for other
 *            ranks, because the caller may work between its calls.
 * Invariant  The route does not change the bits of a result. Ranks with different routes in one call still get correct
 *            results, because each publishes where its own vector is.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_ROUTE_H
#define TT_ROUTE_H

#include "learn.h"

typedef enum tt_route { TT_DIRECT, TT_STAGED, TT_ROUTES } tt_route;

/* TT_ROUTE_MOST: mapped vectors of more bytes than this always take the direct route. */
enum {
  TT_ROUTE_MOST = 64 << 10,
  TT_MAPPED_SIZES = 5,
  TT_PRIVATE_SIZES = 19,
  TT_ROUTE_SIZES = TT_MAPPED_SIZES + TT_PRIVATE_SIZES
};

/* Rank 0's measurements for vectors of one size. All zero if nothing was measured yet. */
typedef struct tt_cycles {
  tt_learner learner;
  bool begun;
  uint8_t route;        /* tt_route of the last such call */
  uint64_t since, took; /* ticks: start of the last such call; duration if measured; 0: unknown */
} tt_cycles;

/* Returns the index of vectors of that size, one for each power of two, mapped ones first; -1 if they always take the direct
 * route. */
static inline int tt_route_size(size_t bytes, bool private) {
  const int k = tt_ceil_log2(bytes) - 12, at = k < 0 ? 0 : k;
  if (private) return TT_MAPPED_SIZES + tt_min(at, TT_PRIVATE_SIZES - 1);
  return bytes > TT_ROUTE_MOST ? -1 : at;
}

#endif
