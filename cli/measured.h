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
  double predicted, seconds; /* of the chosen plan; predicted is 0 without an estimate */
  double noise;              /* ratio of the chosen plan to itself: 1 or more */
  survey_plan plan[MEASURED_PLANS];
  int plans, best;     /* best: the index of the fastest plan, or -1 if none ran */
  double best_seconds; /* timed alternately; `seconds` if it is the chosen plan */
  double ratio;        /* chosen over best: the median over the rounds, each of which times both */
  int kept, rounds;    /* kept: rounds with cores at the same distance as in the profile */
} measured_size;

typedef struct measured_sum {
  double mean, worst, noise; /* chosen over best: geometric mean; worst, divided by its noise */
  size_t worst_at;
  int kept, rounds;
  int near, sizes; /* near: sizes predicted within a factor of MEASURED_NEAR */
} measured_sum;
#define MEASURED_NEAR 1.3

measured_sum measured_sum_up(const measured_size *rows, size_t n);
/* measured_results writes the results to stdout or to the file given by -o, and measured_plot draws the picture
 * given by --plot. Both return 0 or an exit status. */
int measured_results(const bench_job *job, const bench_options *o, const measured_size *rows,
                     size_t n);
int measured_plot(const bench_job *job, const bench_options *o, const measured_size *rows,
                  size_t n);

#endif
