/* levels.c - computes which messages of a picture cross which level of the machine, and how much data they carry.
 *
 * Idea       The levels are part of the schedule's name, as in blueconnect(node:4 core:3), or given by the user. A
 *            message crosses the outermost level that separates its two ranks. The levels may contain only the ranks with
 *            data. A helper then belongs to the innermost domain that contains all ranks below it: the ranks that it
 *            exchanges messages with, and those below lower-numbered helpers that it exchanges messages with.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "algo.h"
#include "picture.h"

/* Parses the levels in the name of a plan. Returns false if the name is not that of a plan, or if the plan has no levels. */
static bool levels_of(const char *name, tt_tree *tree) {
  tt_plan_spec *plan;
  const tt_arg *x = tt_plan_spec_parse(name, &plan) ? NULL : tt_plan_spec_levels(plan);
  if (x) *tree = *x->levels;
  tt_plan_spec_free(plan);
  return x;
}

static void include_ranks(int *below, int first, int last) {
  if (below[0] < 0 || first < below[0]) below[0] = first;
  if (last > below[1]) below[1] = last;
}

/* Determines which ranks are below each helper. The helpers are processed in the order of their numbers. */
static tutti_status place_helpers(tt_picture *p) {
  p->below = malloc(2 * (size_t)(p->ranks - p->data) * sizeof *p->below);
  if (!p->below) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for a picture");
  for (int h = p->data; h < p->ranks; h++) {
    int *below = &p->below[2 * (h - p->data)];
    below[0] = below[1] = -1;
    for (uint32_t i = 0; i < p->graph.nmessages; i++) {
      const tt_message *m = &p->graph.messages[i];
      const int other = m->sender == h ? m->reader : m->sender;
      if ((m->sender != h && m->reader != h) || other >= h) continue;
      const int *its = &p->below[2 * (other - p->data)];
      if (other < p->data)
        include_ranks(below, other, other);
      else
        include_ranks(below, its[0], its[1]);
    }
  }
  return TUTTI_OK;
}

tutti_status tt_picture_levels(tt_picture *p, const char *topo) {
  const bool asked = topo && *topo;
  if (!asked && !levels_of(p->all[0]->name, &p->tree)) return TUTTI_OK;
  const tutti_status status = asked ? tt_tree_parse(topo, &p->tree) : TUTTI_OK;
  const bool helped = !status && p->data < p->ranks && p->tree.ranks == p->data;
  const bool fits = helped || (!status && p->tree.ranks == p->ranks);
  if (!asked && !fits) return TUTTI_OK; /* the name is not that of a plan */
  if (status) return status;
  if (!fits)
    return tt_fail(TUTTI_ERR_ARG, "the topology '%.80s' holds %d ranks, not %d", topo,
                   p->tree.ranks, p->ranks);
  p->levels = p->tree.levels;
  return helped ? place_helpers(p) : TUTTI_OK;
}

/* Returns the number of a helper's domain. A negative number means that the helper is in a domain by itself. */
static int domain_of_helper(const tt_picture *p, int level, int rank) {
  const int *below = &p->below[2 * (rank - p->data)];
  const int first = below[0] < 0 ? -1 : tt_picture_domain(p, level, below[0]);
  if (first >= 0 && level < p->levels - 1 && first == tt_picture_domain(p, level, below[1]))
    return first;
  return -1 - rank;
}

int tt_picture_domain(const tt_picture *p, int level, int rank) {
  if (p->below && rank >= p->data) return domain_of_helper(p, level, rank);
  int domain = rank;
  for (int l = p->levels - 1; l > level; l--) { /* from a domain to the one that contains it */
    int holder = 0;
    while (tt_tree_first(&p->tree, l, holder) + tt_tree_count(&p->tree, l, holder) <= domain)
      holder++;
    domain = holder;
  }
  return domain;
}

int tt_picture_crosses(const tt_picture *p, const tt_message *m) {
  int level = 0;
  while (level < p->levels - 1 &&
         tt_picture_domain(p, level, m->sender) == tt_picture_domain(p, level, m->reader))
    level++;
  return level;
}

double tt_picture_carries(const tt_picture *p, const tt_message *m) {
  uint32_t lo, hi;
  tt_part_of(tt_graph_step(&p->graph, m->from), (int)m->entry_from, &lo, &hi);
  return (double)(hi - lo) / p->blocks;
}
