/* choose.c - picks a plan: the one that wisdom names, or else the fastest candidate that the prover accepts for the op.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "choose.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "candidates.h"
#include "prove.h"

int tt_weight_of(const tt_chooser *c, tutti_type type) {
  const tt_profile *m = &c->setting.profile;
  int weight = 0;
  if (!tt_type_valid(type) || m->gamma <= 0) return 0;
  while (weight < TT_WEIGHTS - 1 && m->gamma_of[type] > 1.4142 * m->gamma * (1 << weight)) weight++;
  return weight;
}

/* ---- admissible plans ---- */

unsigned tt_needs_of(tutti_contract contract, tutti_coll coll, tutti_type type, tutti_op op) {
  if (!tt_coll_reduces(coll)) return 0;
  const unsigned order = tt_op_commutative(op) ? 0 : TT_NEED_ORDER;
  if (!tt_op_rounds(type, op) || contract == TUTTI_CONTRACT_ANY) return order;
  return order | (contract == TUTTI_CONTRACT_ELEMENT ? TT_NEED_ELEMENT : TT_NEED_SAME);
}

double tt_work_of(tt_sched *const *all, int ranks) {
  double work = 0;
  for (int r = 0; r < ranks; r++)
    for (uint32_t i = 0; i < all[r]->nsteps; i++)
      work += tt_span_size(tt_step_cargo(&all[r]->steps[i]));
  return work;
}

/* Removes from *met the needs that these schedules do not meet. If each block is summed on a single rank, all ranks get the
 * same bits. This is quick to check, so it is checked first. The schedules are assumed to be correct, because they are proven
 * before they run (proven.c). */
static tutti_status met_by(tt_sched *const *all, int ranks, double most, unsigned *met,
                           bool *skipped) {
  if (*met == TT_NEED_SAME && tt_summed_once(all, ranks)) return TUTTI_OK;
  *skipped = tt_work_of(all, ranks) > most;
  tutti_report report = {.size = sizeof report};
  const tutti_status status = *skipped ? TUTTI_OK : tt_prove(all, ranks, &report);
  if (status || !report.proven) *met = 0;
  *met &= (report.rank_order ? TT_NEED_ORDER : 0u) | (report.same_grouping ? TT_NEED_SAME : 0u);
  return status;
}

/* Turns every error except TUTTI_ERR_MEMORY into success. A plan that cannot be built simply does not meet the needs. */
static tutti_status unless_starved(tutti_status status) {
  return status == TUTTI_ERR_MEMORY ? status : TUTTI_OK;
}

/* Looks for a proof of the plan's form by `make prove`, if there are many ranks (proven.c). With such a proof, no rank has to
 * build the schedules of all ranks. */
static bool form_of(const tt_ask *ask, tt_form *form) {
  return ask->ranks > TT_PROVEN_RANKS && tt_form_of(ask->plan, ask->coll, form);
}

/* Handles a form for which some proof found that ranks group operands differently. A plan of this form is assumed to do so as
 * well, unless the user named it. Sets *skipped if the prover was not asked because it would have taken too long. */
static tutti_status form_differs(const tt_ask *asked, unsigned needs, double most, unsigned *met,
                                 bool *skipped) {
  tt_sched *mine = NULL;
  const unsigned rest = needs & ~(unsigned)TT_NEED_SAME;
  tutti_status status = rest ? tt_meets(asked, rest, most, met, skipped) : TUTTI_OK;
  if (!rest) *met = 0;
  if (!status) status = tt_algo_build(asked, &mine);
  if (!status && tt_work_of(&mine, 1) * asked->ranks > most) *skipped = true;
  tt_sched_free(mine);
  return unless_starved(status);
}

