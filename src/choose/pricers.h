/* pricers.h - five methods to estimate the time of a plan.
 *
 * Idea       An estimate simulates schedules (sim.h). On many ranks, the schedules of a few ranks suffice, and the plan
 *            determines which ones. The first applicable row of the table in pricers.c is used; `tutti explain` prints
 *            its name.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_PRICERS_H
#define TT_PRICERS_H

#include "bound.h"
#include "choose.h"

/* All ranks are simulated only if there are at most TT_MOST_PLAYED of them, and if they have at most TT_MOST_MESSAGES
 * messages in total. */
enum { TT_MOST_MESSAGES = 1 << 15, TT_MOST_PLAYED = 1024 };

static inline bool tt_has_helpers(const tt_setting *s) {
  return s->data && s->data < s->ranks;
}

static inline tt_ask tt_ask_of(const tt_setting *s, const tt_plan_spec *plan, tutti_coll coll,
                               int root) {
  return (tt_ask){.plan = plan,
                  .coll = coll,
                  .ranks = s->ranks,
                  .data = s->data ? s->data : s->ranks,
                  .root = root};
}

/* A plan, and the options for estimating its time. */
typedef struct tt_pricing {
  tt_chooser *c;
  tt_ask ask;
  int slices;
  bool exported;   /* in shared memory: assumes that vectors need not be copied */
  double most;     /* limit on the messages of all ranks, if all are simulated */
  tt_sched **kept; /* a schedule per rank, or NULL until built; may be NULL */
} tt_pricing;

/* Which ranks are used for the lower bound of a plan's time. */
typedef enum tt_bounded {
  TT_BOUNDED_NOT,
  TT_BOUNDED_ON_EVEN_LEVELS,
  TT_BOUNDED_BY_SOME
} tt_bounded;

typedef struct tt_pricer {
  const char *name; /* describes the method, for `tutti explain` */
  bool (*applies)(const tt_pricing *p);
  tt_bounded bounded;
  /* Prepares the simulation for a vector of *size bytes. Sets *size to the largest size for which the simulation is valid,
   * because some loops support only short vectors. Returns TUTTI_ERR_UNSUPPORTED or TUTTI_ERR_MEMORY on error. */
  tutti_status (*sim)(const tt_pricing *p, uint64_t *size, tt_sim **sim);
  /* Estimates the time for all sizes without simulating the plan. NULL if the method needs the simulation. */
  tutti_status (*curve)(const tt_pricing *p, int weight, tt_curve *curve);
  /* Raises a curve to the lower bounds that some ranks give. May be NULL. */
  tutti_status (*raise)(const tt_pricing *p, tt_curve *curve);
} tt_pricer;

/* Returns the options for an estimate without slices and without a limit on messages. */
tt_pricing tt_pricing_of(tt_chooser *c, const tt_plan_spec *plan, tutti_coll coll, int root);
const tt_pricer *tt_pricer_of(const tt_pricing *p);
/* Prepares a simulation with the given method (NULL: the first method that applies), and cuts the plan into slices. */
tutti_status tt_pricing_sim(const tt_pricing *p, const tt_pricer *by, uint64_t *size, tt_sim **sim);
/* Prepares a simulation for a vector of `bytes` bytes, with the first method that applies to the plan. */
tutti_status tt_candidate_sim(tt_chooser *c, const tt_plan_spec *plan, int slices, tutti_coll coll,
                              int root, bool exported, uint64_t bytes, tt_sim **sim);
/* Returns true if the method simulates all ranks. On more than TT_MOST_PLAYED ranks, such plans are estimated only if no
 * other plan is possible. */
bool tt_prices_all_ranks(const tt_pricer *by);

/* Returns true if the plan is a composition, which names an algorithm for each level. */
bool tt_is_composition(const tt_plan_spec *plan);
/* Prepares the simulation of a stage in a single group of ranks at its level. */
tutti_status tt_stage_sim(const tt_level_stage *x, const tt_cost_model *model, tt_sim **stage);
/* Builds the schedules of the ranks that rank 0 receives from. The schedule of rank 0 must be in all[0]. */
tutti_status tt_build_senders(const tt_ask *ask, tt_sched **all);
/* Raises the curve to the lower bound at all sizes where the bound is higher. */
void tt_curve_raise(tt_curve *curve, const tt_bound *bound, int slices);

/* ---- rows of the table ---- */

/* Estimates a tree over levels on more than TT_MOST_PLAYED ranks by simulating only the ranks on the longest paths to the
 * root (way_price.c). */
bool tt_ways_apply(const tt_pricing *p);
tutti_status tt_ways_sim(const tt_pricing *p, uint64_t *size, tt_sim **sim);
/* Estimates a plan over uneven levels on more than TT_MOST_PLAYED ranks. Simulates one rank, with every domain enlarged to
 * the largest size on its level. Raises the result to lower bounds of some ranks on the real levels (uneven_price.c). */
bool tt_even_applies(const tt_pricing *p);
tutti_status tt_even_sim(const tt_pricing *p, uint64_t *size, tt_sim **sim);
tutti_status tt_even_raise(const tt_pricing *p, tt_curve *curve);
/* Builds rank 0's schedule on levels with enlarged domains, and sets *model to the cost model of these levels. */
tutti_status tt_even_build(const tt_pricing *p, tt_cost_model *model, tt_sched **s);
/* Estimates a composition or, on many ranks, another plan with stages by simulating a group per level (stage_prices.c). */
bool tt_stages_apply(const tt_pricing *p);
tutti_status tt_stages_sim(const tt_pricing *p, uint64_t *size, tt_sim **sim);
tutti_status tt_stages_curve(const tt_pricing *p, int weight, tt_curve *curve);

/* ---- hosts whose links differ (host_price.c) ---- */

/* Returns true if all ranks are simulated only because hosts have different links. Otherwise the estimate ignores the
 * parameters of hosts, and is raised to the lower bounds of ranks on the hosts that differ. */
bool tt_priced_by_hosts(const tt_pricing *p);
tutti_status tt_hosts_raise(const tt_pricing *p, tt_curve *curve);
/* Stores one rank on each kind of host with different links, at most `most` ranks. Returns their number. */
int tt_hosts_some(const tt_cost_model *model, int *ranks, int most);

#endif
