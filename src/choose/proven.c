/* proven.c - asks the prover whether a plan that is about to run is correct.
 *
 * Idea       The schedules of all ranks are built and proven (prove.h) four times: with all ranks in place, with none,
 *            with the odd ranks, and with the even ranks. Ranks need not agree on being in place.
 * Cost       0.1 to 0.5 ms on 8 ranks; about 10 ms on 64 ranks for most plans. The caller caches the result
 *            (run/proof_table.c).
 * Forms      The form of a plan is its name without its sizes and with its parameters sorted: fold(inner,group=16x16)
 *            has the form fold(group=,inner). Sizes are omitted because they grow with the number of ranks. Other
 *            numbers remain: circulant(n=8). `make prove` proves every form, with all parameters that its family
 *            proposes, on every number of ranks up to 64 and on samples beyond, within minutes. It writes the results
 *            to forms.def, with the range of each number, as in circulant(n=1..128). A plan whose number is outside the
 *            range has no proven form. If the proofs of a form have different results, there are several ranges, which
 *            may overlap. A property holds for a plan if it holds in every range that includes it. The compositions in
 *            the file are those that may be chosen on many ranks, with each stage at a level that its family declares.
 *            The file must match the sources that it was made from (tests/sh/laws.sh).
 * Limit      Up to TT_PROVEN_RANKS ranks every plan is proven. On more ranks a plan is proven if that takes about half
 *            a second. Otherwise it must have a proven form, or it is not chosen. With TUTTI_VERIFY=1 there is no
 *            limit; with 0 nothing is proven.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "choose.h"
#include "prove.h"

/* ---- forms ---- */

static const tt_form forms[] = {
#define FORM(name, order, same, ranks, does) {name, does, order, same, ranks},
#define SOURCES(stamp)
#include "forms.def"
    {NULL, 0, 0, 0, 0}};

/* Returns true if each number of a form is in the corresponding range of the row, and all other characters are equal. */
static bool within(const char *form, const char *row) {
  while (*form && *row) {
    if (*form < '0' || *form > '9' || *row < '0' || *row > '9') {
      if (*form++ != *row++) return false;
      continue;
    }
    char *end;
    const unsigned long n = strtoul(form, &end, 10);
    form = end;
    const unsigned long lo = strtoul(row, &end, 10);
    const unsigned long hi = strncmp(end, "..", 2) == 0 ? strtoul(end + 2, &end, 10) : lo;
    row = end;
    if (n < lo || n > hi) return false;
  }
  return *form == *row;
}

bool tt_form_of(const tt_plan_spec *plan, tutti_coll coll, tt_form *found) {
  tt_text form = {0};
  tt_plan_spec_form(plan, &form);
  *found = (tt_form){.does = 1u << coll, .order = true, .same = true};
  for (const tt_form *f = forms; f->name && !form.failed; f++) {
    if (!(f->does >> coll & 1) || !within(form.at, f->name)) continue;
    found->order &= f->order;
    found->same &= f->same;
    if (f->ranks > found->ranks) found->name = f->name, found->ranks = f->ranks;
  }
  free(form.at);
  return found->name;
}

static bool has_form(const tt_ask *ask) {
  tt_form form;
  return tt_form_of(ask->plan, ask->coll, &form);
}

/* ---- plans ---- */

enum { MOST_SLICES = 5 };

/* Any larger number of slices is treated as five, because additional slices in flight do not interact. */
uint64_t tt_proven_key(const tt_ask *ask, int slices) {
  uint64_t h = tt_mix((uint64_t)ask->coll | (uint64_t)(uint32_t)ask->root << 8);
  h = tt_mix(h ^ (uint64_t)(uint32_t)ask->ranks << 32 ^ (uint64_t)(uint32_t)ask->data);
  h = tt_mix_text(h, ask->plan->text);
  h = tt_mix(h ^ (uint64_t)tt_min(slices, MOST_SLICES)) & ~UINT64_C(3);
  return h ? h : ~UINT64_C(3);
}

enum { AWAY, HERE, ODD_HERE, EVEN_HERE, MIXES }; /* the sets of ranks that are in place */

static bool is_here(int mix, int rank) {
  return mix == HERE || (mix == ODD_HERE && rank % 2) || (mix == EVEN_HERE && rank % 2 == 0);
}

