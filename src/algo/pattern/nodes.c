/* nodes.c - determines which ranks share a node.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "algo_pattern.h"

const char *tt_nodes_refuse(const tt_ask *ask) {
  if (!tt_param_levels(ask)) return NULL;
  if (tt_param_given(ask, "node")) return "node= and levels such as node:(4,3) exclude each other";
  return tt_param_levels_refuse(ask);
}

tt_nodes tt_nodes_of(const tt_ask *ask) {
  tt_nodes nodes = {.ranks = ask->ranks, .each = tt_param_number(ask, "node", 1)};
  nodes.tree = tt_param_levels(ask);
  if (nodes.tree) {
    const int last = nodes.tree->levels - 1;
    nodes.each = last ? nodes.tree->level[last].each : 1;
    nodes.count = nodes.tree->level[last].parents;
  }
  if (nodes.each) nodes.count = (ask->ranks + nodes.each - 1) / nodes.each;
  return nodes;
}

int tt_node_first(const tt_nodes *nodes, int node) {
  if (node == nodes->count) return nodes->ranks;
  return nodes->each ? node * nodes->each
                     : tt_tree_first(nodes->tree, nodes->tree->levels - 1, node);
}

int tt_node_at(const tt_nodes *nodes, int rank) {
  int node = 0;
  if (nodes->each) return rank / nodes->each;
  for (int level = 0; level + 1 < nodes->tree->levels; level++)
    node = tt_tree_domain(nodes->tree, level, node, rank);
  return node;
}
