/* proven.c - asks the prover whether a plan that is about to run is correct.
 *
 * Idea       the schedules of all ranks are built and proven (prove.h) four times: all ranks in
 *            place, none, and every other one twice, because ranks need not agree on that.
 * Cost       on 8 ranks 0.1 to 0.5 ms, on 64 some 10 ms for most plans. The caller remembers the
 *            result (run/proof_table.c).
 * Forms      a plan's form is its name without its sizes, its parameters sorted:
 *            fold(inner,group=16x16) is of the form fold(group=,inner). The ranks bound a size, so it
 *            grows with them; other numbers stay: circulant(n=8). `make prove` proves every form, with all parameters that its family
 *            proposes, on every number of ranks up to 64 and on samples beyond, within minutes. It
 *            writes the results to forms.def, with the range of each number, as in
 *            circulant(n=1..128): a plan with another number is of no proven form. Where the
 *            proofs of a form had different results there are several ranges, which may overlap; a
 *            property holds where it holds in all of them. The file belongs to the sources from
 *            which it was made (tests/sh/laws.sh).
 * Limit      up to TT_PROVEN_RANKS ranks every plan is proven; beyond, if it takes half a second
 *            or so. A plan that takes longer must be of a proven form, or it is not chosen. TUTTI_VERIFY=1 has no limit; 0 proves nothing.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "choose.h"
#include "prove.h"

/* ---- forms ---- */

static const tt_form forms[] = {
#define FORM(name, coll, order, same, ranks) {name, TUTTI_##coll, order, same, ranks},
#define SOURCES(stamp)
#include "forms.def"
    {NULL, TUTTI_COLL_COUNT, 0, 0, 0}};

/* The forms of stages, such as lanes(n=)/two-shot of lanes(n=4)/two-shot. */
static void stages_form(const char *stages, size_t length, char *form, size_t size) {
  size_t at = 0;
  for (const char *end = stages + length; stages < end && at < size;) {
    char name[TT_NAME], one[TT_NAME];
    const size_t n = tt_min(tt_text_until(stages, "/,)"), (size_t)(end - stages));
    snprintf(name, sizeof name, "%.*s", (int)n, stages);
    tt_form_name(name, one);
    at += (size_t)snprintf(form + at, size - at, "%s%s", at ? "/" : "", one);
    stages += n + 1;
  }
}

/* Is the parameter a size: a rank, a distance between ranks, numbers of them, or a level of the machine? */
static bool is_size(const char *param) {
  static const char *const keys[] = {
      "data=", "group=", "late=", "node=", "per=", "seq=", "stride="};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    if (strncmp(param, keys[i], strlen(keys[i])) == 0) return true;
  return false;
}

static int by_text(const void *a, const void *b) {
  return strcmp(a, b);
}

/* One parameter of a form: levels, sizes and stages without their numbers. */
static void form_param(const char *param, size_t length, char form[TT_NAME]) {
  static const char stages[] = "stages=";
  const char *equals = memchr(param, '=', length);
  const bool staged = strncmp(param, stages, strlen(stages)) == 0;
  const size_t kept = equals && (staged || is_size(param)) ? (size_t)(equals + 1 - param) : length;
  size_t n = tt_min(kept, TT_NAME - 1);
  const bool levels = !equals && memchr(param, ':', length);
  snprintf(form, TT_NAME, "%.*s", levels ? 6 : (int)n, levels ? "levels" : param);
  if (staged) stages_form(param + kept, length - kept, form + n, TT_NAME - n);
}

void tt_form_name(const char *name, char form[TT_NAME]) {
  enum { MOST = 16 };
  char params[MOST][TT_NAME];
  const char *param = name + strcspn(name, "(");
  size_t n = tt_min((size_t)(param - name), TT_NAME - 1);
  int items = 0;
  snprintf(form, TT_NAME, "%.*s", (int)n, name);
  while ((*param == '(' || *param == ',') && param[1] && items < MOST) {
    const size_t length = tt_text_until(++param, ",)"); /* skips the '(' or ',' before it */
    form_param(param, length, params[items++]);
    param += length;
  }
  qsort(params, (size_t)items, sizeof *params, by_text); /* in whatever order they were given */
  for (int i = 0; i < items; i++)
    n = tt_min(n + (size_t)snprintf(form + n, TT_NAME - n, "%c%s", i ? ',' : '(', params[i]),
               TT_NAME - 1);
  if (items) snprintf(form + n, TT_NAME - n, ")");
}

/* Is each number of the form in the range at its place in the row, and all else the same? */
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

bool tt_form_of(const char *name, tutti_coll coll, tt_form *found) {
  char form[TT_NAME];
  tt_form_name(name, form);
  *found = (tt_form){.coll = coll, .order = true, .same = true};
  for (const tt_form *f = forms; f->name; f++) {
    if (f->coll != coll || !within(form, f->name)) continue;
    found->order &= f->order;
    found->same &= f->same;
    if (f->ranks > found->ranks) found->name = f->name, found->ranks = f->ranks;
  }
  return found->name;
}

