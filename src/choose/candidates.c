/* candidates.c - lists the plans that may be fastest, and estimates those that a choice needs.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "candidates.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int slicings[] = {2, 4, 6};

/* ---- estimates ---- */

/* *size has the meaning of `size` in tt_pricer. */
static tutti_status simulate(const tt_pricing *p, const tt_pricer *by, uint64_t *size,
                             tt_curve *curve) {
  tt_sim *sim;
  tutti_status status = tt_pricing_sim(p, by, size, &sim);
  if (status) return status;
  p->c->effort.messages += tt_sim_messages(sim);
  /* Every schedule that was built can also run, so the only possible error is a lack of memory. */
  if (!tt_price_curve(sim, curve)) status = TUTTI_ERR_MEMORY;
  tt_sim_free(sim);
  return status;
}

/* For sizes of at least `from` bytes, replaces the curve with the curve for longer vectors. */
static void go_on_with(tt_curve *curve, double from, const tt_curve *longer) {
  tt_curve all = *curve;
  all.n = 0;
  for (int i = 0; i < curve->n && curve->line[i].from < from; i++)
    tt_curve_add(&all, curve->line[i].from, curve->line[i]);
  for (int i = 0; i < longer->n; i++)
    if (i + 1 == longer->n || longer->line[i + 1].from > from)
      tt_curve_add(&all, longer->line[i].from > from ? longer->line[i].from : from,
                   longer->line[i]);
  *curve = all;
}

/* Simulates short vectors. If long vectors need a separate simulation, also runs that one and joins the two curves. */
static tutti_status simulate_all_sizes(const tt_pricing *p, const tt_pricer *by, tt_curve *curve) {
  uint64_t size = 0;
  tt_curve longer;
  tutti_status status = simulate(p, by, &size, curve);
  if (status || size == UINT64_MAX) return status;
  const double from = (double)++size;
  status = simulate(p, by, &size, &longer);
  if (!status) go_on_with(curve, from, &longer);
  return status;
}

static tutti_status price(tt_chooser *c, const tt_candidates *list, tt_candidate *x) {
  tt_pricing p = tt_pricing_of(c, x->plan, list->coll, 0);
  p.slices = x->slices;
  p.kept = x == &list->at[list->kept.i] ? list->kept.all : NULL;
  if (!list->all && !c->setting.only) p.most = TT_MOST_MESSAGES;
  const tt_pricer *by = tt_pricer_of(&p);
  tutti_status status =
      by->curve ? by->curve(&p, list->weight, &x->curve) : simulate_all_sizes(&p, by, &x->curve);
  if (!status && c->model.hosts && !tt_priced_by_hosts(&p)) status = tt_hosts_raise(&p, &x->curve);
  if (!status && by->raise) status = by->raise(&p, &x->curve);
  return status;
}

bool tt_candidates_price(tt_chooser *c, tt_candidates *list, int i) {
  tt_candidate *x = &list->at[i];
  if (x->priced || (x->dear && !list->all)) return true;
  tt_chooser_weigh(c, list->weight);
  const tutti_status status = price(c, list, x);
  tt_candidates_forget(list);
  if (status == TUTTI_ERR_MEMORY) {
    c->starved = true;
    return false;
  }
  c->effort.priced++;
  x->priced = true;
  x->possible = !status;
  return true;
}

bool tt_candidates_settle(tt_chooser *c, tt_candidates *list) {
  for (int i = 0; i < list->n && !list->settled; i++) {
    if (!tt_candidates_price(c, list, i)) return false;
    list->settled = list->at[i].possible;
  }
  if (list->settled) return true;
  list->settled = list->all = true;
  for (int i = 0; i < list->n; i++) list->at[i].priced = false;
  return true;
}

/* ---- order ---- */

static int by_least(const void *a, const void *b) {
  const tt_turn *x = a, *y = b;
  if (x->least != y->least) return x->least < y->least ? -1 : 1;
  return (x->i > y->i) - (x->i < y->i);
}

bool tt_candidates_order(tt_chooser *c, tt_candidates *list, uint64_t bytes) {
  if (list->order && list->bytes == bytes) return true;
  if (!list->order) list->order = malloc(((size_t)list->n + 1) * sizeof *list->order);
  if (!list->order) {
    c->starved = true;
    return false;
  }
  for (int i = 0; i < list->n; i++) {
    const tt_candidate *x = &list->at[i];
    const double least = c->unbound ? 0 : tt_bound_at(&x->bound, x->slices, (double)bytes);
    list->order[i] = (tt_turn){TT_CURVE_ACCURACY * least, i};
  }
  qsort(list->order, (size_t)list->n, sizeof *list->order, by_least);
  list->bytes = bytes;
  return true;
}

