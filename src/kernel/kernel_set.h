/* kernel_set.h - one set of kernels per instruction set; all give the same bits.
 *
 * Idea       kernel_loops.h is compiled once per set, and each compilation fills one table. kernel.c uses the best
 *            table that the CPU supports.
 * Invariant  A set has a kernel for exactly those pairs that tutti_type_has_op accepts.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_KERNEL_SET_H
#define TT_KERNEL_SET_H

#include "kernel.h"

typedef void tt_scale_fn(void *dst, size_t count, int ranks);
typedef void tt_times_fn(void *dst, const void *src, size_t count, double factor);

typedef struct tt_kernel_set {
  const char *name;
  tt_kernel_fn *reduce[TUTTI_TYPE_COUNT][TUTTI_OP_COUNT];
  tt_scale_fn *scale[TUTTI_TYPE_COUNT]; /* NULL for types without avg */
  tt_times_fn *times[TUTTI_TYPE_COUNT]; /* NULL except for floating-point types */
} tt_kernel_set;

extern const tt_kernel_set tt_kernels_c, tt_kernels_base;
#if defined(__x86_64__)
extern const tt_kernel_set tt_kernels_avx2;
extern const tt_kernel_set tt_kernels_avx512;
#endif

/* Returns the i-th kernel set that this CPU supports, in order of speed, or NULL past the end. The last two sets are
 * always the vectors of the baseline instruction set and plain C. */
const tt_kernel_set *tt_kernel_set_at(int i);

#endif
