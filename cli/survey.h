/* survey.h - times several plans of one call under the same conditions.
 *
 * Idea      ranks that share cores settle, by chance, into one of several patterns, which changes
 *           all times by half. Therefore plans are compared only within the same processes. They are
 *           timed alternately in rounds, and each round begins with another plan.
 * Time      of a plan in a round: the slowest rank's; of a plan: the median over the rounds.
 *           A plan that took much longer than the best in two rounds is skipped afterwards.
 * Cores     The hypervisor of a virtual machine migrates virtual CPUs: two of them may be close
 *           for one second and ten times as far apart in the next (cli_bounce). Each round is
 *           marked with the distance between them, and a caller can select rounds by distance.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SURVEY_H
#define SURVEY_H

#include "bench.h"
#include "tutti_plan.h"

enum { SURVEY_ROUNDS = 99 };
#define SURVEY_MOVED (-1.0)

typedef struct survey_plan {
  const char *name; /* kept; NULL: the plan that the communicator chooses */
  int slices;
  double predicted;            /* s; <= 0: not known */
  bool known;                  /* known: whether it runs was checked */
  bool runs;                   /* false: it cannot run, or is skipped */
  double round[SURVEY_ROUNDS]; /* s */
  double far[SURVEY_ROUNDS];   /* s between the cores in it; 0: not known, SURVEY_MOVED */
  int rounds, behind;          /* behind: how often it was much slower than the best plan */
  long calls;                  /* in each round */
  double wanted; /* s between the cores: only such rounds count; 0, or no such round: all count */
  int kept;      /* rounds at that distance */
  int counted;   /* rounds that count: with fewer than three the spread says nothing */
  double median, spread; /* s; the distance of the quartiles, relative to the median */
} survey_plan;

/* The plans that may run for such a call of `bytes`, the cheapest first, at most `most`; returns
 * their number. -1: an error, see tutti_error. In slices only those that are cheaper in slices. */
int survey_list(tutti_prices *prices, uint64_t bytes, survey_plan *plans, int most);

/* Time all plans for one more round. `patience`: skip a plan that takes more than this many times
 * the best's time; 0: skip none. `override`: the communicator's usual override. `looks`: measure
 * the distance of the cores. Collective; all ranks get the same results. */
tutti_status survey_time(const bench_job *job, const bench_options *o, const bench_call *call,
                         const char *override, survey_plan *plans, int n, bool looks,
                         double patience);

/* From now on only rounds at that distance count; the least number of them over all plans. */
int survey_keep(survey_plan *plans, int n, double wanted);
/* The fastest plan; NULL: none ran. */
const survey_plan *survey_best(const survey_plan *plans, int n);
/* The median over the rounds of a's time over b's. */
double survey_ratio(const survey_plan *a, const survey_plan *b);

#endif
