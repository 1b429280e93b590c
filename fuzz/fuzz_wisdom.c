/* fuzz_wisdom.c - reads untrusted wisdom (TUTTI_WISDOM, `tutti tune --wisdom`).
 *
 * Invariant  either a text is rejected with line and column, and no entry is kept, or writing it
 *            back yields the same entries. An entry that is found for a call can run that call.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "choose.h"
#include "fuzz.h"

static char *written(const tt_wisdom *w) {
  tt_text t = {0};
  tt_wisdom_print(&t, w);
  need(t.at && !t.failed);
  return t.at;
}

static void reads_back(const tt_wisdom *w) {
  tt_wisdom again = {.at = NULL};
  char *text = written(w);
  need(tt_wisdom_parse(&again, text, "the printed text") == TUTTI_OK);
  char *twice = written(&again);
  need(strcmp(text, twice) == 0);
  need(tt_wisdom_merge(&again, w) && again.n == w->n);
  free(text);
  free(twice);
  tt_wisdom_clear(&again);
}

/* Looks up the plans for four ranks, as if the wisdom had been measured on this machine. */
static void is_chosen_from(const tt_wisdom *w, tt_chooser *c) {
  const tt_override none = {0};
  for (int i = 0; i < w->n && i < 8; i++) {
    const tt_wisdom_entry *e = &w->at[i];
    tt_problem p = {.coll = e->key.coll, .bytes = e->bytes, .wisdom = w, .key = e->key};
    tt_choice choice;
    tt_quote o;
    need(tt_wisdom_find(w, &e->key, e->bytes));
    need(tt_choose(c, &p, &none, &choice) == TUTTI_OK);
    bool possible = false;
    for (int k = 0; tt_quote_at(c, &p, &none, k, false, &o); k++)
      possible |= o.possible && tt_plan_spec_equal(o.plan, choice.plan);
    need(possible);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static tt_chooser *chooser; /* kept, because it caches estimates */
  tt_setting where = {.ranks = 4, .ranks_per_core = 2, .flight = 3};
  char *text = fuzz_text(data, size);
  tt_wisdom w = {.at = NULL};
  tt_profile_shm(&where.profile);
  if (!chooser) need(tt_chooser_new(&where, &chooser) == TUTTI_OK);
  if (tt_wisdom_parse(&w, text, "wisdom 'x'") == TUTTI_OK) {
    reads_back(&w);
    is_chosen_from(&w, chooser);
  } else {
    need(!w.at && !w.n);
    need(strstr(tutti_error(), "wisdom 'x', line ") && strstr(tutti_error(), ", column "));
  }
  free(text);
  tt_wisdom_clear(&w);
  return 0;
}
