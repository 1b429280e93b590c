/* survey.h - times several plans of one call under the same conditions.
 *
 * Idea      ranks that share cores settle into one of several patterns, by chance. The pattern
 *           changes all times by half. Therefore plans are compared only within the same processes.
 *           They are timed alternately in rounds, and each round begins with another plan.
 * Time      The time of a plan in a round is that of the slowest rank. The time of a plan is the
 *           median over the rounds. A plan that took much longer than the best plan in two rounds
 *           is skipped afterwards.
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
  const char *name; /* not freed; NULL stands for the plan that the communicator chooses */
  int slices;
  double predicted;            /* in s; <= 0 if unknown */
  bool known;                  /* whether the plan runs was checked */
  bool runs;                   /* false if the plan cannot run or is skipped */
  double round[SURVEY_ROUNDS]; /* in s */
  double far[SURVEY_ROUNDS];   /* round trip between cores, in s; 0 if unknown, or SURVEY_MOVED */
  int rounds, behind; /* behind: in how many rounds it was much slower than the best plan */
  long calls;         /* number of calls per round */
  /* only rounds with about this round trip (s) count; 0, or no such round: all count */
  double wanted;
  int kept;      /* rounds at that distance */
  int counted;   /* rounds that count; the spread of fewer than three rounds is meaningless */
  double median, spread; /* in s; quartile distance relative to the median */
} survey_plan;

/* Lists at most `most` of the plans that may run for a call on `bytes` bytes, the cheapest first. Plans in slices
 * are listed only if slices make them cheaper. Returns the number of plans, or -1 on error (see tutti_error). */
int survey_list(tutti_prices *prices, uint64_t bytes, survey_plan *plans, int most);

/* Times all plans for one more round. Later rounds skip any plan whose time exceeds the best time by a factor of `patience`.
 * No plan is skipped if `patience` is 0. `override` is the usual override of the communicator. If `looks` is true, also
 * measures the distance between the cores. This is a collective call, and all ranks get the same results. */
tutti_status survey_time(const bench_job *job, const bench_options *o, const bench_call *call,
                         const char *override, survey_plan *plans, int n, bool looks,
                         double patience);

/* Keeps the rounds with the cores at the distance `wanted`, and ignores all others. Returns the number of rounds
 * that were kept, as a minimum over all plans. */
int survey_keep(survey_plan *plans, int n, double wanted);
/* Returns the fastest plan, or NULL if none ran. */
const survey_plan *survey_best(const survey_plan *plans, int n);
/* Returns the ratio of the time of plan a to that of plan b, as a median over all rounds. */
double survey_ratio(const survey_plan *a, const survey_plan *b);

#endif
