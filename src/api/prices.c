/* prices.c - explains plans to people: the plan of a call, its predicted time, and plans that were measured to
 * be faster, for any machine or for a communicator.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "call_plan.h"
#include "host_links.h"
#include "measure.h"
#include "placement.h"
#include "settings.h"
#include "why.h"

struct tutti_prices {
  tt_chooser *chooser;
  tt_chooser *coded; /* chooser for compressed messages; NULL: no compression */
  int *position;     /* positions of the ranks if the levels omit the helpers; NULL: no helpers */
  int *host; /* host at each position if the links of hosts differ; NULL: as in the levels */
  bool borrowed;      /* the chooser belongs to a communicator */
  tt_problem problem; /* `bytes` is not set */
  int exact;          /* 1 + the type of the numbers that are summed exactly; 0: not exact */
  tt_override override;
};

static tutti_status check_question(const tutti_question *q, tutti_prices **prices) {
  if (!q || !prices)
    return tt_fail(TUTTI_ERR_ARG, "tutti_prices_make: %s is NULL", q ? "prices" : "question");
  tutti_status status = tt_size_check("tutti_prices_make", "question", q->size, sizeof *q);
  if (status) return status;
  if ((unsigned)q->coll >= TUTTI_COLL_COUNT)
    return tt_fail(TUTTI_ERR_ARG, "tutti_prices_make: no such collective");
  if (q->ranks < 1 || q->ranks > 1 << 20)
    return tt_fail(TUTTI_ERR_ARG, "tutti_prices_make: %d ranks; 1 to 1048576 are possible",
                   q->ranks);
  if (q->root < 0 || q->root >= q->ranks)
    return tt_fail(TUTTI_ERR_ARG, "tutti_prices_make: root %d is not in 0..%d", q->root,
                   q->ranks - 1);
  if (!tt_type_valid(q->type))
    return tt_fail(TUTTI_ERR_TYPE, "tutti_prices_make: type %d is not a tutti_type", (int)q->type);
  if (tt_coll_reduces(q->coll) && !tutti_type_has_op(q->type, q->op))
    return tt_fail(TUTTI_ERR_OP, "tutti_prices_make: type %s has no op %s",
                   tutti_type_name(q->type), tutti_op_name(q->op));
  if (q->contract == TUTTI_CONTRACT_EXACT && tt_coll_reduces(q->coll) && q->op == TUTTI_PROD &&
      tt_op_rounds(q->type, q->op))
    return tt_fail(TUTTI_ERR_UNSUPPORTED,
                   "tutti_prices_make: the contract 'exact' has no products of %s",
                   tutti_type_name(q->type));
  if (!((q->crowd >= 0 && q->crowd < 1e6) || q->crowd == TUTTI_CROWD_HERE))
    return tt_fail(TUTTI_ERR_ARG, "tutti_prices_make: %g ranks per core", q->crowd);
  if (q->topo && strlen(q->topo) >= TT_TREE_TEXT)
    return tt_fail(TUTTI_ERR_ARG, "tutti_prices_make: the topology is longer than %d characters",
                   TT_TREE_TEXT - 1);
  if (q->crowd == TUTTI_CROWD_HERE && q->topo && *q->topo)
    return tt_fail(TUTTI_ERR_ARG,
                   "tutti_prices_make: a topology describes another placement than the one here");
  return TUTTI_OK;
}

static tutti_status only_these(const tutti_question *q, tt_setting *setting) {
  const tutti_status status = tt_plan_spec_named(q->only, &setting->only);
  return status || !setting->only->n ? status : tt_algo_known(setting->only, q->ranks);
}

/* If the question names a single plan, sets the number of ranks that contribute data, such as 7 for aggregate(data=7). */
static tutti_status helpers_of(const tutti_question *q, tt_setting *setting) {
  const tt_ask ask = {.plan = setting->only, .coll = q->coll, .ranks = q->ranks, .root = q->root};
  tt_sched *s;
  const tutti_status status = tt_algo_build(&ask, &s);
  if (status) return status == TUTTI_ERR_MEMORY ? status : TUTTI_OK; /* the estimate says why */
  if (s->data < q->ranks) setting->data = s->data;
  tt_sched_free(s);
  return TUTTI_OK;
}

