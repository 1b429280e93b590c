/* topology.h - networks by name: the levels and the figures that tutti needs to price them.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOPOLOGY_H
#define TOPOLOGY_H

#include "cli.h"

typedef struct topology {
  char levels[160];  /* as --topo takes them */
  char figures[600]; /* as --net, a line each */
  int ranks;         /* nodes */
  const char
      *about; /* of a machine: where its figures are from, as comments of a profile; else "" */
} topology;

/* Reads "fat-tree:8x16x8,rate=100Gbit/s", or the name of a machine; ranks: how many nodes a machine shall have, 0: not
 * said. 0, or an exit status after a complaint. */
int topology_read(const char *command, const char *text, int ranks, topology *t);

/* For the usage pages. */
#define TOPOLOGY_OPTION                                                                          \
  "  -T, --topology NET     a network with known routes; replaces --topo and --net:\n"           \
  "                         torus:8x8x8, fat-tree:LEAVESxNODESxUPLINKS (nodes of a leaf; with\n" \
  "                         pods PODSxLEAVESxNODESxUPLINKSxLINKS of a pod),\n"                   \
  "                         dragonfly:GROUPSxROUTERSxNODES[xLINKS between groups]; then "        \
  ",rate=100Gbit/s, ,up=RATE\n"                                                                  \
  "                         of links between switches, ,latency=300ns of a link,\n"              \
  "                         ,software=1us of a message, ,places=unknown: which rank is which\n"  \
  "                         node; or a machine: infiniband, slingshot, leaf-spine, which have\n" \
  "                         as many nodes as -P says (docs/prices.md)\n"

#endif