/* ---- the list ---- */

static bool make_room(tt_candidates *list, int room) {
  tt_candidate *at = realloc(list->at, (size_t)room * sizeof *at);
  if (!at) return false;
  list->at = at;
  list->room = room;
  return true;
}

bool tt_candidates_add(tt_candidates *list, tt_plan_spec *plan, int slices) {
  if (list->n == list->room && !make_room(list, list->n ? 2 * list->n : 1)) {
    tt_plan_spec_free(plan);
    return false;
  }
  list->at[list->n++] = (tt_candidate){.plan = plan, .slices = slices};
  return true;
}

bool tt_candidates_add_slices(tt_candidates *list, const tt_plan_spec *plan, int slices) {
  tt_plan_spec *same;
  return !tt_plan_spec_parse(plan->text, &same) && tt_candidates_add(list, same, slices);
}

/* Returns true if a composition need not be listed. In shared memory, where stages cannot be estimated separately,
 * compositions run only if the user names them. On a network, the search builds them from the estimates of stages
 * (compositions.c). These estimates assume equal hosts, so nothing is left out if the links of hosts differ. */
static bool left_out(const tt_chooser *c, tutti_coll coll, const tt_plan_spec *plan) {
  return !c->setting.only && tt_is_composition(plan) && !c->model.hosts &&
         (c->setting.ranks_per_core > 0 || tt_compositions_apply(c, coll));
}

/* Adds a plan and, if slices may help, its variants with slices. The list takes ownership of the plan. */
static bool add_sliced(tt_chooser *c, tutti_coll coll, tt_candidates *list, tt_plan_spec *plan) {
  bool sliced;
  if (left_out(c, coll, plan)) {
    tt_plan_spec_free(plan);
    return true;
  }
  if (!tt_candidates_add(list, plan, 1)) return false;
  const tutti_status status = tt_candidates_look_at(c, list, list->n - 1, &sliced);
  tt_candidate *x = &list->at[list->n - 1];
  if (status == TUTTI_ERR_MEMORY) return false;
  x->priced = status; /* the plan is not possible */
  const tt_bound bound = x->bound;
  for (size_t k = 0; sliced && k < sizeof slicings / sizeof *slicings; k++) {
    if (!tt_candidates_add_slices(list, plan, slicings[k])) return false;
    list->at[list->n - 1].bound = bound;
  }
  return true;
}

/* Returns true if the proposed plan belongs in this list. */
typedef bool wanted_fn(const tt_chooser *c, tutti_coll coll, const tt_plan_spec *plan);

static bool that_does(const tt_chooser *c, tutti_coll coll, const tt_plan_spec *plan) {
  (void)c;
  return tt_algo_does(plan, coll);
}

static bool of_family(const tt_chooser *c, tutti_coll coll, const tt_plan_spec *plan) {
  (void)coll;
  return plan->family == c->setting.only->family;
}

static bool over_levels(const tt_chooser *c, tutti_coll coll, const tt_plan_spec *plan) {
  return tt_plan_spec_levels(plan) && that_does(c, coll, plan);
}

/* Adds the plans that the algorithm families propose for these levels and for which `wanted` returns true. */
static bool add_proposals(tt_chooser *c, tutti_coll coll, tt_candidates *list, const char *levels,
                          wanted_fn *wanted) {
  tt_plan_walk at = {0};
  tt_text name = {0};
  bool ok = true;
  for (; ok && tt_algo_next_plan(c->setting.ranks, levels, &at, &name); name.length = 0) {
    tt_plan_spec *plan = NULL;
    const tutti_status status = name.failed ? TUTTI_ERR_MEMORY : tt_plan_spec_parse(name.at, &plan);
    if (!status && wanted(c, coll, plan))
      ok = add_sliced(c, coll, list, plan);
    else
      tt_plan_spec_free(plan);
    ok &= status != TUTTI_ERR_MEMORY;
  }
  free(name.at);
  return ok;
}

/* Parses a plan name, adds the plan and frees the text. */
static bool add_text(tt_chooser *c, tutti_coll coll, tt_candidates *list, tt_text *text) {
  tt_plan_spec *plan;
  const bool ok =
      !text->failed && !tt_plan_spec_parse(text->at, &plan) && add_sliced(c, coll, list, plan);
  free(text->at);
  return ok;
}

/* In shared memory, also adds a few plans that use a single level each, because messages cost about the same at several
 * levels and larger domains have fewer leaders. The level is passed to the plan as a pair of levels: its domains, and the
 * ranks in each domain, as in "package:2 core:256". */
