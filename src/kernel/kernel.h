/* kernel.h - reductions of arrays: dst = in[0] op in[1] op ... op in[n-1].
 *
 * Invariant  The operand order is kept, and the bits do not depend on the instruction set, the
 *            alignment, or the cut of an array into pieces.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_KERNEL_H
#define TT_KERNEL_H

#include "core.h"

/* Reduces n >= 2 inputs of `count` elements each, which are aligned for the type. dst may be equal to an input but must
 * not partially overlap any. `also` is NULL or a second buffer for the result, with the same restriction. */
typedef void tt_kernel_fn(void *dst, void *also, const void *const *in, int n, size_t count);

/* The parameters of a reduction. A collective call fills them in once. */
typedef struct tt_reducer {
  tutti_type type;
  size_t element;         /* size of an element, in bytes */
  tt_kernel_fn *kernel;   /* kernel of a built-in op, or NULL */
  const tt_user_op *user; /* a user's op or a scaled op; NULL: a built-in op */
  uint32_t serial;        /* serial number of the user's op */
  bool times;             /* the input is multiplied by `factor` first (tt_times) */
  double factor;
} tt_reducer;

/* Initializes a reducer, which computes TUTTI_AVG as a sum. Returns TUTTI_OK, or TUTTI_ERR_TYPE or TUTTI_ERR_OP with a
 * message. */
tutti_status tt_reducer_init(tt_reducer *r, tutti_type type, tutti_op op);

void tt_reduce(const tt_reducer *r, void *dst, const void *const *in, int n, size_t count);
/* Reduces n inputs and stores the result in dst and, if it is not NULL, in `also`. Two inputs take a single pass. */
void tt_reduce_to_both(const tt_reducer *r, void *dst, void *also, const void *const *in, int n,
                       size_t count);

/* Multiplies `count` elements by the factor of the reducer, as defined in tutti.h. dst must be equal to src or not overlap it. */
void tt_times(const tt_reducer *r, void *dst, const void *src, size_t count);

/* Computes dst[i] = dst[i] / ranks, as defined in tutti.h. This turns the sums of TUTTI_AVG into averages. */
void tt_scale(tutti_type type, void *dst, size_t count, int ranks);

/* Computes dst[i] = dst[i] != 0 for integers. This is the result of a logical op if there is only one rank. */
void tt_truths(tutti_type type, void *dst, size_t count);

#endif
