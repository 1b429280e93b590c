/* route.h - do peers read a vector where it lies, or in the arena?
 *
 * Idea       A vector that peers can map, or read by a system call, needs no copy. But if peers read the lines of mapped memory
 *            and write sums over them, and the caller writes its next input there, each of these stores waits for its line
 *            on distant cores. A read by the system takes a call, and on some machines several times as long per byte as a
 *            copy. The faster route depends on the machine, on the cores, which may change, and on the caller's use of the
 *            vector. Therefore rank 0 learns it (learn.h) for vectors of about one size and publishes the route of the next
 *            such vector, and all ranks follow.
 * Time       Of mapped vectors, and if not all ranks read: a whole cycle, from the start of one call to the start of the
 *            next such call. Otherwise the time of rank 0 in the call, without its wait for other ranks, because the caller
 *            may work between its calls.
 * Invariant  The route changes no bit of a result. Ranks with different routes in one call still get correct results: each
 *            publishes where its own vector is.
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
