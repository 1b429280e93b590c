/* help_model.c - `tutti help model`: explains how to describe a machine to `tutti explain` and
 * similar commands.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>

#include "cli.h"

static const char page[] =
    "Estimates need the parameters of a machine. `tutti explain`, `tutti plan price` and\n"
    "`tutti info` take them as --network and --levels; programs, as TUTTI_PROFILE and\n"
    "TUTTI_TOPO. Without any of them, the ranks share this machine's memory, with the\n"
    "parameters of its profile (tutti info --profile; docs/reference/profile.md).\n"
    "\n"
    "--network PARAMETERS, separated by commas:\n"
    "\n"
    "  alpha=30us            the latency of a message\n"
    "  beta=1e-8             seconds of a byte sent; or a rate: beta=10Gbit/s\n"
    "  gamma=2e-10           seconds of a byte added\n"
    "  node.alpha=2us        of the links between nodes, for a level that --levels names;\n"
    "                        also core.beta, rack.ports\n"
    "  ports=2               links of each host that send simultaneously\n"
    "  half=1                a link sends or receives, not both simultaneously\n"
    "  torus=1, hop=100ns    ranks form a torus; the latency of each link on the route\n"
    "  host.3.beta=1Gbit/s   of one host; host.4-7.ports=2: of several\n"
    "\n"
    "--network NAME, a network with known routes, which also gives the levels:\n"
    "\n"
    "  torus:8x8x8\n"
    "  fat-tree:LEAVESxNODESxUPLINKS               nodes of a leaf, uplinks of a leaf\n"
    "  fat-tree:PODSxLEAVESxNODESxUPLINKSxLINKS    with pods, and the links of a pod\n"
    "  dragonfly:GROUPSxROUTERSxNODES[xLINKS]      links between groups\n"
    "  infiniband, slingshot, leaf-spine           machines; -n says how many nodes\n"
    "\n"
    "A name can be followed by ,rate=100Gbit/s; ,up=RATE of links between switches;\n"
    ",latency=300ns of a link; ,software=1us of a message; ,places=unknown: which rank is\n"
    "on which node. With --network twice, the parameters of the one replace those of the\n"
    "other, the name: --network torus:4x4x4 --network gamma=1e-10.\n"
    "\n"
    "--levels LEVELS, the placement of the ranks, the outermost level first:\n"
    "\n"
    "  \"rack:3 node:16 core:4\"            3 racks of 16 nodes of 4 ranks\n"
    "  \"node:(4,3,4)\"                     nodes of 4, 3 and 4 ranks; 4*9: nine of 4\n"
    "  \"package:2 numa:4 cache:8 core:8\"  inside a machine, where ranks share memory\n"
    "\n"
    "Numbers are seconds, or have a unit: ns, us, ms, s; rates: Gbit/s, GB/s and so on.\n"
    "Examples: docs/prices.md.\n";

int cli_help_model(void) {
  fputs(page, stdout);
  return fflush(stdout) ? cli_fail(CLI_FAILED, NULL, "cannot write: %s", strerror(errno)) : 0;
}