tutti_status tt_meets(const tt_ask *asked, unsigned needs, double most, unsigned *met,
                      bool *skipped) {
  tt_ask ask = *asked;
  tt_form form;
  const bool has_form = form_of(asked, &form);
  const unsigned by_form = !has_form ? 0
                                     : (form.order ? TT_NEED_ORDER : 0u) | /* held in every proof */
                                           (form.same ? TT_NEED_SAME : 0u);
  *met = needs;
  *skipped = false;
  if (!(needs & ~by_form)) return TUTTI_OK;
  if (has_form && needs & ~by_form & TT_NEED_SAME && most < HUGE_VAL)
    return form_differs(asked, needs, most, met, skipped);
  *skipped = ask.ranks > TT_MOST_PROVEN;
  tutti_status status = TUTTI_OK;
  for (int in_place = 0; in_place < 2 && *met && !*skipped && !status; in_place++) {
    tt_sched **all;
    ask.in_place = in_place;
    status = tt_algo_build_all(&ask, &all);
    if (status) break;
    status = met_by(all, ask.ranks, most, met, skipped);
    tt_sched_free_all(all, ask.ranks);
  }
  if (status || *skipped) *met = 0;
  return unless_starved(status);
}

/* Sets *is if this plan computes each sum in a single step. If the ranks are symmetric, only one rank is checked. */
static tutti_status sums_at_once(const tt_chooser *c, tt_ask ask, bool *is, bool *skipped) {
  const bool alike = tt_algo_uniform(&ask, c->levels ? &c->model.tree : NULL);
  tutti_status status = TUTTI_OK;
  *is = true;
  for (int in_place = 0; in_place < 2 && *is && !status; in_place++) {
    tt_sched *mine = NULL, **all;
    ask.in_place = in_place;
    if ((status = tt_algo_build(&ask, &mine))) break;
    *is = tt_sums_at_once(&mine, 1);
    tt_sched_free(mine);
    if (!*is || alike) continue;
    if (ask.ranks > TT_MOST_PROVEN) return *skipped = true, TUTTI_OK;
    if ((status = tt_algo_build_all(&ask, &all))) break;
    *is = tt_sums_at_once(all, ask.ranks);
    tt_sched_free_all(all, ask.ranks);
  }
  return unless_starved(status);
}

static tutti_status gives_element_bits(const tt_chooser *c, const tt_ask *ask, double most,
                                       unsigned *met, bool *skipped) {
  bool at_once = false;
  unsigned ordered = 0;
  tutti_status status = sums_at_once(c, *ask, &at_once, skipped);
  if (!status && at_once && !*skipped)
    status = tt_meets(ask, TT_NEED_ORDER, most, &ordered, skipped);
  if (ordered) *met |= TT_NEED_ELEMENT;
  return status;
}

static tutti_status can_be_proven(const tt_chooser *c, const tt_ask *ask, unsigned *met) {
  bool can = false;
  const tutti_status status = tt_proven_can(ask, &c->setting, &can);
  if (!status && can) *met |= TT_NEED_PROOF;
  return unless_starved(status);
}

static tutti_status rounds_little(const tt_chooser *c, const tt_ask *ask, unsigned *met,
                                  bool *skipped) {
  int roundings = -1;
  bool too_long = false;
  const tutti_status status = tt_roundings_of(c, ask, &roundings, &too_long);
  *skipped |= too_long;
  if (!status && roundings >= 0 && roundings <= c->setting.roundings) *met |= TT_NEED_FEW;
  return unless_starved(status);
}

/* The needs that are not known to be met. If `skipped` is set, the plan may meet them, but the prover was not asked. */
typedef struct lack {
  unsigned needs;
  bool skipped;
} lack;

/* Returns the needs of p that the plan does not meet. The prover builds the schedules of all ranks and follows up to `most`
 * blocks, so the result of each check is kept. Needs are checked separately, so that the result does not depend on earlier
 * queries. If out of memory, sets c->starved and returns all needs. */
