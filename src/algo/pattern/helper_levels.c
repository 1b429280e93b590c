/* helper_levels.c - proposes levels and rows of helpers: samples for proofs, and plans that may be fastest.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "algo_helpers.h"

#include <stdio.h>

/* Appends levels that spread `data` ranks as evenly as possible over `nodes` nodes, followed by the other parameters. */
static void write_sample(const char *outer, int nodes, int data, const char *per, int trees,
                         bool spread, tt_text *params) {
  const int each = data / nodes, more = data % nodes;
  tt_text_add(params, "%s core:", outer);
  if (more)
    tt_text_add(params, "(%d*%d,%d*%d)", each + 1, more, each, nodes - more);
  else
    tt_text_add(params, "%d", each);
  if (*per) tt_text_add(params, ",per=%s", per);
  if (!*per || trees > 1) tt_text_add(params, ",trees=%d", trees);
  if (spread) tt_text_add(params, ",spread");
}

/* The shapes of samples: how the nodes are divided into n groups, and on which level the helpers are. */
static const struct {
  const char *outer, *per;
  int nodes;            /* nodes per group */
  int helpers, further; /* helpers per group; additional helpers for the whole machine */
  bool spread;
} shapes[] = {
    {"node:%d", "node", 1, 1, 1, false},       {"node:%d package:2", "node", 2, 1, 1, false},
    {"rack:%d node:2", "rack", 2, 1, 1, true}, {"rack:%d node:2", "node", 2, 3, 1, false},
    {"node:%d", "", 1, 0, 1, false},           {"node:%d", "", 1, 0, 1, true},
};

bool tt_helpers_sample(int ranks, int i, tt_text *params) {
  char outer[64];
  for (int trees = 1; trees <= 3; trees++)
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
      for (int n = 2; n <= ranks; n++) {
        const int data = ranks - trees * (shapes[k].helpers * n + shapes[k].further);
        if (data < n * shapes[k].nodes) break;
        if (i-- > 0) continue;
        snprintf(outer, sizeof outer, shapes[k].outer, n);
        write_sample(outer, n * shapes[k].nodes, data, shapes[k].per, trees, shapes[k].spread,
                     params);
        return true;
      }
  return false;
}

bool tt_helpers_plan(int ranks, const char *levels, int i, tt_text *params) {
  tt_helpers h = {.data = 0};
  if (!*levels || tt_tree_parse(levels, &h.tree) || h.tree.ranks >= ranks) return false;
  if (h.tree.levels >= TT_TREE_LEVELS - 1) return false;
  const int helpers = ranks - h.tree.ranks;
  h.from = tt_level_in_node(&h.tree);
  for (int l = h.from - 1; l >= 0; l--) {
    if (!tt_helper_rows_set(&h.tree, l, helpers, 0, &h.rows)) continue;
    if (h.rows.row[0].groups == 1 || i-- > 0) continue;
    tt_text_add(params, "%s,per=%s", levels, h.tree.level[l].name);
    return true;
  }
  tt_text_add(params, "%s,trees=%d", levels, helpers);
  return i == 0;
}
