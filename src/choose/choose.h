/* choose.h - decides which plan runs: the one that wisdom names, if it is admissible, or else the admissible plan with
 * the least predicted time.
 *
 * Idea       Every plan that may be fastest (choose/candidates.c) has one estimate per collective, a piecewise linear
 *            function of the size. It is made when first needed. For a new size, only these functions are compared.
 * Invariant  The choice is a pure function of the problem, the machine, wisdom and the model parameters, which all
 *            ranks share. All ranks therefore make the same choice. If memory runs out, the choice fails instead of
 *            using the remaining plans, because other ranks have all of them. For an op that does not commute, the
 *            prover must have shown that the plan keeps the ranks' order. For an op that rounds, it must have shown
 *            that all ranks group operands identically, unless the contract allows differences.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_CHOOSE_H
#define TT_CHOOSE_H

#include "algo.h"
#include "code.h"
#include "override.h"
#include "profile.h"
#include "wisdom.h"

typedef struct tt_chooser tt_chooser;

/* Finds out whether the engine has a fast path for the schedules of these n ranks. Sets *most to the largest vector that it
 * supports, in bytes, or to 0 without a fast path. May return TUTTI_ERR_MEMORY. */
typedef tutti_status tt_has_loop_fn(tt_sched *const *scheds, int n, uint64_t *most);

/* The values of TUTTI_VERIFY: unset, 0, 1. */
typedef enum tt_verify { TT_VERIFY_SOME, TT_VERIFY_NONE, TT_VERIFY_ALL } tt_verify;

/* The machine and its settings. */
typedef struct tt_setting {
  int ranks;
  int data; /* the first `data` ranks have data, the others are helpers; 0: all ranks have data */
  tt_profile profile;
  double ranks_per_core;          /* in shared memory; 0: over a network */
  tt_has_loop_fn *has_loop;       /* for shared memory; may be NULL */
  char levels[TT_TREE_TEXT];      /* levels of a network, such as "rack:3 node:16 core:4", or of one
                                   * machine; may be empty */
  int inside;                     /* number of innermost levels that are within a node */
  char data_levels[TT_TREE_TEXT]; /* with helpers: levels of the ranks with data, or "" */
  bool wide; /* the helpers are an aggregator's; their ports and links never delay messages */
  const int *position;        /* with helpers: positions of ranks, as in tt_cost_model */
  double node_ranks_per_core; /* ranks per core inside such a node */
  double host_ranks_per_core; /* for a network: ranks per core, on a host shared by several ranks */
  int flight;                 /* number of slices that run simultaneously */
  tt_verify verify;           /* which plans are proven before they run */
  const tt_plan_spec *only;   /* the only plan or family to consider; not copied; NULL: all */
  tt_code code;               /* compression of messages between ranks that share no memory */
  int roundings;              /* how often a number may be rounded, if the compression is lossy */
  const int *node; /* per rank: ranks with equal values share memory; NULL: derived from `inside` */
  const int *
      host; /* per rank: number of its host in the profile; NULL: hosts are numbered in the order of
             * the levels */
} tt_setting;

/* Makes a chooser. Returns TUTTI_ERR_ARG, with a message, if the levels do not match the number of ranks. Several threads
 * may use a chooser at the same time. */
tutti_status tt_chooser_new(const tt_setting *setting, tt_chooser **chooser);
/* As above, for communicators: those with equal settings share a chooser and all its estimates. The chooser is kept for a
 * while after its last user has freed it. If a setting points to memory of its communicator, its chooser is not shared. */
tutti_status tt_chooser_share(const tt_setting *setting, tt_chooser **chooser);
void tt_chooser_free(tt_chooser *c);
/* Returns the cost model of steps, not that of specialized loops. */
const tt_cost_model *tt_chooser_model(const tt_chooser *c);

/* Properties that an op requires of a plan. */
typedef enum tt_need {
  TT_NEED_ORDER = 1, /* operands in rank order, because the op does not commute */
  TT_NEED_SAME = 2,  /* the same grouping on all ranks, so the same bits, because the op may
                      * round */
  TT_NEED_ELEMENT =
      4, /* each sum in one step and in rank order, so every such plan gives the same bits, for any
          * count and placement */
  TT_NEED_PROOF = 8, /* the plan or its form must be proven before it runs (tt_proven_can) */
  TT_NEED_FEW =
      16 /* few roundings, each sum completed on one rank: compression rounds (roundings.c) */
} tt_need;

/* Returns the set of tt_need for a collective with this type and op, under a contract. */
unsigned tt_needs_of(tutti_contract contract, tutti_coll coll, tutti_type type, tutti_op op);

