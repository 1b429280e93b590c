/* kernel_avx512.c - the kernels for x86-64 with AVX-512: F, BW, DQ, VL (kernel_wide.h).
 * SPDX-License-Identifier: BSD-3-Clause */
#if defined(__x86_64__)
#include <immintrin.h>

#define TT_TARGET      "avx512f,avx512bw,avx512dq,avx512vl"
#define TT_VECTOR      64
#define TT_KERNEL_SET  tt_kernels_avx512
#define TT_KERNEL_NAME "avx512"
#define WIDEN(p)       _mm512_cvtph_ps(_mm256_loadu_si256(p))
#define NARROW(p, x)   _mm256_storeu_si256(p, _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT))
#include "kernel_wide.h"
#else
typedef int tt_no_avx512; /* a C file must not be empty */
#endif