static lack lacking(tt_chooser *c, tt_finding **found, const tt_plan_spec *plan,
                    const tt_problem *p, double most) {
  const bool rooted = tt_coll_rooted(p->coll);
  const tt_ask ask = tt_ask_of(&c->setting, plan, p->coll, p->root);
  if (!*found) *found = calloc(rooted ? (size_t)ask.ranks : 1, sizeof **found);
  tt_finding once = {0}, *here = *found ? &(*found)[rooted ? p->root : 0] : &once;
  const unsigned few = tt_code_lossy(c->setting.code) ? TT_NEED_FEW : 0;
  const unsigned needs = p->needs | TT_NEED_PROOF | few, open = needs & ~here->asked;
  const unsigned of_op = open & ~(unsigned)(TT_NEED_PROOF | TT_NEED_FEW);
  unsigned met = 0;
  bool skipped = false;
  tutti_status status = TUTTI_OK;
  for (unsigned need = TT_NEED_ORDER; need <= TT_NEED_SAME && !status; need <<= 1) {
    unsigned is_met = 0;
    bool is_skipped = false;
    if (of_op & need) status = tt_meets(&ask, need, most, &is_met, &is_skipped);
    met |= is_met;
    skipped |= is_skipped;
  }
  if (!status && open & TT_NEED_ELEMENT) status = gives_element_bits(c, &ask, most, &met, &skipped);
  if (!status && open & TT_NEED_PROOF) status = can_be_proven(c, &ask, &met);
  if (!status && open & TT_NEED_FEW) status = rounds_little(c, &ask, &met, &skipped);
  if (status) {
    c->starved = true;
    return (lack){needs, false};
  }
  here->met |= met;
  here->skipped |= skipped;
  here->asked |= open;
  const unsigned lacks = needs & ~here->met;
  return (lack){lacks, lacks && here->skipped};
}

/* ---- overrides ---- */

/* Checks that the schedules of ranks 0 to `ranks` - 1 can be built. */
static tutti_status try_to_build(tt_ask ask, int ranks) {
  tutti_status status = TUTTI_OK;
  for (ask.rank = 0; ask.rank < ranks && !status; ask.rank++) {
    tt_sched *s;
    status = tt_algo_build(&ask, &s);
    if (!status) tt_sched_free(s);
  }
  return status;
}

/* Checks whether the plan that an override names can run. If it cannot, writes the reason to `refusal`. For a composition,
 * the first check builds the schedules of all ranks, because some ranks may be unable to build it although rank 0 can. */
static bool try_override(tt_chooser *c, const tt_problem *p, const tt_plan_spec *plan,
                         char refusal[TT_REFUSAL]) {
  const char *name = plan->text;
  const tt_ask ask = tt_ask_of(&c->setting, plan, p->coll, p->root);
  const bool known = c->named_found[p->coll] && c->overridden == plan;
  const bool all = tt_is_composition(plan) && ask.ranks <= TT_MOST_PROVEN && !known;
  const tutti_status status = try_to_build(ask, all ? ask.ranks : 1);
  c->starved |= status == TUTTI_ERR_MEMORY;
  if (status) {
    snprintf(refusal, TT_REFUSAL, "%s", tutti_error());
    return false;
  }
  if (c->overridden != plan) tt_forget_named(c);
  c->overridden = plan;
  const lack lacks = lacking(c, &c->named_found[p->coll], plan, p, HUGE_VAL);
  if (lacks.needs & TT_NEED_PROOF)
    tt_unproven_words(plan, ask.ranks, refusal, TT_REFUSAL);
  else if (lacks.skipped)
    snprintf(refusal, TT_REFUSAL, "%s: on more than %d ranks the prover is not asked", name,
             TT_MOST_PROVEN);
  else if (lacks.needs & TT_NEED_FEW)
    snprintf(refusal, TT_REFUSAL,
             "%s rounds coded numbers more than %d times, or completes a sum on several ranks",
             name, c->setting.roundings);
  else if (lacks.needs & TT_NEED_ORDER)
    snprintf(refusal, TT_REFUSAL,
             "%s cannot do a non-commutative op: it does not keep the ranks' order", name);
  else if (lacks.needs & TT_NEED_ELEMENT)
    snprintf(
        refusal, TT_REFUSAL,
        "%s forms sums in several steps, or not in rank order, so the contract 'element' rules it "
        "out for an op that rounds",
        name);
  else if (lacks.needs)
    snprintf(refusal, TT_REFUSAL,
             "%s cannot do an op that rounds: it groups the operands differently on some ranks, "
             "so their last bits would differ; it can do integers, min and max",
             name);
  return !lacks.needs;
}

/* ---- choosing ---- */

/* Returns the number of ranks that send to one rank in an incast, or 0 if messages of this size cause no incast. */
static int incast_senders(const tt_curve *c, double bytes) {
  return c->incast_threshold > 0 && bytes > c->incast_threshold ? c->senders : 0;
}

