/* price.h - what a plan costs, as a line in the size of the vector.
 *
 * Idea       play the schedules of all ranks against a clock: each rank does its
 *            steps one after another; a message costs its sender and its reader a
 *            latency and its bytes, who waits for one that is not there yet pays a
 *            round, who reduces pays per byte. What all ranks do together takes at
 *            least its time on the cores they share. Played with an empty vector and a
 *            long one, the time is fixed + slope * bytes for every size between.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_PRICE_H
#define TT_PRICE_H

#include "schedule.h"

typedef struct tt_profile {
  double round;   /* s: to wait once for somebody else */
  double message; /* s: to send or to receive one */
  double again;   /* s: for each further peer of the same step */
  bool published; /* what goes to several readers is written once */
  bool lent;      /* the readers find it where it is */
  double beta;    /* s/B moved */
  double gamma;   /* s/B reduced */
  double cores;   /* that the ranks share */
} tt_profile;

typedef struct tt_line {
  double fixed, slope; /* s, s/B of the whole vector */
} tt_line;

/* The built-in figures of the shared-memory wire, for so many ranks per core: of a
 * schedule that has a loop of its own, or of the generic engine. */
tt_profile tt_profile_shm(int ranks, double crowd, bool loop);
/* False: out of memory, or the schedules do not run in the order they are written. */
bool tt_price(tt_sched *const *all, int ranks, const tt_profile *profile, tt_line *line);
static inline double tt_line_at(tt_line line, double bytes) {
  return line.fixed + line.slope * bytes;
}

#endif
