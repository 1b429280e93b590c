/* pricers.c - the table of methods that estimate the time of a plan.
 *
 * Idea       If the ranks are symmetric, rank 0 represents them all. For a composition, only one group of each level is
 *            simulated. All other plans need the schedules of all ranks, or of those on the critical paths.
 * Cost       Building the schedules takes microseconds for one rank and milliseconds for 1,000 ranks.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "candidates.h"

/* The limit on the number of messages that a simulation may have to examine. A plan above this limit is not estimated. */
enum { MOST_LOOKS = 100000000 };

/* ---- building ---- */

static tutti_status build(tt_ask ask, int rank, tt_sched **out) {
  ask.rank = rank;
  return tt_algo_build(&ask, out);
}

tutti_status tt_build_senders(const tt_ask *ask, tt_sched **all) {
  tutti_status status = TUTTI_OK;
  double messages = 0, senders = 0;
  for (uint32_t i = 0; i < all[0]->nsteps; i++) messages += all[0]->steps[i].peers.count;
  for (uint32_t i = 0; i < all[0]->nsteps && !status; i++) {
    const tt_step *step = &all[0]->steps[i];
    for (int k = 0; tt_step_receives(step) && k < step->peers.count && !status; k++) {
      const int peer = tt_peer_rank(&step->peers, k, ask->ranks);
      if (all[peer]) continue;
      senders++;
      status = build(*ask, peer, &all[peer]);
      if (!status && messages * senders > MOST_LOOKS)
        status = tt_fail(TUTTI_ERR_UNSUPPORTED, "%s on %d ranks: too many messages to simulate",
                         ask->plan->text, ask->ranks);
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

/* Builds the schedules that are still missing. Stops early if the first few show that the plan has far too many messages. */
static tutti_status build_rest(const tt_ask *ask, double most, tt_sched **all) {
  enum { SOME = 32 };
  tutti_status status = TUTTI_OK;
  double messages = 0, of_some = 0;
  for (int r = 0; r < ask->ranks && !status; r++) {
    if (!all[r]) status = build(*ask, r, &all[r]);
    const double sends = status ? 0 : count_sends(all[r]);
    messages += sends;
    if (r > 0) of_some += sends;
    const bool far = r == SOME && of_some / SOME * ask->ranks > 2 * most;
    if (!status && (messages > most || far))
      status = tt_fail(TUTTI_ERR_UNSUPPORTED, "%s on %d ranks: too many messages to simulate",
                       ask->plan->text, ask->ranks);
  }
  return status;
}

/* Sets *most to the longest vector that the plan's specialized loop supports, in bytes, or to 0 if the plan has no loop. */
static tutti_status find_loop(const tt_chooser *c, const tt_ask *ask, tt_sched **all,
                              uint64_t *most) {
  const tt_setting *s = &c->setting;
  *most = 0;
  tutti_status status = s->has_loop ? s->has_loop(all, 1, most) : TUTTI_OK;
  if (status || !*most) return status;
  status = build_rest(ask, HUGE_VAL, all);
  *most = 0;
  if (!status) status = s->has_loop(all, ask->ranks, most);
  return status == TUTTI_ERR_MEMORY ? status : TUTTI_OK;
}

/* Returns true if every communication step in the schedule of rank 0 has all ranks as peers. */
static bool addresses_all(const tt_sched *s) {
  for (uint32_t i = 0; i < s->nsteps; i++)
    if (!tt_step_local(&s->steps[i]) && s->steps[i].peers.count < s->ranks) return false;
  return true;
}

/* Returns false if the plan is known not to have all ranks as peers in every step. To avoid building long schedules, this
 * builds the plan on A_FEW ranks, which is more than any radix. */
static bool may_address_all(const tt_ask *ask) {
  enum { A_FEW = 17 };
  const tt_ask few = {.plan = ask->plan, .coll = ask->coll, .ranks = A_FEW};
  tt_sched *s;
  if (ask->ranks <= A_FEW || tt_algo_build(&few, &s)) return true;
  const bool all = addresses_all(s);
  tt_sched_free(s);
  return all;
}

/* Returns true if simulating one rank is enough. It is enough if the ranks are symmetric. It is also accurate enough on even
 * levels, if all ranks together have too many messages to simulate and every rank has all others as peers in every step. Each
 * rank then has the same number of peers at each level, in a different order. */
static bool one_stands_for_all(const tt_pricing *p) {
  const tt_tree *tree = p->c->levels ? &p->c->model.tree : NULL;
  const tt_ask *ask = &p->ask;
  if (tt_priced_by_hosts(p)) return false;
  if (tt_algo_uniform(ask, tree)) return true;
  if (!tree || !tree->even || (double)ask->ranks * ask->ranks <= TT_MOST_MESSAGES ||
      !tt_algo_uniform(ask, NULL) || !may_address_all(ask))
    return false;
  tt_sched *own;
  if (build(*ask, 0, &own)) return false;
  const bool all = addresses_all(own);
  tt_sched_free(own);
  return all;
}

bool tt_is_composition(const tt_plan_spec *plan) {
  return tt_plan_spec_stages(plan);
}

tutti_status tt_stage_sim(const tt_level_stage *x, const tt_cost_model *model, tt_sim **stage) {
  const tt_ask ask = {.plan = x->plan, .coll = x->coll, .ranks = x->ranks};
  const bool uniform = tt_algo_uniform(&ask, NULL);
  tt_sched **all = calloc((size_t)x->ranks, sizeof *all);
  if (!all) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for %d schedules", x->ranks);
  tutti_status status = build(ask, 0, &all[0]);
  if (!status) status = uniform ? tt_build_senders(&ask, all) : build_rest(&ask, HUGE_VAL, all);
  *stage = status ? NULL : tt_sim_new(all, x->ranks, uniform, model);
  if (!status && !*stage)
    status = tt_fail(TUTTI_ERR_MEMORY, "no estimate of %s: out of memory", x->plan->text);
  tt_sched_free_all(all, x->ranks);
  return status;
}

/* ---- one rank, or all ranks ---- */

/* The loops of collectives other than allreduce copy pieces through many slots. As with messages, other ranks read a piece
 * while the next one is written. */
static tt_cost_model copying_loop(const tt_chooser *c) {
  tt_cost_model model = c->loop;
  model.shm.piece = c->model.shm.piece;
  return model;
}

/* Simulates the schedules that were built, which may be only those of one rank and of the ranks that send to it. */
static tutti_status sim_built(const tt_pricing *p, bool one, tt_sched **all, uint64_t *size,
                              tt_sim **sim) {
  const tt_chooser *c = p->c;
  const uint64_t bytes = *size;
  uint64_t loop = 0;
  const tutti_status status = p->exported ? TUTTI_OK : find_loop(c, &p->ask, all, &loop);
  *size = UINT64_MAX;
  if (status) return status;
  const bool runs = loop > 0 && bytes <= loop;
  tt_cost_model model = p->exported ? c->exported : runs ? c->loop : c->model;
  if (one) model.hosts = NULL;
  if (runs && p->ask.coll != TUTTI_ALLREDUCE) model = copying_loop(c);
  if (runs) *size = loop;
  *sim = tt_sim_new(all, p->ask.ranks, one, &model);
  if (*sim) return TUTTI_OK;
  return tt_fail(TUTTI_ERR_MEMORY, "no estimate of %s on %d ranks: out of memory",
                 p->ask.plan->text, p->ask.ranks);
}

static tutti_status sim_some(const tt_pricing *p, bool one, uint64_t *size, tt_sim **sim) {
  const double most = tt_priced_by_hosts(p) ? HUGE_VAL : p->most;
  tt_sched **all = p->kept ? p->kept : calloc((size_t)p->ask.ranks, sizeof *all);
  if (!all) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for %d schedules", p->ask.ranks);
  tutti_status status = all[0] ? TUTTI_OK : build(p->ask, 0, &all[0]);
  if (!status) status = one ? tt_build_senders(&p->ask, all) : build_rest(&p->ask, most, all);
  if (!status) status = sim_built(p, one, all, size, sim);
  if (!p->kept) tt_sched_free_all(all, p->ask.ranks);
  return status;
}

static tutti_status sim_one(const tt_pricing *p, uint64_t *size, tt_sim **sim) {
  return sim_some(p, true, size, sim);
}

static tutti_status sim_all(const tt_pricing *p, uint64_t *size, tt_sim **sim) {
  return sim_some(p, false, size, sim);
}

static bool always(const tt_pricing *p) {
  (void)p;
  return true;
}

/* ---- the table ---- */

enum { ALL = 4 };
static const tt_pricer pricers[] = {
    {"the ranks on the longest paths to the root", tt_ways_apply, TT_BOUNDED_BY_SOME, tt_ways_sim,
     NULL, NULL},
    {"one rank on even levels, with domains as large as the largest", tt_even_applies,
     TT_BOUNDED_ON_EVEN_LEVELS, tt_even_sim, NULL, tt_even_raise},
    {"a group of each level", tt_stages_apply, TT_BOUNDED_NOT, tt_stages_sim, tt_stages_curve,
     NULL},
    {"one rank, which represents all", one_stands_for_all, TT_BOUNDED_BY_SOME, sim_one, NULL, NULL},
    [ALL] = {"all ranks", always, TT_BOUNDED_BY_SOME, sim_all, NULL, NULL}};

tt_pricing tt_pricing_of(tt_chooser *c, const tt_plan_spec *plan, tutti_coll coll, int root) {
  return (tt_pricing){
      .c = c, .ask = tt_ask_of(&c->setting, plan, coll, root), .slices = 1, .most = HUGE_VAL};
}

const tt_pricer *tt_pricer_of(const tt_pricing *p) {
  const tt_pricer *by = pricers;
  while (!by->applies(p)) by++;
  return by;
}

bool tt_prices_all_ranks(const tt_pricer *by) {
  return by == &pricers[ALL];
}

tutti_status tt_pricing_sim(const tt_pricing *p, const tt_pricer *by, uint64_t *size,
                            tt_sim **sim) {
  const char *text = p->ask.plan->text;
  if (!by) by = tt_pricer_of(p);
  *sim = NULL;
  const tutti_status status = by->sim(p, size, sim);
  if (status || p->slices <= 1) return status;
  tt_sim *whole = *sim;
  const bool can = tt_sim_can_slice(whole, p->slices);
  *sim = can ? tt_sim_slices(whole, p->slices, p->c->setting.flight) : NULL;
  tt_sim_free(whole);
  if (!can)
    return tt_fail(TUTTI_ERR_UNSUPPORTED,
                   "%s in %d slices has too many messages to simulate; set fewer", text, p->slices);
  return *sim ? TUTTI_OK : tt_fail(TUTTI_ERR_MEMORY, "out of memory for slices of %s", text);
}

tutti_status tt_candidate_sim(tt_chooser *c, const tt_plan_spec *plan, int slices, tutti_coll coll,
                              int root, bool exported, uint64_t bytes, tt_sim **sim) {
  tt_pricing p = tt_pricing_of(c, plan, coll, root);
  p.slices = slices;
  p.exported = exported;
  return tt_pricing_sim(&p, NULL, &bytes, sim);
}
