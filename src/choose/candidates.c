/* candidates.c - builds the schedules needed to price a plan, and prices it.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "candidates.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* With more ranks than this, or more messages in total, a plan that differs between ranks is priced
 * only if there is no other, or if it was named: every rank would have to build and simulate all
 * ranks. */
enum { MOST_PLAYED = 1024, MOST_MESSAGES = 1 << 15, MOST_SLICED = 64, MOST_LOOKS = 100000000 };
static const int slicings[] = {2, 4, 8};

/* ---- building ---- */

static tutti_status build(const char *name, tt_ask ask, int rank, tt_sched **out) {
  ask.rank = rank;
  return tt_algo_build(name, &ask, out);
}

/* Builds those of the ranks that rank 0 receives from; price looks at all that these send. */
static tutti_status build_senders(const char *name, const tt_ask *ask, tt_sched **all) {
  tutti_status status = TUTTI_OK;
  double messages = 0, senders = 0;
  for (uint32_t i = 0; i < all[0]->nsteps; i++) messages += all[0]->steps[i].peers.count;
  for (uint32_t i = 0; i < all[0]->nsteps && !status; i++) {
    const tt_step *step = &all[0]->steps[i];
    for (int k = 0; tt_step_receives(step) && k < step->peers.count && !status; k++) {
      const int peer = tt_peer_rank(&step->peers, k, ask->ranks);
      if (all[peer]) continue;
      senders++;
      status = build(name, *ask, peer, &all[peer]);
      if (!status && messages * senders > MOST_LOOKS)
        status = tt_fail(TUTTI_ERR_UNSUPPORTED, "%s on %d ranks: too many messages to price", name,
                         ask->ranks);
    }
  }
  return status;
}

static double count_sends(const tt_sched *s) {
  double n = 0;
  for (uint32_t i = 0; i < s->nsteps; i++)
    if (s->steps[i].kind == TT_SEND) n += s->steps[i].peers.count;
  return n;
}

static tutti_status build_rest(const char *name, const tt_ask *ask, double most, tt_sched **all) {
  tutti_status status = TUTTI_OK;
  double messages = 0;
  for (int r = 0; r < ask->ranks && !status; r++) {
    if (!all[r]) status = build(name, *ask, r, &all[r]);
    if (!status && (messages += count_sends(all[r])) > most)
      status = tt_fail(TUTTI_ERR_UNSUPPORTED, "%s on %d ranks: too many messages to price", name,
                       ask->ranks);
  }
  return status;
}

static tutti_status find_loop(const tt_chooser *c, const char *name, const tt_ask *ask,
                              tt_sched **all, bool *has) {
  const tt_setting *s = &c->setting;
  *has = false;
  tutti_status status = s->has_loop ? s->has_loop(all, 1, has) : TUTTI_OK;
  if (status || !*has) return status;
  status = build_rest(name, ask, HUGE_VAL, all);
  *has = false;
  if (!status) status = s->has_loop(all, ask->ranks, has);
  return status == TUTTI_ERR_MEMORY ? status : TUTTI_OK;
}

/* Does rank 0's schedule send to, and receive from, all ranks at once in every step? */
static bool addresses_all(const tt_sched *s) {
  for (uint32_t i = 0; i < s->nsteps; i++)
    if (!tt_step_local(&s->steps[i]) && s->steps[i].peers.count < s->ranks) return false;
  return true;
}

/* Can rank 0 stand for all? mine: its schedule, or NULL. A plan in which all ranks do alike and
 * address all others at once is nearly alike on even levels, too: every rank has as many peers at
 * each level as any other, and only the order in which they come differs. That is good enough where
 * all ranks have too many messages to simulate. */
static bool stands_for_all(const tt_chooser *c, const char *name, const tt_ask *ask,
                           const tt_sched *mine) {
  const tt_tree *tree = c->levels ? &c->model.tree : NULL;
  if (tt_algo_uniform(name, ask, tree)) return true;
  if (!tree || !tree->even || (double)ask->ranks * ask->ranks <= MOST_MESSAGES ||
      !tt_algo_uniform(name, ask, NULL))
    return false;
  tt_sched *own = NULL;
  if (!mine && build(name, *ask, 0, &own)) return false;
  const bool all = addresses_all(mine ? mine : own);
  tt_sched_free(own);
  return all;
}

/* Does the name say an algorithm for each level? */
static bool is_composition(const char *name) {
  return strstr(name, "stages=") != NULL;
}

/* One group of a level, alone. */
static tutti_status sim_stage(const tt_level_stage *x, const tt_cost_model *model, tt_sim **stage) {
  const tt_ask ask = {.coll = x->coll, .ranks = x->ranks};
  const bool uniform = tt_algo_uniform(x->name, &ask, NULL);
  tt_sched **all = calloc((size_t)x->ranks, sizeof *all);
  if (!all) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for %d schedules", x->ranks);
  tutti_status status = build(x->name, ask, 0, &all[0]);
  if (!status)
    status = uniform ? build_senders(x->name, &ask, all) : build_rest(x->name, &ask, HUGE_VAL, all);
  *stage = status ? NULL : tt_sim_new(all, x->ranks, uniform, model);
  if (!status && !*stage)
    status = tt_fail(TUTTI_ERR_MEMORY, "%s cannot be priced: out of memory", x->name);
  tt_sched_free_all(all, x->ranks);
  return status;
}

