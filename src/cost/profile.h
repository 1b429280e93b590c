/* profile.h - the parameters of a machine, in a format that people can write.
 *
 *      # a cluster              from # on a line is a comment
 *      alpha = 30us             between ranks, unless overridden below
 *      beta = 10Gbit/s          or 0.8ns, or 8e-10: s/B
 *      gamma = 2e-10
 *      node.alpha = 2us, node.beta = 1e-10
 *      host.3.beta = 1Gbit/s    for one host; host.4-7.beta for several, host.n12.beta by name
 *      machine = 2 x Some processor     where the parameters were measured
 *      network = Open MPI               where the network's parameters were measured
 *
 * Entries are separated by commas or newlines. Times end in s, ms, us or ns. A value per
 * byte may be a rate: B/s or bit/s, with the prefix k, M, G, T or Ki, Mi, Gi.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_PROFILE_H
#define TT_PROFILE_H

#include "cost.h"
#include "device_price.h"

/* The costs of a message through shared memory for one rank, both step by step and in a specialized loop. */
typedef struct tt_shm_figures {
  double wait; /* time until a waiting rank notices an arrival, in s; on a shared core, per other
                * rank that the scheduler runs first */
  double message, o_next, copy;
  double piece; /* bytes after which a reader on a separate core starts to copy */
  double loop_message, loop_o_next, loop_copy;
  double loop_next_input; /* s/B of each input of a pass after the first; < 0: as loop_copy */
  double far, loop_far;   /* for bytes outside `cache`; < 0: as copy and loop_copy */
  double cache;           /* in bytes; ranks that share a core divide it */
} tt_shm_figures;

/* The levels within a machine, in the order of tt_inner_levels (placement.h). */
enum { TT_SHM_LEVELS = 3 };
typedef struct tt_shm_level {
  double delay; /* time until a waiting rank of another domain sees a cache line, in s; < 0:
                 * `wait` */
  double beta;  /* s/B of the link that leaves a domain, which its ranks share; < 0: no limit */
} tt_shm_level;

enum { TT_NAMED_LEVELS = 8, TT_NAMED_HOSTS = 16, TT_STAMP = 80 };

/* The parameters of one or more hosts whose links differ from those of other hosts. */
typedef struct tt_host_figures {
  char name[40];   /* of one host; "" if the hosts are identified by number */
  int first, last; /* first and last number; < 0 for a named host until it is found */
  tt_link is;      /* < 0: as other hosts */
} tt_host_figures;

typedef struct tt_profile {
  tt_link net; /* of the network; o_next < 0: as o */
  struct {
    char name[16];
    tt_link is; /* < 0: as in `net` */
  } level[TT_NAMED_LEVELS];
  int levels;
  tt_host_figures host[TT_NAMED_HOSTS];
  int hosts;
  int half, apart, torus; /* properties of the network: 1 if set */
  double hop;             /* time for each link of a torus after the first of a path, in s */
  tt_contention contention;
  double header;                      /* bytes, as in tt_cost_model */
  double gamma;                       /* s/B; all members before this one describe the network */
  double gamma_of[TUTTI_TYPE_COUNT];  /* for a single type; 0: as gamma */
  tt_shm_figures shm, oversubscribed; /* for one rank per core, and for several; < 0: as in shm */
  tt_shm_level shm_level[TT_SHM_LEVELS];
  struct {
    double int8, fp8, lossless; /* s/B of the original numbers, to compress and decompress them */
    double left;                /* bytes that lossless compression leaves of 1000 */
  } code;
  tt_device_figures device;
  double between;      /* round trip of a cache line during the measurement, in s; < 0: unknown */
  char of[TT_STAMP];   /* the machine on which they were measured; empty: unknown */
  char over[TT_STAMP]; /* the network on which they were measured; empty: unknown */
} tt_profile;

/* Set the built-in parameters: of a machine with shared memory, and of a cluster's network. */
void tt_profile_shm(tt_profile *profile);
void tt_profile_net(tt_profile *profile);
/* Parses a text into *profile. Parameters that the text does not mention keep their values. On error, returns TUTTI_ERR_ARG
 * with a message that gives line, column and what was expected, and that calls the text `what`. */
tutti_status tt_profile_parse(tt_profile *profile, const char *text, const char *what);
/* Resets the parameters of the network to the built-in ones, on all levels. */
void tt_profile_forget_net(tt_profile *profile);
/* Returns the line number of the entry `machine` and sets *column, or returns 0 if the text has no such entry. */
int tt_profile_said(const char *text, int *column);
/* Appends the profile as text with comments. Parsing the text gives the same parameters. */
void tt_profile_print(tt_text *text, const tt_profile *profile);

/* Replaces those parameters of a link that are set in `own`. */
void tt_link_put(tt_link *link, const tt_link *own);
/* Creates the cost model of a network with these levels (NULL: one level). Ignores parameters of levels not in the tree. */
void tt_cost_net(const tt_profile *profile, int ranks, const tt_tree *tree, tt_cost_model *model);
/* Marks the innermost `levels` levels as inside a node. Their parameters default to the costs of shared memory with this many
 * ranks per core. */
void tt_cost_inside(const tt_profile *profile, int levels, double ranks_per_core,
                    tt_cost_model *model);
/* Returns TUTTI_ERR_ARG if the profile has parameters for a level or host that the model does not have. */
tutti_status tt_figures_known(const tt_profile *profile, const tt_cost_model *model);
/* Returns true if the profile has parameters for a level within a machine that is in the tree. */
bool tt_shm_levels_known(const tt_profile *profile, const tt_tree *tree);
/* Creates the cost model of shared memory with this many ranks per core. Schedules run step by step or, if `loop`, as a
 * specialized loop. `tree` has the levels of the machine; NULL: all pairs of ranks have the same costs. */
void tt_cost_shm(const tt_profile *profile, int ranks, const tt_tree *tree, double ranks_per_core,
                 bool loop, tt_cost_model *model);

#endif
