/* torus.c - simultaneous rings in all dimensions of a torus, in both directions of each.
 *
 * Idea       With d dimensions a node has 2d links, and the vector is divided into as many parts. Each part uses the
 *            dimensions one after the other, in rings as in blueconnect.c, but starts with a different dimension or
 *            direction: while one part uses the links up x, others use those down x, up y, and down y. In each part, the
 *            ranks of one node are first.
 * Cost       2 sum(n - 1) rounds of 2d messages, over dimensions of n nodes; 2(P-1)/P of the vector in total, and 1/(2d)
 *            of that on each link if all dimensions have the same length.
 * Scratch    None.
 * Invariant  A part is an allreduce of separate blocks, so parts do not wait for each other. Their steps are interleaved,
 *            because two ranks exchange messages in the order of the steps.
 * Parameters the levels as in blueconnect.c: one for each dimension, then the ranks of a node.
 * Source     Sack and Gropp, Collective Algorithms for Multiported Torus Networks, ACM Trans. Par.
 *            Comput. 1(2), 2015; rings as in Cho et al., BlueConnect, SysML 2019.
 * See        tutti plan draw 'torus(y:2 x:3 node:1)' -n 6
 * SPDX-License-Identifier: BSD-3-Clause */
#include "algo_group.h"

typedef struct torus {
  tt_group group; /* the circles, innermost first */
  int inside;     /* 1 if the first circle is the ranks of a node, 0 if nodes have one rank */
  int dimensions;
} torus;

/* Fills in *t and returns NULL, or returns an error message if the levels do not describe a torus. */
static const char *torus_of(const tt_ask *ask, torus *t) {
  const tt_tree *tree = tt_param_levels(ask);
  int sizes[TT_LEVELS], n = 0;
  if (!tree) return "it needs the dimensions and the ranks of a node, as in torus(y:4 x:8 node:1)";
  const char *wrong = tt_param_levels_refuse(ask);
  if (wrong) return wrong;
  if (!tree->even) return "all domains of a level must be as large";
  for (int l = 0; l < tree->levels; l++)
    if (tree->level[l].each > 1) sizes[n++] = tree->level[l].each;
  t->inside = tree->level[tree->levels - 1].each > 1;
  t->dimensions = n - t->inside;
  if (t->dimensions < 1) return "it needs a dimension of more than one node";
  t->group = tt_group_product(ask, sizes, n, true);
  return NULL;
}

static const char *torus_refuse(const tt_ask *ask) {
  torus t;
  return torus_of(ask, &t);
}

static int parts_of(const torus *t) {
  return 2 * t->dimensions;
}

static uint32_t torus_blocks(const tt_ask *ask) {
  torus t;
  return torus_of(ask, &t) ? 1 : (uint32_t)(ask->ranks * parts_of(&t));
}

/* Returns the circles in the order that a part visits them. Part k starts with dimension k / 2, and parts with odd
 * numbers use the opposite direction. */
static tt_group group_of_part(const torus *t, int part) {
  tt_group g = t->group;
  uint32_t width = 1;
  g.base = (uint32_t)(part * g.ranks);
  for (int i = 0; i < t->dimensions; i++) {
    const int to = t->inside + i, from = t->inside + (i + part / 2) % t->dimensions;
    g.size[to] = t->group.size[from];
    g.apart[to] = t->group.apart[from];
    g.digit[to] = t->group.digit[from];
    if (part % 2 == 0) continue;
    g.apart[to] = -g.apart[to];
    g.digit[to] = g.size[to] - 1 - g.digit[to];
  }
  for (int i = g.levels - 1; i >= 0; i--) {
    g.width[i] = width;
    width *= (uint32_t)g.size[i];
  }
  return g;
}

static void torus_build(tt_builder *b, const tt_ask *ask) {
  torus t;
  uint32_t from[2 * TT_LEVELS];
  if (torus_of(ask, &t)) return;
  for (int part = 0; part < parts_of(&t) && !b->status; part++) {
    const tt_group g = group_of_part(&t, part);
    from[part] = b->s->nsteps;
    tt_fold_whole(b, ask, &g, &tt_fold_ring);
  }
  tt_build_weave(b, from, parts_of(&t));
}

static bool torus_uniform(const tt_ask *ask, const tt_tree *tree) {
  torus t;
  return !torus_of(ask, &t) && tt_group_fits(&t.group, tree);
}

const tt_algo tt_torus_algo = {
    .name = "torus",
    .does = TT_DOES_ALLREDUCE,
    .params = {{"LEVEL:N", TT_PARAM_LEVELS}},
    .refuse = torus_refuse,
    .blocks = torus_blocks,
    .build = torus_build,
    .plan = {{"LEVELS", 0}},
    .uniform = torus_uniform,
    .entries = {{"torus", TT_CANDIDATE,
                 "rings in all dimensions at once, both ways: torus(y:4 x:8 node:1)",
                 "Sack and Gropp 2015"}},
};
