/* names.h - the algorithms that a test iterates over: those of the table, and samples of families
 * with parameters.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NAMES_H
#define NAMES_H

#include "algo.h"
#include "prove.h"
#include "tutti_plan.h"

typedef struct names {
  int n;
  char **at;
} names;

/* Returns the names of the table, and up to `most` of each family, evenly spread (-1 for all). Another `turn` selects
 * others. Free with names_free. */
names names_for(int ranks, int most, int turn);
void names_free(names *list);

/* Adds the plans that are proposed for a machine with these levels ("" for no levels). */
void names_add_plans(names *list, int ranks, const char *levels);

/* An algorithm that must be refused, and words that the reason must contain. */
typedef struct names_refusal {
  const char *name, *says;
  tutti_coll coll;
} names_refusal;

/* Returns true if each of the n cases is refused on this number of ranks, with its words. Prints the first one that
 * is not. */
bool names_all_refused(const names_refusal *cases, size_t n, int ranks);

/* Builds and proves an algorithm. Returns false if it is refused, with the reason in report->witness. */
bool names_prove(const char *name, const tt_ask *ask, tutti_report *report);

#endif