/* A composition on the machine's levels: its stages' simulations. *sim is NULL on errors, if it is none,
 * or if something else than the levels' links counts. */
static tutti_status sim_stages(const tt_chooser *c, const char *name, const tt_ask *ask,
                               tt_sim **sim) {
  tt_level_stage list[TT_STAGES];
  const bool asks = c->levels && is_composition(name);
  const int n = asks ? tt_algo_stages(name, ask, &c->model.tree, list) : 0;
  tutti_status status = TUTTI_OK;
  *sim = NULL;
  for (int i = 0; i < n && !status; i++) {
    tt_cost_model model;
    tt_sim *stage;
    if (!tt_cost_stage(&c->model, list[i].level, &model)) break; /* the same for all */
    status = sim_stage(&list[i], &model, &stage);
    if (!status) tt_sim_append(sim, stage, list[i].part, &c->model, list[i].level);
  }
  if (!status) return TUTTI_OK;
  tt_sim_free(*sim);
  *sim = NULL;
  return status;
}

static tutti_status sim_whole(const tt_chooser *c, const char *name, tutti_coll coll, int root,
                              bool exported, bool sliced, double most, tt_sim **sim) {
  const tt_setting *s = &c->setting;
  const tt_ask ask = tt_ask_of(s, coll, root);
  *sim = NULL;
  if (!sliced) {
    const tutti_status status = sim_stages(c, name, &ask, sim);
    if (status || *sim) return status;
  }
  tt_sched **all = calloc((size_t)s->ranks, sizeof *all);
  if (!all) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for %d schedules", s->ranks);
  tutti_status status = build(name, ask, 0, &all[0]);
  const bool uniform = !status && stands_for_all(c, name, &ask, all[0]);
  if (!status)
    status = uniform ? build_senders(name, &ask, all) : build_rest(name, &ask, most, all);
  bool loop = exported;
  if (!status && !exported) status = find_loop(c, name, &ask, all, &loop);
  if (!status) {
    const tt_cost_model *model = exported ? &c->exported : loop ? &c->loop : &c->model;
    *sim = tt_sim_new(all, s->ranks, uniform, model);
    if (!*sim)
      status = tt_fail(TUTTI_ERR_MEMORY, "%s on %d ranks cannot be priced: out of memory", name,
                       s->ranks);
  }
  tt_sched_free_all(all, s->ranks);
  return status;
}

tutti_status tt_candidate_sim(const tt_chooser *c, const char *name, int slices, tutti_coll coll,
                              int root, bool exported, tt_sim **sim) {
  tutti_status status = sim_whole(c, name, coll, root, exported, slices > 1, HUGE_VAL, sim);
  if (status || slices <= 1) return status;
  tt_sim *whole = *sim;
  *sim = tt_sim_slices(whole, slices, c->setting.flight);
  tt_sim_free(whole);
  return *sim ? TUTTI_OK : tt_fail(TUTTI_ERR_MEMORY, "out of memory for slices of %s", name);
}

/* ---- the list ---- */

/* Prices a plan and the sliced versions that follow it in the list; returns their number. */
static int price(tt_chooser *c, tt_candidate *x, int left, tutti_coll coll, double most) {
  tt_sim *whole;
  int n = 1;
  while (n < left && x[n].slices > 1) n++;
  const tutti_status status = sim_whole(c, x->name, coll, 0, false, n > 1, most, &whole);
  c->starved |= status == TUTTI_ERR_MEMORY;
  if (status) return n;
  x->possible = tt_price_curve(whole, &x->curve);
  for (int i = 1; i < n; i++) {
    tt_sim *sim = tt_sim_slices(whole, x[i].slices, c->setting.flight);
    x[i].possible = sim && tt_price_curve(sim, &x[i].curve);
    tt_sim_free(sim);
  }
  for (int i = 0; i < n; i++) c->starved |= !x[i].possible; /* all that is built can run */
  tt_sim_free(whole);
  return n;
}

/* Do slices help? They do if links of several levels, or the processor and a link, can be busy at
 * once, and messages are few, because slices multiply them. With many ranks fewer plans are priced,
 * so they may have more messages. */
static bool slices_help(tt_chooser *c, const char *name, tutti_coll coll) {
  const tt_ask ask = tt_ask_of(&c->setting, coll, 0);
  tt_sched *s;
  if (c->setting.ranks_per_core > 0 || tt_coll_owned(coll) || coll == TUTTI_BARRIER) return false;
  if (is_composition(name)) return false; /* priced stage by stage */
  if (!tt_algo_uniform(name, &ask, c->levels ? &c->model.tree : NULL)) return false;
  const tutti_status status = tt_algo_build(name, &ask, &s);
  c->starved |= status == TUTTI_ERR_MEMORY;
  if (status) return false;
  int messages = 0;
  for (uint32_t i = 0; i < s->nsteps; i++) messages += s->steps[i].peers.count;
  tt_sched_free(s);
  return messages <= (ask.ranks > MOST_PLAYED ? 2 * MOST_SLICED : MOST_SLICED);
}

