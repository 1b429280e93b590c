/* stage_prices.c - estimates a composition as the sum of the estimates of its stages.
 *
 * Idea       The same stage (an algorithm on the ranks of one level) occurs in many compositions. It is simulated once,
 *            and its curve is kept. The curve of a composition is the sum of its stages' curves, each stretched because
 *            the stage works on a part of the vector.
 * Cost       One simulation per stage, and a few additions per composition.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "candidates.h"

static bool same_stage(const tt_stage_price *x, const tt_level_stage *stage, int weight) {
  return x->weight == weight && x->stage.coll == stage->coll && x->stage.level == stage->level &&
         x->stage.ranks == stage->ranks && tt_plan_spec_equal(x->stage.plan, stage->plan);
}

static tutti_status price_stage(tt_chooser *c, tt_stage_price *x, const tt_cost_model *model) {
  tt_sim *sim;
  const tutti_status status = tt_stage_sim(&x->stage, model, &sim);
  if (status) return status == TUTTI_ERR_MEMORY ? status : TUTTI_OK;
  c->effort.stages++;
  c->effort.messages += tt_sim_messages(sim);
  x->possible = tt_price_curve(sim, &x->curve);
  tt_sim_free(sim);
  return x->possible ? TUTTI_OK : tt_fail(TUTTI_ERR_MEMORY, "out of memory for an estimate");
}

tutti_status tt_stage_find(tt_chooser *c, const tt_level_stage *stage, int weight,
                           const tt_cost_model *model, int *found) {
  int i = 0;
  while (i < c->stages && !same_stage(&c->stage[i], stage, weight)) i++;
  *found = -1;
  if (i == c->stages && (i & (i - 1)) == 0) {
    tt_stage_price *more = realloc(c->stage, (size_t)(i ? 2 * i : 1) * sizeof *more);
    if (!more) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for the estimates of stages");
    c->stage = more;
  }
  if (i == c->stages) {
    tt_stage_price *x = &c->stage[i];
    *x = (tt_stage_price){.stage = *stage, .weight = weight};
    tutti_status status = tt_plan_spec_parse(stage->plan->text, &x->own);
    x->stage.plan = x->own;
    if (!status) status = price_stage(c, x, model);
    if (status) tt_plan_spec_free(x->own);
    if (status) return status;
    c->stages++;
  }
  if (c->stage[i].possible) *found = i;
  return TUTTI_OK;
}

static tt_line line_in(const tt_curve *c, double bytes) {
  int i = c->n - 1;
  while (i > 0 && bytes < c->line[i].from) i--;
  return c->line[i];
}

/* Returns the next vector size above `from` where the curve of a stage changes, or 0. The stage works on the fraction `part`
 * of the vector. */
static double next_change(const tt_curve *c, double part, double from) {
  for (int i = 0; i < c->n; i++)
    if (c->line[i].from > from * part * (1 + 1e-9)) return c->line[i].from / part;
  return 0;
}

/* Adds the curve of a stage to `sum`. The stage works on the fraction `part` of the vector. */
static void add_curve(tt_curve *sum, const tt_curve *stage, double part) {
  tt_curve all = *sum;
  all.n = 0;
  for (double from = 0;;) {
    const tt_line a = line_in(sum, from * (1 + 1e-9));
    const tt_line b = line_in(stage, from * part * (1 + 1e-9));
    tt_curve_add(&all, from, (tt_line){0, a.fixed + b.fixed, a.slope + b.slope * part});
    const double x = next_change(sum, 1, from), y = next_change(stage, part, from);
    if (x <= 0 && y <= 0) break;
    from = x <= 0 || (y > 0 && y < x) ? y : x;
  }
  const double jam = stage->incast_threshold / part;
  all.link += part * stage->link;
  all.saves |= stage->saves;
  all.messages += stage->messages;
  if (stage->incast_threshold > 0) all.senders += stage->senders;
  if (jam > 0 && (all.incast_threshold <= 0 || jam < all.incast_threshold))
    all.incast_threshold = jam;
  *sum = all;
}

/* Lists the stages of a composition or, on many ranks, of another plan that consists of stages. Returns their number. Returns
 * 0 if the plan has no stages, or if its time depends on more than the links of the levels. */
static int find_stages(const tt_pricing *p, tt_level_stage list[TT_STAGES]) {
  const tt_chooser *c = p->c;
  const bool whole = !tt_is_composition(p->ask.plan) && p->ask.ranks <= TT_MOST_PLAYED;
  tt_cost_model model;
  if (!c->levels || whole) return 0;
  const int n = tt_algo_stages(&p->ask, &c->model.tree, list);
  for (int i = 0; i < n; i++)
    if (!tt_cost_stage(&c->model, list[i].level, list[i].ranks, &model)) return 0;
  return n;
}

bool tt_stages_apply(const tt_pricing *p) {
  tt_level_stage list[TT_STAGES];
  return p->slices == 1 && !tt_priced_by_hosts(p) && find_stages(p, list);
}

tutti_status tt_stages_sim(const tt_pricing *p, uint64_t *size, tt_sim **sim) {
  tt_level_stage list[TT_STAGES];
  const int n = find_stages(p, list);
  tutti_status status = TUTTI_OK;
  *size = UINT64_MAX;
  for (int i = 0; i < n && !status; i++) {
    tt_cost_model model;
    tt_sim *stage;
    tt_cost_stage(&p->c->model, list[i].level, list[i].ranks, &model);
    status = tt_stage_sim(&list[i], &model, &stage);
    if (!status) tt_sim_append(sim, stage, list[i].part, &p->c->model, list[i].level);
  }
  if (!status) return TUTTI_OK;
  tt_sim_free(*sim);
  *sim = NULL;
  return status;
}

tutti_status tt_stages_curve(const tt_pricing *p, int weight, tt_curve *curve) {
  tt_level_stage list[TT_STAGES];
  const int n = find_stages(p, list);
  *curve = (tt_curve){.n = 1};
  for (int i = 0; i < n; i++) {
    tt_cost_model model;
    int at;
    tt_cost_stage(&p->c->model, list[i].level, list[i].ranks, &model);
    const tutti_status status = tt_stage_find(p->c, &list[i], weight, &model, &at);
    if (status) return status;
    if (at < 0)
      return tt_fail(TUTTI_ERR_UNSUPPORTED, "no estimate of %s: its stage %s has none",
                     p->ask.plan->text, list[i].plan->text);
    add_curve(curve, &p->c->stage[at].curve, list[i].part);
  }
  return TUTTI_OK;
}
