/* blueconnect.c - a fold that handles the levels of the machine one by one, from the innermost outwards.
 *
 * Idea       Reduce-scatter among the ranks of a node, then of the remaining part among the nodes of a rack,
 *            then among racks; an all-gather in the opposite order follows. Each level's network therefore
 *            carries only the bytes that must cross it. This is a fold on a product of circles, one for each
 *            level, starting with the innermost. Circles may have any size, and each can use a different fold
 *            sequence. If the groups of a level differ in size, uneven.c is used.
 * Cost       One message per step, and 2(P-1)/P of the vector in total. A level with p groups of q ranks each
 *            carries 2(p-1)/p of a vector per group. In slices (TUTTI_SLICES) the levels overlap.
 * Scratch    None for allreduce and all-gather; partial sums for reduce-scatter.
 * Invariant  Rank l of its group holds part l. The blocks of a part are consecutive, with the offset and length
 *            of the paper's algorithm 1.
 * Parameters the levels, outermost first, as in "rack:3 node:2 core:2" (topo_tree.h); ring | halving | seq=...,
 *            as in fold.c, one for each level with more than one member; or stages=A/B/C, with any algorithm
 *            for each of them (algo_stages.h).
 * Source     Cho, Finkler, Kung, Hunter, BlueConnect, SysML 2019.
 * See        tutti plan draw 'blueconnect(rack:2 node:2 core:3)' -n 12
 *            tutti plan draw 'blueconnect(node:5 core:4,stages=lanes(n=2)/two-shot)' -n 20
 * SPDX-License-Identifier: BSD-3-Clause */
#include "algo_group.h"
#include "algo_stages.h"

static bool has_stages(const tt_ask *ask) {
  return tt_plan_spec_stages(ask->plan);
}

/* Stores the sizes of all levels with more than one member, and returns the number of these levels. */
static int sizes_of(const tt_tree *tree, int sizes[TT_LEVELS]) {
  int n = 0;
  for (int i = 0; i < tree->levels; i++)
    if (tree->level[i].each > 1) sizes[n++] = tree->level[i].each;
  return n;
}

static tt_group group_of_levels(const tt_ask *ask, const tt_tree *tree) {
  int sizes[TT_LEVELS] = {1};
  const int n = sizes_of(tree, sizes);
  return tt_group_product(ask, sizes, n ? n : 1, true);
}

static const char *blueconnect_refuse(const tt_ask *ask) {
  static const char *const folds[] = {"ring", "halving", "seq"};
  const tt_tree *tree = tt_param_levels(ask);
  if (!tree) return "it needs the levels of the machine, as in blueconnect(node:4 core:8)";
  const char *wrong = tt_param_levels_refuse(ask);
  if (wrong) return wrong;
  if (has_stages(ask) && tt_param_count(ask, folds, 3))
    return "stages say all: leave out ring, halving and seq";
  if (has_stages(ask)) return tt_stages_refuse(ask, tree);
  const tt_fold_spec how = tt_fold_spec_of(ask);
  if (!tree->even) return tt_uneven_refuse(ask, tree, &how);
  const tt_group g = group_of_levels(ask, tree);
  return tt_fold_spec_refuse_all(&how, &g);
}

static uint32_t blueconnect_blocks(const tt_ask *ask) {
  const tt_tree *tree = tt_param_levels(ask);
  if (tree->even || tt_coll_owned(ask->coll)) return (uint32_t)ask->ranks;
  return tt_uneven_blocks(tree);
}

static void blueconnect_build(tt_builder *b, const tt_ask *ask) {
  const tt_tree *tree = tt_param_levels(ask);
  const tt_fold_spec how = tt_fold_spec_of(ask);
  if (has_stages(ask)) {
    tt_stages_build(b, ask, tree);
  } else if (tree->even) {
    const tt_group g = group_of_levels(ask, tree);
    tt_fold_whole(b, ask, &g, &how);
  } else {
    tt_uneven_build(b, ask, tree, &how);
  }
}

/* First proposes every way to choose between halving and ring for each level, then compositions. */
static bool blueconnect_plans(int ranks, const char *levels, int i, tt_text *params) {
  tt_tree tree;
  int circles = 0, sizes[TT_LEVELS];
  if (!*levels || tt_tree_parse(levels, &tree) || tree.ranks != ranks) return false;
  for (int l = 0; l < tree.levels; l++) circles += tree.level[l].most > 1;
  if (circles > 4) return false;
  if (i >> circles) {
    const int n = tree.even ? sizes_of(&tree, sizes) : 0;
    tt_text_add(params, "%s", levels);
    return tt_stages_plan(sizes, n, i - (1 << circles), params);
  }
  tt_text_add(params, "%s,seq=", levels);
  for (int l = 0; l < circles; l++)
    tt_text_add(params, "%s%s", l ? "/" : "", i >> l & 1 ? "ring" : "halving");
  return true;
}

static bool blueconnect_uniform(const tt_ask *ask, const tt_tree *tree) {
  const tt_tree *own = tt_param_levels(ask);
  if (!own->even) return false;
  if (has_stages(ask)) return tt_stages_uniform(ask, own, tree);
  const tt_group g = group_of_levels(ask, own);
  return tt_group_fits(&g, tree);
}

static int blueconnect_stages(const tt_ask *ask, const tt_tree *tree, tt_level_stage *list) {
  return has_stages(ask) ? tt_stages_list(ask, tt_param_levels(ask), tree, list) : 0;
}

const tt_algo tt_blueconnect_algo = {
    .name = "blueconnect",
    .does = TT_DOES_ALLREDUCE | TT_DOES_BLOCKS,
    .params = {{"LEVEL:N", TT_PARAM_LEVELS},
               {"ring"},
               {"halving"},
               TT_PARAM_SEQ,
               {"stages", TT_PARAM_STAGES, .wrong = TT_STAGES_WRONG}},
    .refuse = blueconnect_refuse,
    .blocks = blueconnect_blocks,
    .build = blueconnect_build,
    .plans = blueconnect_plans,
    .uniform = blueconnect_uniform,
    .stages = blueconnect_stages,
    .entries = {{"blueconnect", TT_CANDIDATE,
                 "a fold per level of the machine: blueconnect(node:4 core:8)",
                 "Cho, Finkler, Kung, Hunter 2019"}},
};
