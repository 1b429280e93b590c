/* measured.h - the parts of `tutti explain --measured`.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef MEASURED_H
#define MEASURED_H

#include "survey.h"

enum { MEASURED_PLANS = 128 };

/* The result at one size. */
typedef struct measured_size {
  size_t bytes;
  char chosen[CLI_PLAN];
  double predicted, seconds; /* of the chosen plan; predicted 0: it has no price */
  double noise;              /* ratio of the same plan to itself: 1 or more */
  survey_plan plan[MEASURED_PLANS];
  int plans, best;     /* best: -1: none ran */
  double best_seconds; /* timed in turn with the chosen plan; equals `seconds` if it is that plan */
  double ratio;        /* chosen over best: the median over rounds, each with both in turn */
  int kept, rounds; /* rounds; kept: with the cores as far apart as in the profile */
} measured_size;

typedef struct measured_sum {
  double mean, worst, noise; /* chosen over best: geometric mean; worst, divided by its own noise */
  size_t worst_at;
  int kept, rounds;
  int near, sizes; /* near: sizes predicted within NEAR of measured */
} measured_sum;
#define MEASURED_NEAR 1.3

measured_sum measured_sum_up(const measured_size *rows, size_t n);
/* Files, as for bench_results and bench_plot: 0 or an exit status. */
int measured_results(const bench_job *job, const bench_options *o, const measured_size *rows,
                     size_t n);
int measured_plot(const bench_job *job, const bench_options *o, const measured_size *rows,
                  size_t n);

#endif