static bool has_form(const char *name, tutti_coll coll) {
  tt_form form;
  return tt_form_of(name, coll, &form);
}

/* ---- plans ---- */

enum { MOST_SLICES = 5 };

/* More than five slices are as five: no more of those in flight touch each other. */
uint64_t tt_proven_key(const tt_ask *ask, const char *name, int slices) {
  uint64_t h = tt_mix((uint64_t)ask->coll | (uint64_t)(uint32_t)ask->root << 8);
  h = tt_mix(h ^ (uint64_t)(uint32_t)ask->ranks << 32 ^ (uint64_t)(uint32_t)ask->data);
  h = tt_mix_text(h, name);
  h = tt_mix(h ^ (uint64_t)tt_min(slices, MOST_SLICES)) & ~UINT64_C(3);
  return h ? h : ~UINT64_C(3);
}

enum { AWAY, HERE, ODD_HERE, EVEN_HERE, MIXES }; /* which ranks are in place */

static bool is_here(int mix, int rank) {
  return mix == HERE || (mix == ODD_HERE && rank % 2) || (mix == EVEN_HERE && rank % 2 == 0);
}

/* Cuts the schedules of all ranks in slices; more than five are as five. */
static tutti_status slice(tt_sched **all, int ranks, int slices, int flight, const char *name) {
  for (int r = 0; slices > 1 && r < ranks; r++) {
    tt_sched *sliced = tt_sched_sliced(all[r], slices, flight);
    if (!sliced) return tt_fail(TUTTI_ERR_MEMORY, "out of memory while proving %s", name);
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

static tutti_status prove(const tt_ask *asked, const char *name, int slices, int flight) {
  tt_sched **of[2] = {NULL, NULL}, **mixed = calloc((size_t)asked->ranks, sizeof *mixed);
  tt_ask ask = *asked;
  tutti_status status = TUTTI_OK;
  if (!mixed) return tt_fail(TUTTI_ERR_MEMORY, "out of memory while proving %s", name);
  for (int here = 0; here < 2 && !status; here++) {
    ask.in_place = here;
    status = tt_algo_build_all(name, &ask, &of[here]);
    if (status) of[here] = NULL;
    if (!status) status = slice(of[here], ask.ranks, slices, flight, name);
  }
  for (int mix = 0; mix < MIXES && !status; mix++) status = prove_mix(of, mixed, ask.ranks, mix);
  for (int here = 0; here < 2; here++)
    if (of[here]) tt_sched_free_all(of[here], ask.ranks);
  free(mixed);
  return status;
}

/* Estimated from this rank's own schedule, so that plans too large to prove are not built for
 * all. */
static tutti_status is_too_large(const tt_ask *ask, const char *name, int slices, bool *is) {
  tt_sched *mine;
  const tutti_status status = tt_algo_build(name, ask, &mine);
  if (status) return status;
  *is = tt_work_of(&mine, 1) * ask->ranks * slices * MIXES > TT_MOST_WORK;
  tt_sched_free(mine);
  return TUTTI_OK;
}

tutti_status tt_proven_can(const tt_ask *ask, const char *name, const tt_setting *how, bool *can) {
  bool too_large = false;
  tutti_status status = TUTTI_OK;
  if (how->verify == TT_VERIFY_SOME && ask->ranks > TT_PROVEN_RANKS && !has_form(name, ask->coll))
    status = is_too_large(ask, name, tt_coll_owned(ask->coll) ? 1 : MOST_SLICES, &too_large);
  *can = !too_large;
  return status;
}

void tt_unproven_words(const char *name, int ranks, char *words, size_t size) {
  char form[TT_NAME];
  tt_form_name(name, form);
  snprintf(
      words, size,
      "%s takes too long to prove on %d ranks while it runs, and `make prove` knows no plan of "
      "the form %s; TUTTI_VERIFY=1 proves it all the same, and with TUTTI_VERIFY=0 it runs "
      "unproven",
      name, ranks, form);
}

tutti_status tt_proven_find(const tt_ask *ask, const char *name, int slices, const tt_setting *how,
                            tt_proven *is) {
  bool too_large = false;
  tutti_status status = TUTTI_OK;
  *is = TT_PROVEN_OFF;
  if (how->verify == TT_VERIFY_NONE) return TUTTI_OK;
  slices = tt_min(slices, MOST_SLICES);
  if (ask->ranks > TT_PROVEN_RANKS && how->verify != TT_VERIFY_ALL)
    status = is_too_large(ask, name, slices, &too_large);
  if (!status && !too_large) status = prove(ask, name, slices, how->flight);
  *is = !too_large ? TT_PROVEN : has_form(name, ask->coll) ? TT_PROVEN_FORM : TT_PROVEN_TOO_LARGE;
  return status;
}
