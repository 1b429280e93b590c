/* topo_tree.h - nested groups of ranks, parsed from a string.
 *
 * rack:3 node:2 core:2    3 racks of 2 nodes of 2 cores; a core is a rank
 * rack:2 node:(3,1) core:4    3 nodes in the first rack, 1 in the second
 * node:(4,3,4)            3 nodes of 4, 3 and 4 ranks
 * node:(40*99,39)         99 nodes of 40 ranks, and one of 39
 * Ranks are numbered along the innermost level first.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_TOPO_TREE_H
#define TT_TOPO_TREE_H

#include "core.h"

enum { TT_TREE_LEVELS = 12, TT_TREE_RUNS = 128, TT_TREE_TEXT = 256 };

/* A run of adjacent domains, each of which contains the same number of domains of the next level. */
typedef struct tt_tree_run {
  int size, times;
  int before, first; /* number of domains before this run, and of the domains inside those */
} tt_tree_run;

typedef struct tt_tree {
  int ranks, levels; /* level 0 is the outermost; the domains of the last level are ranks */
  bool even;         /* no level has a list */
  struct {
    int each;    /* number of domains in every domain of the level above; 0: given by the list */
    int at, n;   /* the runs of this level */
    int parents; /* number of domains of the level above, if this level has a list */
    int most;    /* the largest entry */
    char name[16];
  } level[TT_TREE_LEVELS];
  tt_tree_run run[TT_TREE_RUNS];
} tt_tree;

/* Parses a topology. Returns TUTTI_ERR_ARG for a syntax error, with a message that says where it is and what was expected. */
tutti_status tt_tree_parse(const char *text, tt_tree *tree);
bool tt_tree_equal(const tt_tree *a, const tt_tree *b);
/* Return the number of domains of a level in the g-th domain of the level above, and the index of the first of these domains.
 * For level 0, g is 0, and the number is the total. */
int tt_tree_count(const tt_tree *tree, int level, int g);
int tt_tree_first(const tt_tree *tree, int level, int g);
/* Returns the first rank of the g-th domain of a level. */
int tt_tree_rank(const tt_tree *tree, int level, int g);
/* Returns the domain of a level that contains a rank of the g-th domain of the level above. For level 0, g is 0. */
int tt_tree_domain(const tt_tree *tree, int level, int g, int rank);
/* Appends to the text of a tree, which has *at characters. If the result does not fit, *at becomes larger than `size`. */
void tt_levels_add(char *text, size_t size, size_t *at, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Appends a list to the text, such as "4,3" or "40*99,39". */
void tt_levels_add_numbers(char *text, size_t size, size_t *at, const int *each, int n);

#endif
