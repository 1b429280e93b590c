/* help_model.c - `tutti help model`: explains how to describe a machine to `tutti explain` and
 * similar commands.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>

#include "cli.h"

static const char page[] =
    "Predicted times need the parameters of a machine. `tutti explain`, `tutti plan price` and\n"
    "`tutti info` take them as --network and --levels, and programs as TUTTI_PROFILE and\n"
    "TUTTI_TOPO. By default, the ranks share the memory of this machine, with the parameters\n"
    "of its profile (tutti info --profile; docs/reference/profile.md).\n"
    "\n"
    "--network PARAMETERS, separated by commas:\n"
    "\n"
    "  alpha=30us            latency of a message\n"
    "  beta=1e-8             seconds per byte sent; or a rate: beta=10Gbit/s\n"
    "  gamma=2e-10           seconds per byte added\n"
    "  node.alpha=2us        latency of the links between nodes, if --levels has a level node;\n"
    "                        also core.beta, rack.ports and so on\n"
    "  ports=2               number of links of each host that send simultaneously\n"
    "  half=1                a link either sends or receives (half duplex)\n"
    "  torus=1, hop=100ns    the ranks form a torus; latency of each link on a route\n"
    "  host.3.beta=1Gbit/s   parameter of one host; host.4-7.ports=2: of several hosts\n"
    "\n"
    "--network NAME, a network with known routes, which also defines the levels:\n"
    "\n"
    "  torus:8x8x8\n"
    "  fat-tree:LEAVESxNODESxUPLINKS               nodes and uplinks are those of a leaf\n"
    "  fat-tree:PODSxLEAVESxNODESxUPLINKSxLINKS    with pods; links are those of a pod\n"
    "  dragonfly:GROUPSxROUTERSxNODES[xLINKS]      links are those between groups\n"
    "  infiniband, slingshot, leaf-spine           machines; -n is the number of nodes\n"
    "\n"
    "These can follow a name: ,rate=100Gbit/s (links), ,up=RATE (links between switches),\n"
    ",latency=300ns (per link), ,software=1us (per message), and ,places=unknown (the node of\n"
    "each rank is unknown). With --network twice, parameters override those of the named\n"
    "network: --network torus:4x4x4 --network gamma=1e-10.\n"
    "\n"
    "--levels LEVELS, the placement of the ranks, the outermost level first:\n"
    "\n"
    "  \"rack:3 node:16 core:4\"            3 racks of 16 nodes of 4 ranks\n"
    "  \"node:(4,3,4)\"                     nodes of 4, 3 and 4 ranks; 4*9 means nine of 4\n"
    "  \"package:2 numa:4 cache:8 core:8\"  within one machine, where ranks share memory\n"
    "\n"
    "Numbers are seconds, or have a unit: ns, us, ms, s. Rates have a unit: Gbit/s, GB/s, ...\n"
    "Examples: docs/prices.md.\n";

int cli_help_model(void) {
  fputs(page, stdout);
  return fflush(stdout) ? cli_fail(CLI_FAILED, NULL, "cannot write: %s", strerror(errno)) : 0;
}
