/* compositions.c - proposes an algorithm for each level of the machine, based on estimates of the stages.
 *
 * Idea       The time of a composition is the sum of the times of its levels. The time of a level depends on the other
 *            levels only through the part of the vector that it works on. Each level can therefore take its fastest
 *            algorithm, given the set of levels that scatter and the size. Whenever that algorithm changes with the
 *            size, another composition is proposed.
 * Cost       One estimate for each algorithm on each level (stage_prices.c), then a few thousand additions.
 * Invariant  At every size that is a power of two, no composition of the algorithms in the lists is faster than the
 *            best one proposed. The same holds among compositions that keep operands in rank order.
 * Limit      With more than TT_PROVEN_RANKS ranks, the lists contain only algorithms whose compositions `make prove`
 *            has proven.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "candidates.h"

enum {
  MOST_LEVELS = 4,
  MOST_OPTIONS = 48,
  POWERS = 41 /* up to 1 TiB */,
  MOST_BANNED = 3,
  LEAST_SLICED = 1 << 18 /* bytes */
};

/* An algorithm on one level. */
typedef struct option {
  tt_plan_spec *plan;
  bool scatters;
  bool ordered; /* keeps operands in rank order */
  bool banned;  /* temporarily excluded, because it cannot be built together with others */
  int in, back; /* indices of its estimates in the chooser's stages; back: -1 unless it scatters */
} option;

typedef struct level_options {
  int level, size, n;
  option at[MOST_OPTIONS];
} level_options;

typedef struct search {
  tt_chooser *c;
  tutti_coll coll;
  int weight, levels; /* number of levels with more than one rank; outermost first */
  level_options of[MOST_LEVELS];
} search;

/* ---- the options of each level ---- */

static bool is_ordered(const tt_plan_spec *plan, tutti_coll coll) {
  tt_form form;
  return tt_form_of(plan, coll, &form) && form.order;
}

/* Sets *at to the index of the estimate for an algorithm at a level, or to -1 if the algorithm has no estimate. */
static tutti_status find_price(const search *k, const level_options *m, const tt_plan_spec *plan,
                               tutti_coll coll, const tt_cost_model *model, int *at) {
  const tt_level_stage stage = {.plan = plan, .coll = coll, .ranks = m->size, .level = m->level};
  return tt_stage_find(k->c, &stage, k->weight, model, at);
}

/* Adds an algorithm to the options of a level, unless it rounds too often or has no estimate. Sets *taken if the level has
 * taken ownership of the plan. */
static tutti_status add_option(const search *k, level_options *m, tt_plan_spec *plan,
                               const tt_cost_model *model, bool *taken) {
  option *x = &m->at[m->n];
  const tt_plan_spec *back;
  bool much;
  *x = (option){.plan = plan, .back = -1};
  x->scatters = m != &k->of[0] && tt_algo_does(plan, TUTTI_REDUCE_SCATTER);
  const tutti_coll coll = x->scatters ? TUTTI_REDUCE_SCATTER : k->coll;
  tutti_status status = tt_stage_rounds(k->c, plan, coll, m->size, m->level, &much);
  if (status || much) return status;
  status = tt_stage_way_back(plan, &back);
  if (!status) status = find_price(k, m, plan, coll, model, &x->in);
  if (!status && x->scatters) status = find_price(k, m, back, TUTTI_ALLGATHER, model, &x->back);
  x->ordered = is_ordered(plan, coll);
  *taken = !status && x->in >= 0 && (x->back >= 0 || !x->scatters) && m->n + 1 < MOST_OPTIONS;
  m->n += *taken;
  return status;
}

/* `where` has the same meaning as in tt_stage_next. */
static tutti_status find_level_options(const search *k, level_options *m, unsigned where) {
  tt_cost_model model;
  tutti_status status = TUTTI_OK;
  tt_stage_walk at = {0};
  tt_text name = {0};
  if (!tt_cost_stage(&k->c->model, m->level, m->size, &model)) return TUTTI_OK;
  for (; !status && tt_stage_next(where, m->size, &at, &name); name.length = 0) {
    tt_plan_spec *plan = NULL;
    bool taken = false;
    status = name.failed ? TUTTI_ERR_MEMORY : tt_plan_spec_parse(name.at, &plan);
    if (!status) status = add_option(k, m, plan, &model, &taken);
    if (!taken) tt_plan_spec_free(plan);
  }
  free(name.at);
  return status;
}

