/* names.c - lists the algorithm names that a test iterates over.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add(names *list, const char *name) {
  list->at = realloc(list->at, ((size_t)list->n + 1) * sizeof *list->at);
  if (!list->at) abort();
  snprintf(list->at[list->n++], TT_NAME, "%s", name);
}

static int count(int family, int ranks) {
  char name[TT_NAME];
  int lo = 0, hi = 1; /* sample lo exists, hi does not */
  if (!tt_algo_sample(family, ranks, 0, name, sizeof name)) return 0;
  while (tt_algo_sample(family, ranks, hi, name, sizeof name)) lo = hi, hi *= 2;
  while (lo + 1 < hi) {
    int mid = lo + (hi - lo) / 2;
    if (tt_algo_sample(family, ranks, mid, name, sizeof name))
      lo = mid;
    else
      hi = mid;
  }
  return hi;
}

names names_for(int ranks, int most, int turn) {
  names list = {0, NULL};
  char name[TT_NAME];
  for (int a = 0; tutti_algo_name(a, NULL); a++) add(&list, tutti_algo_name(a, NULL));
  for (int f = 0; tt_algo_family(f); f++) {
    const int all = count(f, ranks);
    const int n = most < 0 || most > all ? all : most;
    for (int i = 0; i < n; i++) {
      tt_algo_sample(f, ranks, (int)((int64_t)i * all / n + turn) % all, name, sizeof name);
      add(&list, name);
    }
  }
  return list;
}

void names_add_plans(names *list, int ranks, const char *levels) {
  char name[TT_NAME];
  tt_plan_walk at = {0};
  while (tt_algo_next_plan(ranks, levels, &at, name, sizeof name)) {
    bool is_new = true;
    for (int k = 0; k < list->n && is_new; k++) is_new = strcmp(list->at[k], name) != 0;
    if (is_new) add(list, name);
  }
}

void names_free(names *list) {
  free(list->at);
  list->at = NULL;
}

bool names_prove(const char *name, const tt_ask *ask, tutti_report *report) {
  tt_sched **all;
  *report = (tutti_report){.size = sizeof *report};
  if (tt_algo_build_all(name, ask, &all)) {
    snprintf(report->witness, sizeof report->witness, "%s", tutti_error());
    return false;
  }
  if (tt_prove(all, ask->ranks, report)) report->proven = 0;
  tt_sched_free_all(all, ask->ranks);
  return report->proven;
}

bool names_all_refused(const names_refusal *cases, size_t n, int ranks) {
  for (size_t k = 0; k < n; k++) {
    const tt_ask ask = {.coll = cases[k].coll, .ranks = ranks};
    tt_sched *s;
    const tutti_status status = tt_algo_build(cases[k].name, &ask, &s);
    if (status == TUTTI_ERR_UNSUPPORTED && strstr(tutti_error(), cases[k].says)) continue;
    fprintf(stderr, "%s on %d ranks: expected a refusal with '%s', got %s: '%s'\n", cases[k].name,
            ranks, cases[k].says, tutti_strerror(status), status ? tutti_error() : "");
    return false;
  }
  return true;
}