static bool add_pairs(tt_chooser *c, tutti_coll coll, tt_candidates *list) {
  const tt_setting *s = &c->setting;
  tt_tree tree;
  bool ok = true;
  if (s->ranks_per_core <= 0 || tt_tree_parse(s->levels, &tree) || !tree.even) return true;
  for (int l = 0, domains = 1; ok && l + 2 < tree.levels; l++) {
    tt_text pair = {0};
    domains *= tree.level[l].each;
    tt_text_add(&pair, "%s:%d %s:%d", tree.level[l].name, domains, tree.level[tree.levels - 1].name,
                tree.ranks / domains);
    ok = !pair.failed && add_proposals(c, coll, list, pair.at, over_levels);
    free(pair.at);
  }
  return ok;
}

/* Adds a plan that rounds each number twice and supports nodes of different sizes. */
static bool add_over_nodes(tt_chooser *c, tutti_coll coll, tt_candidates *list) {
  const int ranks = c->setting.ranks;
  tt_text name = {0};
  int *node = tt_chooser_nodes(c), nodes = 0;
  if (!node) return false;
  for (int r = 0, first = 0; r < ranks; r++) {
    if (r + 1 < ranks && node[r + 1] == node[r]) continue;
    node[nodes++] = r + 1 - first; /* overwrites only entries that have been read */
    first = r + 1;
  }
  if (nodes > 1) tt_rounding_twice_nodes_text(&name, node, nodes);
  free(node);
  return nodes < 2 || add_text(c, coll, list, &name);
}

/* If lossy compression is in use, adds plans that round each number only twice between nodes. */
static bool add_rounding_little(tt_chooser *c, tutti_coll coll, tt_candidates *list) {
  tt_text name = {0};
  tt_tree tree;
  const char *levels = c->setting.levels;
  if (!tt_code_lossy(c->setting.code) || coll != TUTTI_ALLREDUCE || !*levels) return true;
  if (tt_tree_parse(levels, &tree)) return true;
  if (!tree.even) return add_over_nodes(c, coll, list);
  tt_rounding_twice_text(&name, levels);
  return add_text(c, coll, list, &name);
}

/* Adds the only plan or family that the setting allows as a candidate. */
static bool add_only(tt_chooser *c, tutti_coll coll, tt_candidates *list) {
  tt_text name = {0};
  tt_text_add(&name, "%s", c->setting.only->text);
  return add_text(c, coll, list, &name);
}

/* Lists the plans that the families propose or, if the setting restricts them, those of one family or a single plan. */
static bool list_all(tt_chooser *c, tutti_coll coll, tt_candidates *list) {
  const tt_setting *s = &c->setting;
  const char *levels = tt_has_helpers(s) ? s->data_levels : s->levels;
  if (s->only && s->only->n) return add_only(c, coll, list);
  bool ok = add_proposals(c, coll, list, levels, s->only ? of_family : that_does);
  if (s->only) return ok && (list->n || add_only(c, coll, list));
  if (ok && *s->levels && !tt_has_helpers(s)) ok = add_pairs(c, coll, list);
  if (ok) ok = add_rounding_little(c, coll, list);
  const int from = list->n;
  bool sliced;
  if (ok && tt_compositions_apply(c, coll)) ok = tt_compositions_list(c, list);
  for (int i = from; ok && c->model.hosts && i < list->n; i++) {
    const tutti_status status = tt_candidates_look_at(c, list, i, &sliced);
    list->at[i].priced = status;
    ok = status != TUTTI_ERR_MEMORY;
  }
  return ok;
}

void tt_chooser_weigh(tt_chooser *c, int weight) {
  c->model.gamma = c->loop.gamma = c->exported.gamma = c->least.gamma =
      c->setting.profile.gamma * (1 << weight);
}

tt_candidates *tt_candidates_of(tt_chooser *c, tutti_coll coll, int weight) {
  if (c->of[coll][weight]) return c->of[coll][weight];
  tt_chooser_weigh(c, weight);
  tt_candidates *list = calloc(1, sizeof *list);
  c->starved = false;
  if (list) *list = (tt_candidates){.coll = coll, .weight = weight};
  if (!list || !list_all(c, coll, list)) {
    c->starved = true;
    tt_candidates_free(list);
    return NULL;
  }
  if (list->n) make_room(list, list->n); /* the list stays, so spare capacity is returned */
  return c->of[coll][weight] = list;
}

void tt_candidates_free(tt_candidates *list) {
  if (list) tt_candidates_forget(list);
  for (int i = 0; list && i < list->n; i++) {
    free(list->at[i].found);
    tt_plan_spec_free(list->at[i].plan);
  }
  if (list) free(list->at);
  if (list) free(list->order);
  free(list);
}
