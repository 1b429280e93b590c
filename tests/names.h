/* names.h - the algorithms that a test goes through: the table, and of the families
 * with parameters what they propose to try.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NAMES_H
#define NAMES_H

#include "algo.h"
#include "prove.h"

typedef struct names {
  int n;
  char (*at)[TT_NAME];
} names;

/* The table's, and up to `most` of each family, evenly chosen, others for other
 * `turn`s; -1: all. Free with names_free. */
names names_for(int ranks, int most, int turn);
void names_free(names *list);

/* The same, and what is proposed for a machine of these levels ("": of none). */
void names_add_plans(names *list, int ranks, const char *levels);

/* Build and prove; false if it is refused, with the reason in report->witness. */
bool names_prove(const char *name, const tt_ask *ask, tutti_report *report);

#endif
