/* plan_spec.c - parses the text of a plan, and compares plans.
 *
 * Invariant  No other file parses the text of a plan (tests/sh/laws.sh).
 * SPDX-License-Identifier: BSD-3-Clause */
#include "plan_spec.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "algo.h"

static tutti_status no_memory(void) {
  return tt_fail(TUTTI_ERR_MEMORY, "out of memory for a plan");
}

/* ---- values ---- */

/* Parses a number such as "4". The number must extend to the end of the range. */
static bool read_number(const char *at, const char *end, int *value) {
  char *stop;
  const long number = strtol(at, &stop, 10);
  *value = (int)number;
  return at < end && stop == end && number >= INT32_MIN && number <= INT32_MAX;
}

static bool is_word(const char *at, const char *end, const char *word) {
  return (size_t)(end - at) == strlen(word) && memcmp(at, word, strlen(word)) == 0;
}

/* Parses one item of a sequence. An item is a number of live vectors or one of the words ring and halving. */
static bool read_live(const char *at, const char *end, int *value) {
  *value = is_word(at, end, "ring") ? TT_SEQ_RING : TT_SEQ_HALVING;
  if (is_word(at, end, "ring") || is_word(at, end, "halving")) return true;
  return read_number(at, end, value) && *value > 0;
}

/* Parses a list of items. Each character in `between` separates items, and a slash also ends the sequence of a level. */
static tutti_status read_list(tt_arg *x, const char *at, const char *end, const char *between,
                              bool *ok) {
  x->list = malloc((2 * (size_t)(end - at) + 1) * sizeof *x->list);
  if (!x->list) return no_memory();
  for (*ok = true; *ok;) {
    const char *stop = at;
    while (stop < end && !strchr(between, *stop)) stop++;
    *ok = x->of->kind == TT_PARAM_SEQUENCES ? read_live(at, stop, &x->list[x->n])
                                            : read_number(at, stop, &x->list[x->n]);
    x->n++;
    if (stop == end) break;
    if (*stop == '/' && x->of->kind == TT_PARAM_SEQUENCES) x->list[x->n++] = TT_SEQ_NEXT;
    at = stop + 1;
  }
  return TUTTI_OK;
}

static tutti_status read_levels(tt_arg *x, const char *at, const char *end) {
  char *text = strndup(at, (size_t)(end - at));
  x->levels = malloc(sizeof *x->levels);
  const tutti_status status = text && x->levels ? tt_tree_parse(text, x->levels) : no_memory();
  free(text);
  return status;
}

static tutti_status read_stages(tt_arg *x, const char *at, const char *end, bool *ok) {
  int most = 1;
  for (const char *c = at; c < end; c++) most += *c == '/';
  x->stage = calloc((size_t)most, sizeof(tt_plan_spec *));
  if (!x->stage) return no_memory();
  while (at < end) {
    const size_t length = tt_min(tt_text_until(at, "/"), (size_t)(end - at));
    if (length == 0) *ok = false;
    if (!*ok) break;
    char *text = strndup(at, length);
    const tutti_status status = text ? tt_plan_spec_parse(text, &x->stage[x->n]) : no_memory();
    free(text);
    if (status) return status;
    x->n++;
    at += length;
    if (at < end && *at++ == '/') *ok = at < end;
  }
  return TUTTI_OK;
}

/* Parses the text of a parameter's value, and sets *ok to true if the value is valid. */
static tutti_status read_value(tt_arg *x, const char *at, const char *end, bool *ok) {
  switch (x->of->kind) {
    case TT_PARAM_WORD: return TUTTI_OK;
    case TT_PARAM_NUMBER:
      *ok = read_number(at, end, &x->number) && x->number >= x->of->lo && x->number <= x->of->hi;
      return TUTTI_OK;
    case TT_PARAM_SIZES: return read_list(x, at, end, "x", ok);
    case TT_PARAM_SHARE: return read_list(x, at, end, "/", ok);
    case TT_PARAM_SEQUENCES: return read_list(x, at, end, "./", ok);
    case TT_PARAM_LABEL: *ok = at < end; return TUTTI_OK;
    case TT_PARAM_LEVELS: return read_levels(x, at, end);
    case TT_PARAM_STAGES: *ok = at < end; return read_stages(x, at, end, ok);
  }
  return TUTTI_OK;
}

/* ---- parameters ---- */

static bool has_key(const tt_param *of) {
  return of->kind != TT_PARAM_WORD && of->kind != TT_PARAM_LEVELS;
}

