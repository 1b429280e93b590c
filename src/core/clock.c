/* clock.c - seconds, to measure durations.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <time.h>

#include "core.h"

double tt_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
