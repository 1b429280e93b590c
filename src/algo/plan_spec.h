/* plan_spec.h - a plan as a value: a family of algorithms, and its parameters.
 *
 * Idea       Text is used only at the edges: commands, variables, wisdom, messages. It is parsed there
 *            once (plan_spec.c), against the parameters that the family declares. All other code uses the value.
 * Syntax     family(parameter,parameter,...), as in fold(group=3x2,inner). A parameter is a word, a
 *            key with a value, or the levels of a machine, as in blueconnect(node:4 core:8,ring).
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_PLAN_SPEC_H
#define TT_PLAN_SPEC_H

#include "schedule.h"
#include "topo_tree.h"

struct tt_algo;

typedef enum tt_param_kind {
  TT_PARAM_WORD,      /* inner */
  TT_PARAM_NUMBER,    /* radix=4, from lo to hi */
  TT_PARAM_SIZES,     /* group=3x2x2 */
  TT_PARAM_SHARE,     /* share=3/16 */
  TT_PARAM_SEQUENCES, /* seq=ring/4.2.1 */
  TT_PARAM_LABEL,     /* per=rack */
  TT_PARAM_LEVELS,    /* node:4 core:8, without a key */
  TT_PARAM_STAGES     /* stages=lanes(n=4)/two-shot */
} tt_param_kind;

/* A parameter that a family takes. */
typedef struct tt_param {
  const char *key;
  tt_param_kind kind;
  bool
      grows; /* the ranks bound its numbers, so the form of a plan leaves them out (tt_plan_spec_form) */
  int lo, hi;        /* of a number */
  const char *wrong; /* the refusal of another value: "radix goes from 2 to 16" */
} tt_param;

/* Items of sequences other than numbers of live vectors; TT_SEQ_NEXT ends the sequence of a level. */
enum { TT_SEQ_RING = -1, TT_SEQ_HALVING = -2, TT_SEQ_NEXT = -3 };

/* A parameter with its value, of the kind that `of` says. */
typedef struct tt_arg {
  const tt_param *of;
  const char *text; /* in the plan's text; not terminated */
  int length;
  int number;
  int n; /* items of the list, or stages */
  int *list;
  tt_tree *levels;
  struct tt_plan_spec **stage;
} tt_arg;

typedef struct tt_plan_spec {
  const struct tt_algo *family;
  char *text; /* in full: fold(ring) for ring */
  int n;
  tt_arg *arg; /* in the order of the text */
} tt_plan_spec;

/* TUTTI_ERR_ARG: no such family or parameter, or a value out of its range; the message says what is
 * expected. TUTTI_ERR_MEMORY. Free with tt_plan_spec_free. */
tutti_status tt_plan_spec_parse(const char *text, tt_plan_spec **spec);
void tt_plan_spec_free(tt_plan_spec *spec);
/* The plan of a text that a user, or the code, has written. It is kept for the life of the process and must not
 * be freed. Errors as above. */
tutti_status tt_plan_spec_named(const char *text, const tt_plan_spec **spec);
/* The same plan with other levels of the machine. */
tutti_status tt_plan_spec_with_levels(const tt_plan_spec *spec, const char *levels,
                                      tt_plan_spec **other);

/* Is the value of a label this? */
bool tt_arg_is(const tt_arg *x, const char *label);
/* The parameter of that key, or NULL. */
const tt_arg *tt_plan_spec_arg(const tt_plan_spec *spec, const char *key);
/* The levels that it names, or NULL. */
const tt_arg *tt_plan_spec_levels(const tt_plan_spec *spec);
/* The algorithms that it names for the levels, or NULL. */
const tt_arg *tt_plan_spec_stages(const tt_plan_spec *spec);

bool tt_plan_spec_equal(const tt_plan_spec *a, const tt_plan_spec *b);
/* Is the plan of this family, with all of these parameters? fold(ring,rings=2) is one of fold(ring). */
bool tt_plan_spec_is_one_of(const tt_plan_spec *spec, const tt_plan_spec *family);
/* Appends the plan's form: its parameters sorted, without numbers that grow with the ranks. */
void tt_plan_spec_form(const tt_plan_spec *spec, tt_text *form);

#endif
