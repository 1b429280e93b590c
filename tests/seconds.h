/* seconds.h - a monotonic clock for tests.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SECONDS_H
#define SECONDS_H

#include <time.h>

static inline double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif
