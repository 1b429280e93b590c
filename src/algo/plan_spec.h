/* plan_spec.h - a plan as a value: a family of algorithms with its parameters.
 *
 * Idea       Text is used only in commands, variables, wisdom and messages. There it is parsed once (plan_spec.c),
 *            against the parameters that the family declares. All other code uses the value.
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
  bool grows; /* larger with more ranks, so tt_plan_spec_form omits the value */
  int lo, hi; /* range of a number */
  const char *wrong; /* error message for an invalid value: "radix goes from 2 to 16" */
} tt_param;

/* Special items of a sequence, in addition to numbers of live vectors. TT_SEQ_NEXT ends the sequence of a level. */
enum { TT_SEQ_RING = -1, TT_SEQ_HALVING = -2, TT_SEQ_NEXT = -3 };

/* A parameter and its value. The fields that are used depend on of->kind. */
typedef struct tt_arg {
  const tt_param *of;
  const char *text; /* points into the plan's text; not NUL-terminated */
  int length;
  int number;
  int n; /* number of items in the list, or of stages */
  int *list;
  tt_tree *levels;
  struct tt_plan_spec **stage;
} tt_arg;

typedef struct tt_plan_spec {
  const struct tt_algo *family;
  char *text; /* with common names expanded: fold(ring) for ring */
  int n;
  tt_arg *arg; /* in the order of the text */
} tt_plan_spec;

/* Parses the text of a plan. Returns TUTTI_ERR_ARG for an unknown family or parameter, or for a value that is out of range; the
 * error message lists what is valid. May fail with TUTTI_ERR_MEMORY. The caller frees the plan with tt_plan_spec_free. */
tutti_status tt_plan_spec_parse(const char *text, tt_plan_spec **spec);
void tt_plan_spec_free(tt_plan_spec *spec);
/* Returns the plan for a text, with the same errors as tt_plan_spec_parse. The plan stays valid until the process ends
 * and must not be freed, so this suits texts that occur repeatedly. */
tutti_status tt_plan_spec_named(const char *text, const tt_plan_spec **spec);
/* Copies a plan but replaces the levels of the machine. Fails like tt_plan_spec_parse. The caller frees the copy. */
tutti_status tt_plan_spec_with_levels(const tt_plan_spec *spec, const char *levels,
                                      tt_plan_spec **other);

/* Returns true if the value is this label. */
bool tt_arg_is(const tt_arg *x, const char *label);
/* Returns the parameter with that key, or NULL. */
const tt_arg *tt_plan_spec_arg(const tt_plan_spec *spec, const char *key);
/* Returns the parameter with the levels, or NULL. */
const tt_arg *tt_plan_spec_levels(const tt_plan_spec *spec);
/* Returns the parameter that lists the algorithm of each stage, or NULL if the plan has none. */
const tt_arg *tt_plan_spec_stages(const tt_plan_spec *spec);

bool tt_plan_spec_equal(const tt_plan_spec *a, const tt_plan_spec *b);
/* Returns true if the plan has the same family and all of these parameters. For example, fold(ring,rings=2) matches
 * fold(ring). */
bool tt_plan_spec_is_one_of(const tt_plan_spec *spec, const tt_plan_spec *family);
/* Appends the form of a plan, which consists of its sorted parameters. Numbers that grow with the ranks are omitted. */
void tt_plan_spec_form(const tt_plan_spec *spec, tt_text *form);

#endif
