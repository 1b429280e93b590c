/* algo.h - the algorithms: each writes one rank's schedule.
 *
 * A new one is a file in this folder, which ends with its tt_algo, and a line in algos.def.
 * It sees no clock, environment, address or wire, and claims nothing about its schedules: the
 * prover derives what they can do. A family may only declare that all ranks do alike
 * (`uniform`), which is used for prices.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_ALGO_H
#define TT_ALGO_H

#include "schedule.h"
#include "topo_tree.h"

struct tt_composition;

/* The question to an algorithm. `params` is the text between the parentheses of the name. */
typedef struct tt_ask {
  tutti_coll coll;
  int ranks, rank, root;
  int data; /* the first `data` ranks bring data; 0: as many as the algorithm takes */
  bool in_place;
  char params[TT_NAME];
  /* NULL, or where stages.c keeps a composition from one callback to the next. */
  struct tt_composition **composed;
} tt_ask;

/* What an algorithm does: a set of collectives. It is asked for no others. */
#define TT_DOES(coll) (1u << TUTTI_##coll)
enum {
  TT_DOES_ALLREDUCE = TT_DOES(ALLREDUCE) | TT_DOES(BARRIER),
  TT_DOES_ROOTED = TT_DOES(BROADCAST) | TT_DOES(REDUCE),
  TT_DOES_BLOCKS = TT_DOES(REDUCE_SCATTER) | TT_DOES(ALL_GATHER),
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

/* A parameter whose value is a number, as in radix=4. */
typedef struct tt_number {
  const char *key;
  int lo, hi, otherwise; /* otherwise: its value if it is not given */
  const char *wrong;     /* the refusal: "radix goes from 2 to 16" */
} tt_number;

/* Parameters that a family proposes for `ranks` ranks or more. The word LEVELS in them stands for the
 * machine's levels; a machine without levels gets no such proposal. */
typedef struct tt_suggestion {
  const char *params;
  int ranks;
} tt_suggestion;

/* A stage of a composition: an algorithm for one group of a level, on a part of the vector. */
typedef struct tt_level_stage {
  char name[TT_NAME];
  tutti_coll coll;
  int ranks, level; /* of the tree, outermost first */
  double part;
} tt_level_stage;
enum { TT_STAGES = 2 * TT_TREE_LEVELS };

enum { TT_ENTRIES = 12 };

/* A family of algorithms. A callback may be missing (NULL) where this says what happens then. */
typedef struct tt_algo {
  const char *name;        /* without parameters: "fold" */
  unsigned does;           /* a set of TT_DOES */
  const char *params;      /* that it takes, as for tt_param_refuse; NULL: none */
  const tt_number *number; /* one of these, checked before `refuse` is asked; or NULL */
  /* NULL, or the reason why it cannot do this ("needs a power of two"), or tt_no_memory. Missing: it
   * can. */
  const char *(*refuse)(const tt_ask *ask);
  /* The number of blocks that the vector is cut into. */
  uint32_t (*blocks)(const tt_ask *ask);
  void (*build)(tt_builder *b, const tt_ask *ask);
  /* The i-th parameters that it proposes as a sample for this number of ranks; false past the end:
   * those that the tests and the proofs take beside its entries. Missing: its entries are all. */
  bool (*samples)(int ranks, int i, char *params, size_t size);
  /* The i-th parameters that may be cheapest, beside its entries, for these ranks and levels (as in
   * tt_algo_next_plan). Missing: none. */
  bool (*plans)(int ranks, const char *levels, int i, char *params, size_t size);
  tt_suggestion sample[TT_ENTRIES], plan[TT_ENTRIES]; /* lists, instead of these callbacks */
  /* Does every rank do alike (as in tt_algo_uniform)? Missing: no. */
  bool (*uniform)(const tt_ask *ask, const tt_tree *tree);
  /* A number of messages that each rank surely sends one after another; it is asked where all ranks do alike. Missing:
   * only the schedule tells. */
  int (*rounds)(const tt_ask *ask);
  /* Is it a tree on each level (as in tt_algo_leaders)? Missing: no. */
  bool (*leaders)(const tt_ask *ask, const tt_tree *tree);
  /* The stages, as in tt_algo_stages. Missing: it is no composition. */
  int (*stages)(const tt_ask *ask, const tt_tree *tree, tt_level_stage list[]);
  tt_entry entries[TT_ENTRIES]; /* at least one; the rest is zero */
} tt_algo;

#define TT_ALGO(family) extern const tt_algo tt_##family##_algo;
#include "algos.def"
#undef TT_ALGO

static inline int tt_floor_log2(int n) {
  return tt_ceil_log2((uint64_t)n + 1) - 1;
}

/* The i-th number of lanes (lanes.c): 2, 3, 4, 6, 8, 12 and so on. */
static inline int tt_lanes_number(int i) {
  return i % 2 ? 3 << i / 2 : 2 << i / 2;
}

/* What `refuse` returns if it could not find out: this text itself, which becomes TUTTI_ERR_MEMORY. */
extern const char tt_no_memory[];

/* Callbacks that several families share (registry.c). */
uint32_t tt_one_block(const tt_ask *ask);
uint32_t tt_block_per_rank(const tt_ask *ask);
bool tt_uniform_without_levels(const tt_ask *ask, const tt_tree *tree);
bool tt_uniform_power_of_two(const tt_ask *ask, const tt_tree *tree);

/* Families that propose samples: the i-th family's name, or NULL past the end; and its i-th name,
 * with parameters, for this number of ranks, false past the end. */
const char *tt_algo_family(int i);
bool tt_algo_sample(int family, int ranks, int i, char *name, size_t size);

/* Where a walk over the plans is: {0} before the first. */
typedef struct tt_plan_walk {
  int entry, family, proposal;
} tt_plan_walk;

/* The next plan that is worth pricing: first the table's candidates, then the proposals of families with
 * parameters for this number of ranks and for `levels`, such as "rack:3 node:16 core:4", if not
 * empty. False past the end. Some may refuse. */
bool tt_algo_next_plan(int ranks, const char *levels, tt_plan_walk *at, char *name, size_t size);
/* Does every rank take the same steps as rank 0, each with the same step of a partner? On a machine
 * without levels (tree NULL), or with these. Families declare it; test_price.c checks it. */
bool tt_algo_uniform(const char *name, const tt_ask *ask, const tt_tree *tree);
/* A number of messages that each rank of such a plan surely sends one after another, known without building its schedule;
 * 0: it is not known. */
int tt_algo_rounds(const char *name, const tt_ask *ask);

/* Is it a tree on each of these levels, among the leaders of domains? Families declare it;
 * test_uneven_colls.c checks what prices make of it. */
bool tt_algo_leaders(const char *name, const tt_ask *ask, const tt_tree *tree);

/* The stages of `name` in their order, if it is a composition on exactly these levels; returns how
 * many, or 0. */
int tt_algo_stages(const char *name, const tt_ask *ask, const tt_tree *tree,
                   tt_level_stage list[TT_STAGES]);

/* Builds the schedule of `name` for one rank. TUTTI_ERR_ARG: no such algorithm (the message
 * suggests one); TUTTI_ERR_UNSUPPORTED: it refuses, with its reason; TUTTI_ERR_MEMORY. A single
 * rank needs no algorithm: it copies. */
tutti_status tt_algo_build(const char *name, const tt_ask *ask, tt_sched **sched);
/* The same for all ranks; free with tt_sched_free_all. */
tutti_status tt_algo_build_all(const char *name, const tt_ask *ask, tt_sched ***all);
/* TUTTI_OK if `name` is an algorithm that can do some collective on this number of ranks, with data
 * on any number of them; else TUTTI_ERR_ARG with the reason. */
tutti_status tt_algo_known(const char *name, int ranks);
/* Does the algorithm declare that it does the collective? */
bool tt_algo_does(const char *name, tutti_coll coll);
/* TUTTI_OK if the algorithm exists, whatever its parameters. */
tutti_status tt_algo_exists(const char *name);
/* Expands a common name: "ring" becomes fold(ring). The capacity of `name` is TT_NAME. */
void tt_algo_full_name(char *name);

/* ---- parameters: words, key=value and levels, separated by commas ---- */

bool tt_param_word(const tt_ask *ask, const char *word);
/* Copies the value of `key`, up to the next comma; false if absent. */
bool tt_param_value(const tt_ask *ask, const char *key, char *value, size_t size);
/* Copies the parameter that contains a colon, such as "node:2 core:4"; false if absent. */
bool tt_param_levels(const tt_ask *ask, char *value, size_t size);
/* That value as a number, `otherwise` if absent; false if it is not a number from lo to hi. */
bool tt_param_int(const tt_ask *ask, const char *key, int lo, int hi, int otherwise, int *value);
/* The number; NULL, or why it is wrong. */
int tt_param_number(const tt_ask *ask, const tt_number *number);
const char *tt_number_refuse(const tt_ask *ask, const tt_number *number);
/* Parses levels of as many ranks as were asked for; NULL, or why that fails. */
const char *tt_param_tree(const tt_ask *ask, const char *text, tt_tree *tree);
/* NULL, or a sentence about a parameter that is not among `words` (space-separated; "key=" for
 * those with a value, "level:N" for levels). */
const char *tt_param_refuse(const tt_ask *ask, const char *words);

#endif
