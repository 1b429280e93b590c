/* choose.h - decides which plan runs: of the admissible ones the plan that wisdom names, or else
 * the one of least predicted time.
 *
 * Idea       every plan that may be fastest (choose/candidates.c) has an estimate per collective: a
 *            few lines in the size, made when it is first needed. A new size only compares them.
 * Invariant  a pure function of the problem, the machine, wisdom and model parameters that all ranks share,
 *            so all ranks make the same choice. If memory runs out, the choice fails: it is never made
 *            among the remaining plans, because other ranks have all. An op that does not commute
 *            gets only plans that the prover has shown to keep the ranks' order. An op that rounds
 *            gets only plans shown to group operands identically on all ranks, unless told otherwise.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_CHOOSE_H
#define TT_CHOOSE_H

#include "algo.h"
#include "code.h"
#include "override.h"
#include "profile.h"
#include "wisdom.h"

typedef struct tt_chooser tt_chooser;

/* Does the engine have a fast path for the schedules of these n ranks? *most: the largest vector in
 * bytes; 0: no fast path. TUTTI_ERR_MEMORY. */
typedef tutti_status tt_has_loop_fn(tt_sched *const *scheds, int n, uint64_t *most);

/* The machine and its settings. */
/* TUTTI_VERIFY: unset, 0, 1. */
typedef enum tt_verify { TT_VERIFY_SOME, TT_VERIFY_NONE, TT_VERIFY_ALL } tt_verify;

typedef struct tt_setting {
  int ranks;
  int data; /* the first `data` ranks bring data, the others help; 0: all bring data */
  tt_profile profile;
  double ranks_per_core;          /* in shared memory; 0: a network */
  tt_has_loop_fn *has_loop;       /* for shared memory; may be NULL */
  char levels[TT_TREE_TEXT];      /* as "rack:3 node:16 core:4", or of one machine; or empty */
  int inside;                     /* how many of these, the innermost, are within a node */
  char data_levels[TT_TREE_TEXT]; /* with helpers: the levels of the ranks with data; or empty */
  bool wide; /* the helpers are an aggregator's: no port or link of theirs is waited for */
  const int *position;        /* with helpers: of each rank in `levels`, as in tt_cost_model */
  double node_ranks_per_core; /* ranks per core inside such a node */
  double host_ranks_per_core; /* for a network: ranks per core of a host that several share */
  int flight;                 /* slices that run simultaneously */
  tt_verify verify;           /* which plans are proven before they run */
  const tt_plan_spec *only; /* only this plan or family is a candidate, which is kept; NULL: all */
  tt_code code;             /* of messages between ranks that share no memory */
  int roundings;            /* the largest number of roundings of a number, if the code rounds */
  const int *node; /* per rank: ranks with one number share memory; NULL: as `inside` says */
  const int *
      host; /* per rank: the number of its host in the profile; NULL: hosts are numbered in the order of the
                      levels */
} tt_setting;

/* TUTTI_ERR_ARG: levels and ranks do not fit; the message says why. Several threads may ask a chooser at the same time. */
tutti_status tt_chooser_new(const tt_setting *setting, tt_chooser **chooser);
/* The same, for communicators: those with equal settings share a chooser, with all that it has estimated. It is kept for a
 * while after its last user has freed it. A setting that points to memory of its communicator is not shared. */
tutti_status tt_chooser_share(const tt_setting *setting, tt_chooser **chooser);
void tt_chooser_free(tt_chooser *c);
/* The cost model of steps, not of loops. */
const tt_cost_model *tt_chooser_model(const tt_chooser *c);

/* What an op needs of a plan. */
typedef enum tt_need {
  TT_NEED_ORDER = 1, /* the op does not commute: operands in rank order */
  TT_NEED_SAME = 2,  /* the op rounds, or may: the same grouping on all ranks, so the same bits */
  TT_NEED_ELEMENT =
      4, /* each sum in one step, in rank order: the same bits by every such plan, for any count and placement */
  TT_NEED_PROOF = 8, /* every plan, or its form, must be proven before it runs (tt_proven_can) */
  TT_NEED_FEW =
      16 /* the code rounds: few roundings, and each sum completed on one rank (roundings.c) */
} tt_need;

/* The tt_needs of a collective with this type and op, under a contract. */
unsigned tt_needs_of(tutti_contract contract, tutti_coll coll, tutti_type type, tutti_op op);

