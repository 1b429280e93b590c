/* profile.h - the figures of a machine, in a form that people write.
 *
 *     # a cluster              from # on a line is a comment
 *     alpha = 30us             between ranks, unless overridden below
 *     beta = 10Gbit/s          or 0.8ns, or 8e-10: s/B
 *     gamma = 2e-10
 *     node.alpha = 2us, node.beta = 1e-10
 *     host.3.beta = 1Gbit/s    of one host; host.4-7.beta of several, host.n12.beta by its name
 *     machine = 2 x Some processor     on which the figures were measured
 *     network = Open MPI               the same for the network's figures
 *
 * Entries are separated by commas or newlines. Times end in s, ms, us or ns; a figure per
 * byte may be a rate: B/s, bit/s, with the prefix k, M, G, T or Ki, Mi, Gi.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_PROFILE_H
#define TT_PROFILE_H

#include "cost.h"
#include "device_price.h"

/* Shared memory: a rank's costs for a message, step by step or in a loop. */
typedef struct tt_shm_figures {
  double wait; /* s until a waiting rank notices an arrival; on a shared core, per other
                  rank of the core that the scheduler runs first */
  double message, o_next, copy;
  double piece; /* B after which a reader on a separate core begins to copy */
  double loop_message, loop_o_next, loop_copy;
  double loop_next_input; /* s/B of each input after the first of a pass; < 0: as loop_copy */
  double far, loop_far;   /* bytes outside `cache`; < 0: as copy, as loop_copy */
  double cache;           /* B; if ranks share a core, each has its part */
} tt_shm_figures;

/* Levels within a machine: those of tt_inner_levels (placement.h). */
enum { TT_SHM_LEVELS = 3 };
typedef struct tt_shm_level {
  double delay; /* s until a waiting rank of another domain sees a line; < 0: as `wait` */
  double beta; /* s/B through the link that leaves a domain, which its ranks share; < 0: no limit */
} tt_shm_level;

enum { TT_NAMED_LEVELS = 8, TT_NAMED_HOSTS = 16, TT_STAMP = 80 };

/* The figures of hosts whose links differ from the others'. */
typedef struct tt_host_figures {
  char name[40];   /* of one host; "": they have numbers, */
  int first, last; /* from the first to the last; of a named host: < 0 until it is found */
  tt_link is;      /* < 0: as other hosts */
} tt_host_figures;

typedef struct tt_profile {
  tt_link net; /* of a wire; o_next < 0: as o */
  struct {
    char name[16];
    tt_link is; /* < 0: as in net */
  } level[TT_NAMED_LEVELS];
  int levels;
  tt_host_figures host[TT_NAMED_HOSTS];
  int hosts;
  int half, apart, torus; /* how ranks connect to the network */
  double hop;             /* s for each link of a torus on a path, after the first */
  tt_contention contention;
  double header;                      /* as in tt_cost_model */
  double gamma;                       /* all before it is the network's */
  double gamma_of[TUTTI_TYPE_COUNT];  /* of one type; 0: as gamma */
  tt_shm_figures shm, oversubscribed; /* one rank per core; several, < 0: as in shm */
  tt_shm_level shm_level[TT_SHM_LEVELS];
  struct {
    double int8, fp8, lossless; /* s/B of numbers that are coded, and of decoding them */
    double left;                /* B that lossless codes leave of 1000 */
  } code;
  tt_device_figures device;
  double between;      /* s: round trip of a cache line when these were measured; < 0: unknown */
  char of[TT_STAMP];   /* the machine where they were measured; empty: unknown */
  char over[TT_STAMP]; /* the network likewise */
} tt_profile;

/* The built-in figures: of shared memory; of a cluster's network. */
void tt_profile_shm(tt_profile *profile);
void tt_profile_net(tt_profile *profile);
/* Parses text into *profile; figures it does not name keep their values. TUTTI_ERR_ARG: the message
 * has line, column and what was expected, and calls the text `what`. */
tutti_status tt_profile_parse(tt_profile *profile, const char *text, const char *what);
/* Resets the network's figures, on all levels, to the built-in ones. */
void tt_profile_forget_net(tt_profile *profile);
/* The line and column of the entry for `of`; 0: none. */
int tt_profile_said(const char *text, int *column);
/* Appends it as text that reads back to the same figures, with comments. */
void tt_profile_print(tt_text *text, const tt_profile *profile);

/* Replaces the parameters of a link by those that are set in `own`. */
void tt_link_put(tt_link *link, const tt_link *own);
/* The model of a network whose ranks form this tree (NULL: one level). Parameters of levels that the
 * tree does not have are ignored. */
void tt_cost_net(const tt_profile *profile, int ranks, const tt_tree *tree, tt_cost_model *model);
/* The innermost `levels` levels are within a node: their figures default to those of shared memory,
 * with this many ranks per core. */
void tt_cost_inside(const tt_profile *profile, int levels, double ranks_per_core,
                    tt_cost_model *model);
/* TUTTI_ERR_ARG: the profile has figures of a level, or of a host, that the model lacks. */
tutti_status tt_figures_known(const tt_profile *profile, const tt_cost_model *model);
/* Has the profile a figure of some level of the tree within a machine? */
bool tt_shm_levels_known(const tt_profile *profile, const tt_tree *tree);
/* The model of shared memory, with this many ranks per core, for schedules run step by step or as a
 * loop. tree: the levels of the machine; NULL: all ranks are equally near. */
void tt_cost_shm(const tt_profile *profile, int ranks, const tt_tree *tree, double ranks_per_core,
                 bool loop, tt_cost_model *model);

#endif
