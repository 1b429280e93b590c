/* names.c - lists the algorithm names that a test iterates over.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "samples.h"
#include "tutti_plan.h"

static void add(names *list, const char *name) {
  list->at = realloc(list->at, ((size_t)list->n + 1) * sizeof *list->at);
  if (!list->at || !(list->at[list->n++] = strdup(name))) abort();
}

static bool has_sample(int family, int ranks, int i) {
  tt_text name = {0};
  const bool has = add_sample(family, ranks, i, &name);
  free(name.at);
  return has;
}

static int count(int family, int ranks) {
  int lo = 0, hi = 1; /* sample lo exists, sample hi does not */
  if (!has_sample(family, ranks, 0)) return 0;
  while (has_sample(family, ranks, hi)) lo = hi, hi *= 2;
  while (lo + 1 < hi) {
    int mid = lo + (hi - lo) / 2;
    if (has_sample(family, ranks, mid))
      lo = mid;
    else
      hi = mid;
  }
  return hi;
}

names names_for(int ranks, int most, int turn) {
  names list = {0, NULL};
  tt_text name = {0};
  for (int a = 0; tutti_algo_name(a, NULL); a++) add(&list, tutti_algo_name(a, NULL));
  for (int f = 0; sampled_family(f); f++) {
    const int all = count(f, ranks);
    const int n = most < 0 || most > all ? all : most;
    for (int i = 0; i < n; i++) {
      name.length = 0;
      add_sample(f, ranks, (int)((int64_t)i * all / n + turn) % all, &name);
      add(&list, name.at);
    }
  }
  free(name.at);
  return list;
}

void names_add_plans(names *list, int ranks, const char *levels) {
  tt_text name = {0};
  tt_plan_walk at = {0};
  for (; tt_algo_next_plan(ranks, levels, &at, &name); name.length = 0) {
    bool is_new = true;
    for (int k = 0; k < list->n && is_new; k++) is_new = strcmp(list->at[k], name.at) != 0;
    if (is_new) add(list, name.at);
  }
  free(name.at);
}

void names_free(names *list) {
  for (int i = 0; i < list->n; i++) free(list->at[i]);
  free(list->at);
  list->at = NULL;
}

bool names_prove(const char *name, const tt_ask *ask, tutti_report *report) {
  tt_sched **all;
  *report = (tutti_report){.size = sizeof *report};
  if (tt_algo_build_all_named(name, ask, &all)) {
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
    const tutti_status status = tt_algo_build_named(cases[k].name, &ask, &s);
    if ((status == TUTTI_ERR_UNSUPPORTED || status == TUTTI_ERR_ARG) &&
        strstr(tutti_error(), cases[k].says))
      continue;
    fprintf(stderr, "%s on %d ranks: expected a refusal with '%s', got %s: '%s'\n", cases[k].name,
            ranks, cases[k].says, tutti_strerror(status), status ? tutti_error() : "");
    return false;
  }
  return true;
}
