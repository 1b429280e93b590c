/* plan_sim.c - builds the schedules that the price of a plan needs, and prepares their simulation.
 *
 * Idea       if all ranks do alike, rank 0 stands for them; of a composition each level's group alone is
 *            simulated (sim_stages.c). Else the schedules of all ranks are needed.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "candidates.h"

/* A plan whose simulation would have to look at more messages is not priced. */
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
        status = tt_fail(TUTTI_ERR_UNSUPPORTED, "%s on %d ranks: too many messages to price",
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

/* Some ranks after the first show whether a plan has far too many messages: then the rest is not built. */
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
      status = tt_fail(TUTTI_ERR_UNSUPPORTED, "%s on %d ranks: too many messages to price",
                       ask->plan->text, ask->ranks);
  }
  return status;
}

/* *most: up to how many bytes is there a loop for the plan? 0: none. */
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

/* Does rank 0's schedule send to, and receive from, all ranks at once in every step? */
static bool addresses_all(const tt_sched *s) {
  for (uint32_t i = 0; i < s->nsteps; i++)
    if (!tt_step_local(&s->steps[i]) && s->steps[i].peers.count < s->ranks) return false;
  return true;
}

/* Could it, on many ranks? A plan that does not on a few, more than any radix, does not; so long
 * schedules need not be built to find that out. */
static bool may_address_all(const tt_ask *ask) {
  enum { A_FEW = 17 };
  const tt_ask few = {.plan = ask->plan, .coll = ask->coll, .ranks = A_FEW};
  tt_sched *s;
  if (ask->ranks <= A_FEW || tt_algo_build(&few, &s)) return true;
  const bool all = addresses_all(s);
  tt_sched_free(s);
  return all;
}

/* A plan in which all ranks do alike and address all others at once is nearly alike on even levels,
 * too: every rank has as many peers at each level as any other, and only the order in which they come
 * differs. That is good enough where all ranks have too many messages to simulate. */
bool tt_stands_for_all(const tt_chooser *c, const tt_ask *ask, const tt_sched *mine) {
  const tt_tree *tree = c->levels ? &c->model.tree : NULL;
  if (tt_algo_uniform(ask, tree)) return true;
  if (!tree || !tree->even || (double)ask->ranks * ask->ranks <= TT_MOST_MESSAGES ||
      !tt_algo_uniform(ask, NULL) || !may_address_all(ask))
    return false;
  tt_sched *own = NULL;
  if (!mine && build(*ask, 0, &own)) return false;
  const bool all = addresses_all(mine ? mine : own);
  tt_sched_free(own);
  return all;
}

bool tt_is_composition(const tt_plan_spec *plan) {
  return tt_plan_spec_stages(plan);
}

int tt_stages_of(const tt_chooser *c, const tt_ask *ask, tt_level_stage list[TT_STAGES]) {
  const bool whole = !tt_is_composition(ask->plan) && ask->ranks <= TT_MOST_PLAYED;
  return c->levels && !whole ? tt_algo_stages(ask, &c->model.tree, list) : 0;
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
    status = tt_fail(TUTTI_ERR_MEMORY, "%s cannot be priced: out of memory", x->plan->text);
  tt_sched_free_all(all, x->ranks);
  return status;
}

/* A composition on the machine's levels: its stages' simulations. *sim is NULL on errors, if it is none,
 * or if something else than the levels' links counts. */
static tutti_status sim_stages(const tt_chooser *c, const tt_ask *ask, tt_sim **sim) {
  tt_level_stage list[TT_STAGES];
  const int n = tt_stages_of(c, ask, list);
  tutti_status status = TUTTI_OK;
  bool apply = true;
  *sim = NULL;
  for (int i = 0; i < n && !status && apply; i++) {
    tt_cost_model model;
    tt_sim *stage;
    apply = tt_cost_stage(&c->model, list[i].level, list[i].ranks, &model);
    if (apply) status = tt_stage_sim(&list[i], &model, &stage);
    if (apply && !status) tt_sim_append(sim, stage, list[i].part, &c->model, list[i].level);
  }
  if (!status && apply) return TUTTI_OK;
  tt_sim_free(*sim);
  *sim = NULL;
  return status;
}

static tutti_status sim_whole(const tt_chooser *c, const tt_plan_spec *plan, tutti_coll coll,
                              int root, bool exported, int slices, double most, tt_sched **kept,
                              uint64_t *size, tt_sim **sim) {
  const tt_setting *s = &c->setting;
  const tt_ask ask = tt_ask_of(s, plan, coll, root);
  const uint64_t bytes = *size;
  uint64_t loop = 0;
  *size = UINT64_MAX;
  *sim = NULL;
  if (!exported && tt_priced_by_ways(c, &ask)) return tt_ways_sim(c, &ask, sim);
  if (!exported && tt_rounded_up(c, plan)) return tt_rounded_up_sim(c, &ask, sim);
  const bool by_hosts = tt_priced_by_hosts(c, &ask, slices);
  if (slices == 1 && !by_hosts) {
    const tutti_status status = sim_stages(c, &ask, sim);
    if (status || *sim) return status;
  }
  tt_sched **all = kept ? kept : calloc((size_t)s->ranks, sizeof *all);
  if (!all) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for %d schedules", s->ranks);
  tutti_status status = all[0] ? TUTTI_OK : build(ask, 0, &all[0]);
  const bool uniform = !status && !by_hosts && tt_stands_for_all(c, &ask, all[0]);
  if (!status)
    status =
        uniform ? tt_build_senders(&ask, all) : build_rest(&ask, by_hosts ? HUGE_VAL : most, all);
  if (!status && !exported) status = find_loop(c, &ask, all, &loop);
  if (!status) {
    const bool runs = loop > 0 && bytes <= loop;
    tt_cost_model model = exported ? c->exported : runs ? c->loop : c->model;
    if (uniform) model.hosts = NULL;
    if (runs) *size = loop;
    *sim = tt_sim_new(all, s->ranks, uniform, &model);
    if (!*sim)
      status = tt_fail(TUTTI_ERR_MEMORY, "%s on %d ranks cannot be priced: out of memory",
                       plan->text, s->ranks);
  }
  if (!kept) tt_sched_free_all(all, s->ranks);
  return status;
}

tutti_status tt_plan_sim(const tt_chooser *c, const tt_plan_spec *plan, int slices, tutti_coll coll,
                         int root, bool exported, double most, tt_sched **kept, uint64_t *size,
                         tt_sim **sim) {
  const tutti_status status =
      sim_whole(c, plan, coll, root, exported, slices, most, kept, size, sim);
  if (status || slices <= 1) return status;
  tt_sim *whole = *sim;
  const bool can = tt_sim_can_slice(whole, slices);
  *sim = can ? tt_sim_slices(whole, slices, c->setting.flight) : NULL;
  tt_sim_free(whole);
  if (!can)
    return tt_fail(TUTTI_ERR_UNSUPPORTED,
                   "%s in %d slices has too many messages to price; set fewer", plan->text, slices);
  return *sim ? TUTTI_OK : tt_fail(TUTTI_ERR_MEMORY, "out of memory for slices of %s", plan->text);
}

tutti_status tt_candidate_sim(const tt_chooser *c, const tt_plan_spec *plan, int slices,
                              tutti_coll coll, int root, bool exported, uint64_t bytes,
                              tt_sim **sim) {
  return tt_plan_sim(c, plan, slices, coll, root, exported, HUGE_VAL, NULL, &bytes, sim);
}
