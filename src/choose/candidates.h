/* candidates.h - the plans that may be fastest, and their predicted times.
 *
 * Idea       the algorithms propose names with parameters (tt_algo_next_plan); the number of slices is
 *            one more parameter, if slices can overlap. Each candidate starts with a lower bound of its time
 *            (bound.c), and is estimated when a choice reaches its bound.
 * Invariant  the candidates that a choice compares depend on the bounds and the estimates alone, not on earlier
 *            questions. Ranks that asked other questions in between therefore make the same choice.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_CANDIDATES_H
#define TT_CANDIDATES_H

#include <pthread.h>

#include "bound.h"
#include "choose.h"
#include "pricers.h"

/* What the prover was asked about a plan, and its answers: one for every root, or a single one
 * without roots. */
typedef struct tt_finding {
  unsigned asked, met; /* of tt_need */
  bool skipped;        /* the prover was not asked about some: it would take too long */
} tt_finding;

typedef struct tt_candidate {
  tt_plan_spec *plan;
  int slices;
  bool differ;              /* ranks differ, so the price needs the schedules of all */
  bool chained[2], widened; /* the bounds of these names are known */
  bool priced;              /* the next two fields are known */
  bool possible;            /* it can do the collective on these ranks, and its price is known */
  bool dear; /* priced only if nothing else is possible: all ranks' schedules are needed */
  tt_bound bound, chain[2], wide; /* chains: to the last rank, to one in the middle */
  tt_curve curve;
  tt_finding *found;
} tt_candidate;

/* A curve may be lower than the simulated times by this much (curve.c). */
#define TT_CURVE_ACCURACY 0.94

/* When a candidate's turn comes, and the least time that it can take at some size. */
typedef struct tt_turn {
  double least;
  int i;
} tt_turn;

/* The schedules of some ranks of the i-th candidate, for its closer bounds and its price. */
typedef struct tt_kept {
  int i;
  tt_ask ask;
  tt_sched **all; /* one for each rank, or NULL; NULL: no schedules are kept */
  bool starved;
} tt_kept;

typedef struct tt_candidates {
  int n, room;
  tt_candidate *at;
  tutti_coll coll;
  int weight;
  bool settled;   /* one is possible, or `all` is set */
  bool all;       /* dear candidates are priced too */
  tt_turn *order; /* the least first, for `bytes`; NULL: not made yet */
  uint64_t bytes;
  tt_kept kept;
} tt_candidates;

/* May it be chosen, where its price is known? Dear ones may be priced already, for another choice. */
static inline bool tt_candidate_counts(const tt_candidates *list, const tt_candidate *x) {
  return x->possible && (!x->dear || list->all);
}

/* Is x cheaper than y, another candidate? (choose.c) */
bool tt_candidate_cheaper(const tt_candidate *x, const tt_candidate *y, double bytes);

/* A stage of compositions, and its price as a part of the vector's size. */
typedef struct tt_stage_price {
  tt_level_stage stage;
  tt_plan_spec *own; /* stage.plan */
  int weight;
  bool possible;
  tt_curve curve;
} tt_stage_price;

/* What the choices of a chooser have simulated: tests count it, because time depends on the load. */
typedef struct tt_effort {
  int priced;        /* candidates */
  int stages;        /* stages of compositions */
  uint64_t messages; /* in all simulations that were prepared for these */
} tt_effort;

struct tt_chooser {
  tt_setting setting;
  tt_cost_model model, loop, exported; /* of steps; of loops; of loops that copy nothing */
  tt_cost_model least;                 /* the minimum of these, for bounds */
  bool levels;                         /* the profile has more than one */
  bool unbound;                        /* for tests: prices all candidates */
  tt_candidates *of[TUTTI_COLL_COUNT][TT_WEIGHTS];
  tt_stage_price *stage; /* those that were priced so far */
  int stages;
  tt_effort effort;
  tt_curve exported_curve[2]; /* one-shot that copies; two-shot that does not */
  bool exported_priced;
  const tt_plan_spec *overridden; /* the plan that the following fields describe */
  tt_finding *named_found[TUTTI_COLL_COUNT];
  bool starved; /* out of memory: other ranks may have found more */
  pthread_mutex_t lock;
  bool shared;      /* the next two fields count, under the lock of tt_process.plans */
  int users;        /* communicators */
  tt_chooser *next; /* of those that are shared */
};

/* Forgets what was found about the plan that an override named (chooser.c). */
void tt_forget_named(tt_chooser *c);

/* ---- the list (candidates.c) ---- */

/* All candidates of a collective for numbers of that weight; NULL: out of memory. The chooser owns
 * them. */
tt_candidates *tt_candidates_of(tt_chooser *c, tutti_coll coll, int weight);
void tt_candidates_free(tt_candidates *list);
/* Adds a plan, whose owner is then the list. False: out of memory, and it is freed. */
bool tt_candidates_add(tt_candidates *list, tt_plan_spec *plan, int slices);
/* The same plan again, with that many slices. */
bool tt_candidates_add_slices(tt_candidates *list, const tt_plan_spec *plan, int slices);
/* Estimates the i-th, unless it is dear or has an estimate. False: out of memory, and c->starved is set. */
bool tt_candidates_price(tt_chooser *c, tt_candidates *list, int i);
/* If nothing is possible without the dear candidates, later estimates include them. False as above. */
bool tt_candidates_settle(tt_chooser *c, tt_candidates *list);
/* Orders the list for this size, by the bounds that are known from the start. False as above. */
bool tt_candidates_order(tt_chooser *c, tt_candidates *list, uint64_t bytes);
/* Can the i-th candidate take `most` seconds or less? Closer bounds tell, if its ranks differ: the
 * schedules of some more ranks are built for them. False as above. */
bool tt_candidates_may(tt_chooser *c, tt_candidates *list, int i, double bytes, double most,
                       bool *may);
/* Finds out what can be known about the i-th plan without its price. *sliced: slices may help it.
 * TUTTI_ERR_MEMORY; another error: it cannot be built. */
tutti_status tt_candidates_look_at(tt_chooser *c, tt_candidates *list, int i, bool *sliced);
/* Frees the schedules that were kept. */
void tt_candidates_forget(tt_candidates *list);
/* From now on simulations are for numbers of that weight. */
void tt_chooser_weigh(tt_chooser *c, int weight);

/* ---- stages (stage_prices.c) ---- */

/* Finds the price of a stage among c->stage, or makes it; model: that of its level. *found: -1 if it cannot
 * be built. TUTTI_ERR_MEMORY. */
tutti_status tt_stage_find(tt_chooser *c, const tt_level_stage *stage, int weight,
                           const tt_cost_model *model, int *found);

/* ---- proposals by the levels (compositions.c) ---- */

/* Are compositions found by the prices of their stages? Else the algorithms propose some. */
bool tt_compositions_apply(const tt_chooser *c, tutti_coll coll);
/* Adds those that may be cheapest. False: out of memory. */
bool tt_compositions_list(tt_chooser *c, tt_candidates *list);

#endif