/* Cuts the schedules of all ranks into slices, in place. */
static tutti_status slice(tt_sched **all, int ranks, int slices, int flight) {
  for (int r = 0; slices > 1 && r < ranks; r++) {
    tt_sched *sliced = tt_sched_sliced(all[r], slices, flight);
    if (!sliced) return tt_fail(TUTTI_ERR_MEMORY, "out of memory while proving %s", all[r]->name);
    tt_sched_free(all[r]);
    all[r] = sliced;
  }
  return TUTTI_OK;
}

static tutti_status prove_mix(tt_sched **of[2], tt_sched **mixed, int ranks, int mix) {
  for (int r = 0; r < ranks; r++) mixed[r] = of[is_here(mix, r)][r];
  tutti_report report = {.size = sizeof report};
  const tutti_status status = tt_prove(mixed, ranks, &report);
  if (status || report.proven) return status;
  return tt_fail(TUTTI_ERR_SCHEDULE, "the prover refuses %s on %d ranks: %s", mixed[0]->name, ranks,
                 report.witness);
}

static tutti_status prove(const tt_ask *asked, int slices, int flight) {
  tt_sched **of[2] = {NULL, NULL}, **mixed = calloc((size_t)asked->ranks, sizeof *mixed);
  tt_ask ask = *asked;
  tutti_status status = TUTTI_OK;
  if (!mixed) return tt_fail(TUTTI_ERR_MEMORY, "out of memory while proving %s", ask.plan->text);
  for (int here = 0; here < 2 && !status; here++) {
    ask.in_place = here;
    status = tt_algo_build_all(&ask, &of[here]);
    if (status) of[here] = NULL;
    if (!status) status = slice(of[here], ask.ranks, slices, flight);
  }
  for (int mix = 0; mix < MIXES && !status; mix++) status = prove_mix(of, mixed, ask.ranks, mix);
  for (int here = 0; here < 2; here++)
    if (of[here]) tt_sched_free_all(of[here], ask.ranks);
  free(mixed);
  return status;
}

/* Estimates the prover's work from this rank's schedule, so that a plan that is too large is never built for all
 * ranks. */
static tutti_status is_too_large(const tt_ask *ask, int slices, bool *is) {
  tt_sched *mine;
  const tutti_status status = tt_algo_build(ask, &mine);
  if (status) return status;
  *is = tt_work_of(&mine, 1) * ask->ranks * slices * MIXES > TT_MOST_WORK;
  tt_sched_free(mine);
  return TUTTI_OK;
}

tutti_status tt_proven_can(const tt_ask *ask, const tt_setting *how, bool *can) {
  bool too_large = false;
  tutti_status status = TUTTI_OK;
  if (how->verify == TT_VERIFY_SOME && ask->ranks > TT_PROVEN_RANKS && !has_form(ask))
    status = is_too_large(ask, tt_coll_owned(ask->coll) ? 1 : MOST_SLICES, &too_large);
  *can = !too_large;
  return status;
}

void tt_unproven_words(const tt_plan_spec *plan, int ranks, char *words, size_t size) {
  tt_text form = {0};
  tt_plan_spec_form(plan, &form);
  snprintf(
      words, size,
      "%s takes too long to prove on %d ranks while it runs, and `make prove` knows no plan of "
      "the form %s; TUTTI_VERIFY=1 proves it all the same, and with TUTTI_VERIFY=0 it runs "
      "unproven",
      plan->text, ranks, form.failed ? plan->text : form.at);
  free(form.at);
}

tutti_status tt_proven_find(const tt_ask *ask, int slices, const tt_setting *how, tt_proven *is) {
  bool too_large = false;
  tutti_status status = TUTTI_OK;
  *is = TT_PROVEN_OFF;
  if (how->verify == TT_VERIFY_NONE) return TUTTI_OK;
  slices = tt_min(slices, MOST_SLICES);
  if (ask->ranks > TT_PROVEN_RANKS && how->verify != TT_VERIFY_ALL)
    status = is_too_large(ask, slices, &too_large);
  if (!status && !too_large) status = prove(ask, slices, how->flight);
  *is = !too_large ? TT_PROVEN : has_form(ask) ? TT_PROVEN_FORM : TT_PROVEN_TOO_LARGE;
  return status;
}
