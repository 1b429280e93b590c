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

/* The set of collectives that an algorithm supports. It gets no requests for others. */
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

/* A line in the list of algorithms: a family with some parameters. */
typedef struct tt_entry {
  const char *name; /* with parameters: "fold(ring)" */
  tt_listing listing;
  const char *sentence;
  const char *source; /* short reference to a paper */
} tt_entry;

/* Parameters that a family proposes for `ranks` ranks or more. The word LEVELS in them is replaced by the machine's
 * levels; on a machine without levels such a proposal is skipped. */
typedef struct tt_suggestion {
  const char *params;
  int ranks;
} tt_suggestion;

/* A stage of a composition: an algorithm that runs in each group of a level, on a part of the vector. */
typedef struct tt_level_stage {
  const tt_plan_spec *plan; /* valid as long as the composition is */
  tutti_coll coll;
  int ranks, level; /* level of the tree; 0 is the outermost */
  double part;
} tt_level_stage;
enum { TT_STAGES = 2 * TT_TREE_LEVELS };

/* A plan that a family offers as a stage, with these parameters or, if they are TT_PROPOSED, with those that its `plans`
 * proposes. On more ranks than a single proof covers (TT_PROVEN_RANKS), it may be chosen only for levels in `where`. */
enum {
  TT_STAGE_OUTER = 1,
  TT_STAGE_MIDDLE = 2,
  TT_STAGE_INNER = 4,
  TT_STAGE_FITS = 8 /* fits every composition, so the samples use it */
};
#define TT_PROPOSED "*"
typedef struct tt_stage_use {
  const char *params; /* "" means no parameters; NULL ends the list */
  unsigned where;     /* TT_STAGE_ flags; ignored if the group has few ranks */
} tt_stage_use;

enum { TT_ENTRIES = 12, TT_PARAMS = 12, TT_STAGE_USES = 6 };

