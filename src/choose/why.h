/* why.h - explains why a plan is chosen, as data and in words.
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
  const char *estimated; /* the method of the estimate (pricers.h) */
  tt_breakdown breakdown;
  tt_sends sends; /* messages sent by the busiest rank */
  int next;       /* number of next best admissible plans */
  tt_quote others[TT_NEXT];
  int spans; /* number of size ranges; each starts at `from` bytes */
  struct {
    uint64_t from;
    const tt_plan_spec *plan;
    int slices;
  } span[TT_SPANS];
  const tt_device_way *way; /* how vectors on a device are reduced; owned by the caller; NULL: they
                             * are not on a device */
  int refused;              /* number of refused plans, fastest first, impossible ones last */
  tt_reason *reasons;
} tt_why;

/* Explains the choice of a plan. Returns the errors of tt_choose. Free the result with tt_why_free. */
tutti_status tt_why_find(tt_chooser *c, const tt_problem *problem, const tt_override *override,
                         tt_why *why);
void tt_why_free(tt_why *why);
void tt_why_words(tt_text *t, const tt_chooser *c, const tt_why *why);
void tt_why_json(tt_text *t, const tt_chooser *c, const tt_why *why);
/* Appends at most n characters of s as a JSON string. */
void tt_why_string(tt_text *t, const char *s, size_t n);
/* Formats the reason why a candidate is not admissible. */
void tt_why_not(const tt_chooser *c, const tt_problem *problem, const tt_quote *quote, char *why,
                size_t size);
/* Names the largest part of the predicted time, such as "latency" or "transfer between nodes". */
void tt_why_bound(const tt_cost_model *model, const tt_breakdown *breakdown, char *text,
                  size_t size);
/* Format a time such as 1.5 us or 20 ms, and a size such as 4 B or 9 KiB. */
const char *tt_time_words(double seconds, char text[24]);
const char *tt_size_words(double bytes, char text[24]);

#endif