/* Adds the helpers to the levels if the question describes only the levels of the ranks with data. */
static tutti_status put_helpers_beside(const tutti_question *q, tt_setting *setting,
                                       int **position) {
  tt_tree tree;
  if (!setting->data || !*setting->levels || tt_tree_parse(setting->levels, &tree) ||
      tree.ranks != setting->data)
    return TUTTI_OK;
  *position = malloc((size_t)q->ranks * sizeof **position);
  if (!*position) return tt_fail(TUTTI_ERR_MEMORY, "tutti_prices_make: out of memory");
  memcpy(setting->data_levels, setting->levels, sizeof setting->levels);
  setting->position = *position;
  return tt_helpers_beside(setting->data_levels, q->ranks, setting->levels, *position);
}

/* Determines which levels share memory: all levels, those within nodes, or none. The ranks of one machine share memory even if
 * the question does not say so. */
static tutti_status place_in_levels(const tutti_question *q, tt_setting *setting) {
  tt_tree tree;
  snprintf(setting->levels, sizeof setting->levels, "%s", q->topo);
  const tutti_status status = tt_tree_parse(q->topo, &tree);
  if (status) return status;
  const int inside = tt_levels_inside(&tree);
  if (q->crowd > 0 && !inside)
    return tt_fail(TUTTI_ERR_ARG,
                   "tutti_prices_make: no level of '%.80s' is within a machine, so no ranks share "
                   "memory; name them package, numa, cache, or put them below a level node",
                   q->topo);
  if (inside == tree.levels) {
    setting->ranks_per_core = q->crowd > 0 ? q->crowd : 1;
  } else if (q->crowd > 0) {
    setting->inside = inside;
    setting->node_ranks_per_core = q->crowd;
    setting->ranks_per_core = 0;
  }
  return TUTTI_OK;
}

/* Sets the number of ranks per core and the model parameters that follow from the question. */
static tutti_status place_ranks(const tutti_question *q, tt_setting *setting) {
  setting->ranks_per_core = q->crowd;
  if (q->crowd == TUTTI_CROWD_HERE) setting->ranks_per_core = tt_here_ranks_per_core(q->ranks);
  const tutti_status status = q->topo && *q->topo ? place_in_levels(q, setting) : TUTTI_OK;
  if (setting->ranks_per_core > 0) setting->has_loop = tt_has_loop;
  if (q->crowd == TUTTI_CROWD_HERE)
    tt_profile_here(&setting->profile);
  else
    (setting->ranks_per_core > 0 || q->crowd > 0 ? tt_profile_shm
                                                 : tt_profile_net)(&setting->profile);
  return status;
}

/* Places slow hosts last, as a communicator does, and moves the root accordingly. This requires a profile with parameters for
 * individual hosts, and a call that is planned by position. */
static tutti_status place_asked_hosts(const tutti_question *q, tt_setting *setting,
                                      tutti_prices *p) {
  const size_t P = (size_t)q->ranks;
  tt_tree tree;
  tt_cost_model model;
  const bool places = tt_goes_by_places(q->coll, p->problem.needs) && !setting->data;
  if (!setting->profile.hosts || setting->ranks_per_core > 0 || !places) return TUTTI_OK;
  tutti_status status = *setting->levels ? tt_tree_parse(setting->levels, &tree) : TUTTI_OK;
  if (status || (*setting->levels && tree.ranks != q->ranks)) return status; /* reported later */
  tt_cost_net(&setting->profile, q->ranks, *setting->levels ? &tree : NULL, &model);
  uint32_t *domain = tt_cost_domains(&model);
  int *number = malloc(P * sizeof *number), *order = malloc(P * sizeof *order);
  p->host = malloc(P * sizeof *p->host);
  if (!domain || !number || !order || !p->host)
    status = tt_fail(TUTTI_ERR_MEMORY, "tutti_prices_make: out of memory");
  const size_t at = (size_t)tt_host_level(&model, setting->inside) * P;
  for (size_t r = 0; !status && r < P; r++) number[r] = (int)domain[at + r], order[r] = (int)r;
  if (!status)
    status = tt_hosts_order(&setting->profile, setting->levels, setting->inside, number, q->ranks,
                            order);
  for (size_t v = 0; !status && v < P; v++) {
    p->host[v] = number[order[v]];
    if (order[v] == q->root) p->problem.root = (int)v;
  }
  setting->host = p->host;
  free(domain);
  free(number);
  free(order);
  return status;
}

