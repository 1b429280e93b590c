/* candidates.c - lists the plans that may be fastest, bounds their times, and prices those that a choice
 * asks for.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "candidates.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SLICED = 64 }; /* messages of a rank */
enum {
  MOST_ROUNDS =
      1
      << 10 /* of a plan whose schedule is built for its bound; more are too many for slices, too */
};
enum { MOST_LOOKED_AT = 1 << 13 /* steps of a domain */ };
static const int slicings[] = {2, 4, 6};

/* Curves may lie that much below the times that they stand for (curve.c). */
static const double accuracy = 0.94;

/* ---- schedules: a closer bound and then the price need the same ---- */

static void forget_schedules(tt_candidates *list) {
  if (list->kept.all) tt_sched_free_all(list->kept.all, list->kept.ask.ranks);
  list->kept = (tt_kept){.all = NULL};
}

/* Those of the i-th plan that are built already. False: out of memory. */
static bool keep_schedules(const tt_chooser *c, tt_candidates *list, int i) {
  if (list->kept.all && list->kept.i == i) return true;
  forget_schedules(list);
  list->kept = (tt_kept){.i = i, .ask = tt_ask_of(&c->setting, list->at[i].plan, list->coll, 0)};
  list->kept.all = calloc((size_t)c->setting.ranks, sizeof *list->kept.all);
  return list->kept.all;
}

static const tt_sched *schedule_of(void *context, int rank) {
  tt_kept *x = context;
  x->ask.rank = rank;
  if (!x->all[rank] && tt_algo_build(&x->ask, &x->all[rank]) == TUTTI_ERR_MEMORY) x->starved = true;
  return x->all[rank];
}

/* ---- prices ---- */

/* *size: as in tt_pricer. */
static tutti_status simulate(const tt_pricing *p, const tt_pricer *by, uint64_t *size,
                             tt_curve *curve) {
  tt_sim *sim;
  tutti_status status = tt_pricing_sim(p, by, size, &sim);
  if (status) return status;
  p->c->effort.messages += tt_sim_messages(sim);
  /* all that is built can run, so only memory can lack */
  if (!tt_price_curve(sim, curve)) status = TUTTI_ERR_MEMORY;
  tt_sim_free(sim);
  return status;
}

/* From a size on the curve is that of longer vectors. */
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

/* The curve of simulations, of short vectors and of longer ones. */
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
  forget_schedules(list);
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

/* ---- the order ---- */

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
    list->order[i] = (tt_turn){accuracy * least, i};
  }
  qsort(list->order, (size_t)list->n, sizeof *list->order, by_least);
  list->bytes = bytes;
  return true;
}

/* ---- bounds ---- */

/* The number of ranks in a domain, and the level of that domain: the largest of an even tree that has no
 * more than `most` ranks, or a node of a torus. 0: no such domain of several ranks. */
static int ranks_of_domain(const tt_cost_model *model, int most, int *level) {
  const int last = model->levels - 1;
  int below = model->ranks;
  if (!model->tree.even || model->position) return 0;
  for (int l = 0; l < last; l++) {
    below /= model->tree.level[l].each;
    *level = l;
    if (below > 1 && below <= most && (!model->torus || l == last - 1)) return below;
  }
  return 0;
}

/* The link of the first domain of up to `most` ranks. */
static void bound_domain(tt_kept *x, const tt_cost_model *model, int most, tt_bound *bound) {
  int level = 0;
  const int n = ranks_of_domain(model, most, &level);
  for (int r = 0; r < n; r++)
    if (!schedule_of(x, r)) return;
  if (n) tt_bound_domain(bound, x->all, 0, n, model, level);
}

/* Ranks of hosts whose links differ. */
static void bound_hosts(tt_kept *x, const tt_cost_model *model, bool alike, tt_bound *bound) {
  int some[TT_NAMED_HOSTS];
  const int n = tt_hosts_some(model, some, TT_NAMED_HOSTS);
  for (int i = 0; i < n; i++) {
    const tt_sched *s = schedule_of(x, some[i]);
    if (s) tt_bound_rank(bound, s, model, alike);
  }
}