/* Returns the parameter of the family that is set by this text, or NULL. Points *value to the first character of its value. */
static const tt_param *find_param(const tt_algo *family, const char *at, const char *end,
                                  const char **value) {
  const char *equals = memchr(at, '=', (size_t)(end - at));
  for (const tt_param *of = family->params; of < family->params + TT_PARAMS && of->key; of++) {
    *value = has_key(of) && equals ? equals + 1 : at;
    if (of->kind == TT_PARAM_LEVELS
            ? !equals && memchr(at, ':', (size_t)(end - at))
            : has_key(of) == (equals != NULL) && is_word(at, equals ? equals : end, of->key))
      return of;
  }
  return NULL;
}

/* Reports an invalid parameter, with a message such as "none of: ring halving seq= LEVEL:N". */
static tutti_status refuse_param(const tt_plan_spec *spec, const char *at, const char *end) {
  tt_text known = {0};
  for (const tt_param *of = spec->family->params; of < spec->family->params + TT_PARAMS && of->key;
       of++)
    tt_text_add(&known, " %s%s", of->key, has_key(of) ? "=" : "");
  const tutti_status status =
      tt_fail(TUTTI_ERR_ARG, "parameter '%.*s' is none of:%s; the plan is %s",
              (int)tt_min((size_t)(end - at), 80), at,
              known.failed || !known.length ? " (it takes none)" : known.at, spec->text);
  free(known.at);
  return status;
}

static tutti_status read_param(tt_plan_spec *spec, const char *at, const char *end) {
  const char *value;
  bool ok = true;
  const tt_param *of = find_param(spec->family, at, end, &value);
  if (!of) return refuse_param(spec, at, end);
  tt_arg *x = &spec->arg[spec->n++];
  *x = (tt_arg){.of = of, .text = at, .length = (int)(end - at)};
  const tutti_status status = read_value(x, value, end, &ok);
  if (status || ok) return status;
  return tt_fail(TUTTI_ERR_ARG, "%s; the plan is %s",
                 of->wrong ? of->wrong : "a parameter has no such value", spec->text);
}

static tutti_status read_params(tt_plan_spec *spec) {
  const char *at = spec->text + strlen(spec->family->name);
  const char *last = at + strlen(at) - 1;
  tutti_status status = TUTTI_OK;
  if (last < at) return TUTTI_OK;
  if (*last != ')')
    return tt_fail(TUTTI_ERR_ARG, "parameters go in parentheses; the plan is %s", spec->text);
  size_t most = 1;
  for (const char *c = at; *c; c++) most += *c == ',';
  spec->arg = malloc(most * sizeof *spec->arg);
  if (!spec->arg) return no_memory();
  while (at < last && !status) {
    const char *item = at + 1;
    const size_t length = tt_min(tt_text_until(item, ","), (size_t)(last - item));
    at = item + length;
    if (length || at < last) status = read_param(spec, item, at);
  }
  return status;
}

tutti_status tt_plan_spec_parse(const char *text, tt_plan_spec **spec) {
  const char *full = tt_algo_full_name(text);
  const tt_algo *family = tt_algo_find(full, strcspn(full, "("));
  *spec = NULL;
  if (!family) return tt_algo_unknown(text);
  tt_plan_spec *made = calloc(1, sizeof *made);
  if (made) *made = (tt_plan_spec){.family = family, .text = strdup(full)};
  tutti_status status = made && made->text ? read_params(made) : no_memory();
  if (status)
    tt_plan_spec_free(made);
  else
    *spec = made;
  return status;
}

void tt_plan_spec_free(tt_plan_spec *spec) {
  if (!spec) return;
  for (int i = 0; i < spec->n; i++) {
    tt_arg *x = &spec->arg[i];
    for (int k = 0; x->stage && k < x->n; k++) tt_plan_spec_free(x->stage[k]);
    free(x->stage);
    free(x->levels);
    free(x->list);
  }
  free(spec->arg);
  free(spec->text);
  free(spec);
}

/* ---- cached plans ---- */

static int by_plan_text(const void *a, const void *b) {
  const tt_plan_spec *x = a, *y = b;
  return strcmp(x->text, y->text);
}