/* Creates a second chooser for plans with compressed messages, if the call may use compression. */
static tutti_status make_coded(const tutti_question *q, tt_setting *setting, tt_chooser **coded) {
  tt_code_wish wish;
  tutti_status status = tt_code_parse("tutti_prices_make", q->compression, &wish);
  if (!status) status = tt_code_contract("tutti_prices_make", &wish, q->contract);
  const bool takes =
      tt_code_takes_call(wish.code, q->coll, q->type, q->op) && q->contract != TUTTI_CONTRACT_EXACT;
  if (status || !takes || setting->ranks_per_core > 0 || setting->data) return status;
  setting->code = wish.code;
  setting->roundings = tt_code_roundings(wish.code, wish.error);
  return tt_chooser_new(setting, coded);
}

tutti_status tutti_prices_make(const tutti_question *q, tutti_prices **prices) {
  tutti_status status = tt_alive();
  if (!status) status = check_question(q, prices);
  if (status) return status;
  tutti_prices *p = calloc(1, sizeof *p);
  if (!p) return tt_fail(TUTTI_ERR_MEMORY, "tutti_prices_make: out of memory");
  tt_setting setting = {.ranks = q->ranks, .flight = TT_FLIGHT, .verify = tt_proof_setting()};
  status = place_ranks(q, &setting);
  tt_call call = {.coll = q->coll, .type = q->type, .op = q->op};
  tt_call_check_kind("tutti_prices_make", &call); /* sets the size and type of a barrier */
  p->problem = (tt_problem){.coll = q->coll,
                            .root = q->root,
                            .needs = tt_needs_of(q->contract, q->coll, call.type, call.op)};
  if (q->contract == TUTTI_CONTRACT_EXACT && p->problem.needs) p->exact = 1 + (int)q->type;
  if (!status && q->only && *q->only) status = only_these(q, &setting);
  if (!status && setting.only && setting.only->n) status = helpers_of(q, &setting);
  if (!status) status = put_helpers_beside(q, &setting, &p->position);
  if (!status && q->net) status = tt_profile_parse(&setting.profile, q->net, "the parameters");
  if (!status) status = place_asked_hosts(q, &setting, p);
  if (!status) status = tt_override_parse(q->algorithm, q->ranks, &p->override);
  if (!status) status = tt_chooser_new(&setting, &p->chooser);
  if (!status) status = make_coded(q, &setting, &p->coded);
  if (!status && tt_coll_reduces(q->coll)) p->problem.weight = tt_weight_of(p->chooser, q->type);
  if (!status && !setting.ranks_per_core && !setting.inside)
    status = tt_figures_known(&setting.profile, tt_chooser_model(p->chooser));
  if (status)
    tutti_prices_free(p);
  else
    *prices = p;
  return tt_ended(status);
}

void tutti_prices_free(tutti_prices *p) {
  if (!p) return;
  if (!p->borrowed) tt_chooser_free(p->chooser);
  tt_chooser_free(p->coded);
  free(p->position);
  free(p->host);
  free(p);
}

static tutti_status borrow(tutti_comm *comm, const tt_call *call, tutti_prices **prices) {
  tutti_prices *p = calloc(1, sizeof *p);
  if (!p) return tt_fail(TUTTI_ERR_MEMORY, "tutti_comm_prices: out of memory");
  *p = (tutti_prices){.chooser = tt_chooser_for(comm, call),
                      .borrowed = true,
                      .problem = tt_problem_of(comm, call),
                      .exact = tt_call_is_exact(comm, call) ? 1 + (int)call->type : 0,
                      .override = *tt_comm_override(comm)};
  *prices = p;
  return TUTTI_OK;
}

