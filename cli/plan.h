/* plan.h - declarations shared by the files of `tutti plan`.
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
  /* for `draw` */
  const char *out, *topo;
  long width;
  bool plain, color;
} plan_options;

/* Functions in this file that return an int return an exit status. If it is not 0, they have printed an error message. */
int plan_list(const plan_options *o);
/* Converts an MSCCL algorithm to a schedule (plan_import.c). `xml` is the text of the XML file. Returns NULL after
 * an error message. The caller frees the result. */
char *plan_import(const char *path, const char *xml);
/* Draws `text`, which contains the schedules of all ranks. */
int plan_draw(const char *text, const plan_options *o);
/* Prints the schedules in `text` to stdout, as a picture of this kind. */
int plan_print(const char *text, const plan_options *o, tutti_picture kind);

/* Prints the prover's results to stdout as members of a JSON object. */
void plan_json_report(const tutti_report *r);

#endif
