/* plan.h - what the files of `tutti plan` share.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PLAN_H
#define PLAN_H

#include "cli.h"
#include "tutti_plan.h"

typedef struct plan_options {
  tutti_coll coll;
  long ranks, rank, root;
  int in_place;
  bool text, json;
  /* draw */
  const char *out, *topo;
  long width;
  bool plain, color;
} plan_options;

/* Each returns an exit status, and has complained if that is not 0. */
int plan_list(const plan_options *o);
/* An algorithm of MSCCL, in the text of an XML file, as a schedule (plan_import.c); NULL after a complaint. Free it. */
char *plan_import(const char *path, const char *xml);
/* `text` has the schedules of all ranks. */
int plan_draw(const char *text, const plan_options *o);
/* As above, but on stdout, as a picture of this kind. */
int plan_print(const char *text, const plan_options *o, tutti_picture kind);

/* Print the prover's results to stdout as members of a JSON object. */
void plan_json_report(const tutti_report *r);

#endif