typedef struct tt_problem {
  tutti_coll coll;
  uint64_t bytes; /* of the whole vector */
  unsigned needs; /* of tt_need */
  int root;
  int weight;              /* of its numbers (tt_weight_of) */
  const tt_wisdom *wisdom; /* measurements, found by `key`; NULL: do not use any */
  tt_wisdom_key key;
} tt_problem;

/* Adding numbers of some types takes longer: 2^weight times what gamma says, rounded, up to
 * TT_WEIGHTS - 1. Types of one weight share their prices. */
enum { TT_WEIGHTS = 6 };
int tt_weight_of(const tt_chooser *c, tutti_type type);

enum { TT_REFUSAL = 800 }; /* capacity for why a plan does not run: names, and words */

typedef struct tt_choice {
  const tt_plan_spec *plan; /* valid until the chooser is freed */
  int slices;
  char refusal[TT_REFUSAL]; /* why an override was refused; empty: no override, or not refused */
  bool overridden;
  const tt_wisdom_entry *wisdom; /* its entry, of the problem's wisdom; NULL: the price decided */
  int way;      /* 1 + which way over an aggregator (run/aggregated.c); 0: among the ranks alone */
  tt_code code; /* of messages between nodes */
} tt_choice;

/* Chooses a plan. An override that names a possible plan decides; if the plan is not possible,
 * `refusal` says why. Otherwise the plan is the one that wisdom names, if it is an admissible candidate;
 * otherwise the cheapest. TUTTI_ERR_UNSUPPORTED: no plan can do it. TUTTI_ERR_MEMORY. */
tutti_status tt_choose(tt_chooser *c, const tt_problem *problem, const tt_override *override,
                       tt_choice *choice);

/* For an allreduce that uses one-shot. *is: would two-shot be cheaper if the ranks' vectors need
 * not be copied? TUTTI_ERR_MEMORY. */
tutti_status tt_two_shot_if_exported(tt_chooser *c, const tt_plan_spec *one_shot,
                                     const tt_plan_spec *two_shot, uint64_t bytes, bool *is);

/* The predicted time (s) of the cheapest plan for `bytes` bytes (-1: out of memory); and of copying
 * one byte there and back. */
double tt_seconds_of(tt_chooser *c, tutti_coll coll, uint64_t bytes);
double tt_seconds_to_pack(const tt_chooser *c);

/* With more ranks the prover is not asked, since it needs the schedules of all. A plan that was not
 * named is not proven either if the prover would have to follow more blocks than this through all
 * steps of all ranks, which is about half a second's work. */
enum { TT_MOST_PROVEN = 4096, TT_MOST_WORK = 1 << 20 };
/* *met: which of `needs` a plan is shown to meet, in place and not. *skipped: the prover was not
 * asked, since it would have to follow more than `most` blocks. TUTTI_ERR_MEMORY. */
tutti_status tt_meets(const tt_ask *asked, unsigned needs, double most, unsigned *met,
                      bool *skipped);

/* The number of blocks that the prover has to follow through these schedules. */
double tt_work_of(tt_sched *const *all, int ranks);

/* ---- only proven plans run (proven.c) ---- */

enum { TT_PROVEN_RANKS = 64 };
typedef enum tt_proven {
  TT_PROVEN,
  TT_PROVEN_FORM,      /* not on these ranks, but `make prove` has proven its form (proven.c) */
  TT_PROVEN_TOO_LARGE, /* neither: such a plan is not chosen */
  TT_PROVEN_OFF        /* TUTTI_VERIFY is 0 */
} tt_proven;
/* Proves a plan, both in place and out of place. TUTTI_ERR_SCHEDULE, with the prover's message, if it
 * refuses; TUTTI_ERR_MEMORY. */
tutti_status tt_proven_find(const tt_ask *ask, int slices, const tt_setting *how, tt_proven *is);
/* Would tt_proven_find answer one of the first two, whatever the number of slices? Otherwise the
 * plan is not chosen, nor run if it is named. Fails if the plan cannot be built. */
tutti_status tt_proven_can(const tt_ask *ask, const tt_setting *how, bool *can);
/* Formats why that plan does not run. */
void tt_unproven_words(const tt_plan_spec *plan, int ranks, char *words, size_t size);
/* The results of all proofs of a form by `make prove` (proven.c), its numbers being ranges: are operands in
 * rank order, are they grouped identically on all ranks, and what was the largest number of ranks? */
typedef struct tt_form {
  const char *name;
  unsigned does; /* a set of TT_DOES */
  bool order, same;
  int ranks;
} tt_form;
/* The form of a plan, with the properties that hold for all its numbers; false: no plan of such a form, with
 * such numbers, is proven. */