/* The plans are stored in a balanced tree, because a proof looks up thousands of plans, each of them many times. */
tutti_status tt_plan_spec_named(const char *text, const tt_plan_spec **spec) {
  tutti_status status = TUTTI_OK;
  tt_plan_spec asked = {.text = (char *)tt_algo_full_name(text)}, *made = NULL;
  *spec = NULL;
  void **all = tt_kept_plans_lock();
  tt_plan_spec **at = tfind(&asked, all, by_plan_text);
  if (!at) status = tt_plan_spec_parse(text, &made);
  if (made && !(at = tsearch(made, all, by_plan_text))) status = no_memory();
  if (status) tt_plan_spec_free(made);
  if (!status) *spec = *at;
  tt_kept_plans_unlock();
  return status;
}

tutti_status tt_plan_spec_with_levels(const tt_plan_spec *spec, const char *levels,
                                      tt_plan_spec **other) {
  const tt_arg *x = tt_plan_spec_levels(spec);
  tt_text text = {0};
  *other = NULL;
  if (!x) return tt_fail(TUTTI_ERR_ARG, "%.300s names no levels", spec->text);
  tt_text_add(&text, "%.*s%s%s", (int)(x->text - spec->text), spec->text, levels,
              x->text + x->length);
  const tutti_status status = text.failed ? no_memory() : tt_plan_spec_parse(text.at, other);
  free(text.at);
  return status;
}

/* ---- properties of plans ---- */

bool tt_arg_is(const tt_arg *x, const char *label) {
  const char *value = x->text + strlen(x->of->key) + 1;
  return is_word(value, x->text + x->length, label);
}

const tt_arg *tt_plan_spec_arg(const tt_plan_spec *spec, const char *key) {
  for (int i = 0; i < spec->n; i++)
    if (strcmp(spec->arg[i].of->key, key) == 0) return &spec->arg[i];
  return NULL;
}

static const tt_arg *arg_of_kind(const tt_plan_spec *spec, tt_param_kind kind) {
  for (int i = 0; i < spec->n; i++)
    if (spec->arg[i].of->kind == kind) return &spec->arg[i];
  return NULL;
}

const tt_arg *tt_plan_spec_levels(const tt_plan_spec *spec) {
  return arg_of_kind(spec, TT_PARAM_LEVELS);
}

const tt_arg *tt_plan_spec_stages(const tt_plan_spec *spec) {
  return arg_of_kind(spec, TT_PARAM_STAGES);
}

bool tt_plan_spec_equal(const tt_plan_spec *a, const tt_plan_spec *b) {
  return strcmp(a->text, b->text) == 0;
}

static bool has_arg(const tt_plan_spec *spec, const tt_arg *x) {
  for (int i = 0; i < spec->n; i++)
    if (spec->arg[i].length == x->length &&
        memcmp(spec->arg[i].text, x->text, (size_t)x->length) == 0)
      return true;
  return false;
}

bool tt_plan_spec_is_one_of(const tt_plan_spec *spec, const tt_plan_spec *family) {
  bool is = spec->family == family->family;
  for (int i = 0; is && i < family->n; i++) is = has_arg(spec, &family->arg[i]);
  return is;
}

/* ---- forms ---- */

/* Appends one parameter to the form of a plan. Omits the values of levels and of numbers that grow with the ranks. */
static void form_arg(const tt_arg *x, tt_text *form) {
  if (x->of->kind == TT_PARAM_LEVELS)
    tt_text_add(form, "levels");
  else if (!x->of->grows && !x->stage)
    tt_text_add(form, "%.*s", x->length, x->text);
  else
    tt_text_add(form, "%s=", x->of->key);
  for (int i = 0; x->stage && i < x->n; i++) {
    if (i) tt_text_add(form, "/");
    tt_plan_spec_form(x->stage[i], form);
  }
}

static int by_text(const void *a, const void *b) {
  const tt_text *x = a, *y = b;
  return strcmp(x->at ? x->at : "", y->at ? y->at : "");
}

void tt_plan_spec_form(const tt_plan_spec *spec, tt_text *form) {
  tt_text *part = calloc((size_t)spec->n + 1, sizeof *part);
  tt_text_add(form, "%s", spec->family->name);
  form->failed |= !part;
  for (int i = 0; part && i < spec->n; i++) form_arg(&spec->arg[i], &part[i]);
  if (part)
    qsort(part, (size_t)spec->n, sizeof *part,
          by_text); /* their order in the text does not matter */
  for (int i = 0; part && i < spec->n; i++) {
    form->failed |= part[i].failed;
    tt_text_add(form, "%c%s", i ? ',' : '(', part[i].at ? part[i].at : "");
    free(part[i].at);
  }
  if (spec->n) tt_text_add(form, ")");
  free(part);
}
