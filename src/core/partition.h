/* partition.h - how a vector is cut into blocks, in elements.
 *
 * Idea       The vector is cut into units, which are distributed evenly; the first blocks get the remainder. A unit is
 *            one element, or 64 bytes if that is a small part of a block.
 * Invariant  Offsets ascend from 0 to total. A block may be empty.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_PARTITION_H
#define TT_PARTITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tt_partition {
  uint64_t total;        /* elements */
  uint64_t unit;         /* elements that stay together */
  uint64_t quot, rem;    /* units per block; the first `rem` blocks have one more */
  const uint64_t *table; /* blocks + 1 offsets that override the above; or NULL */
} tt_partition;

/* Divides a vector into blocks of about equal size. If the blocks are large enough, they start at multiples of 64 bytes. */
static inline tt_partition tt_partition_even(uint64_t total, size_t element, uint32_t blocks) {
  enum { LINE = 64, MANY = 16 };
  const bool lines = element && LINE % element == 0 && total / blocks * element > MANY * LINE;
  const uint64_t unit = lines ? LINE / element : 1;
  const uint64_t units = total / unit + (total % unit != 0);
  return (tt_partition){total, unit, units / blocks, units % blocks, NULL};
}
/* Makes blocks of exactly `each` elements. */
static inline tt_partition tt_partition_fixed(uint64_t each, uint32_t blocks) {
  return (tt_partition){each * blocks, each ? each : 1, each ? 1 : 0, 0, NULL};
}
static inline tt_partition tt_partition_table(const uint64_t *table, uint32_t blocks) {
  return (tt_partition){table[blocks], 1, 0, 0, table};
}
/* Returns the offset of a block. */
static inline uint64_t tt_partition_at(const tt_partition *p, uint32_t block) {
  if (p->table) return p->table[block];
  const uint64_t units = block * p->quot + (block < p->rem ? block : p->rem);
  const uint64_t at = units * p->unit;
  return at < p->total ? at : p->total;
}

/* Returns the offset of a slice, in quarters of a slice. If there are at least four slices, the first and the last are
 * only a quarter as long as the others. While they are sent, the links of other levels are idle. */
static inline uint32_t tt_slice_quarters(uint32_t slices, uint32_t slice) {
  if (slices < 4) return 4 * slice;
  return slice == 0 ? 0 : slice == slices ? 4 * slices - 6 : 4 * slice - 3;
}

#endif