/* From the start, a plan whose ranks differ is bounded by the last rank and, unless it has so many steps
 * that its ports tell enough, by a small domain. */
static void bound_some(tt_kept *x, const tt_cost_model *model, tt_bound *bound) {
  const int ranks = x->ask.ranks;
  const size_t most = tt_max(4, (size_t)ranks / 8);
  const tt_sched *first = schedule_of(x, 0);
  if (first && first->nsteps * most <= MOST_LOOKED_AT) bound_domain(x, model, (int)most, bound);
  const tt_sched *last = schedule_of(x, ranks - 1);
  if (last) tt_bound_rank(bound, last, model, false);
}

static void bound_chain(tt_kept *x, const tt_cost_model *model, int rank, tt_bound *bound) {
  if (!tt_bound_chain(bound, schedule_of, x, rank, model)) x->starved = true;
}

static void bound_last(tt_kept *x, const tt_cost_model *model, tt_bound *bound) {
  bound_chain(x, model, x->ask.ranks - 1, bound);
}

static void bound_middle(tt_kept *x, const tt_cost_model *model, tt_bound *bound) {
  bound_chain(x, model, x->ask.ranks / 2, bound);
}

static void bound_wide(tt_kept *x, const tt_cost_model *model, tt_bound *bound) {
  bound_domain(x, model, x->ask.ranks / 2, bound);
}

typedef void bound_fn(tt_kept *x, const tt_cost_model *model, tt_bound *bound);

/* Finds a bound of the i-th, once. False: out of memory. */
static bool find_bound(tt_chooser *c, tt_candidates *list, int i, bound_fn *by, bool *found,
                       tt_bound *bound) {
  if (*found) return true;
  if (!keep_schedules(c, list, i)) return false;
  bound->n = 0;
  by(&list->kept, &c->model, bound);
  return *found = !list->kept.starved;
}

/* Could the links of large domains take that long? If each rank sends a vector through one in every
 * round of a short plan. */
static bool links_matter(const tt_cost_model *model, double bytes, double most) {
  int level = 0;
  const int n = ranks_of_domain(model, model->ranks / 2, &level);
  return n && bytes * n * tt_ceil_log2((uint64_t)model->ranks) * model->link[level].beta > most;
}

bool tt_candidates_may(tt_chooser *c, tt_candidates *list, int i, double bytes, double most,
                       bool *may) {
  tt_candidate *x = &list->at[i];
  *may = true;
  if (c->unbound || !x->differ || x->priced || (x->dear && !list->all)) return true;
  tt_chooser_weigh(c, list->weight); /* a bound is found once, whatever was priced last */
  bool ok = true;
  for (int k = 0; k < 2 && *may; k++) {
    ok = find_bound(c, list, i, k ? bound_middle : bound_last, &x->chained[k], &x->chain[k]);
    *may = ok && accuracy * tt_bound_at(&x->chain[k], 1, bytes) <= most;
  }
  if (*may && links_matter(&c->model, bytes, most)) {
    ok = find_bound(c, list, i, bound_wide, &x->widened, &x->wide);
    *may = ok && accuracy * tt_bound_at(&x->wide, 1, bytes) <= most;
  }
  if (!*may) forget_schedules(list);
  c->starved |= !ok;
  return ok;
}

/* Do slices help a plan whose ranks all do alike? They do if links of several levels, or the processor
 * and a link, can be busy at once, and messages are few, because slices multiply them. With many ranks
 * fewer plans are priced, so they may have more messages. */
static bool slices_help(const tt_chooser *c, const tt_sched *s) {
  int messages = 0;
  if (tt_links_fill_themselves(&c->model) || c->model.meet > 0 || c->setting.ranks_per_core > 0 ||
      tt_coll_owned(s->coll) || s->coll == TUTTI_BARRIER)
    return false;
  for (uint32_t i = 0; i < s->nsteps; i++) messages += s->steps[i].peers.count;
  return messages <= (s->ranks > TT_MOST_PLAYED ? 2 * MOST_SLICED : MOST_SLICED);
}

