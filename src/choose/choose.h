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

/* Checks whether the engine has a fast path for these schedules of n ranks. Sets *most to the size of the longest vector that
 * the fast path supports, in bytes, or to 0 if no fast path exists. May return TUTTI_ERR_MEMORY. */
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
  bool wide; /* the helpers are outside the job; their ports and links never delay messages */
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

/* Creates a chooser, which several threads may use at the same time. Returns TUTTI_ERR_ARG, with a message, if the levels do
 * not match the number of ranks. */
tutti_status tt_chooser_new(const tt_setting *setting, tt_chooser **chooser);
/* Returns a chooser for a communicator. Communicators with equal settings share one chooser with all its estimates, unless
 * the setting points to memory of the communicator. A chooser is kept for a while after its last user has freed it. */
tutti_status tt_chooser_share(const tt_setting *setting, tt_chooser **chooser);
void tt_chooser_free(tt_chooser *c);
/* Returns the cost model for schedules that run step by step, not the model for specialized loops. */
const tt_cost_model *tt_chooser_model(const tt_chooser *c);

/* Properties of a plan that an op may require. */
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

/* Returns the needs (a set of tt_need) of a collective with this type and op, under this contract. */
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

/* The weight of a type says how much longer its additions take than the parameter gamma says. The factor is rounded to
 * 2^weight, and the weight is at most TT_WEIGHTS - 1. Types with equal weights share their estimates. */
enum { TT_WEIGHTS = 6 };
int tt_weight_of(const tt_chooser *c, tutti_type type);

enum { TT_REFUSAL = 800 }; /* size of the message that says why a plan does not run */

typedef struct tt_choice {
  const tt_plan_spec *plan; /* valid until the chooser is freed */
  int slices;
  char refusal[TT_REFUSAL]; /* why an override was refused; empty: none was refused */
  bool overridden;
  const tt_wisdom_entry *wisdom; /* the entry of the problem's wisdom that was used, or NULL */
  const struct tt_ext *ext;      /* the extension that made the plan (run/ext.h), or NULL */
  int way;                       /* number of this plan among those of the extension */
  tt_code code; /* compression of messages between nodes */
} tt_choice;

/* Chooses a plan. An override has priority if the plan that it names can run; otherwise `refusal` is set to the reason. Next
 * comes the plan that wisdom names, if it is an admissible candidate, and then the fastest candidate. Returns
 * TUTTI_ERR_UNSUPPORTED if no plan supports the call, or TUTTI_ERR_MEMORY. */
tutti_status tt_choose(tt_chooser *c, const tt_problem *problem, const tt_override *override,
                       tt_choice *choice);

/* For an allreduce that uses the one-shot plan: sets *is if the two-shot plan would be faster once the ranks' vectors need no
 * copy. May return TUTTI_ERR_MEMORY. */
tutti_status tt_two_shot_if_exported(tt_chooser *c, const tt_plan_spec *one_shot,
                                     const tt_plan_spec *two_shot, uint64_t bytes, bool *is);

/* Return the predicted time of the fastest plan for `bytes` bytes, in seconds (-1 if out of memory), and the time in seconds
 * to copy one byte to a buffer and back. */
double tt_seconds_of(tt_chooser *c, tutti_coll coll, uint64_t bytes);
double tt_seconds_to_pack(const tt_chooser *c);

/* Limits of the prover, which needs the schedules of all ranks. With more than TT_MOST_PROVEN ranks it is not asked. For a
 * plan that the user did not name, it may follow at most TT_MOST_WORK blocks through all steps of all ranks, which takes
 * about half a second. */
enum { TT_MOST_PROVEN = 4096, TT_MOST_WORK = 1 << 20 };
/* Sets *met to the subset of `needs` that the plan provably meets, both in place and out of place. Sets *skipped if the
 * prover was not asked, because it would have to follow more than `most` blocks. May return TUTTI_ERR_MEMORY. */
tutti_status tt_meets(const tt_ask *asked, unsigned needs, double most, unsigned *met,
                      bool *skipped);

/* Returns the number of blocks that the prover would have to follow through these schedules. */
double tt_work_of(tt_sched *const *all, int ranks);

/* ---- only proven plans run (proven.c) ---- */

enum { TT_PROVEN_RANKS = 64 };
typedef enum tt_proven {
  TT_PROVEN,
  TT_PROVEN_FORM,      /* not proven on these ranks, but its form is, by `make prove` (proven.c) */
  TT_PROVEN_TOO_LARGE, /* neither, so the plan is not chosen */
  TT_PROVEN_OFF        /* TUTTI_VERIFY is 0 */
} tt_proven;
/* Proves the plan correct, both in place and out of place. Returns TUTTI_ERR_SCHEDULE with the prover's message if the plan
 * is wrong, or TUTTI_ERR_MEMORY. */
tutti_status tt_proven_find(const tt_ask *ask, int slices, const tt_setting *how, tt_proven *is);
/* Sets *can if the plan or its form is proven, for any number of slices. Otherwise the plan is never chosen, and does not run
 * even if the user names it. Returns an error if the plan cannot be built. */
