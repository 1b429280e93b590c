/* seconds.h - clocks and time limits for tests.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SECONDS_H
#define SECONDS_H

#include <time.h>
#include <unistd.h>

static inline double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Returns the CPU time of this thread, in seconds. */
static inline double processor_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The maximum slowdown of a program under a sanitizer. */
#if defined __SANITIZE_THREAD__
enum { SANITIZER = 5 };
#elif defined __SANITIZE_ADDRESS__
enum { SANITIZER = 2 };
#else
enum { SANITIZER = 1 };
#endif

/* Lets SIGALRM end the program after this time. */
static inline void end_after(unsigned limit) {
  alarm(SANITIZER * limit);
}

#endif