/* The same of a plan over uneven levels, on many ranks. */
static tutti_status look_at_even(const tt_pricing *p, tt_candidate *x, bool *sliced) {
  tt_sched *own = NULL, *even = NULL;
  tt_cost_model model;
  tutti_status status = tt_algo_build(&p->ask, &own);
  if (!status) status = tt_even_build(p, &model, &even);
  if (!status) tt_bound_rank(&x->bound, even, &model, true);
  *sliced = !status && slices_help(p->c, even);
  tt_sched_free(own);
  tt_sched_free(even);
  return status;
}

/* Do the ranks that were built send so much, twice what is priced, that it is not worth building all? */
static bool sends_too_much(const tt_kept *x) {
  double sends = 0, built = 0;
  for (int r = 0; r < x->ask.ranks; r++) {
    built += x->all[r] != NULL;
    for (uint32_t i = 0; x->all[r] && i < x->all[r]->nsteps; i++)
      sends += x->all[r]->steps[i].kind == TT_SEND ? x->all[r]->steps[i].peers.count : 0;
  }
  return built > 0 && sends / built * x->ask.ranks > 2.0 * TT_MOST_MESSAGES;
}

/* Bounds a plan by the schedules of rank 0 and, if its ranks differ, of some others. */
static tutti_status look_at_some(tt_chooser *c, tt_candidates *list, int i, bool alike,
                                 bool *sliced) {
  tt_candidate *x = &list->at[i];
  if (!keep_schedules(c, list, i)) return TUTTI_ERR_MEMORY;
  tutti_status status = tt_algo_build(&list->kept.ask, &list->kept.all[0]);
  if (!status) {
    const tt_sched *mine = list->kept.all[0];
    *sliced = alike && slices_help(c, mine);
    x->differ = !alike && mine->ranks <= TT_MOST_PLAYED;
    bool found = !x->differ;
    if (!find_bound(c, list, i, bound_some, &found, &x->bound)) status = TUTTI_ERR_MEMORY;
    tt_bound_rank(&x->bound, mine, &c->model, alike);
    bound_hosts(&list->kept, &c->model, alike, &x->bound);
    if (list->kept.starved) status = TUTTI_ERR_MEMORY;
    x->dear = x->differ && sends_too_much(&list->kept);
  }
  forget_schedules(list);
  return status;
}

/* Finds out what can be known about the i-th plan without its price. In shared memory loops may be
 * cheaper than steps, so there is no bound. */
