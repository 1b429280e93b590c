/* priced.h - compares the estimate for an allreduce with a formula. Include cmocka.h before this
 * file.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PRICED_H
#define PRICED_H

#include <math.h>

#include "algo.h"
#include "by_name.h"
#include "cost.h"

/* Estimates an allreduce by simulating all ranks, or one rank that stands for all if `uniform`. Fails the test if
 * that is not possible. */
static double priced(const char *name, const tt_cost_model *p, double bytes, bool uniform) {
  const tt_ask ask = {.coll = TUTTI_ALLREDUCE, .ranks = p->ranks};
  tt_sched **all;
  tt_breakdown t;
  if (tt_algo_build_all_named(name, &ask, &all)) fail_msg("%s", tutti_error());
  assert_true(!uniform || uniform_named(name, &ask, p->levels > 1 ? &p->tree : NULL));
  tt_sim *sim = tt_sim_new(all, p->ranks, uniform, p);
  assert_true(sim && tt_sim_run(sim, bytes, &t));
  tt_sim_free(sim);
  tt_sched_free_all(all, p->ranks);
  return t.time;
}

/* Fails the test if a time differs from the formula. */
static void about(const char *name, double found, double formula) {
  if (fabs(found - formula) > 1e-9 * formula)
    fail_msg("%s: %.12g s, not %.12g s", name, found, formula);
}

#endif