tutti_status tutti_comm_prices(tutti_comm *comm, tutti_coll coll, tutti_type type, tutti_op op,
                               int root, tutti_prices **prices) {
  tutti_status status = tt_comm_enter(comm, "tutti_comm_prices");
  if (status) return status;
  tt_call call = {.coll = coll, .count = 1, .type = type, .op = op, .root = root};
  if (!prices) status = tt_fail(TUTTI_ERR_ARG, "tutti_comm_prices: prices is NULL");
  if (!status && (root < 0 || root >= tutti_comm_size(comm)))
    status = tt_fail(TUTTI_ERR_ARG, "tutti_comm_prices: root %d is not in 0..%d", root,
                     tutti_comm_size(comm) - 1);
  if (!status) status = tt_call_check_kind("tutti_comm_prices", &call);
  if (!status) status = tt_exact_check(comm, "tutti_comm_prices", &call);
  if (!status) status = borrow(comm, &call, prices);
  tt_comm_leave(comm);
  return status;
}

/* Returns the problem for a vector of *bytes bytes. Sets *bytes to the size of the exchanged vector, which is 1 for a barrier. */
static tt_problem of_size(const tutti_prices *p, uint64_t *bytes) {
  tt_problem problem = p->problem;
  if (problem.coll == TUTTI_BARRIER) *bytes = 1;
  problem.bytes = *bytes;
  if (p->exact)
    tt_exact_problem((tutti_type)(p->exact - 1), tt_chooser_model(p->chooser)->ranks, &problem);
  *bytes = problem.bytes;
  return problem;
}

/* Returns the chooser whose plan would run: the one with compression if its plan is cheaper, otherwise the one without it. */
static tt_chooser *cheaper_chooser(const tutti_prices *p, const tt_problem *problem) {
  tt_choice with, without;
  if (!p->coded || tt_choose(p->coded, problem, &p->override, &with) ||
      tt_choose(p->chooser, problem, &p->override, &without))
    return p->chooser;
  const double a = tt_choice_seconds(p->coded, problem, &with);
  const double b = tt_choice_seconds(p->chooser, problem, &without);
  return tt_coding_pays(p->coded, a, b) ? p->coded : p->chooser;
}

/* Adds to the quote how the predicted time is composed. */
static tutti_status add_detail(tt_chooser *c, const tt_plan_spec *plan, tutti_offer *quote,
                               const tt_problem *problem) {
  const tt_cost_model *model = tt_chooser_model(c);
  tt_breakdown t;
  tt_sends sends;
  tutti_status status =
      tt_quote_breakdown(c, plan, quote->slices, problem, &t, &sends, &quote->rounds);
  if (status) return status;
  quote->messages = sends.messages;
  quote->vectors = sends.vectors;
  quote->seconds = t.time;
  for (int l = 0; l < model->levels; l++) {
    quote->latency += t.latency[l];
    quote->transfer += t.transfer[l];
    quote->steps += t.messages[l];
  }
  quote->arithmetic = t.reducing;
  quote->processor = t.o;
  quote->copying = t.copying;
  tt_why_bound(model, &t, quote->bound, sizeof quote->bound);
  return TUTTI_OK;
}

static tutti_status begin_prices(const char *function, const tutti_prices *p, tutti_offer *quote) {
  if (!p || !quote)
    return tt_fail(TUTTI_ERR_ARG, "%s: %s is NULL", function, p ? "offer" : "prices");
  tutti_status status = tt_size_check(function, "offer", quote->size, sizeof *quote);
  if (status) return status;
  *quote = (tutti_offer){.size = sizeof *quote};
  return tt_alive();
}

