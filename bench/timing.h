/* timing.h - shared by the benchmark programs: a clock, accesses to the vector, the number of
 * iterations that fit into a budget, and the median.
 *
 * Loop      makes one call after another.
 * Cycle     writes the whole vector, makes the call, and reads the vector; the time of the same
 *           accesses without the call is subtracted. `tutti bench` uses the same loops.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_TIMING_H
#define BENCH_TIMING_H

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../cli/touch.h"

enum { MOST_REPEATS = 1000, LEAST_ITERATIONS = 3, MOST_ITERATIONS = 20000, SETTLE = 8, TRIAL = 24 };

/* The arguments that every program takes: MEASURE FIRST LAST BUDGET REPEATS. */
typedef struct timing_plan {
  int cycle;
  size_t first, last; /* in bytes; sizes grow by a factor of 4 */
  double budget;      /* seconds per repeat */
  int repeats;
} timing_plan;

static inline int timing_parse(timing_plan *p, int argc, char **argv) {
  if (argc < 5 || (strcmp(argv[0], "loop") && strcmp(argv[0], "cycle"))) return 0;
  p->cycle = strcmp(argv[0], "cycle") == 0;
  p->first = strtoull(argv[1], NULL, 10);
  p->last = strtoull(argv[2], NULL, 10);
  p->budget = strtod(argv[3], NULL);
  p->repeats = atoi(argv[4]);
  return p->first >= 4 && p->last >= p->first && p->budget > 0 && p->repeats > 0 &&
         p->repeats <= MOST_REPEATS;
}
#define TIMING_USAGE "loop|cycle FIRST LAST BUDGET REPEATS"

static inline double timing_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline int timing_ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Sorts `each` and returns the median. */
static inline double timing_median(double *each, int n) {
  qsort(each, (size_t)n, sizeof *each, timing_ascending);
  return each[n / 2];
}

/* Returns the number of iterations in each repeat if one iteration takes `once` seconds. */
static inline long timing_fit(double budget, double once) {
  double fit = once > 0 ? budget / once : (double)MOST_ITERATIONS;
  if (fit > MOST_ITERATIONS) fit = MOST_ITERATIONS;
  if (fit < LEAST_ITERATIONS) fit = LEAST_ITERATIONS;
  return (long)fit;
}

/* Returns the number of iterations in a trial. The first calls are slow. Trials are therefore repeated, at most SETTLE times,
 * until one trial (`again` seconds per iteration) is less than 1.5 times as fast as the previous one (`once`). */
static inline long timing_trial(double budget, double once) {
  const long n = timing_fit(budget, once);
  return n < TRIAL && once * TRIAL < 1 ? (long)TRIAL : n;
}
static inline int timing_settled(double once, double again) {
  return again > once / 1.5;
}

#endif
