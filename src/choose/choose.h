/* choose.h - which plan runs: of those that are admissible what wisdom names, or the cheapest.
 *
 * Idea       every plan that may be cheapest (choose/candidates.c) has a price per
 *            collective, a few lines in the size, made when it is first asked for; a new
 *            size only compares them.
 * Invariant  a pure function of the problem, the machine, wisdom and figures that all ranks
 *            share, so all ranks choose alike. Where memory runs out on the way a choice fails: it
 *            is never made among what was left, for other ranks have all. An op that does not commute gets only plans
 *            that the prover has shown to keep the ranks' order; one that rounds, only
 *            plans that it has shown to group alike on all ranks, unless told otherwise.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_CHOOSE_H
#define TT_CHOOSE_H

#include "algo.h"
#include "override.h"
#include "profile.h"
#include "wisdom.h"

typedef struct tt_chooser tt_chooser;

/* Has the engine a loop for these n ranks' schedules? It is cheaper then. TUTTI_ERR_MEMORY. */
typedef tutti_status tt_has_loop_fn(tt_sched *const *scheds, int n, bool *has);

/* Where it is to run. */
/* TUTTI_VERIFY: unset, 0, 1. */
typedef enum tt_verify { TT_VERIFY_SOME, TT_VERIFY_NONE, TT_VERIFY_ALL } tt_verify;

typedef struct tt_setting {
  int ranks;
  int data; /* the first ranks, that bring data; the others help. 0: all */
  tt_profile profile;
  double ranks_per_core;      /* shared memory: ranks per core; 0: a network */
  tt_has_loop_fn *has_loop;   /* of shared memory; may be NULL */
  char levels[TT_NAME];       /* of a network, as "rack:3 node:16 core:4"; or empty */
  int inside;                 /* so many of them, the innermost, are within a node ... */
  double node_ranks_per_core; /* ... shared memory, with so many ranks per core */
  double host_ranks_per_core; /* of a network: ranks per core where several share a machine */
  int flight;                 /* slices that run at once */
  tt_verify verify;           /* which plans are proven before they run */
  char only[TT_NAME];         /* if not empty: no other plan is a candidate; or family */
} tt_setting;

/* TUTTI_ERR_ARG: levels and ranks do not fit; the sentence says. */
tutti_status tt_chooser_new(const tt_setting *setting, tt_chooser **chooser);
void tt_chooser_free(tt_chooser *c);
/* Between which ranks messages go, and what they cost. Not of loops. */
const tt_cost_model *tt_chooser_model(const tt_chooser *c);

/* What a plan must do for an op. */
typedef enum tt_need {
  TT_NEED_ORDER = 1, /* the op does not commute: operands in rank order */
  TT_NEED_SAME = 2,  /* the op rounds, or may: the same grouping, so the same bits, everywhere */
  TT_NOT_ASKED = 4,  /* no need, but an answer: to ask the prover would take too long */
  TT_STARVED = 8,    /* another: memory ran out before there was one */
  TT_NEED_PROOF = 16 /* every plan must be proven before it runs, or its form (tt_proven_can) */
} tt_need;

/* The tt_needs of a collective with this type and op. */
unsigned tt_needs_of(tutti_coll coll, tutti_type type, tutti_op op);

typedef struct tt_problem {
  tutti_coll coll;
  uint64_t bytes; /* of the whole vector */
  unsigned needs; /* of tt_need */
  int root;
  int weight;              /* of its numbers (tt_weight_of) */
  const tt_wisdom *wisdom; /* what was measured of it, under this key; NULL: nothing counts */
  tt_wisdom_key key;
} tt_problem;

/* Numbers of some types take longer to add: 2^weight times as long as gamma says, rounded, up to
 * TT_WEIGHTS - 1. Those of one weight share their prices. */
enum { TT_WEIGHTS = 6 };
int tt_weight_of(const tt_chooser *c, tutti_type type);

typedef struct tt_choice {
  const char *name; /* valid until the chooser is freed */
  int slices;
  const char *refusal; /* why a wish could not be granted; NULL: it was, or there was none */
  bool overridden;
  const tt_wisdom_entry *wisdom; /* that chose it, of the problem's wisdom; NULL: its price did */
} tt_choice;

