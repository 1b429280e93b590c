/* kernel.c - selects the kernel for a reduction, and runs the ops that users register.
 *
 * Idea       A reducer holds a function pointer, so tt_reduce is a single call. The set of kernels is looked up each
 *            time, so no state is kept.
 * Invariant  A user's op gets the operands in order. Its dst either is one of its two operands, or does not overlap
 *            them.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "kernel.h"

#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "fp_state.h"
#include "kernel_set.h"

enum { USER_CHUNK = 4096 }; /* bytes of partial results of a user's op */

#if defined(__x86_64__)
/* Older compilers cannot query F16C by name. */
static bool has_f16c(void) {
  unsigned a, b, c, d;
  return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}
#endif

const tt_kernel_set *tt_kernel_set_at(int i) {
#if defined(__x86_64__)
  bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (avx512 && i-- == 0) return &tt_kernels_avx512;
  if (__builtin_cpu_supports("avx2") && has_f16c() && i-- == 0) return &tt_kernels_avx2;
#endif
  return i == 0 ? &tt_kernels_base : i == 1 ? &tt_kernels_c : NULL;
}

tutti_status tt_reducer_init(tt_reducer *r, tutti_type type, tutti_op op) {
  if (!tt_type_valid(type)) return tt_fail(TUTTI_ERR_TYPE, "%d is no type", (int)type);
  if (!tt_op_valid(op)) return tt_fail(TUTTI_ERR_OP, "%d is no op", (int)op);
  if (!tutti_type_has_op(type, op))
    return tt_fail(TUTTI_ERR_OP, "type %s has no op %s", tutti_type_name(type), tutti_op_name(op));
  *r = (tt_reducer){.type = type, .element = tutti_type_size(type), .user = tt_op_user(op)};
  r->factor = tt_op_factor(op);
  r->times = r->factor != 1;
  if (r->user) r->serial = r->user->serial;
  if (r->user && !r->user->fn) op = TUTTI_SUM;
  if (!r->user || !r->user->fn) r->kernel = tt_kernel_set_at(0)->reduce[type][op];
  return TUTTI_OK;
}

/* If there are more than two inputs, a small local buffer holds the partial results. They cannot be stored in dst,
 * because dst may also be an input that has not been read yet. */
static void reduce_user(const tt_reducer *r, void *dst, const void *const *in, int n,
                        size_t count) {
  _Alignas(64) unsigned char partial[USER_CHUNK];
  const size_t most = USER_CHUNK / r->element;
  for (size_t at = 0; at < count; at += most) {
    const size_t len = tt_min(count - at, most), offset = at * r->element;
    const void *left = (const char *)in[0] + offset;
    for (int j = 1; j < n; j++) {
      void *to = j == n - 1 ? (void *)((char *)dst + offset) : partial;
      r->user->fn(left, (const char *)in[j] + offset, to, len, r->type, r->user->ctx);
      left = partial;
    }
  }
}

void tt_reduce_to_both(const tt_reducer *r, void *dst, void *also, const void *const *in, int n,
                       size_t count) {
  if (count == 0) return;
  if (r->kernel) {
    const tt_fp_state state = tt_fp_pin();
    r->kernel(dst, also, in, n, count);
    tt_fp_restore(state);
    return;
  }
  if (n == 2)
    r->user->fn(in[0], in[1], dst, count, r->type, r->user->ctx);
  else
    reduce_user(r, dst, in, n, count);
  if (also) tt_memcpy(also, dst, count * r->element);
}

void tt_reduce(const tt_reducer *r, void *dst, const void *const *in, int n, size_t count) {
  tt_reduce_to_both(r, dst, NULL, in, n, count);
}

void tt_times(const tt_reducer *r, void *dst, const void *src, size_t count) {
  tt_times_fn *times = tt_kernel_set_at(0)->times[r->type];
  const tt_fp_state state = tt_fp_pin();
  if (times && count) times(dst, src, count, r->factor);
  tt_fp_restore(state);
}

void tt_scale(tutti_type type, void *dst, size_t count, int ranks) {
  tt_scale_fn *scale = tt_kernel_set_at(0)->scale[type];
  const tt_fp_state state = tt_fp_pin();
  if (scale && count) scale(dst, count, ranks);
  tt_fp_restore(state);
}

void tt_truths(tutti_type type, void *dst, size_t count) {
  if (count)
    tt_kernel_set_at(0)->reduce[type][TUTTI_LOR](dst, NULL, (const void *const[]){dst, dst}, 2,
                                                 count);
}
