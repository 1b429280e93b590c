/* topology.h - named networks: the levels and model parameters that tutti needs to estimate times
 * on them.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOPOLOGY_H
#define TOPOLOGY_H

#include "cli.h"

typedef struct topology {
  char levels[160];  /* in the format of --levels */
  char figures[600]; /* in the format of --network, one per line */
  int ranks;         /* number of nodes */
  const char *about; /* sources of a machine's parameters, as profile comments; or "" */
} topology;

/* Parses a topology such as "fat-tree:8x16x8,rate=100Gbit/s", or the name of a known machine. `ranks` is the number
 * of nodes that the machine should have, or 0 if unspecified. Returns 0, or an exit status after an error message. */
int topology_read(const char *command, const char *text, int ranks, topology *t);

#endif
