/* by_name.h - looks up plans by name, for tests with tables of names.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BY_NAME_H
#define BY_NAME_H

#include <stdio.h>
#include <stdlib.h>

#include "candidates.h"
#include "samples.h"

enum { NAME = 512 }; /* capacity for the names of these tests */

/* Returns the plan with this name. Prints an error and ends the test if the name is invalid. */
static inline const tt_plan_spec *plan_named(const char *name) {
  const tt_plan_spec *plan;
  if (!tt_plan_spec_named(name, &plan)) return plan;
  fprintf(stderr, "%s\n", tutti_error());
  abort();
}

static inline tt_ask ask_named(const char *name, const tt_ask *ask) {
  tt_ask named = *ask;
  named.plan = plan_named(name);
  return named;
}

static inline bool uniform_named(const char *name, const tt_ask *ask, const tt_tree *tree) {
  const tt_ask named = ask_named(name, ask);
  return tt_algo_uniform(&named, tree);
}

static inline int rounds_named(const char *name, const tt_ask *ask) {
  const tt_ask named = ask_named(name, ask);
  return tt_algo_rounds(&named);
}

static inline int stages_named(const char *name, const tt_ask *ask, const tt_tree *tree,
                               tt_level_stage list[TT_STAGES]) {
  const tt_ask named = ask_named(name, ask);
  return tt_algo_stages(&named, tree, list);
}

static inline bool does_named(const char *name, tutti_coll coll) {
  return tt_algo_does(plan_named(name), coll);
}

static inline tutti_status known_named(const char *name, int ranks) {
  const tt_plan_spec *plan;
  const tutti_status status = tt_plan_spec_named(name, &plan);
  return status ? status : tt_algo_known(plan, ranks);
}

static inline tutti_status meets_named(const char *name, const tt_ask *ask, unsigned needs,
                                       double most, unsigned *met, bool *skipped) {
  const tt_ask named = ask_named(name, ask);
  return tt_meets(&named, needs, most, met, skipped);
}

static inline tutti_status find_proven(const tt_ask *ask, const char *name, int slices,
                                       const tt_setting *how, tt_proven *is) {
  const tt_ask named = ask_named(name, ask);
  return tt_proven_find(&named, slices, how, is);
}

static inline tutti_status can_be_proven(const tt_ask *ask, const char *name, const tt_setting *how,
                                         bool *can) {
  const tt_ask named = ask_named(name, ask);
  return tt_proven_can(&named, how, can);
}

static inline uint64_t key_named(const tt_ask *ask, const char *name, int slices) {
  const tt_ask named = ask_named(name, ask);
  return tt_proven_key(&named, slices);
}

/* Estimates a plan by its stages. Returns false if the plan does not support that. */
static inline bool stages_price(tt_chooser *c, const tt_ask *ask, tt_curve *curve) {
  const tt_pricing p = tt_pricing_of(c, ask->plan, ask->coll, ask->root);
  return tt_stages_apply(&p) && !tt_stages_curve(&p, 0, curve);
}

/* Copies a text into `name`, and frees the text. Returns false if it is too long or empty. */
static inline bool take_name(tt_text *text, char *name, size_t size) {
  const bool fits = text->length && (size_t)snprintf(name, size, "%s", text->at) < size;
  free(text->at);
  *text = (tt_text){0};
  return fits;
}

static inline void form_named(const char *name, char form[NAME]) {
  tt_text text = {0};
  tt_plan_spec_form(plan_named(name), &text);
  take_name(&text, form, NAME);
}

static inline bool sample_named(int family, int ranks, int i, char *name, size_t size) {
  tt_text text = {0};
  add_sample(family, ranks, i, &text);
  return take_name(&text, name, size);
}

static inline bool next_named(int ranks, const char *levels, tt_plan_walk *at, char *name,
                              size_t size) {
  tt_text text = {0};
  tt_algo_next_plan(ranks, levels, at, &text);
  return take_name(&text, name, size);
}

#endif
