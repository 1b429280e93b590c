/* leaders.c - a tree on every level of the machine, formed by the leaders of its domains.
 *
 * Idea       The leader of a domain is the root if the domain contains it, otherwise the domain's first rank. The leaders
 *            of a group's members form a tree, with the leader of the group at the top. A vector therefore enters each
 *            domain only once, whatever the domains' sizes.
 * Invariant  Without a root, the ranks of a subtree are consecutive. Groups of children are ordered, nearest first: those
 *            inside the rank's own domain precede those of the outer levels.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "algo_pattern.h"

/* The root's domain at each level. */
typedef struct trunk {
  int domain[TT_TREE_LEVELS];
} trunk;

static trunk trunk_of(const tt_tree *t, int rank) {
  trunk k;
  for (int level = 0, g = 0; level < t->levels; level++)
    k.domain[level] = g = tt_tree_domain(t, level, g, rank);
  return k;
}

/* Returns the leader of a domain. */
static int leader_of(const tt_tree *t, const trunk *root, int level, int domain) {
  return root->domain[level] == domain ? root->domain[t->levels - 1]
                                       : tt_tree_rank(t, level, domain);
}

int tt_tree_leaders_most(const tt_tree *t, tt_tree_shape *shape, int radix) {
  int most = 0;
  for (int level = 0; level < t->levels; level++) {
    const tt_tree_node top = shape(0, t->level[level].most, radix);
    for (int i = 0; i < top.n; i++) most += top.down[i].count;
  }
  return most;
}

tt_tree_node tt_tree_leaders(const tt_tree *t, int rank, int root, tt_tree_shape *shape,
                             int radix) {
  const trunk here = trunk_of(t, rank), top = trunk_of(t, root);
  tt_tree_node k = {.up = -1};
  for (int level = t->levels - 1; level >= 0 && k.up < 0; level--) {
    const int group = level ? here.domain[level - 1] : 0;
    const int first = tt_tree_first(t, level, group), n = tt_tree_count(t, level, group);
    const bool above = !level || top.domain[level - 1] == group; /* this group contains the root */
    const int turn = above ? top.domain[level] - first : 0;
    const tt_tree_node one = shape(tt_mod(here.domain[level] - first - turn, n), n, radix);
    for (int i = 0; i < one.n; i++)
      for (int j = 0; j < one.down[i].count; j++) {
        const int p = one.down[i].first + j * one.down[i].stride;
        tt_tree_node_add(&k, tt_peer(leader_of(t, &top, level, first + (p + turn) % n)));
      }
    if (one.up >= 0) k.up = leader_of(t, &top, level, first + (one.up + turn) % n);
  }
  return k;
}
