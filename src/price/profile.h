/* profile.h - the figures of a machine, as a person writes them.
 *
 *     # a cluster              from # on a line is a comment
 *     alpha = 30us             between ranks, whatever is not said below
 *     beta = 10Gbit/s          or 0.8ns, or 8e-10: s/B
 *     gamma = 2e-10
 *     node.alpha = 2us, node.beta = 1e-10
 *     machine = 2 x Some processor     that the figures are of
 *     network = Open MPI               that those of the network are of
 *
 * Entries are apart by commas or lines. Times end in s, ms, us or ns; what is said per
 * byte may be a rate: B/s, bit/s, with k, M, G, T or Ki, Mi, Gi before.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_PROFILE_H
#define TT_PROFILE_H

#include "price.h"

/* Of one wire, or between things of one level. */
typedef struct tt_figures {
  double alpha, L, beta, o, burst;
  double o_next; /* < 0: as processor */
  int ports;     /* messages that a rank sends, or receives, at once */
} tt_figures;

/* Shared memory: what a rank does for a message step by step, or in a loop of its own. */
typedef struct tt_shm_figures {
  double wait; /* s until a waiting rank sees what came; where ranks share a core, for each other
                  one of it, which is scheduled first */
  double message, o_next, copy;
  double piece; /* B after which a reader on a core of its own begins to copy */
  double loop_message, loop_o_next, loop_copy;
  double
      loop_next_input;  /* s/B of each further input that is added in one pass; < 0: as loop_copy */
  double far, loop_far; /* of the bytes of a vector after `cache`; < 0: as copy, as loop_copy */
  double cache;         /* B; where ranks share a core, a part for each */
} tt_shm_figures;

enum { TT_NAMED_LEVELS = 8, TT_STAMP = 80 };

typedef struct tt_profile {
  tt_figures net;
  struct {
    char name[16];
    tt_figures is; /* < 0: as in net */
  } level[TT_NAMED_LEVELS];
  int levels;
  int half, apart, torus; /* how ranks hang on the network */
  double hop;             /* s for each further link of a torus on the way */
  double gamma;
  double gamma_of[TUTTI_TYPE_COUNT];  /* of one type; 0: as gamma */
  tt_shm_figures shm, oversubscribed; /* a core for each rank; several to a core, < 0: as in shm */
  double between;      /* s: a cache line there and back when these were measured; < 0: not said */
  char of[TT_STAMP];   /* the machine that they were measured on; empty: not said */
  char over[TT_STAMP]; /* and the network; or not said, likewise */
} tt_profile;

/* The built-in figures: of shared memory; of a cluster's network. */
void tt_profile_shm(tt_profile *profile);
void tt_profile_net(tt_profile *profile);
/* Read over what is there. TUTTI_ERR_ARG: the sentence has line, column and what was
 * expected. `what` is what the sentence calls the text. */
tutti_status tt_profile_parse(tt_profile *profile, const char *text, const char *what);
/* The network's figures, all levels', are the built-in ones again. */
void tt_profile_forget_net(tt_profile *profile);
/* The line and column in which `of` is said; 0 if it is not. */
int tt_profile_said(const char *text, int *column);
/* As text that reads back to the same figures, with a comment each. */
void tt_profile_print(tt_text *text, const tt_profile *profile);

/* A network of ranks that sit as the tree says (NULL: all alike). Figures of a level that
 * the tree does not have are not looked at. */
void tt_cost_net(const tt_profile *profile, int ranks, const tt_tree *tree, tt_cost_model *model);
/* So many of its innermost levels are within a node: what is not said of them costs what
 * shared memory does, with so many ranks per core. */
void tt_cost_inside(const tt_profile *profile, int levels, double ranks_per_core,
                    tt_cost_model *model);
/* TUTTI_ERR_ARG: a level has figures that the profile does not have. */
tutti_status tt_figures_known(const tt_profile *profile, const tt_cost_model *model);
/* Shared memory, with so many ranks per core, for schedules that are run step by step or
 * in a loop of their own. */
void tt_cost_shm(const tt_profile *profile, int ranks, double ranks_per_core, bool loop,
                 tt_cost_model *model);

#endif
