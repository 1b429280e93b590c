/* partition.c - how a vector is cut into blocks.
 *
 * Idea       cut into units (one element, or 64 bytes if these are a small part of a
 *            block) and distribute them evenly; the first blocks get the remainder.
 * Invariant  offsets ascend from 0 to total; a block may be empty.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "schedule.h"

enum { LINE = 64, MANY = 16 };

void tt_partition_even(tt_partition *p, uint64_t total, size_t element, uint32_t blocks) {
  uint64_t unit = 1;
  if (element && LINE % element == 0 && total / blocks * element > MANY * LINE)
    unit = LINE / element;
  uint64_t units = total / unit + (total % unit != 0);
  *p = (tt_partition){total, unit, units / blocks, units % blocks, NULL};
}

void tt_partition_fixed(tt_partition *p, uint64_t each, uint32_t blocks) {
  *p = (tt_partition){each * blocks, each ? each : 1, each ? 1 : 0, 0, NULL};
}

void tt_partition_table(tt_partition *p, const uint64_t *table, uint32_t blocks) {
  *p = (tt_partition){table[blocks], 1, 0, 0, table};
}