/* Two plans that saturate the same link have times that agree to seven digits. The plan with fewer senders in an incast is
 * then considered faster, because a rank that runs ahead puts two messages on one link and leaves another link idle.
 * Otherwise, fewer messages win, then the earlier position in the list. Each criterion is a property of one plan, so the
 * order is total. */
bool tt_candidate_cheaper(const tt_candidate *x, const tt_candidate *y, double bytes) {
  const float a = (float)tt_curve_at(&x->curve, bytes), b = (float)tt_curve_at(&y->curve, bytes);
  const int mine = incast_senders(&x->curve, bytes), other = incast_senders(&y->curve, bytes);
  if (a < b || b < a) return a < b;
  if (isnan(a) != isnan(b)) return isnan(b);
  if (mine != other) return mine < other;
  return x->curve.messages != y->curve.messages ? x->curve.messages < y->curve.messages : x < y;
}

/* Returns the fastest candidate that is slower than `passed` (NULL: of all candidates). Skips candidates whose lower bound
 * exceeds the best estimate. Returns NULL if no candidate is left. If out of memory, sets c->starved. */
static tt_candidate *cheapest_priced(tt_chooser *c, tt_candidates *list, const tt_problem *p,
                                     const tt_override *override, const tt_candidate *passed) {
  const double bytes = (double)p->bytes;
  double most = HUGE_VAL;
  tt_candidate *best = NULL;
  if (!tt_candidates_order(c, list, p->bytes)) return NULL;
  for (int k = 0; k < list->n && list->order[k].least <= most; k++) {
    const int i = list->order[k].i;
    tt_candidate *x = &list->at[i];
    bool may = true;
    if (override->n && tt_override_forbids(override, x->plan, p->bytes)) continue;
    if (best && !tt_candidates_may(c, list, i, bytes, most, &may)) return NULL;
    if (!may) continue;
    if (!tt_candidates_price(c, list, i)) return NULL;
    if (!tt_candidate_counts(list, x) || (passed && !tt_candidate_cheaper(passed, x, bytes)))
      continue;
    if (best && !tt_candidate_cheaper(x, best, bytes)) continue;
    best = x;
    most = tt_curve_at(&best->curve, bytes);
  }
  return best;
}

/* Returns the fastest candidate that is slower than `passed`. Considers expensive candidates only if no other is possible. */
static tt_candidate *cheapest(tt_chooser *c, tt_candidates *list, const tt_problem *p,
                              const tt_override *override, const tt_candidate *passed) {
  tt_candidate *best = cheapest_priced(c, list, p, override, passed);
  if (best || passed || c->starved || list->settled || !tt_candidates_settle(c, list)) return best;
  return cheapest_priced(c, list, p, override, passed);
}

/* Returns the fastest candidate that meets all needs, or NULL. If out of memory, sets c->starved and returns NULL. */
static const tt_candidate *cheapest_that_meets(tt_chooser *c, tt_candidates *list,
                                               const tt_problem *p, const tt_override *override) {
  tt_candidate *x = NULL;
  while (!c->starved && (x = cheapest(c, list, p, override, x)))
    if (!lacking(c, &x->found, x->plan, p, TT_MOST_WORK).needs) return c->starved ? NULL : x;
  return NULL;
}

/* Chooses the plan that wisdom names for this call. Returns false if wisdom names no plan, or if the plan must not run. */
static bool try_wisdom(tt_chooser *c, tt_candidates *list, const tt_problem *p,
                       const tt_override *override, tt_choice *choice) {
  const tt_wisdom_entry *wisdom = p->wisdom ? tt_wisdom_find(p->wisdom, &p->key, p->bytes) : NULL;
  if (!wisdom || !wisdom->plan) return false;
  tt_candidate *x = NULL;
  for (int i = 0; i < list->n && !x; i++)
    if (tt_plan_spec_equal(list->at[i].plan, wisdom->plan) && tt_candidates_price(c, list, i))
      x = &list->at[i];
  if (!x || !tt_candidate_counts(list, x) || tt_override_forbids(override, x->plan, p->bytes))
    return false;
  if (lacking(c, &x->found, x->plan, p, TT_MOST_WORK).needs) return false;
  choice->plan = x->plan;
  choice->slices = wisdom->slices;
  choice->wisdom = wisdom;
  return true;
}

