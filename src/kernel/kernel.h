/* kernel.h - reductions of arrays: dst = in[0] op in[1] op ... op in[n-1].
 *
 * Invariant  The operand order is kept, and the bits do not depend on the instruction set, the
 *            alignment, or the cut of an array into pieces.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_KERNEL_H
#define TT_KERNEL_H

#include "core.h"

/* n >= 2 inputs of `count` elements, each aligned for the type; dst may be equal to any of the
 * inputs, but must not overlap one partially. also: a second place for the result, under the same
 * rule; or NULL. */
typedef void tt_kernel_fn(void *dst, void *also, const void *const *in, int n, size_t count);

/* The parameters of a reduction, filled once per call of a collective. */
typedef struct tt_reducer {
  tutti_type type;
  size_t element;         /* bytes */
  tt_kernel_fn *kernel;   /* built-in op, or NULL */
  const tt_user_op *user; /* else the user's op; or the op with the factor */
  uint32_t serial;        /* of the user op */
  bool times;             /* the input is scaled first (tt_times) */
  double factor;          /* the scale */
} tt_reducer;

/* TUTTI_OK, or TUTTI_ERR_TYPE / TUTTI_ERR_OP with a message. avg reduces as sum. */
tutti_status tt_reducer_init(tt_reducer *r, tutti_type type, tutti_op op);

void tt_reduce(const tt_reducer *r, void *dst, const void *const *in, int n, size_t count);
/* The same, and the result to a second place, in one pass if n is 2; NULL: none. */
void tt_reduce_to_both(const tt_reducer *r, void *dst, void *also, const void *const *in, int n,
                       size_t count);

/* dst[i] = src[i] * the reducer's factor, as tutti.h defines it; dst is src, or disjoint
 * from it. */
void tt_times(const tt_reducer *r, void *dst, const void *src, size_t count);

/* avg: dst[i] = dst[i] / ranks, as tutti.h defines it. */
void tt_scale(tutti_type type, void *dst, size_t count, int ranks);

/* The result of a logical op on one rank's integers: dst[i] = dst[i] != 0. */
void tt_truths(tutti_type type, void *dst, size_t count);

#endif
