/* algo.h - the algorithms: each writes one rank's schedule.
 *
 * A new one is a file in this folder, which ends with its tt_algo, and a line in algos.def.
 * It has no access to clocks, the environment, addresses or transports, and claims nothing about
 * its schedules: the prover derives their properties. A family may only declare that all ranks
 * take the same steps (`uniform`), which the cost model uses.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_ALGO_H
#define TT_ALGO_H

#include "plan_spec.h"

/* The question to an algorithm: what one rank does in this plan. */
typedef struct tt_ask {
  const tt_plan_spec *plan;
  tutti_coll coll;
  int ranks, rank, root;
  int data; /* the first `data` ranks bring data; 0: as many as the algorithm takes */
  bool in_place;
} tt_ask;

/* What an algorithm does: a set of collectives. It is asked for no others. */
#define TT_DOES(coll) (1u << TUTTI_##coll)
enum {
  TT_DOES_ALLREDUCE = TT_DOES(ALLREDUCE) | TT_DOES(BARRIER),
  TT_DOES_ROOTED = TT_DOES(BROADCAST) | TT_DOES(REDUCE),
  TT_DOES_BLOCKS = TT_DOES(REDUCE_SCATTER) | TT_DOES(ALLGATHER),
  TT_DOES_PREFIX = TT_DOES(SCAN) | TT_DOES(EXSCAN),
  TT_DOES_ROOTED_BLOCKS = TT_DOES(GATHER) | TT_DOES(SCATTER)
};

/* tutti may choose a candidate; an entry that is only named runs if somebody names it. */
typedef enum tt_listing { TT_CANDIDATE, TT_NAMED } tt_listing;

/* What the list of algorithms shows: a family with some parameters. */
typedef struct tt_entry {
  const char *name; /* with parameters: "fold(ring)" */
  tt_listing listing;
  const char *sentence;
  const char *source; /* short reference to a paper */
} tt_entry;

/* Parameters that a family proposes for `ranks` ranks or more. The word LEVELS in them stands for the
 * machine's levels; a machine without levels gets no such proposal. */
typedef struct tt_suggestion {
  const char *params;
  int ranks;
} tt_suggestion;

/* A stage of a composition: an algorithm for one group of a level, on a part of the vector. */
typedef struct tt_level_stage {
  const tt_plan_spec *plan; /* lives as long as the composition */
  tutti_coll coll;
  int ranks, level; /* of the tree, outermost first */
  double part;
} tt_level_stage;
enum { TT_STAGES = 2 * TT_TREE_LEVELS };

/* A plan of a family that may be a stage, with these parameters or (TT_PROPOSED) those that it proposes.
 * `where`: the levels where it may be chosen for more ranks than a single proof covers (TT_PROVEN_RANKS). */
enum {
  TT_STAGE_OUTER = 1,
  TT_STAGE_MIDDLE = 2,
  TT_STAGE_INNER = 4,
  TT_STAGE_FITS = 8 /* into every composition, so it is taken as a sample */
};
#define TT_PROPOSED "*"
typedef struct tt_stage_use {
  const char *params; /* NULL ends the list; "": none */
  unsigned where;     /* of TT_STAGE_; whatever it is, at any level on few ranks, if it fits */
} tt_stage_use;

enum { TT_ENTRIES = 12, TT_PARAMS = 12, TT_STAGE_USES = 6 };

/* A family of algorithms. A callback may be missing (NULL) where this says what happens then. */
typedef struct tt_algo {
  const char *name;           /* without parameters: "fold" */
  unsigned does;              /* a set of TT_DOES */
  bool helped;                /* some of its ranks may bring no data */
  tt_param params[TT_PARAMS]; /* that it takes; the rest is zero */
  /* NULL, or the reason why it cannot do this ("needs a power of two"), or tt_no_memory. Missing: it
   * can. */
  const char *(*refuse)(const tt_ask *ask);
  /* The number of blocks that the vector is cut into. `build` may set another (tt_build_cut), or refuse
   * what only building shows to be impossible (tt_build_refuse). */
  uint32_t (*blocks)(const tt_ask *ask);
  void (*build)(tt_builder *b, const tt_ask *ask);
  /* The i-th parameters that it proposes as a sample for this number of ranks; false past the end.
   * Tests and proofs use the samples in addition to its entries. Missing: only the entries. */
  bool (*samples)(int ranks, int i, tt_text *params);
  /* The i-th parameters, in addition to its entries, that may be cheapest for these ranks and levels
   * (as in tt_algo_next_plan). Missing: none. */
  bool (*plans)(int ranks, const char *levels, int i, tt_text *params);
  tt_suggestion sample[TT_ENTRIES], plan[TT_ENTRIES]; /* lists, instead of these callbacks */
  /* Does every rank take the same steps (as in tt_algo_uniform)? Missing: no. */
  bool (*uniform)(const tt_ask *ask, const tt_tree *tree);
  /* A lower bound on the number of messages that each rank sends in sequence; asked only of uniform plans. Missing:
   * only the schedule tells. */
  int (*rounds)(const tt_ask *ask);
  /* Is it a tree on each level (as in tt_algo_leaders)? Missing: no. */
  bool (*leaders)(const tt_ask *ask, const tt_tree *tree);
  /* The stages, as in tt_algo_stages. Missing: it is not a composition. */
  int (*stages)(const tt_ask *ask, const tt_tree *tree, tt_level_stage list[]);
  tt_stage_use stage[TT_STAGE_USES]; /* as which stages it may be proposed; empty: as none */
  tt_entry entries[TT_ENTRIES];      /* at least one; the rest is zero */
} tt_algo;

#define TT_ALGO(family) extern const tt_algo tt_##family##_algo;
#include "algos.def"
#undef TT_ALGO

