/* why.h - why a plan is chosen, as data and in words.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_WHY_H
#define TT_WHY_H

#include "choose.h"

enum { TT_NEXT = 3, TT_SPANS = 24 };

typedef struct tt_reason {
  tt_quote quote;
  int i; /* index among the candidates */
  char why[TT_REFUSAL];
} tt_reason;

typedef struct tt_why {
  tt_problem problem;
  tt_choice choice;
  tt_proven proven;      /* of the chosen plan */
  const char *estimated; /* from what (pricers.h) */
  tt_breakdown breakdown;
  tt_sends sends; /* by the busiest rank */
  int next;       /* number of next best admissible plans */
  tt_quote others[TT_NEXT];
  int spans; /* number of ranges; each begins at `from` bytes */
  struct {
    uint64_t from;
    const tt_plan_spec *plan;
    int slices;
  } span[TT_SPANS];
  const tt_device_way *way; /* of vectors on a device, owned by the caller; NULL: vectors are not on a device */
  int refused;              /* cheapest first; plans that are not possible last */
  tt_reason *reasons;
} tt_why;

/* Free with tt_why_free. Errors as tt_choose. */
tutti_status tt_why_find(tt_chooser *c, const tt_problem *problem, const tt_override *override,
                         tt_why *why);
void tt_why_free(tt_why *why);
void tt_why_words(tt_text *t, const tt_chooser *c, const tt_why *why);
void tt_why_json(tt_text *t, const tt_chooser *c, const tt_why *why);
/* Appends a JSON string, of at most n characters. */
void tt_why_string(tt_text *t, const char *s, size_t n);
/* Formats why a candidate is not admissible. */
void tt_why_not(const tt_chooser *c, const tt_problem *problem, const tt_quote *quote, char *why,
                size_t size);
/* The largest part of a time, such as "latency" or "transfer between nodes". */
void tt_why_bound(const tt_cost_model *model, const tt_breakdown *breakdown, char *text,
                  size_t size);
/* Formats 1.5 us, 20 ms; 4 B, 9 KiB. */
const char *tt_time_words(double seconds, char text[24]);
const char *tt_size_words(double bytes, char text[24]);

#endif
