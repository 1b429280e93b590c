/* kernel.h - reductions of arrays: dst = in[0] op in[1] op ... op in[n-1].
 *
 * Invariant  The operand order is kept, and the bits do not depend on the instruction set, the
 *            alignment, or the cut of an array into pieces.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_KERNEL_H
#define TT_KERNEL_H

#include "core.h"

/* Reduces n >= 2 inputs of `count` elements, each aligned for the type. dst may be equal to any of the inputs, but must not
 * partially overlap one. `also` is a second buffer for the result, under the same rule, or NULL. */
typedef void tt_kernel_fn(void *dst, void *also, const void *const *in, int n, size_t count);

/* The parameters of a reduction, filled once per call of a collective. */
typedef struct tt_reducer {
  tutti_type type;
  size_t element;         /* size of an element, in bytes */
  tt_kernel_fn *kernel;   /* kernel of a built-in op, or NULL */
  const tt_user_op *user; /* a user's op or a scaled op; NULL: a built-in op */
  uint32_t serial;        /* serial number of the user's op */
  bool times;             /* the input is multiplied by `factor` first (tt_times) */
  double factor;
} tt_reducer;

/* Initializes a reducer; TUTTI_AVG is reduced as a sum. Returns TUTTI_OK, or TUTTI_ERR_TYPE or TUTTI_ERR_OP with a
 * message. */
tutti_status tt_reducer_init(tt_reducer *r, tutti_type type, tutti_op op);

void tt_reduce(const tt_reducer *r, void *dst, const void *const *in, int n, size_t count);
/* As above, and also writes the result to a second buffer (NULL: none), in a single pass if n is 2. */
void tt_reduce_to_both(const tt_reducer *r, void *dst, void *also, const void *const *in, int n,
                       size_t count);

/* Sets dst[i] = src[i] * the reducer's factor, as defined in tutti.h. dst is src, or does not overlap it. */
void tt_times(const tt_reducer *r, void *dst, const void *src, size_t count);

/* Completes TUTTI_AVG: sets dst[i] = dst[i] / ranks, as defined in tutti.h. */
void tt_scale(tutti_type type, void *dst, size_t count, int ranks);

/* Computes the result of a logical op on the integers of a single rank: sets dst[i] = dst[i] != 0. */
void tt_truths(tutti_type type, void *dst, size_t count);

#endif
