/* algo.h - the algorithms: each writes one rank's schedule.
 *
 * A new one is a file in this folder with two functions and an entry in algos.def.
 * It sees no clock, environment, address or wire, and claims nothing about its schedules: the
 * prover derives what they can do. A family may only declare that all ranks do alike
 * (tt_algo_uniform), which is used for prices.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_ALGO_H
#define TT_ALGO_H

#include "schedule.h"
#include "topo_tree.h"

/* The question to an algorithm. `params` is the text between the parentheses of the name. */
typedef struct tt_ask {
  tutti_coll coll;
  int ranks, rank, root;
  int data; /* the first `data` ranks bring data; 0: as many as the algorithm takes */
  bool in_place;
  char params[TT_NAME];
} tt_ask;

typedef struct tt_algo {
  const char *name; /* with parameters: "fold(ring)" */
  const char *sentence;
  const char *source; /* short reference to a paper */
  bool candidate;     /* tutti may choose it; else it runs only if it is named */
  unsigned does;      /* bit c: collective c; it is asked for no others */
  /* NULL, or the reason why it cannot do this ("needs a power of two"). */
  const char *(*refuse)(const tt_ask *ask);
  /* The number of blocks that the vector is cut into. */
  uint32_t (*blocks)(const tt_ask *ask);
  void (*build)(tt_builder *b, const tt_ask *ask);
} tt_algo;

/* The i-th entry of algos.def, or NULL past the end. */
const tt_algo *tt_algo_at(int i);

/* Families with more parameters than the table shows: the i-th family's name, or NULL past the end;
 * and the i-th name, with parameters, that it proposes as a sample for this number of ranks, false
 * past the end. */
const char *tt_algo_family(int i);
bool tt_algo_sample(int family, int ranks, int i, char *name, size_t size);

/* The i-th plan that is worth pricing: the table's candidates, and the proposals of families with
 * parameters for this number of ranks and for `levels`, such as "rack:3 node:16 core:4", if not
 * empty. False past the end. Some may refuse. */
bool tt_algo_plan(int ranks, const char *levels, int i, char *name, size_t size);
/* Does every rank take the same steps as rank 0, each with the same step of a partner? On a machine
 * without levels (tree NULL), or with these. Families declare it in tt_<prefix>_uniform;
 * test_price.c checks it. */
bool tt_algo_uniform(const char *name, const tt_ask *ask, const tt_tree *tree);

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
/* NULL, or a sentence about a parameter that is not among `words` (space-separated; "key=" for
 * those with a value, "level:N" for levels). */
const char *tt_param_refuse(const tt_ask *ask, const char *words);

#endif