typedef struct tt_problem {
  tutti_coll coll;
  uint64_t bytes; /* size of the whole vector */
  unsigned needs; /* a set of tt_need */
  int root;
  int weight;              /* weight of its numbers (tt_weight_of) */
  const tt_wisdom *wisdom; /* measurements, found by `key`; NULL: use none */
  tt_wisdom_key key;
} tt_problem;

/* Adding numbers of some types takes longer than the parameter gamma says, by a factor rounded to 2^weight. The weight is
 * at most TT_WEIGHTS - 1. Types of equal weight share their estimates. */
enum { TT_WEIGHTS = 6 };
int tt_weight_of(const tt_chooser *c, tutti_type type);

enum { TT_REFUSAL = 800 }; /* size of the message that says why a plan does not run */

typedef struct tt_choice {
  const tt_plan_spec *plan; /* valid until the chooser is freed */
  int slices;
  char refusal[TT_REFUSAL]; /* why an override was refused; empty: none was refused */
  bool overridden;
  const tt_wisdom_entry *wisdom; /* the entry of the problem's wisdom that was used, or NULL */
  int way;      /* 1 + index of the route over an aggregator (run/aggregated.c); 0: no aggregator */
  tt_code code; /* compression of messages between nodes */
} tt_choice;

/* Chooses a plan. If an override names a plan and that plan is possible, it is chosen; if it is not possible, `refusal`
 * says why. Otherwise the plan that wisdom names is chosen, if it is an admissible candidate, and otherwise the fastest.
 * Returns TUTTI_ERR_UNSUPPORTED if no plan supports the call, or TUTTI_ERR_MEMORY. */
tutti_status tt_choose(tt_chooser *c, const tt_problem *problem, const tt_override *override,
                       tt_choice *choice);

/* For an allreduce that uses one-shot: sets *is if two-shot would be faster when the ranks' vectors need not be copied. May
 * return TUTTI_ERR_MEMORY. */
tutti_status tt_two_shot_if_exported(tt_chooser *c, const tt_plan_spec *one_shot,
                                     const tt_plan_spec *two_shot, uint64_t bytes, bool *is);

/* Return the predicted time of the fastest plan for `bytes` bytes, in seconds (-1 if out of memory), and the time to copy
 * one byte to a buffer and back. */
double tt_seconds_of(tt_chooser *c, tutti_coll coll, uint64_t bytes);
double tt_seconds_to_pack(const tt_chooser *c);

/* With more than TT_MOST_PROVEN ranks the prover is not asked, since it needs the schedules of all ranks. A plan that the
 * user did not name is not proven either if the prover would have to follow more than TT_MOST_WORK blocks through all steps
 * of all ranks. That is about half a second's work. */
enum { TT_MOST_PROVEN = 4096, TT_MOST_WORK = 1 << 20 };
/* Sets *met to those of `needs` that the plan is shown to meet, both in place and out of place. Sets *skipped if the prover
 * was not asked, because it would have to follow more than `most` blocks. May return TUTTI_ERR_MEMORY. */
tutti_status tt_meets(const tt_ask *asked, unsigned needs, double most, unsigned *met,
                      bool *skipped);

/* Returns the number of blocks that the prover has to follow through these schedules. */
double tt_work_of(tt_sched *const *all, int ranks);

/* ---- only proven plans run (proven.c) ---- */

enum { TT_PROVEN_RANKS = 64 };
typedef enum tt_proven {
  TT_PROVEN,
  TT_PROVEN_FORM,      /* not proven on these ranks, but its form is, by `make prove` (proven.c) */
  TT_PROVEN_TOO_LARGE, /* neither, so the plan is not chosen */
  TT_PROVEN_OFF        /* TUTTI_VERIFY is 0 */
} tt_proven;
/* Proves a plan, both in place and out of place. Returns TUTTI_ERR_SCHEDULE with the prover's message if the plan is wrong,
 * or TUTTI_ERR_MEMORY. */
tutti_status tt_proven_find(const tt_ask *ask, int slices, const tt_setting *how, tt_proven *is);
/* Sets *can if tt_proven_find would set one of the first two values, for any number of slices. Otherwise the plan is not
 * chosen, and does not run even if the user names it. Fails if the plan cannot be built. */
tutti_status tt_proven_can(const tt_ask *ask, const tt_setting *how, bool *can);
/* Formats the reason why an unproven plan does not run. */
void tt_unproven_words(const tt_plan_spec *plan, int ranks, char *words, size_t size);
/* A form, which is a plan name with ranges of numbers, and the results that all its proofs by `make prove` have in common
 * (proven.c). `order`: operands are in rank order. `same`: all ranks group them identically. `ranks`: the largest number of
 * ranks in a proof. */
typedef struct tt_form {
  const char *name;
  unsigned does; /* a set of TT_DOES */
  bool order, same;
  int ranks;
} tt_form;
/* Finds the form of a plan, with the properties that hold for all numbers in its ranges. Returns false if no proven form
 * includes the plan. */
