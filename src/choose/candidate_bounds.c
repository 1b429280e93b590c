/* candidate_bounds.c - lower bounds for the time of a candidate, found without an estimate.
 *
 * Idea       The first bound of a plan is the minimum time of rank 0, or of a few more ranks (bound.h). If the plan's
 *            ranks differ and it may still be the fastest, tighter bounds are computed from the longest chains of
 *            messages to two ranks and from the link of a large domain.
 * Cost       Builds the schedules of those ranks, which are kept for the estimate that may follow.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "candidates.h"

enum { MOST_SLICED = 64 }; /* messages per rank */
enum {
  MOST_ROUNDS = 1 << 10 /* limit for building a schedule just for its bound */
};
enum { MOST_LOOKED_AT = 1 << 13 /* steps of a domain */ };

/* ---- schedules, shared by the closer bounds and the estimate ---- */

void tt_candidates_forget(tt_candidates *list) {
  if (list->kept.all) tt_sched_free_all(list->kept.all, list->kept.ask.ranks);
  list->kept = (tt_kept){.all = NULL};
}

/* Prepares list->kept for the i-th plan. Keeps schedules of this plan that were built before. Returns false if out of
 * memory. */
static bool keep_schedules(const tt_chooser *c, tt_candidates *list, int i) {
  if (list->kept.all && list->kept.i == i) return true;
  tt_candidates_forget(list);
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

/* ---- bounds ---- */

/* Returns the number of ranks in the largest domain with at most `most` ranks, and sets *level to its level. On a torus, only
 * nodes count. Returns 0 if the tree is uneven, or if no such domain has more than one rank. */
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

/* Adds the lower bound for the link of the first domain that has at most `most` ranks. */
static void bound_domain(tt_kept *x, const tt_cost_model *model, int most, tt_bound *bound) {
  int level = 0;
  const int n = ranks_of_domain(model, most, &level);
  for (int r = 0; r < n; r++)
    if (!schedule_of(x, r)) return;
  if (n) tt_bound_domain(bound, x->all, 0, n, model, level);
}

/* If the hosts' links differ, adds the lower bounds of one rank on each kind of host. */
static void bound_hosts(tt_kept *x, const tt_cost_model *model, bool alike, tt_bound *bound) {
  int some[TT_NAMED_HOSTS];
  const int n = tt_hosts_some(model, some, TT_NAMED_HOSTS);
  for (int i = 0; i < n; i++) {
    const tt_sched *s = schedule_of(x, some[i]);
    if (s) tt_bound_rank(bound, s, model, alike);
  }
}

/* For a plan whose ranks differ, adds the lower bounds of the last rank and of a small domain. If the plan has many steps,
 * the domain is left out, because the bounds of the ports suffice. */
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

/* Computes a lower bound of the i-th candidate, unless the bound is already known. Returns false if out of memory. */
static bool find_bound(tt_chooser *c, tt_candidates *list, int i, bound_fn *by, bool *found,
                       tt_bound *bound) {
  if (*found) return true;
  if (!keep_schedules(c, list, i)) return false;
  bound->n = 0;
  by(&list->kept, &c->least, bound);
  return *found = !list->kept.starved;
}

/* Returns true if the links of large domains might take longer than `most` seconds. Assumes a plan with few rounds, where
 * every rank sends a whole vector through such a link in each round. */
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
  tt_chooser_weigh(c, list->weight); /* a bound is found only once */
  bool ok = true;
  for (int k = 0; k < 2 && *may; k++) {
    ok = find_bound(c, list, i, k ? bound_middle : bound_last, &x->chained[k], &x->chain[k]);
    *may = ok && TT_CURVE_ACCURACY * tt_bound_at(&x->chain[k], 1, bytes) <= most;
  }
  if (*may && links_matter(&c->model, bytes, most)) {
    ok = find_bound(c, list, i, bound_wide, &x->widened, &x->wide);
    *may = ok && TT_CURVE_ACCURACY * tt_bound_at(&x->wide, 1, bytes) <= most;
  }
  if (!*may) tt_candidates_forget(list);
  c->starved |= !ok;
  return ok;
}

/* Returns true if cutting a plan with symmetric ranks into slices may help. It helps if the links of several levels, or a
 * link and the processor, can be busy at the same time. The plan must also have few messages, because slices multiply them.
 * The limit is higher with many ranks, because then fewer plans are estimated. */
static bool slices_help(const tt_chooser *c, const tt_sched *s) {
  int messages = 0;
  if (tt_links_fill_themselves(&c->model) || tt_placement_unknown(&c->model) ||
      c->setting.ranks_per_core > 0 || tt_coll_owned(s->coll) || s->coll == TUTTI_BARRIER)
    return false;
  for (uint32_t i = 0; i < s->nsteps; i++) messages += s->steps[i].peers.count;
  return messages <= (s->ranks > TT_MOST_PLAYED ? 2 * MOST_SLICED : MOST_SLICED);
}

/* Adds the lower bound of a plan over uneven levels on many ranks. Sets *sliced if slices may help the plan. */
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

/* Returns true if the schedules built so far send more than twice the number of messages that can be simulated. In that case
 * the remaining schedules need not be built. */
static bool sends_too_much(const tt_kept *x) {
  double sends = 0, built = 0;
  for (int r = 0; r < x->ask.ranks; r++) {
    built += x->all[r] != NULL;
    for (uint32_t i = 0; x->all[r] && i < x->all[r]->nsteps; i++)
      sends += x->all[r]->steps[i].kind == TT_SEND ? x->all[r]->steps[i].peers.count : 0;
  }
  return built > 0 && sends / built * x->ask.ranks > 2.0 * TT_MOST_MESSAGES;
}

/* Computes a plan's lower bound from the schedule of rank 0 and, if the ranks differ, from those of a few other ranks. */
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
    tt_bound_rank(&x->bound, mine, &c->least, alike);
    bound_hosts(&list->kept, &c->least, alike, &x->bound);
    if (list->kept.starved) status = TUTTI_ERR_MEMORY;
    x->dear = x->differ && c->setting.ranks_per_core <= 0 && sends_too_much(&list->kept);
  }
  tt_candidates_forget(list);
  return status;
}

/* Finds the i-th plan's lower bound and the other properties that need no estimate. */
tutti_status tt_candidates_look_at(tt_chooser *c, tt_candidates *list, int i, bool *sliced) {
  tt_candidate *x = &list->at[i];
  const tt_pricing p = tt_pricing_of(c, x->plan, list->coll, 0);
  *sliced = false;
  if (c->setting.ranks_per_core > 0 && tt_is_composition(x->plan)) return TUTTI_OK;
  const tt_pricer *by = tt_pricer_of(&p);
  x->dear = tt_prices_all_ranks(by) && p.ask.ranks > TT_MOST_PLAYED;
  if (x->dear || by->bounded == TT_BOUNDED_NOT) return TUTTI_OK;
  const bool alike = tt_algo_uniform(&p.ask, c->levels ? &c->model.tree : NULL);
  const int rounds = alike ? tt_algo_rounds(&p.ask) : 0;
  if (rounds > MOST_ROUNDS) {
    tt_bound_rounds(&x->bound, rounds, &c->least);
    return TUTTI_OK;
  }
  return by->bounded == TT_BOUNDED_ON_EVEN_LEVELS ? look_at_even(&p, x, sliced)
                                                  : look_at_some(c, list, i, alike, sliced);
}
