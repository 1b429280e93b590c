/* survey.h - several plans of one call, timed beside each other.
 *
 * Idea      ranks that share cores settle into one of several habits, by chance, which changes
 *           all times by half. So plans are only compared within the same processes, in turn,
 *           round by round, each round beginning with another one.
 * Time      of a plan in a round: the slowest rank's; of a plan: the median over the rounds.
 *           Those that took much longer than the best in two rounds sit the others out.
 * Cores     of a virtual machine move: near each other for a second, ten times as far the next
 *           (cli_bounce). A round is marked with how far they were, and one may ask for the rounds
 *           of one distance.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SURVEY_H
#define SURVEY_H

#include "bench.h"

enum { SURVEY_ROUNDS = 99 };
#define SURVEY_MOVED (-1.0)

typedef struct survey_plan {
  char name[128]; /* empty: whatever the communicator chooses */
  int slices;
  double predicted;            /* s; <= 0: not known */
  bool known;                  /* whether it runs */
  bool runs;                   /* else it cannot, or sat out */
  double round[SURVEY_ROUNDS]; /* s */
  double far[SURVEY_ROUNDS];   /* s between the cores in it; 0: not known, SURVEY_MOVED */
  int rounds, behind;          /* in so many it took much longer than the best */
  long calls;                  /* in each of them */
  double wanted; /* s between the cores: only such rounds count; 0, or there are none: all do */
  int kept;      /* that are such */
  int counted;   /* all that do: of fewer than three the spread says nothing */
  double median, spread; /* s; the middle half of the rounds, as a part of the median */
} survey_plan;

/* The plans that may run for such a call of `bytes`, the cheapest first, at most `most`; how many.
 * -1: an error, as tutti_error says. With slices only those that are cheaper in slices. */
int survey_list(tutti_prices *prices, uint64_t bytes, survey_plan *plans, int most);

/* Times them, a round more. `patience`: how many times the best's time a plan may take and stay; 0:
 * all do. `wish`: what the communicator wishes else. `looks`: it is marked how far the cores are.
 * All ranks do this together, and find the same. */
tutti_status survey_time(const bench_job *job, const bench_options *o, const bench_call *call,
                         const char *override, survey_plan *plans, int n, bool looks,
                         double patience);

/* From now on rounds at that distance count, and so many there are, at the plan that has the least. */
int survey_keep(survey_plan *plans, int n, double wanted);
/* The fastest; NULL: none ran. */
const survey_plan *survey_best(const survey_plan *plans, int n);
/* The median over the rounds of a's time over b's. */
double survey_ratio(const survey_plan *a, const survey_plan *b);

#endif
