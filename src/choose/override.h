/* override.h - the plans that the user wants to run, and for which sizes.
 *
 * consistent(i=2):0-64k;ring:64k-   the first for vectors up to 64 KiB, then the second
 * ^ring;^tree                       any plan except rings and trees, whatever their parameters
 * Sizes are in bytes of the whole vector, in [from, to).
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_OVERRIDE_H
#define TT_OVERRIDE_H

#include "algo.h"

enum { TT_OVERRIDES = 16 };

typedef struct tt_override {
  int n;
  struct {
    const tt_plan_spec *plan; /* never freed (tt_plan_spec_named) */
    bool never;
    uint64_t from, to;
  } item[TT_OVERRIDES];
} tt_override;

/* Parses an override. NULL or "" means no override. Returns TUTTI_ERR_ARG if an algorithm is unknown or supports no
 * collective on this number of ranks, or if sizes are invalid. The message says what is wrong, and where. */
tutti_status tt_override_parse(const char *text, int ranks, tt_override *override);
/* Appends text that parses to an equal override, or nothing if no override is set. */
void tt_override_print(tt_text *text, const tt_override *override);
bool tt_override_equal(const tt_override *a, const tt_override *b);
/* Returns equal hashes for equal overrides, and 0 if no override is set. */
uint64_t tt_override_hash(const tt_override *override);
/* Returns the plan that the override names for this size, or NULL. */
const tt_plan_spec *tt_override_for(const tt_override *override, uint64_t bytes);
/* Returns true if the override excludes this plan at this size. */
bool tt_override_forbids(const tt_override *override, const tt_plan_spec *plan, uint64_t bytes);

#endif