static bool add_candidate(tt_candidates *list, const char *name, int slices) {
  if ((list->n & (list->n - 1)) == 0) {
    tt_candidate *more = realloc(list->at, (size_t)(list->n ? 2 * list->n : 1) * sizeof *more);
    if (!more) return false;
    list->at = more;
  }
  tt_candidate *x = &list->at[list->n++];
  *x = (tt_candidate){.slices = slices};
  snprintf(x->name, sizeof x->name, "%s", name);
  return true;
}

/* Compositions are priced stage by stage, which shared memory does not allow: there they run if they are
 * named. */
static bool too_dear(const tt_chooser *c, const char *name) {
  return c->setting.ranks_per_core > 0 && !*c->setting.only && is_composition(name);
}

static bool add_sliced(tt_chooser *c, tutti_coll coll, tt_candidates *list, const char *name) {
  if (too_dear(c, name)) return true;
  const size_t ways = slices_help(c, name, coll) ? sizeof slicings / sizeof *slicings : 0;
  if (!add_candidate(list, name, 1)) return false;
  for (size_t k = 0; k < ways; k++)
    if (!add_candidate(list, name, slicings[k])) return false;
  return true;
}

/* The domains of one level of an even tree and their ranks, such as "package:2 core:256". */
static void pair_of(const tt_tree *t, int level, char pair[TT_NAME]) {
  const int last = t->levels - 1;
  int domains = 1;
  for (int l = 0; l <= level; l++) domains *= t->level[l].each;
  snprintf(pair, TT_NAME, "%s:%d %s:%d", t->level[level].name, domains, t->level[last].name,
           t->ranks / domains);
}

/* In shared memory a few plans over a single level each, too: messages cost the same at several
 * levels, or nearly, and leaders of larger domains are fewer. */
static bool add_pairs(tt_chooser *c, tutti_coll coll, tt_candidates *list) {
  const tt_setting *s = &c->setting;
  char name[TT_NAME], pair[TT_NAME];
  tt_tree tree;
  bool ok = true;
  if (s->ranks_per_core <= 0 || tt_tree_parse(s->levels, &tree) || !tree.even) return true;
  for (int l = 0; ok && l + 2 < tree.levels; l++) {
    pair_of(&tree, l, pair);
    for (int i = 0; ok && tt_algo_plan(s->ranks, pair, i, name, sizeof name); i++)
      if (strstr(name, pair) && tt_algo_does(name, coll)) ok = add_sliced(c, coll, list, name);
  }
  return ok;
}

/* Lists all plans that are proposed; or those of one family; or one plan, proposed or not. */
static bool list_all(tt_chooser *c, tutti_coll coll, tt_candidates *list) {
  const tt_setting *s = &c->setting;
  const size_t n = strlen(s->only);
  char name[TT_NAME];
  bool ok = true;
  if (strchr(s->only, '(')) return add_sliced(c, coll, list, s->only);
  for (int i = 0; ok && tt_algo_plan(s->ranks, s->levels, i, name, sizeof name); i++)
    if (n ? strncmp(name, s->only, n) == 0 && (!name[n] || name[n] == '(')
          : tt_algo_does(name, coll))
      ok = add_sliced(c, coll, list, name);
  if (ok && !n && *s->levels) ok = add_pairs(c, coll, list);
  return ok && (list->n || !n || add_sliced(c, coll, list, s->only));
}

void tt_chooser_weigh(tt_chooser *c, int weight) {
  c->model.gamma = c->loop.gamma = c->exported.gamma = c->setting.profile.gamma * (1 << weight);
}

const tt_candidates *tt_candidates_of(tt_chooser *c, tutti_coll coll, int weight) {
  if (c->of[coll][weight]) return c->of[coll][weight];
  tt_chooser_weigh(c, weight);
  tt_candidates *list = calloc(1, sizeof *list);
  c->starved = false;
  if (!list || !list_all(c, coll, list)) {
    tt_candidates_free(list);
    return NULL;
  }
  const tt_ask ask = tt_ask_of(&c->setting, coll, 0);
  bool some = false;
  for (int pass = 0; pass < 2 && !some; pass++) {
    const double most = pass || *c->setting.only ? HUGE_VAL : MOST_MESSAGES;
    for (int i = 0, n; i < list->n; i += n) {
      tt_candidate *x = &list->at[i];
      const bool cheap = ask.ranks <= MOST_PLAYED || is_composition(x->name) ||
                         stands_for_all(c, x->name, &ask, NULL);
      n = cheap || pass ? price(c, x, list->n - i, coll, most) : 1;
      some |= x->possible;
    }
  }
  if (c->starved) {
    tt_candidates_free(list);
    return NULL;
  }
  return c->of[coll][weight] = list;
}

void tt_candidates_free(tt_candidates *list) {
  for (int i = 0; list && i < list->n; i++) free(list->at[i].found);
  if (list) free(list->at);
  free(list);
}
