/* algo.h - the interface of the algorithms. An algorithm writes the schedule of one rank.
 *
 * To add an algorithm, add a file that ends with its tt_algo to this folder, and a line to algos.def. An algorithm has no
 * access to clocks, the environment, addresses or transports. It claims nothing about its schedules: the prover derives
 * their properties. It may only declare that all ranks take the same steps (`uniform`), which the cost model uses.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_ALGO_H
#define TT_ALGO_H

#include "plan_spec.h"

/* A request to an algorithm for the schedule of one rank. */
typedef struct tt_ask {
  const tt_plan_spec *plan;
  tutti_coll coll;
  int ranks, rank, root;
  int data; /* ranks below `data` contribute data; 0 means as many as the algorithm uses */
  bool in_place;
} tt_ask;

/* The set of collectives that an algorithm supports. The algorithm is never asked to build any other collective. */
#define TT_DOES(coll) (1u << TUTTI_##coll)
enum {
  TT_DOES_ALLREDUCE = TT_DOES(ALLREDUCE) | TT_DOES(BARRIER),
  TT_DOES_ROOTED = TT_DOES(BROADCAST) | TT_DOES(REDUCE),
  TT_DOES_BLOCKS = TT_DOES(REDUCE_SCATTER) | TT_DOES(ALLGATHER),
  TT_DOES_PREFIX = TT_DOES(SCAN) | TT_DOES(EXSCAN),
  TT_DOES_ROOTED_BLOCKS = TT_DOES(GATHER) | TT_DOES(SCATTER)
};

/* tutti may select a TT_CANDIDATE itself. It runs a TT_NAMED entry only if the user requests it by name. */
typedef enum tt_listing { TT_CANDIDATE, TT_NAMED } tt_listing;

/* A line in the list of algorithms: the name of a family with some parameters. */
typedef struct tt_entry {
  const char *name; /* with parameters: "fold(ring)" */
  tt_listing listing;
  const char *sentence;
  const char *source; /* short reference to a paper */
} tt_entry;

/* Parameters that a family proposes for `ranks` ranks or more. The levels of the machine replace the word LEVELS in the
 * text. On a machine without levels, a proposal with that word is skipped. */
typedef struct tt_suggestion {
  const char *params;
  int ranks;
} tt_suggestion;

/* A stage of a composition: the algorithm that all groups of a level run on a part of the vector. */
typedef struct tt_level_stage {
  const tt_plan_spec *plan; /* valid as long as the composition is */
  tutti_coll coll;
  int ranks, level; /* level of the tree; 0 is the outermost */
  double part;
} tt_level_stage;
enum { TT_STAGES = 2 * TT_TREE_LEVELS };

/* A plan that a family offers as a stage. Its parameters are these or, if they are TT_PROPOSED, those from the family's
 * `plans` callback. For more ranks than one proof covers (TT_PROVEN_RANKS), it is limited to the levels in `where`. */
enum {
  TT_STAGE_OUTER = 1,
  TT_STAGE_MIDDLE = 2,
  TT_STAGE_INNER = 4,
  TT_STAGE_FITS = 8 /* fits every composition; tests compose such stages */
};
#define TT_PROPOSED "*"
typedef struct tt_stage_use {
  const char *params; /* "" means no parameters; NULL ends the list */
  unsigned where;     /* TT_STAGE_ flags; ignored if the group has few ranks */
} tt_stage_use;

enum { TT_ENTRIES = 12, TT_PARAMS = 12, TT_STAGE_USES = 6 };

