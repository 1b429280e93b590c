/* coding.c - decides which calls have coded messages, and with which plan (code.h).
 *
 * Idea       A communicator has a second chooser, in whose model links between nodes carry fewer bytes, and coding takes
 *            time. It admits only plans with few roundings. Its best plan runs if it is cheaper than the best plan without
 *            codes or, if both were measured, if it was faster.
 * Invariant  The decision is the same on all ranks, because the requested codes, the model parameters and the placement are.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "flight.h"

/* ---- the choosers ---- */

static void forget_choosers(tt_coded_plans *x) {
  tt_chooser_free(x->chooser);
  tt_chooser_free(x->flat);
  x->chooser = x->flat = NULL;
}

void tt_coded_plans_free(tt_coded_plans *x) {
  forget_choosers(x);
  free(x->node);
  free(x->node_of_place);
  free(x->far);
  free(x->verdict);
  *x = (tt_coded_plans){.chooser = NULL};
}

static tutti_status find_nodes(const tutti_comm *comm, tt_coded_plans *x) {
  const size_t P = (size_t)comm->ranks;
  int *near = malloc(P * sizeof *near);
  x->node = malloc(P * sizeof *x->node);
  x->node_of_place = malloc(P * sizeof *x->node_of_place);
  x->far = malloc(P);
  const bool made = near && x->node && x->node_of_place && x->far;
  if (made) tt_comm_near(comm, near);
  for (size_t r = 0; made && r < P; r++) {
    const tt_rank_info *is = &comm->info[r];
    /* a rank that shares no memory with other ranks of its node counts as a separate node */
    x->node[r] = is->index >= 0 ? is->placement.node : -1 - (int)r;
    x->far[r] = near[r] < 0;
  }
  for (size_t v = 0; made && v < P; v++)
    x->node_of_place[v] = x->node[comm->plans->order ? (size_t)comm->plans->order[v] : v];
  free(near);
  if (made) return TUTTI_OK;
  free(x->node);
  free(x->node_of_place);
  free(x->far);
  x->node = x->node_of_place = NULL;
  x->far = NULL;
  return tt_fail(TUTTI_ERR_MEMORY, "out of memory for the nodes of %d ranks", comm->ranks);
}

static tutti_status make_choosers(const tutti_comm *comm, const tt_code_wish *wish,
                                  tt_coded_plans *x) {
  tutti_status status = x->far ? TUTTI_OK : find_nodes(comm, x);
  tt_setting setting = comm->plans->setting;
  setting.code = wish->code;
  setting.roundings = tt_code_roundings(wish->code, wish->error);
  setting.node = x->node_of_place;
  if (!status) status = tt_chooser_new(&setting, &x->chooser);
  if (status || !comm->plans->order) return status;
  *setting.levels = 0;
  setting.inside = 0;
  setting.node = x->node;
  setting.host = comm->plans->host;
  return tt_chooser_new(&setting, &x->flat);
}

void tt_coding_set(tutti_comm *comm, const tt_code_wish *wish) {
  comm->settings.plain.wish = *wish;
  tt_recent_forget(comm);
}

/* ---- the calls ---- */

/* Returns true if a call may use compression. Simulated networks carry whole messages, and helpers have separate levels. */
static bool may_be_coded(const tutti_comm *comm, const tt_call *c) {
  const tt_code code = tt_call_wish(comm, c)->code;
  return code && tt_over_net(comm) && !comm->net->traits.simulated && !comm->helpers &&
         !c->everyone && !tt_call_is_exact(comm, c) &&
         tt_code_takes_call(code, c->coll, c->type, c->op);
}

tutti_status tt_coding_chooser(tutti_comm *comm, const tt_call *c, tt_chooser **chooser) {
  tt_coded_plans *x = &comm->plans->coded;
  *chooser = NULL;
  if (!may_be_coded(comm, c)) return TUTTI_OK;
  const tt_code_wish *wish = tt_call_wish(comm, c);
  if (x->chooser && (x->of.code != wish->code || x->of.error != wish->error)) forget_choosers(x);
  if (!x->chooser) {
    const tutti_status status = make_choosers(comm, wish, x);
    if (status) forget_choosers(x);
    if (status) return status;
    x->of = *wish;
  }
  *chooser = tt_planned_for_ranks(comm, c) && x->flat ? x->flat : x->chooser;
  return TUTTI_OK;
}

/* ---- verdicts ---- */

static uint64_t kind_of(const tutti_comm *comm, const tt_call *c) {
  return tt_mix((uint64_t)c->coll | (uint64_t)c->type << 8 | (uint64_t)c->op << 16) ^
         tt_code_hash(tt_call_wish(comm, c));
}

static bool is_near(uint64_t a, uint64_t b) {
  return a <= 2 * b && b <= 2 * a;
}