double tt_seconds_of(tt_chooser *c, tutti_coll coll, uint64_t bytes) {
  const tt_override none = {0};
  const tt_problem p = {.coll = coll, .bytes = bytes};
  pthread_mutex_lock(&c->lock);
  c->starved = false;
  tt_candidates *list = tt_candidates_of(c, coll, 0);
  const tt_candidate *best = list ? cheapest(c, list, &p, &none, NULL) : NULL;
  const double least = best ? tt_curve_at(&best->curve, (double)bytes) : 0;
  const bool starved = c->starved;
  pthread_mutex_unlock(&c->lock);
  return starved ? -1 : least;
}

double tt_seconds_to_pack(const tt_chooser *c) {
  return 4 * c->model.shm.copy; /* each byte is read and written twice */
}

static tutti_status starved(void) {
  return tt_fail(TUTTI_ERR_MEMORY, "out of memory for the choice of a plan");
}

static tutti_status pick(tt_chooser *c, const tt_problem *p, const tt_override *override,
                         tt_choice *choice) {
  const tt_plan_spec *overridden = tt_override_for(override, p->bytes);
  c->starved = false;
  *choice = (tt_choice){.plan = NULL};
  if (overridden && try_override(c, p, overridden, choice->refusal)) {
    choice->plan = overridden;
    choice->slices = 1;
    choice->overridden = true;
    return TUTTI_OK;
  }
  if (c->starved) return starved();
  tt_candidates *list = tt_candidates_of(c, p->coll, p->weight);
  if (!list) return starved();
  if (try_wisdom(c, list, p, override, choice)) return TUTTI_OK;
  const tt_candidate *x = cheapest_that_meets(c, list, p, override);
  if (!x && !c->starved && !list->all) {
    list->all = true; /* for this choice only, since other ranks may not have made it */
    x = cheapest_that_meets(c, list, p, override);
    list->all = false;
  }
  if (c->starved) return starved();
  if (x) {
    choice->plan = x->plan;
    choice->slices = x->slices;
    return TUTTI_OK;
  }
  char helpers[60] = "";
  if (c->setting.data)
    snprintf(helpers, sizeof helpers, ", %d of which only help (helpers of tutti_config)",
             c->setting.ranks - c->setting.data);
  return tt_fail(TUTTI_ERR_UNSUPPORTED, "no plan can do %s on %d ranks%s%s%s",
                 tutti_coll_name(p->coll), c->setting.ranks, helpers,
                 p->needs & TT_NEED_ORDER     ? ", with an op that does not commute"
                 : p->needs & TT_NEED_ELEMENT ? ", with each sum in one step (contract 'element')"
                                              : "",
                 override->n ? "; the plans that can are ruled out" : "");
}

tutti_status tt_choose(tt_chooser *c, const tt_problem *p, const tt_override *override,
                       tt_choice *choice) {
  pthread_mutex_lock(&c->lock);
  const tutti_status status = pick(c, p, override, choice);
  pthread_mutex_unlock(&c->lock);
  return status;
}

static tutti_status pick_exported(tt_chooser *c, const tt_plan_spec *one_shot,
                                  const tt_plan_spec *two_shot, uint64_t bytes, bool *is) {
  tutti_status status = TUTTI_OK;
  tt_chooser_weigh(c, 0);
  for (int i = 0; i < 2 && !c->exported_priced && !status; i++) {
    tt_sim *sim = NULL;
    status = tt_candidate_sim(c, i ? two_shot : one_shot, 1, TUTTI_ALLREDUCE, 0, i == 1, 0, &sim);
    if (!status && !tt_price_curve(sim, &c->exported_curve[i])) status = starved();
    tt_sim_free(sim);
  }
  c->exported_priced = !status;
  *is = !status && tt_curve_at(&c->exported_curve[1], (double)bytes) <
                       tt_curve_at(&c->exported_curve[0], (double)bytes);
  return status == TUTTI_ERR_MEMORY ? status : TUTTI_OK;
}

