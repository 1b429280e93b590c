/* candidates.h - the plans that may be fastest, and their predicted times.
 *
 * Idea       the algorithms propose names with parameters (tt_algo_plan); the number of slices is
 *            one more parameter, if slices can overlap.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_CANDIDATES_H
#define TT_CANDIDATES_H

#include "choose.h"

/* What the prover was asked about a plan, and its answers: one for every root, or a single one
 * without roots. */
typedef struct tt_finding {
  unsigned asked, met; /* of tt_need */
  bool skipped;        /* the prover was not asked about some: it would take too long */
} tt_finding;

typedef struct tt_candidate {
  char name[TT_NAME];
  int slices;
  bool possible;
  tt_curve curve;
  tt_finding *found;
} tt_candidate;

typedef struct tt_candidates {
  int n;
  tt_candidate *at;
} tt_candidates;

struct tt_chooser {
  tt_setting setting;
  tt_cost_model model, loop, exported; /* of steps; of loops; of loops that copy nothing */
  bool levels;                         /* the profile has more than one */
  tt_candidates *of[TUTTI_COLL_COUNT][TT_WEIGHTS];
  tt_curve exported_curve[2]; /* one-shot that copies; two-shot that does not */
  bool exported_priced;
  char overridden[TT_NAME]; /* the plan that the following fields describe */
  tt_finding *named_found[TUTTI_COLL_COUNT];
  char refusal[400];
  bool starved; /* out of memory: other ranks may have found more */
};

static inline tt_ask tt_ask_of(const tt_setting *s, tutti_coll coll, int root) {
  return (tt_ask){
      .coll = coll, .ranks = s->ranks, .data = s->data ? s->data : s->ranks, .root = root};
}
/* All candidates of a collective, priced for numbers of that weight; NULL: out of memory. The
 * chooser owns them. */
const tt_candidates *tt_candidates_of(tt_chooser *c, tutti_coll coll, int weight);
void tt_candidates_free(tt_candidates *list);
/* From now on simulations are for numbers of that weight. */
void tt_chooser_weigh(tt_chooser *c, int weight);
/* Prepares the simulation of a plan: TUTTI_ERR_UNSUPPORTED or _MEMORY if that fails. */
tutti_status tt_candidate_sim(const tt_chooser *c, const char *name, int slices, tutti_coll coll,
                              int root, bool exported, tt_sim **sim);

#endif