/* The plan. Where a wish names one that is possible, that; where it is not, the refusal
 * says why and the choice is tutti's own: what wisdom names, if it is a candidate and
 * admissible; else the cheapest. TUTTI_ERR_UNSUPPORTED: nothing can do it. TUTTI_ERR_MEMORY. */
tutti_status tt_choose(tt_chooser *c, const tt_problem *problem, const tt_override *override,
                       tt_choice *choice);

/* Where one-shot was chosen for an allreduce: *is: two-shot is cheaper if the ranks' vectors
 * need not be copied. TUTTI_ERR_MEMORY. */
tutti_status tt_two_shot_if_exported(tt_chooser *c, uint64_t bytes, bool *is);

/* What the cheapest plan for so many bytes costs, s (-1: out of memory); and to copy one byte there
 * and back. */
double tt_seconds_of(tt_chooser *c, tutti_coll coll, uint64_t bytes);
double tt_seconds_to_pack(const tt_chooser *c);

/* On more ranks the prover is not asked: it would see all of them. Nor, for a plan that nobody
 * named, where it would follow more blocks through all steps of all ranks: half a second's. */
enum { TT_MOST_PROVEN = 4096, TT_MOST_WORK = 1 << 20 };
/* Those of `needs` that a plan is shown to meet, in place and not; or TT_NOT_ASKED, if the
 * prover would have to follow more than `most` blocks; or TT_STARVED. */
unsigned tt_meets(const char *name, const tt_ask *asked, unsigned needs, double most);

/* Blocks that the prover has to follow through these schedules. */
double tt_work_of(tt_sched *const *all, int ranks);

/* ---- what runs is proven (proven.c) ---- */

enum { TT_PROVEN_RANKS = 64 };
typedef enum tt_proven {
  TT_PROVEN,
  TT_PROVEN_FORM,      /* not on these ranks, but `make prove` has proven its form (forms.c) */
  TT_PROVEN_TOO_LARGE, /* neither: no such plan is chosen */
  TT_PROVEN_OFF        /* TUTTI_VERIFY is 0 */
} tt_proven;
/* In place and not: both are one question. TUTTI_ERR_SCHEDULE, with the prover's sentence, if it
 * refuses; TUTTI_ERR_MEMORY. */
tutti_status tt_proven_find(const tt_ask *ask, const char *name, int slices, const tt_setting *how,
                            tt_proven *is);
/* Will one of the first two be the answer, in however many slices? Else the plan is not chosen, nor run
 * if it is named. An error is that of a plan that cannot be built. */
tutti_status tt_proven_can(const tt_ask *ask, const char *name, const tt_setting *how, bool *can);
/* Why that plan does not run. */
void tt_unproven_words(const char *name, int ranks, char *words, size_t size);
/* Of all proofs of this form that `make prove` made (forms.c): did operands stand in rank order,
 * were they grouped alike on all ranks, and how many ranks were the most? */
typedef struct tt_form {
  const char *name;
  tutti_coll coll;
  bool order, same;
  int ranks;
} tt_form;
/* NULL: it has proven none of this plan's form. */
const tt_form *tt_form_of(const char *name, tutti_coll coll);
/* The plan's name without its numbers. */
void tt_form_name(const char *name, char form[TT_NAME]);
/* A number of the question, a multiple of 4 and not 0. */
uint64_t tt_proven_key(const tt_ask *ask, const char *name, int slices);

/* ---- the candidates, for those who explain ---- */

/* What one candidate would take. */
typedef struct tt_quote {
  const char *name;
  int slices;
  bool possible;  /* it can do the collective on this number of ranks */
  unsigned lacks; /* of the needs */
  bool ruled_out; /* the wish rules it out */
  double seconds;
} tt_quote;

/* The i-th candidate; false past the end. With `ask`, the prover is asked for what is not
 * known about it yet. */
bool tt_quote_at(tt_chooser *c, const tt_problem *problem, const tt_override *override, int i,
                 bool ask, tt_quote *quote);
/* Has memory run out since the last choice? Then offers may be less than they are elsewhere. */
bool tt_chooser_starved(const tt_chooser *c);
/* Where the time of a plan goes, at this size. TUTTI_ERR_UNSUPPORTED with the reason if it
 * is not possible. */
tutti_status tt_quote_breakdown(tt_chooser *c, const char *name, int slices,
                                const tt_problem *problem, tt_breakdown *breakdown,
                                tt_sends *sends);

#endif
