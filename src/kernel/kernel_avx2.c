/* kernel_avx2.c - the kernels for x86-64 with AVX2 and F16C.
 *
 * Idea       The same C code, with wider vectors. The system's headers are included first, so that
 *            only our code is compiled for these instructions.
 * Invariant  Called only if the CPU has both (kernel.c checks).
 * SPDX-License-Identifier: BSD-3-Clause */
#if defined(__x86_64__)
#include <float.h>
#include <immintrin.h>
#include <string.h>

#include "kernel_set.h"

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,f16c"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,f16c")
#endif

#define TT_FP16
static inline __m256 widen_fp16(const void *p) {
  return _mm256_cvtph_ps(_mm_loadu_si128(p));
}
static inline void narrow_fp16(void *p, __m256 x) {
  _mm_storeu_si128(p, _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}

#define TT_VECTOR      32
#define TT_KERNEL_SET  tt_kernels_avx2
#define TT_KERNEL_NAME "avx2"
#include "kernel_table.h"

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#else
typedef int tt_no_avx2; /* a C file must not be empty */
#endif
