/* override.h - which plans somebody wants to run, and where.
 *
 * consistent(i=2):0-64k;ring:64k-   the first for vectors up to 64 KiB, then the second
 * ^ring;^tree                       anything but a ring, and no tree whatever its parameters
 * Sizes are bytes of the whole vector, in [from, to).
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_OVERRIDE_H
#define TT_OVERRIDE_H

#include "algo.h"

enum { TT_OVERRIDES = 16 };

typedef struct tt_override {
  int n;
  struct {
    char name[TT_NAME];
    bool never;
    uint64_t from, to;
  } item[TT_OVERRIDES];
} tt_override;

/* NULL or "": none. TUTTI_ERR_ARG: no such algorithm, or it can do nothing on so many
 * ranks, or no such sizes; the sentence says what and where. */
tutti_status tt_override_parse(const char *text, int ranks, tt_override *override);
/* The one that is wanted for so many bytes; NULL: none. */
const char *tt_override_for(const tt_override *override, uint64_t bytes);
/* Is this plan ruled out? */
bool tt_override_forbids(const tt_override *override, const char *name, uint64_t bytes);

#endif
