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

/* The needs that have been checked for a plan, and the results of the checks. A collective with a root has one finding for
 * each root. Any other collective has a single finding. */
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

/* A fitted curve is at least this fraction of the simulated times (curve.c). */
#define TT_CURVE_ACCURACY 0.94

/* A candidate in the order of the search, which is by increasing lower bound of the time at the current size. */
typedef struct tt_turn {
  double least;
  int i;
} tt_turn;

/* The schedules of some ranks of the i-th candidate, built for its closer lower bounds and used again for its estimate. */
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

/* Returns true if the candidate may be chosen. If it is expensive to estimate, list->all must also be set. */
static inline bool tt_candidate_counts(const tt_candidates *list, const tt_candidate *x) {
  return x->possible && (!x->dear || list->all);
}

/* Returns true if x is faster than y. The two must be different candidates (choose.c). */
bool tt_candidate_cheaper(const tt_candidate *x, const tt_candidate *y, double bytes);

/* A stage of compositions, with a curve that predicts its time as a function of the size of its part of the vector. */
typedef struct tt_stage_price {
  tt_level_stage stage;
  tt_plan_spec *own; /* owns stage.plan */
  int weight;
  bool possible;
  tt_curve curve;
} tt_stage_price;

/* Counters of the simulated work. Tests check these instead of times, because times depend on the machine's load. */
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

/* Discards the results of checks for the plan that an override named (chooser.c). */
void tt_forget_named(tt_chooser *c);

/* ---- the list (candidates.c) ---- */

/* Returns all candidates of a collective for numbers of this weight, owned by the chooser. Returns NULL if out of memory. */
tt_candidates *tt_candidates_of(tt_chooser *c, tutti_coll coll, int weight);
void tt_candidates_free(tt_candidates *list);
/* Adds a plan and takes ownership of it. If out of memory, frees the plan and returns false. */
bool tt_candidates_add(tt_candidates *list, tt_plan_spec *plan, int slices);
/* Adds a copy of the plan that is cut into `slices` slices. */
bool tt_candidates_add_slices(tt_candidates *list, const tt_plan_spec *plan, int slices);
/* Estimates the i-th candidate, unless it has an estimate or is too expensive. If out of memory, sets c->starved and
 * fails. */
bool tt_candidates_price(tt_chooser *c, tt_candidates *list, int i);
/* If no other plan is possible, includes expensive candidates in later estimates. If out of memory, sets c->starved and
 * returns false. */
bool tt_candidates_settle(tt_chooser *c, tt_candidates *list);
/* Sorts the list by the lower bounds at this size. If out of memory, sets c->starved and returns false. */
bool tt_candidates_order(tt_chooser *c, tt_candidates *list, uint64_t bytes);
/* Sets *may if the i-th candidate's time may be at most `most` seconds. If the ranks differ, builds the schedules of a few
 * more ranks to tighten the lower bound. If out of memory, sets c->starved and returns false. */
bool tt_candidates_may(tt_chooser *c, tt_candidates *list, int i, double bytes, double most,
                       bool *may);
/* Computes the i-th plan's lower bound and other properties that need no estimate. Sets *sliced if slices may help. Returns
 * TUTTI_ERR_MEMORY if out of memory, or another error if the plan cannot be built. */
tutti_status tt_candidates_look_at(tt_chooser *c, tt_candidates *list, int i, bool *sliced);
/* Frees the schedules in list->kept. */
void tt_candidates_forget(tt_candidates *list);
/* Makes later simulations use the time that it takes to add numbers of this weight. */
void tt_chooser_weigh(tt_chooser *c, int weight);

/* ---- stages (stage_prices.c) ---- */

/* Sets *found to the index of the stage's estimate in c->stage, or to -1 if the stage cannot be built. If the estimate does
 * not exist, computes it with `model`, the cost model of the stage's level. May return TUTTI_ERR_MEMORY. */
tutti_status tt_stage_find(tt_chooser *c, const tt_level_stage *stage, int weight,
                           const tt_cost_model *model, int *found);

/* ---- compositions over the levels (compositions.c) ---- */

/* Returns true if the search builds compositions from estimates of stages. Otherwise the algorithms propose compositions. */
bool tt_compositions_apply(const tt_chooser *c, tutti_coll coll);
/* Adds the compositions that might be fastest. Returns false if out of memory. */
bool tt_compositions_list(tt_chooser *c, tt_candidates *list);

#endif