/* A family of algorithms. Some callbacks may be NULL; their comments say what that means. */
typedef struct tt_algo {
  const char *name;           /* without parameters: "fold" */
  unsigned does;              /* a set of TT_DOES */
  bool helped;                /* can use ranks that contribute no data */
  tt_param params[TT_PARAMS]; /* the parameters that it accepts; unused entries are zero */
  /* Returns NULL, or the reason why it cannot build the schedule ("needs a power of two"), or tt_no_memory. A NULL
   * callback means that it never refuses. */
  const char *(*refuse)(const tt_ask *ask);
  /* Returns the number of blocks that the vector is divided into. `build` may set another number (tt_build_cut), or
   * refuse if the reason appears only while it builds (tt_build_refuse). */
  uint32_t (*blocks)(const tt_ask *ask);
  void (*build)(tt_builder *b, const tt_ask *ask);
  /* Appends the i-th parameters that it proposes as a sample for this number of ranks; returns false past the end. Tests
   * and proofs use these samples in addition to its entries. A NULL callback means that only the entries are used. */
  bool (*samples)(int ranks, int i, tt_text *params);
  /* Appends the i-th parameters that may be fastest for these ranks and levels, in addition to the entries (see
   * tt_algo_next_plan); returns false past the end. A NULL callback means that only the entries are used. */
  bool (*plans)(int ranks, const char *levels, int i, tt_text *params);
  tt_suggestion sample[TT_ENTRIES],
      plan[TT_ENTRIES]; /* fixed lists, used if the callback is NULL */
  /* Returns true if every rank takes the same steps (see tt_algo_uniform). A NULL callback means false. */
  bool (*uniform)(const tt_ask *ask, const tt_tree *tree);
  /* Returns a lower bound on the number of messages that each rank sends in sequence. Called only for uniform plans. A
   * NULL callback means that only the schedule itself shows it. */
  int (*rounds)(const tt_ask *ask);
  /* Returns true if it uses a tree on each level (see tt_algo_leaders). A NULL callback means false. */
  bool (*leaders)(const tt_ask *ask, const tt_tree *tree);
  /* Lists the stages (see tt_algo_stages). A NULL callback means that it is not a composition. */
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

/* Returns the TT_STAGE_ flag of level l. `levels` counts the levels that have more than one rank; level 0 is the
 * outermost. */
static inline unsigned tt_stage_place(int l, int levels) {
  return l == 0 ? TT_STAGE_OUTER : l + 1 < levels ? TT_STAGE_MIDDLE : TT_STAGE_INNER;
}

/* `refuse` returns a pointer to this very string if it ran out of memory. The caller then returns TUTTI_ERR_MEMORY. */
extern const char tt_no_memory[];

/* Callbacks that several families share (registry.c). */
uint32_t tt_one_block(const tt_ask *ask);
uint32_t tt_block_per_rank(const tt_ask *ask);
bool tt_uniform_without_levels(const tt_ask *ask, const tt_tree *tree);
bool tt_uniform_power_of_two(const tt_ask *ask, const tt_tree *tree);

/* tt_algo_family returns the name of the i-th family that proposes samples, or NULL past the end. tt_algo_sample appends
 * the text of its i-th sample for this number of ranks to `name`, and returns false past the end. */
const char *tt_algo_family(int i);
bool tt_algo_sample(int family, int ranks, int i, tt_text *name);

/* The position of an iteration over the plans; start with {0}. */
typedef struct tt_plan_walk {
  int entry, family, proposal;
} tt_plan_walk;

/* Appends the text of the next plan whose time is worth predicting. Starts with the candidates of the table, followed by
 * the plans that families propose for this number of ranks and, unless it is empty, for `levels`, such as "rack:3 node:16
 * core:4". Returns false past the end. Some of these plans may refuse. */
bool tt_algo_next_plan(int ranks, const char *levels, tt_plan_walk *at, tt_text *name);
/* Appends the text of the next plan that may be a stage at one of the levels in `where`, for a group of `ranks` ranks. If
 * `where` is 0, the group is small and the plan may be used at any level. Returns false past the end. */
typedef tt_plan_walk tt_stage_walk;
bool tt_stage_next(unsigned where, int ranks, tt_stage_walk *at, tt_text *name);
/* Sets *back to the plan that gathers what this stage scatters. May fail with TUTTI_ERR_MEMORY. */
tutti_status tt_stage_way_back(const tt_plan_spec *stage, const tt_plan_spec **back);
/* Appends the text of a composition up to the start of its first stage. */
void tt_stages_text(tt_text *name, const char *levels);
/* Appends the text of an allreduce that rounds each number only twice, before and after it is summed, if messages
 * between nodes are rounded. tt_rounding_twice_text is for even levels. For other levels, the second function lets the
 * leaders of nodes exchange the sums of their nodes; `ranks` lists the number of ranks of each node. */
void tt_rounding_twice_text(tt_text *name, const char *levels);
void tt_rounding_twice_nodes_text(tt_text *name, const int *ranks, int nodes);
/* Returns true if every rank takes the same steps as rank 0, and each step's partner does the same step, on a machine
 * with these levels or, if tree is NULL, without levels. Families declare it, and test_price.c checks it. */
bool tt_algo_uniform(const tt_ask *ask, const tt_tree *tree);
/* Returns a number of messages that each rank of such a plan certainly sends one after another, without building its
 * schedule. Returns 0 if that is not known. */
int tt_algo_rounds(const tt_ask *ask);

/* Returns true if the plan uses a tree on each of these levels, formed by the leaders of its domains. Families declare
 * it; test_uneven_colls.c checks the times predicted from it. */
bool tt_algo_leaders(const tt_ask *ask, const tt_tree *tree);

/* If the plan is a composition on exactly these levels, lists its stages in their order and returns their number. Returns
 * 0 otherwise. */
int tt_algo_stages(const tt_ask *ask, const tt_tree *tree, tt_level_stage list[TT_STAGES]);

/* Builds the schedule of a plan for one rank. Returns TUTTI_ERR_UNSUPPORTED if the algorithm refuses; the error message
 * contains its reason. May fail with TUTTI_ERR_MEMORY. For a single rank no algorithm is needed, and the schedule is a
 * copy. */
tutti_status tt_algo_build(const tt_ask *ask, tt_sched **sched);
/* As above, but builds the schedules of all ranks. Free them with tt_sched_free_all. */
tutti_status tt_algo_build_all(const tt_ask *ask, tt_sched ***all);
/* As above, with the plan as text; ask->plan is ignored. May also return the errors of tt_plan_spec_parse. */
tutti_status tt_algo_build_named(const char *name, const tt_ask *ask, tt_sched **sched);
tutti_status tt_algo_build_all_named(const char *name, const tt_ask *ask, tt_sched ***all);
/* Returns TUTTI_OK if the plan supports some collective on this number of ranks, with any number of them contributing
 * data. Otherwise returns TUTTI_ERR_ARG, and the error message contains the reason. */
tutti_status tt_algo_known(const tt_plan_spec *plan, int ranks);
/* Returns true if the algorithm declares that it supports the collective. */
bool tt_algo_does(const tt_plan_spec *plan, tutti_coll coll);

/* ---- the table (registry.c), for plan_spec.c ---- */

/* Expands a common name: returns fold(ring) for ring. Other names are returned unchanged. */
const char *tt_algo_full_name(const char *name);
/* Returns the family with that name, or NULL. */
const tt_algo *tt_algo_find(const char *name, size_t length);
/* Returns an error that reports an unknown algorithm and suggests a similar name. */
tutti_status tt_algo_unknown(const char *name);

/* ---- the parameters of ask->plan ---- */

/* Returns the parameter with that key, or NULL. */
const tt_arg *tt_param_of(const tt_ask *ask, const char *key);
bool tt_param_given(const tt_ask *ask, const char *key);
/* Returns how many of these parameters are set in the plan. */
int tt_param_count(const tt_ask *ask, const char *const *keys, int n);
/* Returns the value of a number parameter, or `otherwise` if the plan does not set it. */
int tt_param_number(const tt_ask *ask, const char *key, int otherwise);
/* Returns the levels in the plan, or NULL. */
const tt_tree *tt_param_levels(const tt_ask *ask);
/* Returns NULL, or the reason why the levels do not match the number of ranks. */
const char *tt_param_levels_refuse(const tt_ask *ask);

#endif
