/* route.h - do peers read a short vector where it lies, or in the arena?
 *
 * Idea       A vector that peers can map needs no copy. But peers read its lines and write sums over them, and
 *            the caller writes its next input there: on cores that are far apart each of these stores waits
 *            for its line. A few KiB are copied in less time than that. The cheaper route depends on the
 *            cores, which move, and on what the caller does with the vector. So rank 0 takes the time of
 *            a whole cycle, from the begin of one call to that of the next with a vector of about the same size,
 *            by either route, and keeps the shorter one. It says in its flag slot which route the next such
 *            vector takes, and all ranks follow. In each period some calls take the other route.
 *            The same number of cycles counts of either, one after the other: the shortest of many would
 *            look shorter than that of few. The first calls after a change find lines as the route before
 *            left them, and do not count.
 * Cost       One read of the processor's counter per call; of TT_ROUTE_PERIOD calls TT_ROUTE_TRIAL by the
 *            dearer route: 0.5 % of the time if it takes twice as long.
 * Invariant  The route changes no bit of a result. Ranks whose routes differ, because several calls are in
 *            flight, are still right: each says for itself where its vector is.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_ROUTE_H
#define TT_ROUTE_H

#include "core.h"

typedef enum tt_route { TT_DIRECT, TT_STAGED, TT_ROUTES } tt_route;

/* Calls of a period and of its trial, whose first one still takes the route before; those that do not count
 * after a change. Bytes: longer vectors go directly. */
enum {
  TT_ROUTE_PERIOD = 2048,
  TT_ROUTE_TRIAL = 11,
  TT_ROUTE_WARM = 3,
  TT_ROUTE_FIRST = 32, /* calls of the first period; the second has eight times as many */
  TT_ROUTE_MOST = 64 << 10,
  TT_ROUTE_SIZES = 5
};

/* What is known about vectors of one size. Zero: nothing. */
typedef struct tt_cycles {
  uint64_t since; /* when the last such call began, in ticks; 0: another call came since */
  uint64_t least[TT_ROUTES]; /* ticks of the shortest cycle that counts, by either; 0: none */
  uint32_t calls;            /* of this period */
  uint8_t periods;           /* that are over, up to two */
  uint8_t usual, next;       /* tt_route: of most calls; of the next call */
} tt_cycles;

/* The index of vectors of that size, one for each power of two; -1: such vectors always go directly. */
static inline int tt_route_size(size_t bytes) {
  const int k = tt_ceil_log2(bytes) - 12;
  return bytes > TT_ROUTE_MOST ? -1 : k < 0 ? 0 : k;
}

/* Rank 0: a call begins now, by the route x->next. Learns from the call before, and decides on x->next, the
 * route of the call after this one. */
void tt_route_learn(tt_cycles *x, uint64_t now);

#endif