tutti_status tutti_prices_offer(tutti_prices *p, uint64_t bytes, int i, int detail,
                                tutti_offer *quote) {
  tutti_status status = begin_prices("tutti_prices_offer", p, quote);
  if (status) return status;
  const tt_problem problem = of_size(p, &bytes);
  tt_chooser *c = p->coded ? p->coded : p->chooser;
  tt_quote o;
  if (i < 0 || !tt_quote_at(c, &problem, &p->override, i, detail, &o))
    return tt_fail(TUTTI_ERR_ARG, "tutti_prices_offer: plan %d does not exist", i);
  quote->name = o.plan->text;
  quote->slices = o.slices;
  quote->possible = o.possible;
  quote->seconds = o.seconds;
  if (!detail) return TUTTI_OK;
  quote->admissible = o.possible && !o.lacks && !o.ruled_out;
  tt_why_not(c, &problem, &o, quote->why, sizeof quote->why);
  return o.possible ? add_detail(c, o.plan, quote, &problem) : TUTTI_OK;
}

tutti_status tutti_prices_chosen(tutti_prices *p, uint64_t bytes, tutti_offer *quote) {
  tutti_status status = begin_prices("tutti_prices_chosen", p, quote);
  if (status) return status;
  const tt_problem problem = of_size(p, &bytes);
  tt_choice choice;
  tt_chooser *c = cheaper_chooser(p, &problem);
  status = tt_choose(c, &problem, &p->override, &choice);
  if (status) return status;
  quote->name = choice.plan->text;
  quote->slices = choice.slices;
  quote->possible = quote->admissible = 1;
  return add_detail(c, choice.plan, quote, &problem);
}

/* ---- explanations ---- */

tutti_status tutti_prices_explain(tutti_prices *p, uint64_t bytes, int json, char **text) {
  tutti_status status = tt_args_given("tutti_prices_explain", "prices", p, "text", text);
  if (status) return status;
  const tt_problem problem = of_size(p, &bytes);
  return tt_explain(cheaper_chooser(p, &problem), &problem, &p->override, p->exact, json, text);
}

tutti_status tutti_comm_explain(tutti_comm *comm, tutti_coll coll, size_t count, tutti_type type,
                                tutti_op op, int json, char **text) {
  tutti_status status = tt_comm_enter(comm, "tutti_comm_explain");
  if (status) return status;
  tt_call call = {.coll = coll, .count = count, .type = type, .op = op};
  if (!text) status = tt_fail(TUTTI_ERR_ARG, "tutti_comm_explain: text is NULL");
  if (!status) status = tt_call_check_kind("tutti_comm_explain", &call);
  if (!status) status = tt_exact_check(comm, "tutti_comm_explain", &call);
  if (!status) status = tt_explain_call(comm, &call, json, text);
  tt_comm_leave(comm);
  return status;
}

tutti_status tutti_comm_price(tutti_comm *comm, tutti_coll coll, size_t count, tutti_type type,
                              tutti_op op, double *seconds) {
  tutti_status status = tt_comm_enter(comm, "tutti_comm_price");
  if (status) return status;
  tt_call call = {.coll = coll, .count = count, .type = type, .op = op};
  const tt_plan *plan;
  tt_breakdown breakdown;
  tt_sends sends;
  if (!seconds) status = tt_fail(TUTTI_ERR_ARG, "tutti_comm_price: seconds is NULL");
  if (!status) status = tt_call_check_kind("tutti_comm_price", &call);
  if (!status) status = tt_plan_for(comm, &call, false, &plan);
  if (!status) {
    const tt_problem problem = tt_problem_of(comm, &call);
    tt_chooser *by = plan->chooser;
    if (plan->exec.coding.code) status = tt_coding_chooser(comm, &call, &by);
    tt_plan_spec *runs = NULL;
    if (!status) status = tt_plan_spec_parse(plan->prepared->sched->name, &runs);
    if (!status)
      status = tt_quote_breakdown(by, runs, plan->exec.slices, &problem, &breakdown, &sends, NULL);
    tt_plan_spec_free(runs);
  }
  if (!status) *seconds = breakdown.time;
  tt_comm_leave(comm);
  return status;
}

