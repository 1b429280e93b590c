/* uneven_price.c - estimates a plan over uneven levels on many ranks.
 *
 * Idea       Typically a few of ten thousand nodes lack a rank. The full ones behave as on a machine without gaps,
 *            where all domains are as large as the largest and one rank represents all. On uneven levels, ranks have
 *            more messages, especially those of a smaller domain. The estimate is therefore at least the time for which
 *            the ports and the processor of each of a few sampled ranks are busy (bound.h).
 * Cost       That of one rank, instead of building and simulating all ranks.
 * Limit      The estimate is too high if few domains are as large as the largest. For long vectors it is up to a third
 *            too low, and for an all-gather up to a half (test_uneven.c, test_uneven_colls.c).
 * SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdlib.h>

#include "candidates.h"

/* Prints the levels after enlarging every domain to the size of the largest domain of its level. */
static void print_even(const tt_tree *tree, tt_text *levels) {
  for (int l = 0; l < tree->levels; l++)
    tt_text_add(levels, "%s%s:%d", l ? " " : "", tree->level[l].name, tree->level[l].most);
}

/* Sets *plan to the same plan on levels with enlarged domains, where the schedule of one rank represents all ranks. Returns
 * false if the plan cannot be built or its ranks differ. The caller frees *plan. */
static bool find_even(const tt_chooser *c, const tt_ask *ask, tt_plan_spec **plan, tt_ask *there) {
  const tt_arg *own = tt_plan_spec_levels(ask->plan);
  tt_text levels = {0};
  *plan = NULL;
  if (!own || !tt_tree_equal(own->levels, &c->model.tree)) return false;
  print_even(own->levels, &levels);
  const bool made = !levels.failed && !tt_plan_spec_with_levels(ask->plan, levels.at, plan);
  free(levels.at);
  if (!made) return false;
  *there = *ask;
  there->plan = *plan;
  there->ranks = there->data = tt_plan_spec_levels(*plan)->levels->ranks;
  if (tt_algo_uniform(there, tt_param_levels(there))) return true;
  tt_plan_spec_free(*plan);
  *plan = NULL;
  return false;
}

bool tt_even_applies(const tt_pricing *p) {
  const tt_chooser *c = p->c;
  tt_plan_spec *even = NULL;
  tt_ask there;
  const bool is = c->levels && !c->model.tree.even && c->setting.ranks > TT_MOST_PLAYED &&
                  !c->setting.data && c->setting.ranks_per_core <= 0 &&
                  find_even(c, &p->ask, &even, &there);
  tt_plan_spec_free(even);
  return is;
}

static tutti_status not_even(const tt_ask *ask) {
  return tt_fail(TUTTI_ERR_UNSUPPORTED, "no estimate of %s on even levels", ask->plan->text);
}

/* Returns the cost model for levels with enlarged domains. It has more ranks, and all of its hosts are equal. */
static tt_cost_model model_of(const tt_chooser *c, const tt_ask *there) {
  tt_cost_model model = c->model;
  model.tree = *tt_param_levels(there);
  model.ranks = there->ranks;
  model.hosts = NULL;
  return model;
}

tutti_status tt_even_build(const tt_pricing *p, tt_cost_model *model, tt_sched **s) {
  tt_plan_spec *even;
  tt_ask there;
  if (!find_even(p->c, &p->ask, &even, &there)) return not_even(&p->ask);
  *model = model_of(p->c, &there);
  const tutti_status status = tt_algo_build(&there, s);
  tt_plan_spec_free(even);
  return status;
}

/* Walks down from the outermost level, always into the smallest domain, and returns the innermost group. */
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

/* Raises a curve to a straight line at all sizes where the line is higher. Each intersection starts a new piece. */
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

tutti_status tt_even_raise(const tt_pricing *p, tt_curve *curve) {
  const tt_tree *t = &p->c->model.tree;
  const int last = t->levels - 1, group = smallest_group(t), first = tt_tree_first(t, last, group);
  const int some[] = {first, first + tt_tree_count(t, last, group) - 1, 0,
                      tt_tree_rank(t, 0, 1) - 1, p->ask.ranks - 1};
  tt_ask one = p->ask;
  tt_bound bound = {.n = 0};
  for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
    tt_sched *s;
    one.rank = some[i] < p->ask.ranks ? some[i] : 0;
    const tutti_status status = tt_algo_build(&one, &s);
    if (status) return status;
    tt_bound_rank(&bound, s, &p->c->model, false);
    tt_sched_free(s);
  }
  tt_curve_raise(curve, &bound, p->slices);
  return TUTTI_OK;
}

static tutti_status sim_even(const tt_ask *there, const tt_cost_model *model, tt_sim **sim) {
  tt_sched **all = calloc((size_t)there->ranks, sizeof *all);
  if (!all) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for %d schedules", there->ranks);
  tutti_status status = tt_algo_build(there, &all[0]);
  if (!status) status = tt_build_senders(there, all);
  if (!status) *sim = tt_sim_new(all, there->ranks, true, model);
  if (!status && !*sim)
    status = tt_fail(TUTTI_ERR_MEMORY, "no estimate of %s: out of memory", there->plan->text);
  tt_sched_free_all(all, there->ranks);
  return status;
}

tutti_status tt_even_sim(const tt_pricing *p, uint64_t *size, tt_sim **sim) {
  tt_plan_spec *even;
  tt_ask there;
  *size = UINT64_MAX;
  if (!find_even(p->c, &p->ask, &even, &there)) return not_even(&p->ask);
  const tt_cost_model model = model_of(p->c, &there);
  const tutti_status status = sim_even(&there, &model, sim);
  tt_plan_spec_free(even);
  return status;
}