bool tt_form_of(const tt_plan_spec *plan, tutti_coll coll, tt_form *form);
/* A hash of the question, a multiple of 4 and not 0. */
uint64_t tt_proven_key(const tt_ask *ask, int slices);

/* ---- coded messages (roundings.c) ---- */

/* *roundings: the maximum number of roundings of a number on its route into a result of this plan. Each message of a
 * partial sum between nodes rounds it, unless it is rounded already, and the completion of a sum rounds it once more.
 * -1: a sum is completed on several ranks, so their bits would differ; or the answer takes too long, and
 * *skipped is set. TUTTI_ERR_MEMORY. */
tutti_status tt_roundings_of(const tt_chooser *c, const tt_ask *ask, int *roundings, bool *skipped);
/* *much: would this stage of a composition, between the nodes of that level, round more than allowed? */
tutti_status tt_stage_rounds(const tt_chooser *c, const tt_plan_spec *plan, tutti_coll coll,
                             int ranks, int level, bool *much);
/* May messages of such a call take that code? Codes that round are only for sums of the floats of all ranks. */
bool tt_code_takes_call(tt_code code, tutti_coll coll, tutti_type type, tutti_op op);
/* The predicted time of a choice; < 0: none. */
double tt_choice_seconds(tt_chooser *c, const tt_problem *problem, const tt_choice *choice);
/* Does a compressed plan with that estimate run instead of an uncompressed one? Estimates < 0: unknown. It must be faster
 * by 10 % and 0.1 ms (if lossless by 5 % and 0.5 ms), because estimates are not exact, and compression that does not pay
 * must not slow calls down. */
bool tt_coding_pays(const tt_chooser *coded, double with, double without);
/* The node of each rank; the caller frees it. NULL: out of memory. */
int *tt_chooser_nodes(const tt_chooser *c);
/* Changes the costs of links between nodes by a code's. */
void tt_cost_coded(const tt_setting *s, tt_cost_model *model);
/* Appends a sentence: how messages between nodes are coded, how often numbers are rounded on their way
 * through the plan, and the bound of the error. */
void tt_coding_say(tt_text *t, const tt_chooser *c, const tt_problem *problem,
                   const tt_plan_spec *plan);
/* Appends the same as a JSON object; null: messages are not coded. */
void tt_coding_json(tt_text *t, const tt_chooser *c, const tt_problem *problem,
                    const tt_plan_spec *plan);

/* ---- the candidates, for explanations ---- */

/* The predicted time of one candidate, and whether it is admissible. */
typedef struct tt_quote {
  const tt_plan_spec *plan;
  int slices;
  bool possible;  /* it can do the collective with this number of ranks */
  unsigned lacks; /* the needs that it does not meet, or */
  bool skipped;   /* that it may not meet: the prover was not asked */
  bool ruled_out; /* by the override */
  bool starved;   /* memory ran out, so this or other candidates may be missing that other ranks have */
  double seconds;
} tt_quote;

/* The i-th candidate; false past the end, or if quote->starved. ask: asks the prover for what is not yet known about
 * it. */
bool tt_quote_at(tt_chooser *c, const tt_problem *problem, const tt_override *override, int i,
                 bool ask, tt_quote *quote);
/* The price of one candidate, the others being left alone; HUGE_VAL: it is none, or not possible; < 0: out of
 * memory. */
double tt_price_of(tt_chooser *c, const tt_problem *problem, const tt_plan_spec *plan, int slices);
/* The breakdown of a plan's time at this size; rounds (may be NULL): as tt_sim_one_port.
 * TUTTI_ERR_UNSUPPORTED with the reason if the plan is not possible. */
tutti_status tt_quote_breakdown(tt_chooser *c, const tt_plan_spec *plan, int slices,
                                const tt_problem *problem, tt_breakdown *breakdown, tt_sends *sends,
                                int *rounds);

/* ---- exact sums (exact_words.c) ---- */

/* TUTTI_ERR_UNSUPPORTED: too many ranks for exact sums. */
tutti_status tt_exact_ranks(const char *who, int ranks);
/* Turns the problem of summing such numbers into that of summing their words, assuming that the
 * exponents of a block span 32. Only for a type and op that round. */
void tt_exact_problem(tutti_type type, int ranks, tt_problem *problem);
/* Appends a sentence: what numbers of this type become. */
void tt_exact_words_say(tt_text *t, tutti_type type, int ranks);

#endif
