/* forms.c - what `make prove` has proven about plans whose own proofs would take long.
 *
 * Idea       a plan's form is its name without its numbers: fold(group=16x16,inner) is of the form
 *            fold(group=,inner). `make prove` proves every form, with all parameters that its
 *            family proposes, on every number of ranks up to 64 and on samples beyond, within
 *            minutes. It writes the results to forms.def. The library uses them for more than 64
 *            ranks, if it cannot prove the plan itself in half a second (proven.c).
 * Invariant  forms.def belongs to the sources from which it was made (tests/sh/laws.sh).
 * SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "choose.h"

static const tt_form forms[] = {
#define FORM(name, coll, order, same, ranks) {name, TUTTI_##coll, order, same, ranks},
#define SOURCES(stamp)
#include "forms.def"
    {NULL, TUTTI_COLL_COUNT, 0, 0, 0}};

void tt_form_name(const char *name, char form[TT_NAME]) {
  const size_t family = strcspn(name, "(");
  size_t n = 0;
  for (const char *at = name; at < name + family && n < TT_NAME - 1; at++) form[n++] = *at;
  const char *param = name + family, *end;
  for (char mark = '('; *param && param[1]; param = end, mark = ',') {
    param++; /* skips the '(' or ',' before it */
    end = param + tt_text_until(param, ",)");
    const char *equals = memchr(param, '=', (size_t)(end - param));
    const char *colon = memchr(param, ':', (size_t)(end - param));
    const char *text = !equals && colon ? "levels" : param;
    const size_t size = equals  ? (size_t)(equals + 1 - param)
                        : colon ? strlen(text)
                                : (size_t)(end - param);
    if (n < TT_NAME - 1) form[n++] = mark;
    for (size_t i = 0; i < size && n < TT_NAME - 1; i++) form[n++] = text[i];
    if (*end == ')') break;
  }
  if (*param && n < TT_NAME - 1) form[n++] = ')';
  form[n] = '\0';
}

const tt_form *tt_form_of(const char *name, tutti_coll coll) {
  char form[TT_NAME];
  tt_form_name(name, form);
  for (const tt_form *f = forms; f->name; f++)
    if (f->coll == coll && strcmp(f->name, form) == 0) return f;
  return NULL;
}
