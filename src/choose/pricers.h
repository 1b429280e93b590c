/* pricers.h - the five ways to estimate the time of a plan.
 *
 * Idea       An estimate simulates schedules (sim.h). On many ranks, the schedules of some ranks suffice. Which
 *            ones depends on the plan: the first row of the table in pricers.c that applies is used. `tutti
 *            explain` names it.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_PRICERS_H
#define TT_PRICERS_H

#include "bound.h"
#include "choose.h"

/* More messages in all are not worth the simulation of all ranks; nor are any on more ranks. */
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

/* Whose time is estimated. */
typedef struct tt_pricing {
  tt_chooser *c;
  tt_ask ask;
  int slices;
  bool exported; /* in shared memory: as if vectors need not be copied */
  double most;   /* messages of all ranks, if all are simulated */
  tt_sched **
      kept; /* one schedule for each rank or NULL; schedules that are built are added; or NULL */
} tt_pricing;

/* Which ranks bound the time from below, before it is estimated. */
typedef enum tt_bounded {
  TT_BOUNDED_NOT,
  TT_BOUNDED_ON_EVEN_LEVELS,
  TT_BOUNDED_BY_SOME
} tt_bounded;

typedef struct tt_pricer {
  const char *name; /* what the estimate is made from, for `tutti explain` */
  bool (*applies)(const tt_pricing *p);
  tt_bounded bounded;
  /* Prepares the simulation, for a vector of *size bytes. *size: then up to how many bytes it holds, because some
   * loops take small vectors only. TUTTI_ERR_UNSUPPORTED, TUTTI_ERR_MEMORY. */
  tutti_status (*sim)(const tt_pricing *p, uint64_t *size, tt_sim **sim);
  /* The estimates of all sizes, for numbers of that weight, if they are found without such a simulation; or
   * NULL. */
  tutti_status (*curve)(const tt_pricing *p, int weight, tt_curve *curve);
  /* Raises a curve to the lower bounds of some ranks; or NULL. */
  tutti_status (*raise)(const tt_pricing *p, tt_curve *curve);
} tt_pricer;

/* The pricing of a plan without slices, and with all messages. */
tt_pricing tt_pricing_of(tt_chooser *c, const tt_plan_spec *plan, tutti_coll coll, int root);
const tt_pricer *tt_pricer_of(const tt_pricing *p);
/* Prepares the simulation by this pricer, or by the first that applies (NULL), and cuts it in slices. */
tutti_status tt_pricing_sim(const tt_pricing *p, const tt_pricer *by, uint64_t *size, tt_sim **sim);
/* The same by the first that applies, for a vector of `bytes`. */
tutti_status tt_candidate_sim(tt_chooser *c, const tt_plan_spec *plan, int slices, tutti_coll coll,
                              int root, bool exported, uint64_t bytes, tt_sim **sim);
/* Are all ranks simulated? Then the plan is dear on more than TT_MOST_PLAYED ranks. */
bool tt_prices_all_ranks(const tt_pricer *by);

/* Does the plan name an algorithm for each level? */
bool tt_is_composition(const tt_plan_spec *plan);
/* That of one group of a level, alone. */
tutti_status tt_stage_sim(const tt_level_stage *x, const tt_cost_model *model, tt_sim **stage);
/* Builds the schedules of those ranks that rank 0 receives from, all[0] being its own. */
tutti_status tt_build_senders(const tt_ask *ask, tt_sched **all);
/* Raises a curve to a bound, where that is above it. */
void tt_curve_raise(tt_curve *curve, const tt_bound *bound, int slices);

/* ---- its rows ---- */

/* Beyond TT_MOST_PLAYED ranks, a tree over levels: the ranks on the longest ways to the root (way_price.c). */
bool tt_ways_apply(const tt_pricing *p);
tutti_status tt_ways_sim(const tt_pricing *p, uint64_t *size, tt_sim **sim);
/* There, a plan over uneven levels: one rank on even levels whose domains all have the size of the
 * largest, raised to what some ranks of the uneven ones take at least (uneven_price.c). */
bool tt_even_applies(const tt_pricing *p);
tutti_status tt_even_sim(const tt_pricing *p, uint64_t *size, tt_sim **sim);
tutti_status tt_even_raise(const tt_pricing *p, tt_curve *curve);
/* Builds rank 0's schedule there; *model: of those levels. */
tutti_status tt_even_build(const tt_pricing *p, tt_cost_model *model, tt_sched **s);
/* A composition, or on many ranks another plan that has stages: a group of each level (stage_prices.c). */
bool tt_stages_apply(const tt_pricing *p);
tutti_status tt_stages_sim(const tt_pricing *p, uint64_t *size, tt_sim **sim);
tutti_status tt_stages_curve(const tt_pricing *p, int weight, tt_curve *curve);

/* ---- hosts whose links differ (host_price.c) ---- */

/* Are all ranks simulated, although fewer would suffice otherwise? If not, the estimate is the one without the parameters
 * of hosts, raised to the lower bounds of the ranks of those hosts. */
bool tt_priced_by_hosts(const tt_pricing *p);
tutti_status tt_hosts_raise(const tt_pricing *p, tt_curve *curve);
/* A rank of each kind of host that differs: at most `most`; returns how many. */
int tt_hosts_some(const tt_cost_model *model, int *ranks, int most);

#endif