tutti_status tt_two_shot_if_exported(tt_chooser *c, const tt_plan_spec *one_shot,
                                     const tt_plan_spec *two_shot, uint64_t bytes, bool *is) {
  pthread_mutex_lock(&c->lock);
  const tutti_status status = pick_exported(c, one_shot, two_shot, bytes, is);
  pthread_mutex_unlock(&c->lock);
  return status;
}

/* ---- predicted times ---- */

static double price_of(tt_chooser *c, const tt_problem *p, const tt_plan_spec *plan, int slices) {
  tt_candidates *list = tt_candidates_of(c, p->coll, p->weight);
  if (!list || !tt_candidates_settle(c, list)) return HUGE_VAL;
  for (int i = 0; i < list->n; i++) {
    tt_candidate *x = &list->at[i];
    if (x->slices != slices || !tt_plan_spec_equal(x->plan, plan)) continue;
    if (!tt_candidates_price(c, list, i) || !tt_candidate_counts(list, x)) return HUGE_VAL;
    return tt_curve_at(&x->curve, (double)p->bytes);
  }
  return HUGE_VAL;
}

double tt_price_of(tt_chooser *c, const tt_problem *p, const tt_plan_spec *plan, int slices) {
  pthread_mutex_lock(&c->lock);
  c->starved = false;
  const double price = price_of(c, p, plan, slices);
  const bool starved = c->starved;
  pthread_mutex_unlock(&c->lock);
  return starved ? -1 : price;
}

static bool quote_at(tt_chooser *c, const tt_problem *p, const tt_override *override, int i,
                     bool ask, tt_quote *quote) {
  tt_candidates *list = tt_candidates_of(c, p->coll, p->weight);
  if (!list || i >= list->n || !tt_candidates_settle(c, list) || !tt_candidates_price(c, list, i))
    return false;
  tt_candidate *x = &list->at[i];
  *quote = (tt_quote){.plan = x->plan, .slices = x->slices};
  quote->possible = tt_candidate_counts(list, x);
  if (!quote->possible) return true;
  quote->seconds = tt_curve_at(&x->curve, (double)p->bytes);
  quote->ruled_out = override->n && tt_override_forbids(override, x->plan, p->bytes);
  if (!ask) return true;
  const lack lacks = lacking(c, &x->found, x->plan, p, TT_MOST_WORK);
  quote->lacks = lacks.needs;
  quote->skipped = lacks.skipped;
  return true;
}

bool tt_quote_at(tt_chooser *c, const tt_problem *p, const tt_override *override, int i, bool ask,
                 tt_quote *quote) {
  pthread_mutex_lock(&c->lock);
  c->starved = false;
  *quote = (tt_quote){.plan = NULL};
  const bool there = quote_at(c, p, override, i, ask, quote);
  quote->starved = c->starved;
  pthread_mutex_unlock(&c->lock);
  return there;
}

static tutti_status break_down(tt_chooser *c, const tt_plan_spec *plan, int slices,
                               const tt_problem *p, tt_breakdown *breakdown, tt_sends *sends,
                               int *rounds) {
  tt_sim *sim;
  tt_chooser_weigh(c, p->weight);
  tutti_status status = tt_candidate_sim(c, plan, slices, p->coll, p->root, false, p->bytes, &sim);
  if (status) return status;
  if (!tt_sim_run(sim, (double)p->bytes, breakdown) || (rounds && !tt_sim_one_port(sim, rounds)))
    status = tt_fail(TUTTI_ERR_MEMORY, "no estimate of %s: out of memory", plan->text);
  *sends = tt_sim_busiest(sim);
  tt_sim_free(sim);
  return status;
}

tutti_status tt_quote_breakdown(tt_chooser *c, const tt_plan_spec *plan, int slices,
                                const tt_problem *p, tt_breakdown *breakdown, tt_sends *sends,
                                int *rounds) {
  pthread_mutex_lock(&c->lock);
  const tutti_status status = break_down(c, plan, slices, p, breakdown, sends, rounds);
  pthread_mutex_unlock(&c->lock);
  return status;
}