static tutti_status look_at(tt_chooser *c, tt_candidates *list, int i, bool *sliced) {
  tt_candidate *x = &list->at[i];
  const tt_pricing p = tt_pricing_of(c, x->plan, list->coll, 0);
  const bool shared = c->setting.ranks_per_core > 0;
  *sliced = false;
  if (shared && tt_is_composition(x->plan)) return TUTTI_OK;
  const tt_pricer *by = tt_pricer_of(&p);
  x->dear = tt_prices_all_ranks(by) && p.ask.ranks > TT_MOST_PLAYED;
  if (x->dear || shared || by->bounded == TT_BOUNDED_NOT) return TUTTI_OK;
  const bool alike = tt_algo_uniform(&p.ask, c->levels ? &c->model.tree : NULL);
  const int rounds = alike ? tt_algo_rounds(&p.ask) : 0;
  if (rounds > MOST_ROUNDS) {
    tt_bound_rounds(&x->bound, rounds, &c->model);
    return TUTTI_OK;
  }
  return by->bounded == TT_BOUNDED_ON_EVEN_LEVELS ? look_at_even(&p, x, sliced)
                                                  : look_at_some(c, list, i, alike, sliced);
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

/* Compositions are priced stage by stage, which shared memory does not allow: there they run if they are
 * named. Where they are found by the prices of stages, those that algorithms propose are not needed, unless the links
 * of hosts differ, which those prices leave out. */
static bool left_out(const tt_chooser *c, tutti_coll coll, const tt_plan_spec *plan) {
  return !c->setting.only && tt_is_composition(plan) && !c->model.hosts &&
         (c->setting.ranks_per_core > 0 || tt_compositions_apply(c, coll));
}

/* Adds a plan, which belongs to the list from now on, and the same in slices where they may help. */
static bool add_sliced(tt_chooser *c, tutti_coll coll, tt_candidates *list, tt_plan_spec *plan) {
  bool sliced;
  if (left_out(c, coll, plan)) {
    tt_plan_spec_free(plan);
    return true;
  }
  if (!tt_candidates_add(list, plan, 1)) return false;
  const tutti_status status = look_at(c, list, list->n - 1, &sliced);
  tt_candidate *x = &list->at[list->n - 1];
  if (status == TUTTI_ERR_MEMORY) return false;
  x->priced = status; /* it is not possible */
  const tt_bound bound = x->bound;
  for (size_t k = 0; sliced && k < sizeof slicings / sizeof *slicings; k++) {
    if (!tt_candidates_add_slices(list, plan, slicings[k])) return false;
    list->at[list->n - 1].bound = bound;
  }
  return true;
}

/* Does the proposal belong to this list? */
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

/* Adds what the families propose on these levels. */
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

/* Adds the plan of a text, which is freed. */
static bool add_text(tt_chooser *c, tutti_coll coll, tt_candidates *list, tt_text *text) {
  tt_plan_spec *plan;
  const bool ok =
      !text->failed && !tt_plan_spec_parse(text->at, &plan) && add_sliced(c, coll, list, plan);
  free(text->at);
  return ok;
}

/* In shared memory a few plans over a single level each, too: messages cost the same at several
 * levels, or nearly, and leaders of larger domains are fewer. Such a pair of levels, of an even tree, is
 * the domains of one level and their ranks: "package:2 core:256". */
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

/* Of nodes of several sizes. */
static bool add_over_nodes(tt_chooser *c, tutti_coll coll, tt_candidates *list) {
  const int ranks = c->setting.ranks;
  tt_text name = {0};
  int *node = tt_chooser_nodes(c), nodes = 0;
  if (!node) return false;
  for (int r = 0, first = 0; r < ranks; r++) {
    if (r + 1 < ranks && node[r + 1] == node[r]) continue;
    node[nodes++] = r + 1 - first; /* in place of ranks that were read already */
    first = r + 1;
  }
  if (nodes > 1) tt_rounding_twice_nodes_text(&name, node, nodes);
  free(node);
  return nodes < 2 || add_text(c, coll, list, &name);
}

/* For codes that round: plans that round twice between nodes. */
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

/* The plan or family that alone is a candidate. */
static bool add_only(tt_chooser *c, tutti_coll coll, tt_candidates *list) {
  tt_text name = {0};
  tt_text_add(&name, "%s", c->setting.only->text);
  return add_text(c, coll, list, &name);
}

/* Lists all plans that are proposed; or those of one family; or one plan, proposed or not. */
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
    const tutti_status status = look_at(c, list, i, &sliced);
    list->at[i].priced = status;
    ok = status != TUTTI_ERR_MEMORY;
  }
  return ok;
}

void tt_chooser_weigh(tt_chooser *c, int weight) {
  c->model.gamma = c->loop.gamma = c->exported.gamma = c->setting.profile.gamma * (1 << weight);
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
  if (list->n) make_room(list, list->n); /* it is kept */
  return c->of[coll][weight] = list;
}

void tt_candidates_free(tt_candidates *list) {
  if (list) forget_schedules(list);
  for (int i = 0; list && i < list->n; i++) {
    free(list->at[i].found);
    tt_plan_spec_free(list->at[i].plan);
  }
  if (list) free(list->at);
  if (list) free(list->order);
  free(list);
}
