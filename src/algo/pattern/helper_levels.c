/* helper_levels.c - proposes levels and rows of helpers that may be fastest.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "algo_helpers.h"

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