/* ---- the plan that runs, and faster plans ---- */

tutti_status tutti_comm_plan(tutti_comm *comm, tutti_coll coll, size_t count, tutti_type type,
                             tutti_op op, char *name, size_t size) {
  tutti_status status = tt_comm_enter(comm, "tutti_comm_plan");
  if (status) return status;
  tt_call call = {.coll = coll, .count = count, .type = type, .op = op};
  const tt_plan *plan;
  char time[24];
  if (!name || !size)
    status = tt_fail(TUTTI_ERR_ARG, "tutti_comm_plan: there is no room for the name");
  if (!status) status = tt_call_check_kind("tutti_comm_plan", &call);
  if (!status) status = tt_exact_check(comm, "tutti_comm_plan", &call);
  if (!status) status = tt_plan_for(comm, &call, false, &plan);
  if (!status) {
    char slices[32] = "", measured[48] = "";
    if (plan->exec.slices > 1) snprintf(slices, sizeof slices, " in %d slices", plan->exec.slices);
    if (plan->wisdom)
      snprintf(measured, sizeof measured, ", measured %s",
               tt_time_words(1e-9 * (double)plan->wisdom, time));
    const bool other = plan->exec.if_exported != plan->exec.program->shape;
    const tt_code code = plan->exec.coding.code;
    const int length =
        snprintf(name, size, "%s%s%s%s%s%s%s%s", tt_call_is_exact(comm, &call) ? "exact, " : "",
                 code ? tt_code_name(code) : "", code ? ", " : "", plan->prepared->sched->name,
                 slices, measured, other ? ", two-shot if nothing is copied" : "",
                 plan->proven == TT_PROVEN        ? ""
                 : plan->proven == TT_PROVEN_FORM ? ", proven by its form"
                                                  : ", not proven");
    if (length < 0 || (size_t)length >= size)
      status = tt_fail(TUTTI_ERR_ARG,
                       "tutti_comm_plan: the name takes %d bytes, and there is room for %zu",
                       length + 1, size);
  }
  tt_comm_leave(comm);
  return status;
}

tutti_status tutti_comm_measure(tutti_comm *comm, tutti_coll coll, size_t count, tutti_type type,
                                tutti_op op, tutti_measured *measured) {
  tutti_status status = tt_comm_enter(comm, "tutti_comm_measure");
  if (status) return status;
  tt_call call = {.coll = coll, .count = count, .type = type, .op = op};
  if (measured)
    status = tt_size_check("tutti_comm_measure", "measured", measured->size, sizeof *measured);
  if (!status && measured) *measured = (tutti_measured){.size = sizeof *measured};
  if (!status) status = tt_call_check_kind("tutti_comm_measure", &call);
  if (!status && count > (size_t)PTRDIFF_MAX / 16 / (size_t)tutti_comm_size(comm))
    status =
        tt_fail(TUTTI_ERR_ARG, "tutti_comm_measure: count %zu is larger than any memory", count);
  if (coll == TUTTI_BARRIER && !status) call = tt_barrier_call(comm);
  const char *why =
      status ? NULL : tt_measure_refusal(comm, &call, tt_problem_of(comm, &call).bytes);
  if (!status && why && measured) snprintf(measured->why, sizeof measured->why, "%s", why);
  if (!status && !why) status = tt_measure_plans(comm, &call, measured);
  tt_comm_leave(comm);
  return status;
}

tutti_status tutti_profile_text(char **text) {
  tutti_status status = tt_args_given("tutti_profile_text", "text", text, NULL, NULL);
  if (status) return status;
  tt_profile profile;
  tt_text t = {0};
  char path[400];
  tt_profile_here(&profile);
  tt_text_add(
      &t, "# The parameters of the cost model. Profile: %s.\n# TUTTI_PROFILE=FILE reads this.\n",
      tt_profile_path(path, sizeof path));
  tt_profile_print(&t, &profile);
  return tt_text_hand_over(&t, text);
}
