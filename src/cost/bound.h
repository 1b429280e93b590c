/* bound.h - a lower bound of a plan's time, from the schedules of a few of its ranks.
 *
 * Idea       a rank's ports and its processor are busy with all that it sends, receives and adds, and a
 *            link with all that leaves its domain. The plan takes at least as long as the busiest of
 *            them. These times are lines in the size of the vector.
 * Cost       that of building one rank's schedule, where the price needs those of all ranks.
 * Invariant  never above the price (cost.h) of the whole plan, but for the accuracy of its curve.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_BOUND_H
#define TT_BOUND_H

#include "cost.h"

enum { TT_BOUND_LINES = 8 };

/* In k slices: k * each + once + (slope + part / k) * bytes. */
typedef struct tt_bound_line {
  double each, once, slope, part;
} tt_bound_line;

typedef struct tt_bound {
  int n; /* 0: nothing is known */
  tt_bound_line line[TT_BOUND_LINES];
} tt_bound;

/* Adds a rank's ports and processor to the bound; if the ranks are symmetric, its links too. Only
 * such plans are cut in slices. */
void tt_bound_rank(tt_bound *bound, const tt_sched *s, const tt_cost_model *model, bool alike);
/* The bound of a plan whose ranks all send `rounds` messages in sequence, of any content. */
void tt_bound_rounds(tt_bound *bound, int rounds, const tt_cost_model *model);
/* Adds the link of a level that leaves the domain of ranks first .. first + n - 1, whose schedules are in
 * `all`; on a torus, where the domain is a node, all its links. */
void tt_bound_domain(tt_bound *bound, tt_sched *const *all, int first, int n,
                     const tt_cost_model *model, int level);
/* Takes a chain of messages into the bound, each of which waits for the one before: back from the last
 * that a rank receives, or the last few of them. schedule(context, r) builds rank r's schedule, which
 * stays the caller's; NULL: it cannot, and the chain ends there. False: out of memory. */
typedef const tt_sched *tt_bound_schedule(void *context, int rank);
bool tt_bound_chain(tt_bound *bound, tt_bound_schedule *schedule, void *context, int rank,
                    const tt_cost_model *model);
double tt_bound_at(const tt_bound *bound, int slices, double bytes);

#endif
