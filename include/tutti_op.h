/* tutti_op.h - user-defined ops, weighted sums, and local reductions. A part of tutti.h, which
 * includes it.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TUTTI_OP_H
#define TUTTI_OP_H

#include "tutti.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Return 1 if `op` is defined for `type`, otherwise 0. An op made by tutti_op_create counts as defined for all types. */
TUTTI_API int tutti_type_has_op(tutti_type type, tutti_op op);

/** A function that computes dst[i] = a[i] op b[i] for i < count. dst may equal a or b. The op must be associative. If it is
 *  not commutative, `a` comes from lower ranks than `b`. */
typedef void tutti_op_fn(const void *a, const void *b, void *dst, size_t count,
                         tutti_type type, void *ctx);

/** Register a user-defined op. Every rank must register it.
 *  fn           combines elements and receives `ctx`. Any thread that computes sums may call it.
 *  commutative  0: only plans that keep the ranks' order may run.
 *  op           receives the handle; free it with tutti_op_free when no call uses it any more.
 *  Returns      TUTTI_OK; TUTTI_ERR_ARG; TUTTI_ERR_MEMORY (1000 are in use). */
TUTTI_API tutti_status tutti_op_create(tutti_op_fn *fn, void *ctx, int commutative, tutti_op *op);

/** Register a weighted sum: the sum over r of factor_r * x_r, added as by TUTTI_SUM. Every rank must
 *  register it.
 *
 *  factor       this rank's factor; must be finite. The factor and the product are rounded to the
 *               type (fp16, bf16: to float). Ranks may have different factors.
 *  Types        floating point and complex (both parts are multiplied). The op is not defined for
 *               integers: TUTTI_ERR_OP.
 *  The elements are multiplied while src is copied for the peers. If peers read src directly
 *  (tutti_mem_alloc), this takes an additional pass, into dst. src is not written, except in place.
 *  Returns      TUTTI_OK; TUTTI_ERR_ARG; TUTTI_ERR_MEMORY (1000 ops are in use). */
TUTTI_API tutti_status tutti_op_create_scaled(double factor, tutti_op *op);
TUTTI_API tutti_status tutti_op_free(tutti_op op); /* free an op that no call uses any more */

/** Compute dst[i] = a[i] op b[i] with the library's own kernels, without communication. avg and scaled ops only add. dst may
 *  equal a or b. Returns TUTTI_OK; TUTTI_ERR_ARG, _TYPE, _OP. */
TUTTI_API tutti_status tutti_reduce_local(const void *a, const void *b, void *dst, size_t count,
                                          tutti_type type, tutti_op op);

#ifdef __cplusplus
}
#endif
#endif