/* Returns the verdict that was measured at the nearest vector size, or NULL. */
static const tt_code_verdict *verdict_for(const tutti_comm *comm, const tt_call *c) {
  const tt_coded_plans *x = &comm->plans->coded;
  const tt_code_verdict *best = NULL;
  const uint64_t kind = x->verdicts ? kind_of(comm, c) : 0;
  const uint64_t bytes = x->verdicts ? tt_problem_of(comm, c).bytes : 0;
  for (uint32_t i = 0; i < x->verdicts; i++) {
    const tt_code_verdict *v = &x->verdict[i];
    if (v->kind != kind || !is_near(v->bytes, bytes)) continue;
    /* keep the verdict with the smaller ratio of sizes, compared by cross-multiplication */
    if (!best || tt_max(v->bytes, bytes) * (double)tt_min(best->bytes, bytes) <
                     tt_max(best->bytes, bytes) * (double)tt_min(v->bytes, bytes))
      best = v;
  }
  return best;
}

bool tt_coding_is_open(tutti_comm *comm, const tt_call *c) {
  return comm->settings.plain.measures && may_be_coded(comm, c) && !tt_call_on_device(c) &&
         !tt_measure_refusal(comm, c, tt_problem_of(comm, c).bytes) && !verdict_for(comm, c);
}

bool tt_coding_reserve(tutti_comm *comm) {
  tt_coded_plans *x = &comm->plans->coded;
  return tt_grow(&x->verdict, &x->capacity, x->verdicts + 1, sizeof *x->verdict);
}

void tt_coding_learn(tutti_comm *comm, const tt_call *c, bool coded) {
  tt_coded_plans *x = &comm->plans->coded;
  x->verdict[x->verdicts++] =
      (tt_code_verdict){kind_of(comm, c), tt_problem_of(comm, c).bytes, coded};
  tt_plans_choose_again(comm, c->coll);
}

void tt_coding_verdict_say(const tutti_comm *comm, const tt_call *c, tt_text *t) {
  const tt_code_verdict *v = verdict_for(comm, c);
  if (v)
    tt_text_add(t, "Measured at %llu bytes: %s\n", (unsigned long long)v->bytes,
                v->coded ? "faster with codes" : "not faster with codes, so messages stay plain");
}

/* ---- the choice ---- */

/* Adds the best choice with compression to a pair that already has the choice without it. */
static tutti_status add_coded(tutti_comm *comm, const tt_call *c, const tt_problem *plain,
                              tt_code_pair *pair) {
  tt_chooser *coded;
  tt_problem problem = *plain;
  tutti_status status = tt_coding_chooser(comm, c, &coded);
  pair->coded = (tt_choice){.plan = NULL};
  if (status || !coded || pair->plain.ext) return status;
  problem.wisdom = NULL; /* measured without codes */
  status = tt_choose(coded, &problem, tt_call_override(comm, c), &pair->coded);
  if (status || *pair->coded.refusal) pair->coded.plan = NULL;
  if (status == TUTTI_ERR_UNSUPPORTED) return TUTTI_OK; /* no plan has so few roundings */
  if (!pair->coded.plan) return status;
  pair->coded.code = tt_call_wish(comm, c)->code;
  pair->with = tt_choice_seconds(coded, &problem, &pair->coded);
  pair->without = tt_choice_seconds(tt_chooser_for(comm, c), plain, &pair->plain);
  pair->pays = tt_coding_pays(coded, pair->with, pair->without);
  return TUTTI_OK;
}

tutti_status tt_coding_pair(tutti_comm *comm, const tt_call *c, const tt_problem *problem,
                            tt_code_pair *pair) {
  *pair = (tt_code_pair){.without = 0};
  tutti_status status =
      tt_choose(tt_chooser_for(comm, c), problem, tt_call_override(comm, c), &pair->plain);
  if (!status) status = tt_exts_choose(comm, c, problem, &pair->plain);
  return status ? status : add_coded(comm, c, problem, pair);
}

static bool is_coded(const tutti_comm *comm, const tt_call *c, const tt_code_pair *pair) {
  const tt_code_verdict *v = pair->coded.plan ? verdict_for(comm, c) : NULL;
  return pair->coded.plan && (v ? v->coded : pair->pays);
}

tutti_status tt_coding_choose(tutti_comm *comm, const tt_call *c, const tt_problem *plain,
                              tt_choice *choice) {
  tt_code_pair pair = {.plain = *choice};
  const tutti_status status = add_coded(comm, c, plain, &pair);
  if (!status && is_coded(comm, c, &pair)) *choice = pair.coded;
  return status;
}

tutti_status tt_coding_decide(tutti_comm *comm, const tt_call *c, tt_problem *problem,
                              tt_chooser **by, bool *asked) {
  tt_chooser *coded;
  tt_code_pair pair;
  *by = tt_chooser_for(comm, c);
  tutti_status status = tt_coding_chooser(comm, c, &coded);
  *asked = coded != NULL;
  if (!status && coded) status = tt_coding_pair(comm, c, problem, &pair);
  if (status || !coded || !is_coded(comm, c, &pair)) return status;
  problem->wisdom = NULL;
  *by = coded;
  return TUTTI_OK;
}
