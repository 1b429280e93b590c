/* kernel_base.c - the kernels with vectors of 16 bytes: SSE2 on x86-64, NEON on ARM.
 *
 * Idea       Every CPU of these architectures has such vectors. On other architectures the compiler uses the vectors
 *            available there, or splits them.
 * Invariant  Needs only the architecture's baseline. ARM's conversions of fp16 preserve denormals and round to nearest
 *            even, unless the program has changed the CPU's floating-point mode.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "kernel_set.h"

#define TT_KERNEL_SET tt_kernels_base
#define TT_VECTOR     16

#if defined(__x86_64__)
#define TT_KERNEL_NAME "sse2"
#elif defined(__aarch64__)
#define TT_KERNEL_NAME "neon"
#include <arm_neon.h>
#include <string.h>

#define TT_FP16
static inline float32x4_t widen_fp16(const void *p) {
  float16x4_t h;
  memcpy(&h, p, sizeof h);
  return vcvt_f32_f16(h);
}
static inline void narrow_fp16(void *p, float32x4_t x) {
  const float16x4_t h = vcvt_f16_f32(x);
  memcpy(p, &h, sizeof h);
}
#else
#define TT_KERNEL_NAME "base"
#endif
#include "kernel_table.h"
