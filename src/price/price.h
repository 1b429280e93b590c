/* price.h - what a schedule costs, as a line in the size of the vector.
 *
 * Idea       one rank does its steps one after another: each message and each
 *            round of waiting costs a latency, each byte that is moved or reduced
 *            its inverse bandwidth. Bytes are shares of the vector, so the price
 *            of a schedule is fixed + slope * bytes, for every size.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_PRICE_H
#define TT_PRICE_H

#include "schedule.h"

typedef struct tt_profile {
  double round;   /* s: to wait once for somebody else */
  double message; /* s: to send or to receive one */
  double beta;    /* s/B moved */
  double gamma;   /* s/B reduced */
} tt_profile;

typedef struct tt_line {
  double fixed, slope; /* s, s/B of the whole vector */
} tt_line;

/* The built-in figures of the shared-memory wire, for `crowd` ranks per core. */
tt_profile tt_profile_shm(double crowd);
tt_line tt_price(const tt_sched *s, const tt_profile *profile);
static inline double tt_line_at(tt_line line, double bytes) {
  return line.fixed + line.slope * bytes;
}

#endif
