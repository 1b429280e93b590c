/* candidates.h - the plans that may be fastest, and their predicted times.
 *
 * Idea       The algorithms propose plan names with parameters (tt_algo_next_plan). If slices can overlap, their number
 *            is one more parameter. Each candidate starts with a lower bound of its time (bound.c) and is estimated
 *            once the search reaches that bound.
 * Invariant  The candidates that a choice compares depend only on the bounds and the estimates, not on earlier queries.
 *            Ranks that made other queries in between therefore make the same choice.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_CANDIDATES_H
#define TT_CANDIDATES_H

#include <pthread.h>

#include "bound.h"
#include "choose.h"
#include "pricers.h"

/* The needs that were checked for a plan, and the results. There is one finding for each root, or a single one for
 * collectives without roots. */
typedef struct tt_finding {
  unsigned asked, met; /* sets of tt_need */
  bool skipped;        /* some needs were not checked, because the prover would take too long */
} tt_finding;

typedef struct tt_candidate {
  tt_plan_spec *plan;
  int slices;
  bool differ;              /* ranks differ, so the estimate needs all schedules */
  bool chained[2], widened; /* chain[0], chain[1] and wide have been computed */
  bool priced;              /* `possible` and `curve` are valid */
  bool possible;            /* supports the collective on these ranks and has an estimate */
  bool dear; /* estimated only if no other plan is possible, because it needs all ranks'
              * schedules */
  tt_bound bound, chain[2], wide; /* chains: to the last rank, and to one in the middle */
  tt_curve curve;
  tt_finding *found;
} tt_candidate;

/* A curve may fall below the simulated times by this factor (curve.c). */
#define TT_CURVE_ACCURACY 0.94

/* A candidate in the order of the search, with the lower bound of its time at the current size. */
typedef struct tt_turn {
  double least;
  int i;
} tt_turn;

/* The schedules of some ranks of the i-th candidate, for its closer bounds and its estimate. */
typedef struct tt_kept {
  int i;
  tt_ask ask;
  tt_sched **all; /* one per rank, NULL where not yet built; NULL: no schedules are kept */
  bool starved;
} tt_kept;

typedef struct tt_candidates {
  int n, room;
  tt_candidate *at;
  tutti_coll coll;
  int weight;
  bool settled;   /* a candidate is possible, or `all` is set */
  bool all;       /* dear candidates are estimated as well */
  tt_turn *order; /* sorted by lower bound at `bytes`; NULL until first needed */
  uint64_t bytes;
  tt_kept kept;
} tt_candidates;

/* Returns true if a candidate with an estimate may be chosen. Dear candidates may have an estimate from another choice. */
static inline bool tt_candidate_counts(const tt_candidates *list, const tt_candidate *x) {
  return x->possible && (!x->dear || list->all);
}

/* Returns true if x is faster than y, which must be another candidate (choose.c). */
bool tt_candidate_cheaper(const tt_candidate *x, const tt_candidate *y, double bytes);

/* A stage of compositions, with its predicted time as a function of the size of the part that it works on. */
typedef struct tt_stage_price {
  tt_level_stage stage;
  tt_plan_spec *own; /* owns stage.plan */
  int weight;
  bool possible;
  tt_curve curve;
} tt_stage_price;

/* Counters of simulated work. Tests use them instead of time, because time depends on the load. */
typedef struct tt_effort {
  int priced;        /* candidates */
  int stages;        /* stages of compositions */
  uint64_t messages; /* in all simulations that were prepared for these estimates */
} tt_effort;

struct tt_chooser {
  tt_setting setting;
  tt_cost_model model, loop, exported; /* for steps; for loops; for loops that copy nothing */
  tt_cost_model least;                 /* the minimum of these, for bounds */
  bool levels;                         /* the profile has several levels */
  bool unbound;                        /* for tests: ignores bounds and estimates all candidates */
  tt_candidates *of[TUTTI_COLL_COUNT][TT_WEIGHTS];
  tt_stage_price *stage; /* the stages estimated so far */
  int stages;
  tt_effort effort;
  tt_curve exported_curve[2]; /* for one-shot with copies, and for two-shot without */
  bool exported_priced;
  const tt_plan_spec *overridden; /* the plan that named_found describes */
  tt_finding *named_found[TUTTI_COLL_COUNT];
  bool starved; /* out of memory, so other ranks may have found more */
  pthread_mutex_t lock;
  bool shared;      /* part of the list of shared choosers; the lock of tt_process.plans protects
                     * the next two fields */
  int users;        /* number of communicators */
  tt_chooser *next; /* next in the list of shared choosers */
};

/* Discards the findings about the plan that an override named (chooser.c). */
void tt_forget_named(tt_chooser *c);

/* ---- the list (candidates.c) ---- */

/* Returns all candidates of a collective for numbers of that weight, or NULL if out of memory. The chooser owns them. */
tt_candidates *tt_candidates_of(tt_chooser *c, tutti_coll coll, int weight);
void tt_candidates_free(tt_candidates *list);
/* Adds a plan, which the list then owns. If out of memory, frees the plan and returns false. */
bool tt_candidates_add(tt_candidates *list, tt_plan_spec *plan, int slices);
/* Adds a copy of the plan with that many slices. */
bool tt_candidates_add_slices(tt_candidates *list, const tt_plan_spec *plan, int slices);
/* Estimates the i-th candidate, unless it is dear or has an estimate. If out of memory, sets c->starved and returns
 * false. */
bool tt_candidates_price(tt_chooser *c, tt_candidates *list, int i);
/* If no plan is possible without the dear candidates, includes them in later estimates. Returns false as above. */
bool tt_candidates_settle(tt_chooser *c, tt_candidates *list);
/* Sorts the list for this size by the bounds found when the candidates were added. Returns false as above. */
bool tt_candidates_order(tt_chooser *c, tt_candidates *list, uint64_t bytes);
/* Sets *may if the i-th candidate may take `most` seconds or less. If its ranks differ, this builds the schedules of a few
 * more ranks to compute closer bounds. Returns false as above. */
bool tt_candidates_may(tt_chooser *c, tt_candidates *list, int i, double bytes, double most,
                       bool *may);
/* Bounds the i-th plan and finds its other properties without an estimate. Sets *sliced if slices may help it. Returns
 * TUTTI_ERR_MEMORY if out of memory, or another error if the plan cannot be built. */
tutti_status tt_candidates_look_at(tt_chooser *c, tt_candidates *list, int i, bool *sliced);
/* Frees the schedules in list->kept. */
void tt_candidates_forget(tt_candidates *list);
/* Makes later simulations use the cost of adding numbers of that weight. */
void tt_chooser_weigh(tt_chooser *c, int weight);

/* ---- stages (stage_prices.c) ---- */

/* Finds the estimate of a stage in c->stage, or adds it, using `model`, the cost model of the stage's level. Sets *found to
 * its index, or to -1 if the stage cannot be built. May return TUTTI_ERR_MEMORY. */
tutti_status tt_stage_find(tt_chooser *c, const tt_level_stage *stage, int weight,
                           const tt_cost_model *model, int *found);

/* ---- compositions over the levels (compositions.c) ---- */

/* Returns true if compositions are found from the estimates of their stages. Otherwise the algorithms propose some. */
bool tt_compositions_apply(const tt_chooser *c, tutti_coll coll);
/* Adds the compositions that may be fastest. Returns false if out of memory. */
bool tt_compositions_list(tt_chooser *c, tt_candidates *list);

#endif