static inline int tt_floor_log2(int n) {
  return tt_ceil_log2((uint64_t)n + 1) - 1;
}

/* The place of the l-th of these levels of more than one rank, outermost first, of TT_STAGE_. */
static inline unsigned tt_stage_place(int l, int levels) {
  return l == 0 ? TT_STAGE_OUTER : l + 1 < levels ? TT_STAGE_MIDDLE : TT_STAGE_INNER;
}

/* What `refuse` returns if it could not find out: this text itself, which becomes TUTTI_ERR_MEMORY. */
extern const char tt_no_memory[];

/* Callbacks that several families share (registry.c). */
uint32_t tt_one_block(const tt_ask *ask);
uint32_t tt_block_per_rank(const tt_ask *ask);
bool tt_uniform_without_levels(const tt_ask *ask, const tt_tree *tree);
bool tt_uniform_power_of_two(const tt_ask *ask, const tt_tree *tree);

/* Families that propose samples: the i-th family's name, or NULL past the end; and its i-th plan for
 * this number of ranks, whose text is appended to `name`; false past the end. */
const char *tt_algo_family(int i);
bool tt_algo_sample(int family, int ranks, int i, tt_text *name);

/* Where a walk over the plans is: {0} before the first. */
typedef struct tt_plan_walk {
  int entry, family, proposal;
} tt_plan_walk;

/* Appends the text of the next plan that is worth pricing: first the table's candidates, then the
 * proposals of families with parameters for this number of ranks and for `levels`, such as
 * "rack:3 node:16 core:4", if not empty. False past the end. Some may refuse. */
bool tt_algo_next_plan(int ranks, const char *levels, tt_plan_walk *at, tt_text *name);
/* Appends the text of the next plan that may be a stage at one of these levels (0: at any, on few
 * ranks), for a group of that many ranks. False past the end. */
typedef tt_plan_walk tt_stage_walk;
bool tt_stage_next(unsigned where, int ranks, tt_stage_walk *at, tt_text *name);
/* *back: what gathers behind a stage that scatters. TUTTI_ERR_MEMORY. */
tutti_status tt_stage_way_back(const tt_plan_spec *stage, const tt_plan_spec **back);
/* Appends the text of a composition up to the first of its stages. */
void tt_stages_text(tt_text *name, const char *levels);
/* Appends the text of an allreduce that rounds a number twice if messages between nodes round it. On even
 * levels, each number is summed in one place; otherwise the sums of nodes are, and `ranks` lists the ranks of each node. */
void tt_rounding_twice_text(tt_text *name, const char *levels);
void tt_rounding_twice_nodes_text(tt_text *name, const int *ranks, int nodes);
/* Does every rank take the same steps as rank 0, each with the same step of a partner? On a machine
 * without levels (tree NULL), or with these. Families declare it; test_price.c checks it. */
bool tt_algo_uniform(const tt_ask *ask, const tt_tree *tree);
/* A number of messages that each rank of such a plan surely sends one after another, known without
 * building its schedule; 0: it is not known. */
int tt_algo_rounds(const tt_ask *ask);

/* Is it a tree on each of these levels, among the leaders of domains? Families declare it;
 * test_uneven_colls.c checks what prices make of it. */
bool tt_algo_leaders(const tt_ask *ask, const tt_tree *tree);

/* The stages of the plan in their order, if it is a composition on exactly these levels; returns how
 * many, or 0. */
int tt_algo_stages(const tt_ask *ask, const tt_tree *tree, tt_level_stage list[TT_STAGES]);

/* Builds the schedule of a plan for one rank. TUTTI_ERR_UNSUPPORTED: it refuses, with its reason;
 * TUTTI_ERR_MEMORY. A single rank needs no algorithm: it copies. */
tutti_status tt_algo_build(const tt_ask *ask, tt_sched **sched);
/* The same for all ranks; free with tt_sched_free_all. */
tutti_status tt_algo_build_all(const tt_ask *ask, tt_sched ***all);
/* The same from a text, and the errors of tt_plan_spec_parse; the ask's plan is not used. */
tutti_status tt_algo_build_named(const char *name, const tt_ask *ask, tt_sched **sched);
tutti_status tt_algo_build_all_named(const char *name, const tt_ask *ask, tt_sched ***all);
/* TUTTI_OK if the plan can do some collective on this number of ranks, with data on any number of
 * them; else TUTTI_ERR_ARG with the reason. */
tutti_status tt_algo_known(const tt_plan_spec *plan, int ranks);
/* Does the algorithm declare that it does the collective? */
bool tt_algo_does(const tt_plan_spec *plan, tutti_coll coll);

/* ---- the table (registry.c), for plan_spec.c ---- */

/* The full text of a common name, such as fold(ring) of ring; or the name itself. */
const char *tt_algo_full_name(const char *name);
/* The family of that name, or NULL. */
const tt_algo *tt_algo_find(const char *name, size_t length);
/* Fails: no algorithm is called so. Suggests a similar name. */
tutti_status tt_algo_unknown(const char *name);

/* ---- the parameters of the ask's plan ---- */

/* The parameter of that key, or NULL. */
const tt_arg *tt_param_of(const tt_ask *ask, const char *key);
bool tt_param_given(const tt_ask *ask, const char *key);
/* How many of these parameters the plan gives. */
int tt_param_count(const tt_ask *ask, const char *const *keys, int n);
/* The number; `otherwise` if it is not given. */
int tt_param_number(const tt_ask *ask, const char *key, int otherwise);
/* The levels, or NULL. */
const tt_tree *tt_param_levels(const tt_ask *ask);
/* NULL, or why the levels do not fit the ranks. */
const char *tt_param_levels_refuse(const tt_ask *ask);

#endif