static tutti_status find_options(search *k) {
  const bool few = k->c->setting.ranks <= TT_PROVEN_RANKS;
  tutti_status status = TUTTI_OK;
  for (int l = 0; l < k->levels && !status; l++) {
    const unsigned where = few ? 0 : tt_stage_place(l, k->levels);
    status = find_level_options(k, &k->of[l], where);
  }
  return status;
}

/* ---- the fastest ---- */

static double time_of(const search *k, const option *x, double bytes) {
  const tt_stage_price *stage = k->c->stage;
  const double in = tt_curve_at(&stage[x->in].curve, bytes);
  return x->back < 0 ? in : in + tt_curve_at(&stage[x->back].curve, bytes);
}

/* A choice of one option per level. `scatters` is the set of levels that scatter, one bit per level. */
typedef struct pick {
  unsigned scatters;
  bool ordered;
  int of[MOST_LEVELS];
} pick;

/* Returns the index of the level's fastest option. p determines whether the option must scatter and whether it must keep rank
 * order. Returns -1 if the level has no such option. */
static int cheapest_option(const search *k, int level, const pick *p, double bytes) {
  const level_options *m = &k->of[level];
  int best = -1;
  for (int i = 0; i < m->n; i++) {
    const option *x = &m->at[i];
    if (x->scatters != (p->scatters >> level & 1) || x->banned) continue;
    if (p->ordered && !x->ordered) continue;
    if (best < 0 || time_of(k, x, bytes) < time_of(k, &m->at[best], bytes)) best = i;
  }
  return best;
}

static bool pick_cheapest(const search *k, pick *p, double bytes) {
  for (int l = k->levels - 1; l >= 0; l--) {
    p->of[l] = cheapest_option(k, l, p, bytes);
    if (p->of[l] < 0) return false;
    if (p->scatters >> l & 1) bytes /= k->of[l].size;
  }
  return true;
}

/* Returns the rank with number d in its group on every level, or with the last number in groups of at most d ranks. */
static int rank_of(const search *k, int d) {
  int rank = 0;
  for (int l = 0; l < k->levels; l++)
    rank = rank * k->of[l].size + (int)tt_min((size_t)d, (size_t)k->of[l].size - 1);
  return rank;
}

/* Returns true if all ranks can build the composition and it may run. The rank's number in its group can determine whether a
 * stage can be built. With many ranks, all stages in the lists can be built, but some compositions of more than three levels
 * may not run. */
static bool can_be_built(const search *k, const tt_plan_spec *plan) {
  const int ranks = k->c->setting.ranks;
  tt_ask ask = tt_ask_of(&k->c->setting, plan, k->coll, 0);
  tt_level_stage list[TT_STAGES];
  int most = 1;
  bool can = false;
  if (tt_proven_can(&ask, &k->c->setting, &can) || !can) return false;
  for (int l = 0; l < k->levels && ranks <= TT_PROVEN_RANKS; l++)
    most = (int)tt_max((size_t)most, (size_t)k->of[l].size);
  for (int d = 0; d < most; d++) {
    ask.rank = rank_of(k, d);
    if (tt_algo_stages(&ask, &k->c->model.tree, list) == 0) return false;
  }
  return true;
}

/* Sets *plan to the picked composition, or to NULL if it cannot be built. Returns false if out of memory. */
static bool plan_of(const search *k, const pick *p, tt_plan_spec **plan) {
  tt_text name = {0};
  tt_stages_text(&name, k->c->setting.levels);
  for (int l = 0; l < k->levels; l++)
    tt_text_add(&name, "%s%s", k->of[l].at[p->of[l]].plan->text, l + 1 < k->levels ? "/" : ")");
  const bool made = !name.failed && !tt_plan_spec_parse(name.at, plan);
  free(name.at);
  if (!made || can_be_built(k, *plan)) return made;
  tt_plan_spec_free(*plan);
  *plan = NULL;
  return true;
}

