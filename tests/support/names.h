/* names.h - the algorithms that a test iterates over: the table, and the samples that families with parameters
 * propose.
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

/* The table's names and up to `most` of each family, evenly spread; another `turn` selects others;
 * -1: all. Free with names_free. */
names names_for(int ranks, int most, int turn);
void names_free(names *list);

/* Adds the plans that are proposed for a machine with these levels ("": no levels). */
void names_add_plans(names *list, int ranks, const char *levels);

/* An algorithm that must be refused, and words of the reason. */
typedef struct names_refusal {
  const char *name, *says;
  tutti_coll coll;
} names_refusal;

/* Is each of n refused on this number of ranks, with its words? Prints the first that is not. */
bool names_all_refused(const names_refusal *cases, size_t n, int ranks);

/* Builds and proves; false if refused, with the reason in report->witness. */
bool names_prove(const char *name, const tt_ask *ask, tutti_report *report);

#endif