tutti_status tt_proven_can(const tt_ask *ask, const tt_setting *how, bool *can);
/* Formats the reason why a plan that is not proven does not run. */
void tt_unproven_words(const tt_plan_spec *plan, int ranks, char *words, size_t size);
/* A form is a plan name with ranges of numbers. The fields say what all proofs of the form by `make prove` have in common
 * (proven.c). `order`: operands are in rank order. `same`: all ranks group operands identically. `ranks`: the largest number
 * of ranks in a proof. */
typedef struct tt_form {
  const char *name;
  unsigned does; /* a set of TT_DOES */
  bool order, same;
  int ranks;
} tt_form;
/* Finds the form that a plan has, with the properties proven for all numbers in its ranges. Returns false if no proven form
 * includes the plan. */
bool tt_form_of(const tt_plan_spec *plan, tutti_coll coll, tt_form *form);
/* Returns a hash of the plan and its problem. The hash is a multiple of 4 and never 0. */
uint64_t tt_proven_key(const tt_ask *ask, int slices);

/* ---- compressed messages (roundings.c) ---- */

/* Sets *roundings to the largest number of roundings of a number on its way into a result of this plan. Each message
 * between nodes that carries a partial sum rounds it, unless it is already rounded, and completing a sum rounds it once
 * more. Sets *roundings to -1 if a sum is completed on several ranks, whose bits would then differ, or if the analysis
 * would take too long; *skipped is set in the latter case. May return TUTTI_ERR_MEMORY. */
tutti_status tt_roundings_of(const tt_chooser *c, const tt_ask *ask, int *roundings, bool *skipped);
/* Sets *much if this stage of a composition would round numbers too often. The stage runs between the nodes of `level`. */
tutti_status tt_stage_rounds(const tt_chooser *c, const tt_plan_spec *plan, tutti_coll coll,
                             int ranks, int level, bool *much);
/* Returns true if this call's messages may use this code. Lossy codes are only for sums of floats over all ranks. */
bool tt_code_takes_call(tt_code code, tutti_coll coll, tutti_type type, tutti_op op);
/* Returns the predicted time of the chosen plan in seconds, or a negative value if it is unknown. */
double tt_choice_seconds(tt_chooser *c, const tt_problem *problem, const tt_choice *choice);
/* Returns true if a compressed plan should run instead of an uncompressed plan, given both estimates (negative: unknown).
 * Estimates are inexact, and compression must never slow calls down. The compressed plan must therefore be faster by 10 % and
 * 0.1 ms or, with lossless compression, by 5 % and 0.5 ms. */
bool tt_coding_pays(const tt_chooser *coded, double with, double without);
/* Returns an array with the node number of each rank, or NULL if out of memory. The caller frees the array. */
int *tt_chooser_nodes(const tt_chooser *c);
/* Adapts the costs of the links between nodes to compressed messages. */
void tt_cost_coded(const tt_setting *s, tt_cost_model *model);
/* Appends a sentence that says how messages between nodes are compressed, how often the plan rounds a number, and how large
 * the error can become. */
void tt_coding_say(tt_text *t, const tt_chooser *c, const tt_problem *problem,
                   const tt_plan_spec *plan);
/* Appends a JSON object that describes the compression of messages between nodes, or null without compression. */
void tt_coding_json(tt_text *t, const tt_chooser *c, const tt_problem *problem,
                    const tt_plan_spec *plan);

/* ---- the candidates, for explanations ---- */

/* One candidate with its predicted time, and whether it is admissible. */
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

/* Gets the i-th candidate. If `ask` is set, the prover checks the needs that have not been checked yet. Returns false if i is
 * past the end, or if quote->starved. */
bool tt_quote_at(tt_chooser *c, const tt_problem *problem, const tt_override *override, int i,
                 bool ask, tt_quote *quote);
/* Returns the predicted time of one candidate, without estimating the other candidates. Returns HUGE_VAL if the plan is not a
 * candidate or cannot run, or a negative value if out of memory. */
double tt_price_of(tt_chooser *c, const tt_problem *problem, const tt_plan_spec *plan, int slices);
/* Breaks the plan's time at this size down into its parts. If `rounds` is not NULL, sets *rounds as tt_sim_one_port does.
 * Returns TUTTI_ERR_UNSUPPORTED with the reason if the plan cannot run. */
tutti_status tt_quote_breakdown(tt_chooser *c, const tt_plan_spec *plan, int slices,
                                const tt_problem *problem, tt_breakdown *breakdown, tt_sends *sends,
                                int *rounds);

/* ---- exact sums (exact_words.c) ---- */

/* Returns TUTTI_ERR_UNSUPPORTED if exact sums do not support this number of ranks. */
tutti_status tt_exact_ranks(const char *who, int ranks);
/* Replaces the problem of summing numbers of this type with the problem of summing the words that represent them exactly.
 * Assumes that the exponents in a block span a range of 32. Only for a type and op that round. */
void tt_exact_problem(tutti_type type, int ranks, tt_problem *problem);
/* Appends a sentence that describes the words that numbers of this type are converted to. */
void tt_exact_words_say(tt_text *t, tutti_type type, int ranks);

#endif