static bool is_listed(const tt_candidates *list, int from, const tt_plan_spec *plan, int slices) {
  for (int i = from; i < list->n; i++)
    if (list->at[i].slices == slices && tt_plan_spec_equal(list->at[i].plan, plan)) return true;
  return false;
}

/* Adds a composition unless it is already in the list, and frees `plan`. For long vectors, also adds it with two slices if
 * its estimate needs the simulation of only one rank. Returns false if out of memory. */
static bool add_composition(const search *k, tt_candidates *list, int from, tt_plan_spec *plan,
                            double bytes) {
  const tt_ask ask = tt_ask_of(&k->c->setting, plan, k->coll, 0);
  const bool sliced = !tt_links_fill_themselves(&k->c->model) && k->coll == TUTTI_ALLREDUCE &&
                      bytes >= LEAST_SLICED && !is_listed(list, from, plan, 2) &&
                      tt_algo_uniform(&ask, &k->c->model.tree);
  bool ok = is_listed(list, from, plan, 1) || tt_candidates_add_slices(list, plan, 1);
  if (ok && sliced) ok = tt_candidates_add_slices(list, plan, 2);
  tt_plan_spec_free(plan);
  return ok;
}

bool tt_compositions_apply(const tt_chooser *c, tutti_coll coll) {
  tt_cost_model stage;
  int n = 0;
  for (int l = 0; l < c->model.levels; l++) n += c->model.tree.level[l].each > 1;
  return c->levels && !tt_has_helpers(&c->setting) && c->setting.ranks_per_core <= 0 && n >= 2 &&
         n <= MOST_LEVELS && (coll == TUTTI_ALLREDUCE || coll == TUTTI_BARRIER) &&
         tt_cost_stage(&c->model, 0, c->model.tree.level[0].each, &stage);
}

/* Adds the picked composition. If `banned` is not 0, adds instead the fastest compositions without `banned` of its stages,
 * one for each choice of these stages. Sets *any if a plan could be built. */
static bool add_pick(search *k, tt_candidates *list, int from, const pick *p, double bytes,
                     int banned, bool *any) {
  bool ok = true;
  if (!banned) {
    tt_plan_spec *plan;
    if (!plan_of(k, p, &plan)) return false;
    *any |= plan != NULL;
    return !plan || add_composition(k, list, from, plan, bytes);
  }
  for (int l = 0; l < k->levels && ok; l++) {
    option *x = &k->of[l].at[p->of[l]];
    pick without = *p;
    x->banned = true;
    if (pick_cheapest(k, &without, bytes))
      ok = add_pick(k, list, from, &without, bytes, banned - 1, any);
    x->banned = false;
  }
  return ok;
}

/* Adds the composition that is fastest at each size, for a given set of levels that scatter. */
static bool add_cheapest(search *k, tt_candidates *list, int from, pick p) {
  pick last = {.of = {-1}};
  for (int power = 0; power < POWERS; power++) {
    const double bytes = (double)((int64_t)1 << power);
    if (!pick_cheapest(k, &p, bytes)) return true;
    if (memcmp(p.of, last.of, sizeof p.of) == 0 && bytes != LEAST_SLICED) continue;
    bool any = false;
    for (int banned = 0; banned <= MOST_BANNED && !any; banned++)
      if (!add_pick(k, list, from, &p, bytes, banned, &any)) return false;
    last = p;
  }
  return true;
}

bool tt_compositions_list(tt_chooser *c, tt_candidates *list) {
  search *k = calloc(1, sizeof *k);
  if (!k) return false;
  *k = (search){.c = c, .coll = list->coll, .weight = list->weight};
  for (int l = 0; l < c->model.levels; l++) {
    const int size = c->model.tree.level[l].each;
    if (size > 1) k->of[k->levels++] = (level_options){.level = l, .size = size};
  }
  const int from = list->n;
  bool ok = !find_options(k);
  for (unsigned set = 0; set < 1u << k->levels; set += 2) /* the outermost level never scatters */
    for (int ordered = 0; ordered < 2 && ok; ordered++)
      ok = add_cheapest(k, list, from, (pick){.scatters = set, .ordered = ordered});
  for (int l = 0; l < k->levels; l++)
    for (int i = 0; i < k->of[l].n; i++) tt_plan_spec_free(k->of[l].at[i].plan);
  free(k);
  return ok;
}