/* A family of algorithms. Some callbacks may be NULL; the comment of each such callback says what NULL means. */
typedef struct tt_algo {
  const char *name;           /* without parameters: "fold" */
  unsigned does;              /* a set of TT_DOES */
  bool helped;                /* can use ranks that contribute no data */
  tt_param params[TT_PARAMS]; /* the parameters that it accepts; unused entries are zero */
  /* Returns NULL if the family can build the schedule. Otherwise returns the reason why not, such as "needs a power of
   * two", or tt_no_memory. If the callback is NULL, the family never refuses. */
  const char *(*refuse)(const tt_ask *ask);
  /* Returns the number of blocks in the vector. `build` may change this number with tt_build_cut. It may also refuse,
   * if the reason becomes known only while it builds the schedule. */
  uint32_t (*blocks)(const tt_ask *ask);
  void (*build)(tt_builder *b, const tt_ask *ask);
  /* Appends the i-th set of parameters that may be the fastest for these ranks and levels, in addition to the entries (see
   * tt_algo_next_plan). Returns false past the last set. If the callback is NULL, only the entries are considered. */
  bool (*plans)(int ranks, const char *levels, int i, tt_text *params);
  tt_suggestion plan[TT_ENTRIES]; /* a fixed list, used if the callback is NULL */
  /* Returns true if all ranks execute the same steps (see tt_algo_uniform). If the callback is NULL, this is taken as false. */
  bool (*uniform)(const tt_ask *ask, const tt_tree *tree);
  /* Returns a lower bound on the number of messages that each rank sends one after another. Called only for uniform
   * plans. If the callback is NULL, the number can only be found by building the schedule. */
  int (*rounds)(const tt_ask *ask);
  /* Returns true if the plan has a tree on each level (see tt_algo_leaders). If the callback is NULL, this is taken as false. */
  bool (*leaders)(const tt_ask *ask, const tt_tree *tree);
  /* Lists the stages of the plan (see tt_algo_stages). If the callback is NULL, the plan is not a composition. */
  int (*stages)(const tt_ask *ask, const tt_tree *tree, tt_level_stage list[]);
  tt_stage_use stage[TT_STAGE_USES]; /* the stages that it offers for compositions, if any */
  tt_entry entries[TT_ENTRIES];      /* at least one; unused entries are zero */
} tt_algo;

#define TT_ALGO(family) extern const tt_algo tt_##family##_algo;
#include "algos.def"
#undef TT_ALGO

static inline int tt_floor_log2(int n) {
  return tt_ceil_log2((uint64_t)n + 1) - 1;
}

/* Returns the TT_STAGE_ flag for level l, where level 0 is the outermost. `levels` counts only the levels with more
 * than one rank. */
static inline unsigned tt_stage_place(int l, int levels) {
  return l == 0 ? TT_STAGE_OUTER : l + 1 < levels ? TT_STAGE_MIDDLE : TT_STAGE_INNER;
}

/* The `refuse` callback returns this pointer if it runs out of memory. The caller then returns TUTTI_ERR_MEMORY. */
extern const char tt_no_memory[];

/* Callbacks that several families share (registry.c). */
uint32_t tt_one_block(const tt_ask *ask);
uint32_t tt_block_per_rank(const tt_ask *ask);
bool tt_uniform_without_levels(const tt_ask *ask, const tt_tree *tree);
bool tt_uniform_power_of_two(const tt_ask *ask, const tt_tree *tree);

/* The state of an iteration over plans. Initialize it with {0}. */
typedef struct tt_plan_walk {
  int entry, family, proposal;
} tt_plan_walk;

/* Appends the text of the next plan whose time is worth predicting, or returns false past the last plan. The first
 * plans are the candidates of the table. They are followed by the plans that families propose for this number of ranks
 * and for `levels`, such as "rack:3 node:16 core:4", unless it is empty. Some of these plans may refuse. */
bool tt_algo_next_plan(int ranks, const char *levels, tt_plan_walk *at, tt_text *name);
/* Appends the text of the next plan that can be a stage, for a group of `ranks` ranks at one of the levels in `where`.
 * If `where` is 0, the group is small and the plan may be used at any level. Returns false past the last plan. */
typedef tt_plan_walk tt_stage_walk;
bool tt_stage_next(unsigned where, int ranks, tt_stage_walk *at, tt_text *name);
/* Finds the plan that gathers the blocks that this stage scatters, and stores it in *back. May fail with TUTTI_ERR_MEMORY. */
tutti_status tt_stage_way_back(const tt_plan_spec *stage, const tt_plan_spec **back);
/* Appends the beginning of the text of a composition, up to the place where its first stage is named. */
void tt_stages_text(tt_text *name, const char *levels);
/* Appends the text of an allreduce for networks that round messages between nodes. It rounds each number only twice, before
 * and after the summation. tt_rounding_twice_text is for even levels. For other levels, tt_rounding_twice_nodes_text lets
 * the nodes' leaders exchange their sums; ranks[i] is the number of ranks on node i. */