bool tt_form_of(const tt_plan_spec *plan, tutti_coll coll, tt_form *form);
/* Returns a hash of the arguments, which is a multiple of 4 and never 0. */
uint64_t tt_proven_key(const tt_ask *ask, int slices);

/* ---- compressed messages (roundings.c) ---- */

/* Sets *roundings to the largest number of roundings of a number on its way into a result of this plan. Each message
 * between nodes that carries a partial sum rounds it, unless it is already rounded, and completing a sum rounds it once
 * more. Sets *roundings to -1 if a sum is completed on several ranks, whose bits would then differ, or if the analysis
 * would take too long; *skipped is set in the latter case. May return TUTTI_ERR_MEMORY. */
tutti_status tt_roundings_of(const tt_chooser *c, const tt_ask *ask, int *roundings, bool *skipped);
/* Sets *much if this stage of a composition, which runs between the nodes of that level, would round too often. */
tutti_status tt_stage_rounds(const tt_chooser *c, const tt_plan_spec *plan, tutti_coll coll,
                             int ranks, int level, bool *much);
/* Returns true if messages of such a call may use that compression. Lossy compression is only for sums of floats over all
 * ranks. */
bool tt_code_takes_call(tt_code code, tutti_coll coll, tutti_type type, tutti_op op);
/* Returns the predicted time of a choice, or a negative value if it is unknown. */
double tt_choice_seconds(tt_chooser *c, const tt_problem *problem, const tt_choice *choice);
/* Returns true if a compressed plan should run instead of an uncompressed one, given their estimates (< 0: unknown). It
 * must be faster by 10 % and 0.1 ms, or by 5 % and 0.5 ms if it is lossless: estimates are inexact, and compression must
 * never slow calls down. */
bool tt_coding_pays(const tt_chooser *coded, double with, double without);
/* Returns the node of each rank, which the caller frees, or NULL if out of memory. */
int *tt_chooser_nodes(const tt_chooser *c);
/* Adapts the costs of links between nodes to the compression. */
void tt_cost_coded(const tt_setting *s, tt_cost_model *model);
/* Appends a sentence that says how messages between nodes are compressed, how often the plan rounds a number, and how large
 * the error can be. */
void tt_coding_say(tt_text *t, const tt_chooser *c, const tt_problem *problem,
                   const tt_plan_spec *plan);
/* Appends the same as a JSON object, or null if messages are not compressed. */
void tt_coding_json(tt_text *t, const tt_chooser *c, const tt_problem *problem,
                    const tt_plan_spec *plan);

/* ---- the candidates, for explanations ---- */

/* The predicted time of one candidate, and whether it is admissible. */
typedef struct tt_quote {
  const tt_plan_spec *plan;
  int slices;
  bool possible;  /* supports the collective on this number of ranks */
  unsigned lacks; /* needs that the plan does not meet */
  bool skipped;   /* the prover was not asked, so the plan may meet them */
  bool ruled_out; /* ruled out by the override */
  bool starved;   /* out of memory; this rank may lack candidates that other ranks have */
  double seconds;
} tt_quote;

/* Gets the i-th candidate. Returns false past the end, or if quote->starved. If `ask` is set, the prover checks needs that
 * have not been checked yet. */
bool tt_quote_at(tt_chooser *c, const tt_problem *problem, const tt_override *override, int i,
                 bool ask, tt_quote *quote);
/* Returns the predicted time of one candidate without estimating the others. Returns HUGE_VAL if the plan is not a
 * candidate or not possible, or a negative value if out of memory. */
double tt_price_of(tt_chooser *c, const tt_problem *problem, const tt_plan_spec *plan, int slices);
/* Breaks down the time of a plan at this size. `rounds` (may be NULL) is set as by tt_sim_one_port. Returns
 * TUTTI_ERR_UNSUPPORTED with the reason if the plan is not possible. */
tutti_status tt_quote_breakdown(tt_chooser *c, const tt_plan_spec *plan, int slices,
                                const tt_problem *problem, tt_breakdown *breakdown, tt_sends *sends,
                                int *rounds);

/* ---- exact sums (exact_words.c) ---- */

/* Returns TUTTI_ERR_UNSUPPORTED if there are too many ranks for exact sums. */
tutti_status tt_exact_ranks(const char *who, int ranks);
/* Turns the problem of summing such numbers into the problem of summing their words. Assumes that the exponents of a block
 * span 32. Only for a type and op that round. */
void tt_exact_problem(tutti_type type, int ranks, tt_problem *problem);
/* Appends a sentence that says what numbers of this type are converted to. */
void tt_exact_words_say(tt_text *t, tutti_type type, int ranks);

#endif
