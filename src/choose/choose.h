/* choose.h - which plan runs: the cheapest that is admissible.
 *
 * Idea       per collective, the price of every algorithm of the table is made
 *            once, as a line in the size; a call only compares lines.
 * Invariant  a pure function of the problem, the number of ranks and figures that
 *            all ranks share, so all ranks choose alike. An op that does not commute
 *            gets only plans that the prover has shown to keep the ranks' order; one
 *            that rounds, only plans that it has shown to group alike on all ranks.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_CHOOSE_H
#define TT_CHOOSE_H

#include "algo.h"
#include "price.h"

typedef struct tt_chooser tt_chooser;

/* Has the engine a loop for these n ranks' schedules? It is cheaper then. */
typedef bool tt_has_loop_fn(tt_sched *const *scheds, int n);

/* Of `ranks` the first `data` bring data, the others help. `crowd`: ranks per core, the
 * same on all ranks. NULL: out of memory. */
tt_chooser *tt_chooser_new(int ranks, int data, double crowd, tt_has_loop_fn *has_loop);
void tt_chooser_free(tt_chooser *c);

/* What a plan must do for an op. */
typedef enum tt_need {
  TT_NEED_ORDER = 1, /* the op does not commute: operands in rank order */
  TT_NEED_SAME = 2   /* the op rounds, or may: the same grouping, so the same bits, everywhere */
} tt_need;

/* The tt_needs of a collective with this type and op. */
unsigned tt_needs_of(tutti_coll coll, tutti_type type, tutti_op op);

/* The name of the plan. `forced`, if not empty, wins where it is possible; where
 * it is not, *refusal says why (else it is NULL) and the choice is tutti's own.
 * TUTTI_ERR_UNSUPPORTED if nothing can do it. */
tutti_status tt_choose(tt_chooser *c, tutti_coll coll, uint64_t bytes, unsigned needs, int root,
                       const char *forced, const char **name, const char **refusal);

/* Where one-shot was chosen for an allreduce: is two-shot cheaper if the ranks' vectors
 * need not be copied? */
bool tt_two_shot_if_lent(tt_chooser *c, uint64_t bytes);

/* What the cheapest plan for so many bytes costs, s; and to copy one byte there and back. */
double tt_seconds_of(tt_chooser *c, tutti_coll coll, uint64_t bytes);
double tt_seconds_to_pack(const tt_chooser *c);

/* Those of `needs` that a plan is shown to meet, in place and not. */
unsigned tt_meets(const char *name, const tt_ask *asked, unsigned needs);

#endif
