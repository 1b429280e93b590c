/* aggregator_ways.h - the plans of a communicator that use an aggregator.
 *
 * Idea       The last ranks in these schedules are virtual. They represent the aggregator, and no process of the job runs
 *            them. Each virtual rank sums one part of the vector, so several parts can be in transit.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_AGGREGATOR_WAYS_H
#define TT_AGGREGATOR_WAYS_H

#include "plan_cache.h"

typedef struct tt_aggregated {
  tt_chooser *chooser;      /* chooser for this plan alone; NULL: this communicator cannot use it */
  const tt_plan_spec *plan; /* that plan, which is kept */
  int helpers;              /* number of virtual ranks */
  int parts;    /* number of parts of the vector; a rank sends each part to one virtual rank */
  int hosts;    /* number of hosts, which have one vector each */
  int links;    /* maximum number of vectors that arrive over the link of one aggregator */
  double share; /* share of the vector that the aggregator sums; the ranks fold the rest */
  int *order;   /* rank at each place, as in tt_plan_cache; for virtual ranks, their number */
} tt_aggregated;

/* The number of plans. Three of them sum the whole vector, for short, medium and long vectors. Two sum a share of the vector, and
 * the ranks sum the rest with fold(halving) or fold(ring). */
enum { TT_AGGREGATED = 5 };

/* Returns the plans of the communicator. NULL unless it is connected to an aggregator. */
static inline tt_aggregated *tt_aggregated_of(const tutti_comm *comm) {
  return comm->plans->ext[TT_EXT_aggregator];
}
/* Returns the aggregator's time per byte, in seconds. Sets *delay to its time for a sum, in addition to its messages. */
double tt_aggregator_link(const tutti_comm *comm, double *delay);

/* The functions of the extension (run/ext.h) that are in aggregator_open.c. */
tutti_status tt_aggregator_open(tutti_comm *comm);
void tt_aggregator_close(tutti_comm *comm);

#endif
