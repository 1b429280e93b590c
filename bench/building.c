/* building.c - the time to build one rank's schedule, and to prove all ranks' schedules.
 *
 * Prints a line per algorithm: microseconds to build the schedule of a rank in the middle of P,
 * the least of a few; milliseconds to prove the schedules of all of 127 ranks.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "algo.h"
#include "prove.h"

enum { SIZES = 4, TIMES = 5 };
static const int sizes[SIZES] = {16, 127, 1000, 4096};

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Seconds; -1: refused. */
static double build(const char *name, int ranks) {
  double least = -1;
  for (int k = 0; k < TIMES; k++) {
    const tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = ranks, .rank = ranks / 2};
    tt_sched *s;
    const double start = now();
    if (tt_algo_build(name, &ask, &s)) return -1;
    const double took = now() - start;
    if (least < 0 || took < least) least = took;
    tt_sched_free(s);
  }
  return least;
}

static double prove(const char *name, int ranks) {
  const tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = ranks};
  tutti_report report = {.size = sizeof report};
  tt_sched **all;
  if (tt_algo_build_all(name, &ask, &all)) return -1;
  const double start = now();
  const bool failed = tt_prove(all, ranks, &report) || !report.proven;
  const double took = now() - start;
  tt_sched_free_all(all, ranks);
  return failed ? -1 : took;
}

static void cell(double value, const char *format) {
  if (value < 0)
    printf("%10s", "-");
  else
    printf(format, value);
}

int main(void) {
  char name[TT_NAME], last[TT_NAME] = "";
  double slowest = 0;
  printf("%-34s %9s %9s %9s %9s   %s\n%-34s %9s %9s %9s %9s   %s\n",
         "allreduce: one rank's schedule,", "P = 16", "127", "1000", "4096", "127 proven",
         "microseconds", "", "", "", "", "milliseconds");
  tt_plan_walk at = {0};
  while (tt_algo_next_plan(127, "", &at, name, sizeof name)) {
    const double proof = prove(name, 127);
    if (proof < 0) continue;            /* needs levels, or helpers */
    if (strstr(name, "seq=")) continue; /* a sequence fits one P only */
    printf("%-34s", name);
    for (int k = 0; k < SIZES; k++) cell(1e6 * build(name, sizes[k]), "%10.1f");
    printf("   ");
    cell(1e3 * proof, "%10.1f");
    printf("\n");
    fflush(stdout);
    if (proof > slowest) slowest = proof, snprintf(last, sizeof last, "%s", name);
  }
  printf("\nThe slowest proof on 127 ranks: %s, %.0f ms.\n", last, 1e3 * slowest);
  return slowest >= 1;
}
