/* topo_rows.c - places rows of helpers above a tree of ranks.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "topo_rows.h"

#include <string.h>

#include "placement.h"

/* ---- groups ---- */

int tt_group_within(const tt_tree *t, int outer, int g, int inner) {
  for (int l = outer + 1; l <= inner; l++) g = tt_tree_first(t, l, g);
  return g;
}

int tt_group_around(const tt_tree *t, int level, int rank) {
  int g = 0;
  for (int l = 0; l <= level; l++) g = tt_tree_domain(t, l, g, rank);
  return g;
}

int tt_ranks_as_nodes(tt_tree *t) {
  const int level = t->levels++;
  t->level[level] = t->level[level - 1];
  t->level[level].each = t->level[level].most = 1;
  t->level[level].n = 0;
  return level;
}

int tt_level_in_node(tt_tree *t) {
  const int inside = tt_levels_inside(t);
  if (inside) return t->levels - inside;
  return strcmp(t->level[t->levels - 1].name, "node") == 0 ? tt_ranks_as_nodes(t) : t->levels - 1;
}

/* ---- rows ---- */

int tt_helper_rows_each(const tt_helper_rows *rows) {
  const tt_helper_row *top = &rows->row[rows->n - 1];
  return top->before + top->groups;
}

/* Leaves out each row that would have the same number of groups as the row below it. */
bool tt_helper_rows_set(const tt_tree *t, int level, int helpers, int trees, tt_helper_rows *rows) {
  int all = 0;
  rows->n = 0;
  for (int l = level; l >= -1; l--) {
    const int groups = tt_group_within(t, -1, 1, l);
    if (rows->n && groups == rows->row[rows->n - 1].groups) continue;
    rows->row[rows->n++] = (tt_helper_row){l, groups, all};
    all += groups;
  }
  rows->trees = trees ? trees : (int)tt_max(1, (size_t)(helpers / all));
  return (int64_t)all * rows->trees == helpers;
}
