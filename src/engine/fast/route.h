/* route.h - do peers read a vector where it lies, or in the arena?
 *
 * Idea       A vector that peers can map, or read by the system, needs no copy. But peers read the lines of mapped memory
 *            and write sums over them, and the caller writes its next input there: on cores that are far apart each of
 *            these stores waits for its line. And a read by the system costs a call, and on some machines several times
 *            as much a byte as a copy. Which route is shorter depends on the machine, on the cores, which move, and on
 *            what the caller does with the vector. Rank 0 therefore measures the calls with a vector of about the same
 *            size by either route, and keeps the shorter one. It shows which route the next such vector takes, and all
 *            ranks follow. In each period some calls take the other route.
 * Time       Of mapped vectors, and where not all ranks read: a whole cycle, from the begin of one call to that of the
 *            next such call. Otherwise the time of rank 0 in the call, without its wait for other ranks, because the caller
 *            may work between its calls. The same number of calls counts of either, one after the other: the shortest of many
 *            would look shorter than that of few. The first calls after a change find lines as the route before left
 *            them, and do not count.
 * Cost       Some reads of the processor's counter per call; at most 1 % of the time in the dearer route.
 * Invariant  The route changes no bit of a result. Ranks whose routes differ for a call are still right: each says for
 *            itself where its vector is.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_ROUTE_H
#define TT_ROUTE_H

#include "core.h"

typedef enum tt_route { TT_DIRECT, TT_STAGED, TT_ROUTES } tt_route;

/* Calls of a period at least, and of its trial, whose first one still takes the route before; those that do not count
 * after a change. Bytes: longer mapped vectors go directly. */
enum {
  TT_ROUTE_PERIOD = 2048,
  TT_ROUTE_TRIAL = 11,
  TT_ROUTE_WARM = 3,
  TT_ROUTE_FIRST = 32, /* calls of the first period; the second has eight times as many */
  TT_ROUTE_MOST = 64 << 10,
  TT_MAPPED_SIZES = 5,
  TT_PRIVATE_SIZES = 19,
  TT_ROUTE_SIZES = TT_MAPPED_SIZES + TT_PRIVATE_SIZES
};

/* What rank 0 knows about vectors of one size. Zero: nothing. */
typedef struct tt_cycles {
  uint64_t since, took;      /* ticks: when the last such call began; its time, if that counts; 0: not known */
  uint64_t least[TT_ROUTES]; /* ticks of the shortest call that counts, by either; 0: none */
  uint32_t calls, period;    /* of this period; how many it has */
  uint8_t usual, next;       /* tt_route: of most calls; of the next call */
  bool settled;              /* the first period is over */
} tt_cycles;

/* The index of vectors of that size, one for each power of two, mapped ones first; -1: such vectors always go directly. */
static inline int tt_route_size(size_t bytes, bool private) {
  const int k = tt_ceil_log2(bytes) - 12, at = k < 0 ? 0 : k;
  if (private) return TT_MAPPED_SIZES + tt_min(at, TT_PRIVATE_SIZES - 1);
  return bytes > TT_ROUTE_MOST ? -1 : at;
}

/* The first call begins, by the route that is expected to be shorter. */
void tt_route_begin(tt_cycles *x, tt_route expected);
/* A call begins, by the route x->next. spent: ticks of the call before; 0: not known. Sets x->next, the route of the call
 * after this one. */
void tt_route_learn(tt_cycles *x, uint64_t spent);

#endif
