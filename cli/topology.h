/* topology.h - networks by name: the levels and the figures that tutti needs to price them.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOPOLOGY_H
#define TOPOLOGY_H

#include "cli.h"

typedef struct topology {
  char levels[160];  /* as --levels takes them */
  char figures[600]; /* as --network, a line each */
  int ranks;         /* nodes */
  const char
      *about; /* of a machine: where its figures are from, as comments of a profile; else "" */
} topology;

/* Reads "fat-tree:8x16x8,rate=100Gbit/s", or the name of a machine; ranks: how many nodes a machine shall have, 0: not
 * said. 0, or an exit status after a complaint. */
int topology_read(const char *command, const char *text, int ranks, topology *t);

#endif
