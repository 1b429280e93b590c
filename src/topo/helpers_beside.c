/* helpers_beside.c - the levels of a machine whose helpers have no placement yet: each helper is placed next to its
 * group.
 *
 * Idea       A request for an estimate names the levels of the ranks with data, and the number of helpers. Each helper
 *            is then placed in the group that it serves, on a separate node, or in the node that it serves. In the tree
 *            it becomes one more domain at the next level, with a single domain on each level below, down to the rank.
 *            The rows are those of the innermost level that fits.
 * Cost       Linear in the ranks and the levels.
 * Invariant  Ranks with data keep their order, and a group's helpers follow them.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "placement.h"
#include "topo_rows.h"

typedef struct beside {
  const tt_tree *tree;
  tt_helper_rows rows;
  int *position, next; /* position of each rank in the new tree; the next free position */
  int *counts,
      n[TT_TREE_LEVELS]; /* per level, at index [level * most + i]: number of domains in the i-th
                          * domain of the level above */
  int most;
} beside;

static void note_count(beside *x, int level, int count) {
  x->counts[(size_t)level * (size_t)x->most + (size_t)x->n[level]++] = count;
}

/* Adds a rank that is the only rank in its domain, on this level and on all levels inside it. */
static void seat_alone(beside *x, int level, int rank) {
  for (; level < x->tree->levels - 1; level++) note_count(x, level + 1, 1);
  x->position[rank] = x->next++;
}

/* Returns the row of helpers that belongs to a level, or -1. */
static int row_at(const beside *x, int level) {
  int k = x->rows.n - 1;
  while (k >= 0 && x->rows.row[k].level != level) k--;
  return k;
}

/* Adds the domains of one group of a level, followed by the group's helpers. */
static void seat_group(beside *x, int level, int group) {
  const int row = row_at(x, level), helpers = row < 0 ? 0 : x->rows.trees;
  if (level == x->tree->levels - 1) {
    x->position[group] = x->next++;
    return;
  }
  const int first = tt_tree_first(x->tree, level + 1, group),
            n = tt_tree_count(x->tree, level + 1, group);
  note_count(x, level + 1, n + helpers);
  for (int i = 0; i < n; i++) seat_group(x, level + 1, first + i);
  for (int t = 0; t < helpers; t++)
    seat_alone(x, level + 1, x->tree->ranks + tt_helper_number(&x->rows, row, group, t));
}

/* Appends a level to the text, such as " node:4" or " node:(4*2,1)". */
static void append_level(const beside *x, int level, char *text, size_t *at) {
  const int *counts = &x->counts[(size_t)level * (size_t)x->most], n = x->n[level];
  int same = 1;
  while (same < n && counts[same] == counts[0]) same++;
  tt_levels_add(text, TT_TREE_TEXT, at, "%s%s:", *at ? " " : "", x->tree->level[level].name);
  if (same == n) {
    tt_levels_add(text, TT_TREE_TEXT, at, "%d", counts[0]);
    return;
  }
  for (int i = 0, times; i < n; i += times) {
    for (times = 1; i + times < n && counts[i + times] == counts[i];) times++;
    tt_levels_add(text, TT_TREE_TEXT, at, "%s%d", i ? "," : "(", counts[i]);
    if (times > 1) tt_levels_add(text, TT_TREE_TEXT, at, "*%d", times);
  }
  tt_levels_add(text, TT_TREE_TEXT, at, ")");
}

static tutti_status seat_all(beside *x, const char *levels, char *all) {
  const tt_tree *t = x->tree;
  size_t at = 0;
  const int top = row_at(x, -1), helpers = top < 0 ? 0 : x->rows.trees;
  note_count(x, 0, tt_tree_count(t, 0, 0) + helpers);
  for (int g = 0; g < tt_tree_count(t, 0, 0); g++) seat_group(x, 0, g);
  for (int i = 0; i < helpers; i++)
    seat_alone(x, 0, t->ranks + tt_helper_number(&x->rows, top, 0, i));
  for (int l = 0; l < t->levels; l++) append_level(x, l, all, &at);
  if (at < TT_TREE_TEXT) return TUTTI_OK;
  return tt_fail(TUTTI_ERR_ARG, "the levels '%.80s' are too long a text to add helpers", levels);
}

tutti_status tt_helpers_beside(const char *levels, int ranks, char *all, int *position) {
  tt_tree tree, nodes;
  tutti_status status = tt_tree_parse(levels, &tree);
  if (status) return status;
  nodes = tree;
  beside x = {.tree = &tree, .position = position, .most = ranks + 1};
  int level = tree.levels < TT_TREE_LEVELS ? tt_level_in_node(&nodes) : tree.levels - 1;
  level = (int)tt_min((size_t)level, (size_t)tree.levels - 1) - 1;
  while (!tt_helper_rows_set(&tree, level, ranks - tree.ranks, 0, &x.rows)) level--;
  x.counts = malloc((size_t)tree.levels * (size_t)x.most * sizeof *x.counts);
  if (!x.counts)
    return tt_fail(TUTTI_ERR_MEMORY, "out of memory for the places of %d ranks", ranks);
  status = seat_all(&x, levels, all);
  free(x.counts);
  return status;
}
