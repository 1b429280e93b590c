/* bound.h - a lower bound of a plan's time, from the schedules of a few of its ranks.
 *
 * Idea       A rank's ports and its processor are busy with everything that the rank sends, receives and adds. A link
 *            is busy with all messages that leave its domain. The plan takes at least as long as the busiest of these.
 *            Each of these times is a linear function of the vector's size.
 * Cost       Builds the schedule of one rank, whereas an estimate needs those of all ranks.
 * Invariant  Never above the estimate (cost.h) of the whole plan, except for the inaccuracy of its curve.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_BOUND_H
#define TT_BOUND_H

#include "cost.h"

enum { TT_BOUND_LINES = 8 };

/* A line of the bound. With k slices, the time is at least k * each + once + (slope + part / k) * bytes. */
typedef struct tt_bound_line {
  double each, once, slope, part;
} tt_bound_line;

typedef struct tt_bound {
  int n; /* 0: no bound is known */
  tt_bound_line line[TT_BOUND_LINES];
} tt_bound;

/* Adds the lower bounds for a rank's ports and processor. If the ranks are symmetric, also adds those for its links. Only
 * plans with symmetric ranks are cut into slices. */
void tt_bound_rank(tt_bound *bound, const tt_sched *s, const tt_cost_model *model, bool alike);
/* Adds the lower bound for a plan that makes every rank send `rounds` messages, one after the other, of any size. */
void tt_bound_rounds(tt_bound *bound, int rounds, const tt_cost_model *model);
/* Adds the lower bound for the link of the domain with ranks first .. first + n - 1, whose schedules are in `all`. On a torus
 * the domain is a node, and the bounds of all its links are added. */
void tt_bound_domain(tt_bound *bound, tt_sched *const *all, int first, int n,
                     const tt_cost_model *model, int level);
/* Adds the lower bound for a chain of messages, each of which waits for the previous one. The chain is followed back from the
 * last message that `rank` receives, up to a limit. schedule(context, r) returns the schedule of rank r, which the caller
 * owns. If it returns NULL, the chain ends there. Returns false if out of memory. */
typedef const tt_sched *tt_bound_schedule(void *context, int rank);
bool tt_bound_chain(tt_bound *bound, tt_bound_schedule *schedule, void *context, int rank,
                    const tt_cost_model *model);
double tt_bound_at(const tt_bound *bound, int slices, double bytes);

#endif