void tt_rounding_twice_text(tt_text *name, const char *levels);
void tt_rounding_twice_nodes_text(tt_text *name, const int *ranks, int nodes);
/* Returns true if every rank executes the same steps as rank 0, with a partner that is executing the same step. `tree` gives the
 * levels of the machine; NULL means a machine without levels. The families declare this property, and test_price.c checks it. */
bool tt_algo_uniform(const tt_ask *ask, const tt_tree *tree);
/* Returns a number of messages that every rank of a uniform plan is certain to send one after another, or 0 if no such
 * number is known. Does not build the schedule. */
int tt_algo_rounds(const tt_ask *ask);

/* Returns true if the plan runs a tree on each of these levels, among the leaders of the level's domains. The families
 * declare this property; test_uneven_colls.c checks the times that are predicted from it. */
bool tt_algo_leaders(const tt_ask *ask, const tt_tree *tree);

/* Lists the stages of a composition in the order of execution, and returns their number. Returns 0 if the plan is not a
 * composition on exactly these levels. */
int tt_algo_stages(const tt_ask *ask, const tt_tree *tree, tt_level_stage list[TT_STAGES]);

/* Builds the schedule of a plan for one rank. For a single rank the schedule is only a copy, whatever the algorithm is.
 * Returns TUTTI_ERR_UNSUPPORTED if the algorithm refuses; the error message contains the reason. May fail with
 * TUTTI_ERR_MEMORY. */
tutti_status tt_algo_build(const tt_ask *ask, tt_sched **sched);
/* Builds the schedules of all ranks and fails in the same cases as tt_algo_build. Free them with tt_sched_free_all. */
tutti_status tt_algo_build_all(const tt_ask *ask, tt_sched ***all);
/* Build schedules from the text of a plan; ask->plan is ignored. May also return the errors of tt_plan_spec_parse. */
tutti_status tt_algo_build_named(const char *name, const tt_ask *ask, tt_sched **sched);
tutti_status tt_algo_build_all_named(const char *name, const tt_ask *ask, tt_sched ***all);
/* Returns TUTTI_OK if the plan supports at least one collective on this number of ranks, all or some of which
 * contribute data. Otherwise returns TUTTI_ERR_ARG, and the error message contains the reason. */
tutti_status tt_algo_known(const tt_plan_spec *plan, int ranks);
/* Returns true if the plan's algorithm declares support for the collective. */
bool tt_algo_does(const tt_plan_spec *plan, tutti_coll coll);

/* ---- the table (registry.c), for plan_spec.c ---- */

/* Returns the full name for a short one, such as fold(ring) for ring. Returns any other name unchanged. */
const char *tt_algo_full_name(const char *name);
/* Returns the family with that name, or NULL. */
const tt_algo *tt_algo_find(const char *name, size_t length);
/* Reports an error for the name of an unknown algorithm, and suggests a similar name. Returns the status. */
tutti_status tt_algo_unknown(const char *name);

/* ---- the parameters of ask->plan ---- */

/* Returns the parameter with that key, or NULL. */
const tt_arg *tt_param_of(const tt_ask *ask, const char *key);
bool tt_param_given(const tt_ask *ask, const char *key);
/* Returns how many of these parameters are set in the plan. */
int tt_param_count(const tt_ask *ask, const char *const *keys, int n);
/* Returns the value of a numeric parameter, or `otherwise` if the plan does not set the parameter. */
int tt_param_number(const tt_ask *ask, const char *key, int otherwise);
/* Returns the levels in the plan, or NULL. */
const tt_tree *tt_param_levels(const tt_ask *ask);
/* Returns NULL if the levels in the plan match the number of ranks. Otherwise returns an error message. */
const char *tt_param_levels_refuse(const tt_ask *ask);

#endif
