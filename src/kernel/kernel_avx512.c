/* kernel_avx512.c - the kernels for x86-64 with AVX-512 (F, BW, DQ, VL).
 *
 * Idea       The same C code, with wider vectors. The system's headers are included first, so that
 *            only our code is compiled for AVX-512.
 * Invariant  Called only if the CPU has these (kernel.c checks).
 * SPDX-License-Identifier: BSD-3-Clause */
#if defined(__x86_64__)
#include <float.h>
#include <immintrin.h>
#include <string.h>

#include "kernel_set.h"

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"))), \
                             apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl")
#endif

#define TT_FP16
static inline __m512 widen_fp16(const void *p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(p));
}
static inline void narrow_fp16(void *p, __m512 x) {
  _mm256_storeu_si256(p, _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}

#define TT_VECTOR      64
#define TT_KERNEL_SET  tt_kernels_avx512
#define TT_KERNEL_NAME "avx512"
#include "kernel_table.h"

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#else
typedef int tt_no_avx512; /* a C file must not be empty */
#endif
