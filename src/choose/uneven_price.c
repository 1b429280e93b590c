/* uneven_price.c - the price of a plan over uneven levels on many ranks.
 *
 * Idea       a few nodes of ten thousand lack a rank. The full ones do the same as on a machine without gaps,
 *            whose domains are all as large as the largest, and where one rank stands for all. On uneven levels ranks
 *            have more messages, those of a smaller domain most. So the price is at least the time for which
 *            the ports and the processor of one of some ranks are busy (bound.h).
 * Cost       that of one rank, where all ranks would have to be built and simulated.
 * Limit      the price is too high where few domains are as large as the largest, and for long vectors up to a
 *            third too low, of an all-gather up to a half (test_uneven.c, test_uneven_colls.c).
 * SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "candidates.h"

/* The even tree; false: it would have too many ranks. */
static bool round_up(const tt_tree *tree, tt_tree *even) {
  char text[TT_TREE_TEXT];
  size_t at = 0;
  for (int l = 0; l < tree->levels && at < sizeof text; l++)
    at += (size_t)snprintf(text + at, sizeof text - at, "%s%s:%d", l ? " " : "",
                           tree->level[l].name, tree->level[l].most);
  return at < sizeof text && !tt_tree_parse(text, even);
}

/* The plan's name with the even levels. */
static bool name_evenly(const tt_chooser *c, const char *name, const tt_tree *even,
                        char to[TT_NAME]) {
  const char *levels = strstr(name, c->setting.levels);
  if (!levels) return false;
  size_t at = (size_t)snprintf(to, TT_NAME, "%.*s", (int)(levels - name), name);
  for (int l = 0; l < even->levels && at < TT_NAME; l++)
    at += (size_t)snprintf(to + at, TT_NAME - at, "%s%s:%d", l ? " " : "", even->level[l].name,
                           even->level[l].each);
  if (at < TT_NAME)
    at += (size_t)snprintf(to + at, TT_NAME - at, "%s", levels + strlen(c->setting.levels));
  return at < TT_NAME;
}

static bool find_even(const tt_chooser *c, const char *name, const tt_ask *ask, tt_tree *even,
                      char to[TT_NAME], tt_ask *there) {
  if (!round_up(&c->model.tree, even) || !name_evenly(c, name, even, to)) return false;
  *there = *ask;
  there->ranks = there->data = even->ranks;
  return tt_algo_uniform(to, there, even);
}

bool tt_rounded_up(const tt_chooser *c, const char *name) {
  const tt_ask ask = {.coll = TUTTI_ALLREDUCE};
  char to[TT_NAME];
  tt_tree even;
  tt_ask there;
  return c->levels && !c->model.tree.even && c->setting.ranks > TT_MOST_PLAYED &&
         !c->setting.data && c->setting.ranks_per_core <= 0 &&
         find_even(c, name, &ask, &even, to, &there);
}

tutti_status tt_rounded_up_build(const tt_chooser *c, const char *name, const tt_ask *ask,
                                 tt_cost_model *model, tt_sched **s) {
  char to[TT_NAME];
  tt_ask there;
  *model = c->model;
  model->hosts = NULL; /* there are more ranks, of hosts like most */
  if (!find_even(c, name, ask, &model->tree, to, &there))
    return tt_fail(TUTTI_ERR_UNSUPPORTED, "%s cannot be priced on even levels", name);
  model->ranks = there.ranks;
  return tt_algo_build(to, &there, s);
}

/* An innermost group that is the smallest of its level, in a domain that is. */
static int smallest_group(const tt_tree *t) {
  int g = 0;
  for (int l = 0; l + 1 < t->levels; l++) {
    g = tt_tree_first(t, l, g);
    int smallest = g;
    for (int i = 0; i < t->level[l + 1].n; i++) {
      const tt_tree_run *run = &t->run[t->level[l + 1].at + i];
      if (run->size < tt_tree_count(t, l + 1, smallest)) smallest = run->before;
    }
    g = smallest;
  }
  return g;
}

/* Raises a curve to a line where that is above it: at the ends of each line of the curve, and where the two
 * cross. */
static void raise_curve(tt_curve *curve, double fixed, double slope) {
  const tt_line least = {0, fixed, slope};
  tt_curve raised = *curve;
  raised.n = 0;
  for (int i = 0; i < curve->n; i++) {
    const tt_line line = curve->line[i];
    const double end = i + 1 < curve->n ? curve->line[i + 1].from : HUGE_VAL;
    const double below = fixed - line.fixed + (slope - line.slope) * line.from;
    const bool under = below > 0 || (below == 0 && slope > line.slope);
    const double cross = slope == line.slope ? 0 : (fixed - line.fixed) / (line.slope - slope);
    tt_curve_add(&raised, line.from, under ? least : line);
    if (cross > line.from && cross < end) tt_curve_add(&raised, cross, under ? line : least);
  }
  *curve = raised;
}

void tt_curve_raise(tt_curve *curve, const tt_bound *bound, int slices) {
  for (int i = 0; i < bound->n; i++) {
    const tt_bound_line *x = &bound->line[i];
    raise_curve(curve, slices * x->each + x->once, x->slope + x->part / slices);
  }
}

tutti_status tt_rounded_up_raise(const tt_chooser *c, const char *name, const tt_ask *ask,
                                 int slices, tt_curve *curve) {
  const tt_tree *t = &c->model.tree;
  const int last = t->levels - 1, group = smallest_group(t), first = tt_tree_first(t, last, group);
  const int some[] = {first, first + tt_tree_count(t, last, group) - 1, 0,
                      tt_tree_rank(t, 0, 1) - 1, ask->ranks - 1};
  tt_ask one = *ask;
  tt_bound bound = {.n = 0};
  for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
    tt_sched *s;
    one.rank = some[i] < ask->ranks ? some[i] : 0;
    const tutti_status status = tt_algo_build(name, &one, &s);
    if (status) return status;
    tt_bound_rank(&bound, s, &c->model, false);
    tt_sched_free(s);
  }
  tt_curve_raise(curve, &bound, slices);
  return TUTTI_OK;
}

tutti_status tt_rounded_up_sim(const tt_chooser *c, const char *name, const tt_ask *ask,
                               tt_sim **sim) {
  tt_cost_model model = c->model;
  char to[TT_NAME];
  tt_ask there;
  *sim = NULL;
  if (!find_even(c, name, ask, &model.tree, to, &there))
    return tt_fail(TUTTI_ERR_UNSUPPORTED, "%s cannot be priced on even levels", name);
  model.ranks = there.ranks;
  model.hosts = NULL;
  tt_sched **all = calloc((size_t)there.ranks, sizeof *all);
  if (!all) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for %d schedules", there.ranks);
  tutti_status status = tt_algo_build(to, &there, &all[0]);
  if (!status) status = tt_build_senders(to, &there, all);
  if (!status) *sim = tt_sim_new(all, there.ranks, true, &model);
  if (!status && !*sim)
    status = tt_fail(TUTTI_ERR_MEMORY, "%s cannot be priced: out of memory", name);
  tt_sched_free_all(all, there.ranks);
  return status;
}
