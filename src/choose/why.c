/* why.c - explains a choice: the next best plans, the sizes where other plans win, and the refused ones.
 *
 * Idea       The choice is repeated for a series of sizes. Between two sizes with different choices, bisection finds
 *            the exact byte where the choice changes.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "why.h"
#include "candidates.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void tt_why_not(const tt_chooser *c, const tt_problem *p, const tt_quote *o, char *why,
                size_t size) {
  const tt_ask ask = tt_ask_of(&c->setting, o->plan, p->coll, p->root);
  why[0] = 0;
  if (!o->possible) {
    tt_sched *s = NULL;
    const char *at =
        "not estimated on this many ranks: the schedules of all of them would have to be built";
    if (tt_algo_build(&ask, &s)) {
      at = strstr(tutti_error(), " ranks: ");
      at = at ? at + strlen(" ranks: ") : tutti_error();
    }
    tt_sched_free(s);
    snprintf(why, size, "%s", at);
  } else if (o->lacks & TT_NEED_PROOF) {
    tt_unproven_words(o->plan, ask.ranks, why, size);
  } else if (o->skipped) {
    snprintf(why, size, "on %d ranks the prover is not asked whether it %s", ask.ranks,
             o->lacks & TT_NEED_SAME ? "gives the same bits to all" : "keeps the ranks' order");
  } else if (o->lacks & TT_NEED_FEW) {
    snprintf(why, size,
             "it rounds coded numbers more than %d times, or completes a sum on several ranks",
             c->setting.roundings);
  } else if (o->lacks & TT_NEED_ELEMENT) {
    snprintf(why, size, "it forms sums in several steps, or not in rank order");
  } else if (o->lacks & TT_NEED_ORDER) {
    snprintf(why, size, "the op does not commute, and it does not keep the ranks' order");
  } else if (o->lacks) {
    snprintf(why, size, "the op rounds, and ranks would differ in their last bits");
  } else if (o->ruled_out) {
    snprintf(why, size, "it is ruled out by name");
  }
}

static int reasons_by_price(const void *a, const void *b) {
  const tt_reason *x = a, *y = b;
  if (x->quote.possible != y->quote.possible) return x->quote.possible ? -1 : 1;
  if (x->quote.seconds != y->quote.seconds) return x->quote.seconds < y->quote.seconds ? -1 : 1;
  return strcmp(x->quote.plan->text, y->quote.plan->text);
}

static bool is_chosen(const tt_why *why, const tt_quote *o) {
  return tt_plan_spec_equal(o->plan, why->choice.plan) && o->slices == why->choice.slices;
}

/* Sorts the candidates by their estimates. Asks the prover about all candidates that are faster than the chosen one, and
 * about the next ones until TT_NEXT admissible candidates are found. */
static tutti_status sort_out(tt_chooser *c, const tt_override *override, tt_why *why) {
  tt_quote o;
  int n = 0;
  while (tt_quote_at(c, &why->problem, override, n, false, &o)) n++;
  tt_reason *all = calloc((size_t)n + 1, sizeof *all);
  if (!all) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for an explanation");
  for (int i = 0; i < n; i++) {
    tt_quote_at(c, &why->problem, override, i, false, &all[i].quote);
    all[i].i = i;
  }
  qsort(all, (size_t)n, sizeof *all, reasons_by_price);
  for (int i = 0; i < n; i++) {
    tt_reason *x = &all[i];
    const bool cheaper = x->quote.seconds < why->breakdown.time;
    if (x->quote.possible && (cheaper || why->next < TT_NEXT))
      tt_quote_at(c, &why->problem, override, x->i, true, &o);
    else
      o = x->quote;
    x->quote = o;
    tt_why_not(c, &why->problem, &o, x->why, sizeof x->why);
    const bool fine = o.possible && !o.lacks && !o.ruled_out;
    if (fine && !is_chosen(why, &o) && why->next < TT_NEXT) why->others[why->next++] = o;
    if (!fine && o.slices == 1) all[why->refused++] = *x;
  }
  why->reasons = all;
  return TUTTI_OK;
}

static bool same_choice(const tt_choice *a, const tt_choice *b) {
  return a->slices == b->slices && tt_plan_spec_equal(a->plan, b->plan);
}

/* Finds the vector sizes where the choice changes to another plan. */
static void find_spans(tt_chooser *c, const tt_override *override, tt_why *why) {
  tt_problem p = why->problem;
  tt_choice last = {0}, next, between;
  if (p.coll == TUTTI_BARRIER) return;
  for (uint64_t lo = 0, bytes = 1; bytes <= (uint64_t)1 << 36; bytes += bytes < 4 ? 1 : bytes / 4) {
    p.bytes = bytes;
    if (tt_choose(c, &p, override, &next)) return;
    if (why->spans && same_choice(&last, &next)) {
      lo = bytes;
      continue;
    }
    uint64_t hi = bytes;
    while (why->spans && hi - lo > 1) {
      p.bytes = lo + (hi - lo) / 2;
      if (tt_choose(c, &p, override, &between)) return;
      if (same_choice(&last, &between))
        lo = p.bytes;
      else
        hi = p.bytes, next = between;
    }
    if (why->spans == TT_SPANS) return;
    why->span[why->spans].from = why->spans ? hi : 0;
    why->span[why->spans].plan = next.plan;
    why->span[why->spans++].slices = next.slices;
    last = next;
    bytes = lo = hi;
  }
}

tutti_status tt_why_find(tt_chooser *c, const tt_problem *problem, const tt_override *override,
                         tt_why *why) {
  *why = (tt_why){.problem = *problem};
  tutti_status status = tt_choose(c, problem, override, &why->choice);
  const tt_ask ask = tt_ask_of(&c->setting, why->choice.plan, problem->coll, problem->root);
  if (!status) status = tt_proven_find(&ask, why->choice.slices, &c->setting, &why->proven);
  if (!status)
    status = tt_quote_breakdown(c, why->choice.plan, why->choice.slices, problem, &why->breakdown,
                                &why->sends, NULL);
  tt_pricing pricing = tt_pricing_of(c, why->choice.plan, problem->coll, problem->root);
  pricing.slices = why->choice.slices;
  if (!status) why->estimated = tt_pricer_of(&pricing)->name;
  if (!status) status = sort_out(c, override, why);
  if (!status) find_spans(c, override, why);
  return status;
}

void tt_why_free(tt_why *why) {
  free(why->reasons);
  why->reasons = NULL;
}
