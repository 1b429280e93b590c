/* helper_places.c - assigns helpers to the groups that they serve.
 *
 * Idea       A helper should serve the group where it runs: the rack of its host, or its node. A slot in a row is
 *            filled with a helper that runs in the slot's group, otherwise with one that runs in the same outer group,
 *            otherwise with any helper. The level of the lowest row determines the number of trees. Among the possible
 *            levels for this row, the one is used with which most helpers serve their own group.
 * Cost       At each level, helpers x helpers comparisons, and helpers x ranks.
 * Invariant  A pure function of placements that are equal on all ranks. Helpers that their placements do not
 *            distinguish keep their order.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "placement.h"

#include <stdlib.h>
#include <string.h>

#include "topo_rows.h"

/* The home of each helper at each level: the group of ranks in the same domain as the helper, or -1 if no group exists. */
typedef struct homes {
  const tt_tree *tree;
  int from; /* the outermost level within a node */
  int data, helpers;
  int *at;            /* at index [level * helpers + helper] */
  int *taken, *trial; /* helper assigned to each slot; -1: none */
  bool *used;
} homes;

/* Returns true if the two ranks are in the same domain of the level with this name. */
static bool share_domain(const tt_placement *a, const tt_placement *b, const char *name) {
  if (a->rack != b->rack) return false;
  return strcmp(name, "rack") == 0 || a->node == b->node;
}

/* Returns the group of level l that contains all ranks in the helper's rack or node (`kind`), or -1 if no group does. */
static int home_group(const homes *x, const tt_placement *placements, const int *order, int l,
                      const char *kind, const tt_placement *its) {
  int group = -1;
  for (int v = 0; v < x->data; v++) {
    if (!share_domain(its, &placements[order[v]], kind)) continue;
    const int here = tt_group_around(x->tree, l, v);
    if (group >= 0 && group != here) return -1;
    group = here;
  }
  return group;
}

/* Finds the homes of all helpers. If the ranks with data use one node of a rack, helpers on its other nodes get this home
 * too. */
static void find_homes(const tt_placement *placements, const int *order, homes *x) {
  for (int l = 0; l < x->from; l++)
    for (int i = 0; i < x->helpers; i++) {
      int *home = &x->at[l * x->helpers + i];
      const tt_placement *its = &placements[x->data + i];
      *home = home_group(x, placements, order, l, x->tree->level[l].name, its);
      if (*home < 0) *home = home_group(x, placements, order, l, "rack", its);
    }
}

/* Returns an unused helper whose home at this level is `group`, or -1. At level -1, any unused helper is returned. */
static int find_helper(const homes *x, int level, int group) {
  for (int i = 0; i < x->helpers; i++)
    if (!x->used[i] && (level < 0 || x->at[level * x->helpers + i] == group)) return i;
  return -1;
}

/* Fills free slots with helpers whose home is the group `further` levels outside the slot's group, and returns their number.
 * Above the outermost level, any helper is used but not counted. */
static int fill_places(const homes *x, const tt_helper_rows *rows, int further) {
  int filled = 0;
  for (int k = 0; k < rows->n; k++)
    for (int g = 0; g < rows->row[k].groups; g++)
      for (int t = 0; t < rows->trees; t++) {
        int *place = &x->trial[tt_helper_number(rows, k, g, t)];
        const int own = rows->row[k].level, level = own - further;
        const int first = tt_tree_rank(x->tree, own, g);
        if (*place >= 0 || (own < 0 && further < TT_TREE_LEVELS)) continue;
        *place = find_helper(x, level, level < 0 ? 0 : tt_group_around(x->tree, level, first));
        if (*place < 0) continue;
        x->used[*place] = true;
        filled += level >= 0;
      }
  return filled;
}

/* Tries an arrangement with the lowest row at `level`. Returns the number of helpers that serve their home, or -1 if the
 * helpers do not fit. */
static int try_rows(const homes *x, int level) {
  tt_helper_rows rows;
  if (!tt_helper_rows_set(x->tree, level, x->helpers, 0, &rows)) return -1;
  memset(x->used, 0, (size_t)x->helpers * sizeof *x->used);
  for (int i = 0; i < x->helpers; i++) x->trial[i] = -1;
  const int own = fill_places(x, &rows, 0);
  for (int further = 1; further <= TT_TREE_LEVELS; further++) fill_places(x, &rows, further);
  return own;
}

static void assign_helpers(const homes *x, int *order) {
  int most = -1;
  for (int level = x->from - 1; level >= -1; level--) {
    const int own = try_rows(x, level);
    if (own <= most) continue;
    most = own;
    memcpy(x->taken, x->trial, (size_t)x->helpers * sizeof *x->taken);
  }
  for (int i = 0; i < x->helpers; i++) order[x->data + i] = x->data + x->taken[i];
}

tutti_status tt_helpers_arrange(const tt_placement *placements, int ranks, int data,
                                tt_layout *layout) {
  tt_tree tree;
  tutti_status status = tt_placement_arrange(placements, data, NULL, "", layout);
  for (int r = data; r < ranks; r++) layout->order[r] = r;
  if (status || !*layout->levels) return status;
  status = tt_tree_parse(layout->levels, &tree);
  if (status) return status;
  const size_t n = (size_t)(ranks - data);
  const int from = tt_level_in_node(&tree);
  homes x = {.tree = &tree, .from = from, .data = data, .helpers = ranks - data};
  x.at = malloc((size_t)tree.levels * n * sizeof *x.at);
  x.taken = malloc(2 * n * sizeof *x.taken);
  x.used = malloc(n * sizeof *x.used);
  if (x.at && x.taken && x.used) {
    x.trial = x.taken + n;
    find_homes(placements, layout->order, &x);
    assign_helpers(&x, layout->order);
  } else {
    status = tt_fail(TUTTI_ERR_MEMORY, "out of memory for the places of %d helpers", x.helpers);
  }
  free(x.at);
  free(x.taken);
  free(x.used);
  return status;
}
